export { drainRequest } from './ad-hoc.ts';
export { endsOf, isDraining, messageOf, phaseOf } from './display.ts';
export {
  creation,
  type MaintenanceInput,
  maintenanceObject,
  nodeMaintenanceObject,
  notServed,
  removal,
} from './maintenance-input.ts';
export { type Problem, type Report, withContest, withStay } from './report.ts';
export {
  byAge,
  type Claim,
  claimAnnotation,
  type History,
  hasFinalizer,
  type KindAdapter,
  type LeaseName,
  leaseKey,
  leaseNames,
  type MaintenanceRequest,
  maintenancesPath,
  noHistory,
  pathOf,
  type RequestedStart,
  statusPathOf,
} from './request.ts';
export type { MaintenanceFailure, MaintenanceLevel, MaintenanceState } from './words.ts';
