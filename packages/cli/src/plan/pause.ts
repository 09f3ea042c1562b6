import type { JsonObject } from '@drydock/apimachinery';
import { isBefore, readTime, secondsAfter, timeText } from '@drydock/apimachinery';
import { readMaintenancePlan } from '@drydock/apis';
import { pauseNow } from '@drydock/core/plan';
import type { Env } from '@drydock/utils';
import { UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { seconds } from '../shared/fail.ts';
import { plainOutput } from '../shared/output.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { changePlan, goesOn, type PlanObject, titleOfPlan } from './why-plans.ts';

/** `drydock plan pause` and `resume`. */

export type PauseFlags = ConnectionFlags & { readonly reason?: string; readonly until?: string };

/** Parses a time, or a duration from now. Throws a UsageError that names the flag. */
export function untilOf(text: string, now: Temporal.Instant): Temporal.Instant {
  const isTime = /^\d{4}-/.test(text);
  const until = isTime ? readTime(text) : secondsAfter(now, seconds('--until', text));
  if (until === undefined) {
    throw new UsageError(
      `invalid value "${text}" for --until: expected a time such as 2026-12-01T06:00:00Z, or a duration such as 90s, 5m or 1h30m`,
    );
  }
  if (!isBefore(now, until))
    throw new UsageError(`invalid value "${text}" for --until: expected a time in the future`);
  return until;
}

export function isPaused(plan: PlanObject, now: Temporal.Instant): boolean {
  return pauseNow(readMaintenancePlan(plan), now) !== undefined;
}

/**
 * Returns the change of the spec; undefined where the plan is already paused as wanted. A pause
 * with an end replaces one without.
 */
export function pausedSpec(
  plan: PlanObject,
  { reason, until }: PauseFlags,
  now: Temporal.Instant,
): JsonObject | undefined {
  const { name } = plan.metadata;
  if (plan.spec.state === 'Aborted')
    throw new UsageError(`plan ${name} is aborted; begin again with: drydock plan rerun ${name}`);
  if (until !== undefined) {
    return {
      state: 'Paused',
      pause: { reason: reason ?? null, until: timeText(untilOf(until, now)) },
    };
  }
  if (reason !== undefined) return { state: 'Paused', pause: { reason, until: null } };
  return isPaused(plan, now) ? undefined : { state: 'Paused', pause: null };
}

/**
 * `drydock plan pause NAME [--reason R] [--until T]`. Throws an ApiError with the server's message.
 */
export async function pause(name: string, flags: PauseFlags, env: Env): Promise<void> {
  const now = Temporal.Now.instant();
  const until = flags.until === undefined ? undefined : untilOf(flags.until, now);
  if (flags.reason === '')
    throw new UsageError('--reason needs a text: say why the plan is paused');
  await withCluster(flags, env, async api => {
    let isChanged = false;
    const before = await changePlan(api, name, plan => {
      const spec = pausedSpec(plan, flags, now);
      isChanged = spec !== undefined;
      return spec;
    });
    const end = until === undefined ? '' : ` until ${timeText(until)}`;
    plainOutput.line(`${titleOfPlan(name)} ${isChanged ? 'paused' : 'already paused'}${end}`);
    const more = goesOn(before);
    if (more !== undefined) plainOutput.note(more);
  });
}
