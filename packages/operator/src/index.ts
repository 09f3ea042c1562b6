export {
  type ControllerManager,
  controllerManager,
  type OpenStackTerms,
  workNamespace,
} from './controller-manager.ts';
export { type Monitoring, noMeter, type QueryResult, type Sample } from './ports.ts';
export { scanner } from './scanner.ts';
export { WorkQueue } from './work-queue.ts';
