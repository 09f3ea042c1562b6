import { kill } from '../killed.ts';
import { startScene } from '../stories.ts';
import { startMachineApi } from './openshift.ts';

kill('OpenShift', await startScene(({ controlPlane }, ec2) => startMachineApi(controlPlane, ec2)));
