import type { JsonObject } from '@drydock/apimachinery';
import type { DrainPolicy } from '../drain/policy.ts';
import type { Plan } from './plan.ts';
import type { Approval, PlanDecision, RecordSlice } from './snapshot.ts';

/** An adapter that reads and writes the kinds about plans; implemented in `packages/apis/src`. */
export type PlanAdapter = {
  readonly readPlan: (raw: unknown) => Plan;
  readonly readRecord: (raw: unknown) => RecordSlice;
  readonly readApproval: (raw: unknown) => Approval;
  /** Function that parses `spec.drain` of a Maintenance, with its defaults. */
  readonly drainPolicy: (drain: JsonObject) => DrainPolicy;
  /** Function that returns the whole status for a decision. */
  readonly status: (decision: PlanDecision, plan: Plan, now: Temporal.Instant) => JsonObject;
};
