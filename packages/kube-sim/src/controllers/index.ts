export {
  controllerOf,
  controllerReference,
  isFinished,
  isReady,
  keyOf,
  nodeOf,
  phaseOf,
  type Writes,
  type Written,
} from './controller.ts';
export {
  type ClientLimit,
  defaultLimits,
  otherClients,
  type RequestLimits,
  RequestQueue,
  writesOn,
} from './runner.ts';
export { replicasOf, templateOf } from './workload.ts';
