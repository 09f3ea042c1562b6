export { keyOf, type Writes, type Written } from './controller.ts';
export { controllerOf, controllerReference, isFinished, isReady, nodeOf, phaseOf } from './pods.ts';
export {
  type ClientLimit,
  defaultLimits,
  otherClients,
  type RequestLimits,
  RequestQueue,
} from './request-limits.ts';
export { replicasOf, templateOf } from './workload.ts';
export { writesOn } from './writes.ts';
