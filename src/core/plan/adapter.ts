import type { JsonObject } from '../json.ts';
import type { DrainPolicy } from '../request/policy.ts';
import type { Plan } from './plan.ts';
import type { Approval, PlanDecision, RecordSlice } from './snapshot.ts';

/** How the kinds about plans are read and written; implemented in `src/apis`. */
export type PlanAdapter = {
  readonly readPlan: (raw: unknown) => Plan;
  readonly readRecord: (raw: unknown) => RecordSlice;
  readonly readApproval: (raw: unknown) => Approval;
  /** What `spec.drain` of a Maintenance says, with its defaults. */
  readonly drainPolicy: (drain: JsonObject) => DrainPolicy;
  /** The whole status that says this. */
  readonly status: (decision: PlanDecision, plan: Plan, now: Temporal.Instant) => JsonObject;
};
