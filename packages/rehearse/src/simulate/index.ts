export {
  type Order,
  type PlannedMaintenance,
  PlannedMaintenanceError,
  type RunProgress,
} from './run.ts';
