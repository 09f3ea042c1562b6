export { leaseNamespaces } from './lease-namespaces.ts';
export { machineAdapter } from './machines/machine-adapter.ts';
export { nodeNotice } from './machines/machine-event-source.ts';
export { readMachineMaintenance } from './machines/machine-maintenance.ts';
export { maintenance } from './maintenance/maintenance.ts';
export { agreedHash, agreedSpec } from './maintenance-plan/agreed.ts';
export {
  readMaintenancePlan,
  readPlanExpressions,
  readPlanRecord,
} from './maintenance-plan/maintenance-plan.ts';
export { planAdapter } from './maintenance-plan/plan-adapter.ts';
export { readMaintenanceWindow } from './maintenance-window.ts';
export { type KubevirtAlpha, kubevirtAlphaOfOurs } from './node-maintenance/kubevirt.ts';
export { medik8s } from './node-maintenance/medik8s.ts';
export { served } from './served.ts';
