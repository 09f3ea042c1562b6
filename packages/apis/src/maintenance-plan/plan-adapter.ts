import type { PlanAdapter } from '@drydock/core/plan';
import { drainPolicy } from '../maintenance/maintenance.ts';
import {
  readMaintenanceApproval,
  readMaintenancePlan,
  readPlanRecord,
} from './maintenance-plan.ts';
import { maintenancePlanStatus } from './status.ts';

/** Adapter of the kinds about plans, as they are served. */
export const planAdapter: PlanAdapter = {
  readPlan: readMaintenancePlan,
  readRecord: readPlanRecord,
  readApproval: readMaintenanceApproval,
  drainPolicy,
  status: maintenancePlanStatus,
};
