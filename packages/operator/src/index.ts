export {
  ActiveManager,
  type ControllerManager,
  controllerManager,
  type MachineTerms,
  type OpenStackTerms,
  workNamespace,
} from './controller-manager.ts';
export {
  type AlertSilencer,
  type Monitoring,
  noMeter,
  type QueryResult,
  type Sample,
} from './ports.ts';
export { scanner } from './scanner.ts';
export { WorkQueue } from './work-queue.ts';
