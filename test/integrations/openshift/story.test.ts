import { startScene, tell } from '../stories.ts';
import { startMachineApi } from './openshift.ts';

tell('OpenShift', await startScene(({ controlPlane }, ec2) => startMachineApi(controlPlane, ec2)));
