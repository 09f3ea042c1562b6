import { isBefore, joinLimited, timeText } from '@drydock/apimachinery';
import type { WaitReason } from '../snapshot.ts';
import type { PlanView } from '../view.ts';
import type { RehearsalRefusal, Rehearse, RehearsedForecast } from './rehearsal.ts';

/**
 * Refusals by a rehearsal: its forecast may keep a run from its first node. A run that has begun
 * goes on: a stop half-way repairs nothing.
 */

function named(forecast: RehearsedForecast): string {
  return joinLimited(
    forecast.blocked.map(({ node, message }) => `${node}: ${message}`),
    3,
  );
}

/** Reasons why the plan should not begin, by the refusals that a plan may name. */
const reasons: Readonly<
  Record<
    RehearsalRefusal,
    (forecast: RehearsedForecast, deadline: Temporal.Instant | undefined) => string | undefined
  >
> = {
  MissesDeadline: ({ end }, deadline) => {
    if (deadline === undefined || (end !== undefined && !isBefore(deadline, end))) return undefined;
    return `it ends ${end === undefined ? 'never' : `at ${timeText(end)}`}, and the deadline is ${timeText(deadline)}`;
  },
  BlockedNodes: forecast => {
    const { blockedNodes } = forecast;
    if (blockedNodes === 0) return undefined;
    return `${blockedNodes} ${blockedNodes === 1 ? 'node gets' : 'nodes get'} stuck (${named(forecast)})`;
  },
  Unfinished: ({ finishes }) => (finishes ? undefined : 'the plan does not finish'),
};

function hasBegun({ snapshot: { plan }, verdicts }: PlanView): boolean {
  return plan.inFlight.length > 0 || verdicts.size > 0;
}

function reasonIn(
  view: PlanView,
  forecast: RehearsedForecast,
  { refuse }: Rehearse,
): string | undefined {
  if (hasBegun(view)) return undefined;
  const deadline = view.snapshot.plan.pace?.deadline;
  const all = refuse.flatMap(refusal => reasons[refusal](forecast, deadline) ?? []);
  return all.length === 0 ? undefined : all.join('; ');
}

/** Reports whether this forecast keeps the run from its first node. */
export function isRefusing(
  view: PlanView,
  forecast: RehearsedForecast,
  rehearse: Rehearse,
): boolean {
  return reasonIn(view, forecast, rehearse) !== undefined;
}

/** Returns what the run waits for because of this forecast, if anything. */
export function refusalOf(
  view: PlanView,
  forecast: RehearsedForecast,
  rehearse: Rehearse,
): WaitReason | undefined {
  const reason = reasonIn(view, forecast, rehearse);
  if (reason === undefined) return undefined;
  const { name } = view.snapshot.plan;
  return {
    reason: 'Forecast',
    message: `the rehearsal of ${timeText(forecast.rehearsedAt)} predicts: ${reason}; the plan is rehearsed again automatically, or at once by drydock plan retry ${name} --failed`,
  };
}
