import { kill } from '../killed.ts';
import { startScene } from '../stories.ts';
import { startCapi } from './capi.ts';

kill('Cluster API', await startScene(({ controlPlane }, ec2) => startCapi(controlPlane, ec2)));
