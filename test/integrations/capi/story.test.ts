import { startScene, tell } from '../stories.ts';
import { startCapi } from './capi.ts';

tell('Cluster API', await startScene(({ controlPlane }, ec2) => startCapi(controlPlane, ec2)));
