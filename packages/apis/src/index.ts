export { leaseNamespaces } from './leases.ts';
export { machineAdapter, nodeNotice } from './machines/machine-event-source.ts';
export { readMachineMaintenance } from './machines/machine-maintenance.ts';
export { maintenance } from './maintenance/maintenance.ts';
export { agreedHash, agreedSpec } from './maintenance-plan/agreed.ts';
export {
  readMaintenancePlan,
  readPlanExpressions,
  readPlanRecord,
} from './maintenance-plan/maintenance-plan.ts';
export { planAdapter } from './maintenance-plan/status.ts';
export { readMaintenanceWindow } from './maintenance-window.ts';
export {
  type KubevirtAlpha,
  kubevirtAlphaOfOurs,
  medik8s,
} from './node-maintenance/node-maintenance.ts';
export { served } from './served.ts';
