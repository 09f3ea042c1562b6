export {
  type MachineEventSourceStatus,
  type MachineMaintenanceSpec,
  type MachineMaintenanceStatus,
  machineEventSourceSpec,
  machineEventSourceStatus,
  machineMaintenanceSpec,
  machineMaintenanceStatus,
  nodeNoticeSpec,
} from './machine-maintenance.ts';
export {
  type MaintenanceSpec,
  type MaintenanceStatus,
  maintenanceSpec,
  maintenanceStatus,
} from './maintenance.ts';
export { type MaintenancePlanSpec, maintenancePlanSpec } from './maintenance-plan.ts';
export {
  type MaintenancePlanRecordSpec,
  type MaintenancePlanStatus,
  maintenanceApprovalSpec,
  maintenancePlanRecordSpec,
  maintenancePlanStatus,
} from './maintenance-plan-status.ts';
export {
  type MaintenanceWindowSpec,
  type MaintenanceWindowStatus,
  maintenanceWindowSpec,
  maintenanceWindowStatus,
} from './maintenance-window.ts';
export {
  type NodeMaintenanceStatus,
  nodeMaintenanceSpec,
  nodeMaintenanceSpecOfAlpha1,
  nodeMaintenanceSpecOfAlpha3,
  nodeMaintenanceStatus,
  nodeMaintenanceStatusOfAlpha,
  nodeMaintenanceStatusOfKubevirt,
} from './node-maintenance.ts';
