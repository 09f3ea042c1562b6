import { readTime } from '@drydock/apimachinery';
import type { Pause, Plan } from '@drydock/core/plan';
import type { MaintenancePlanSpec } from '../schema/maintenance-plan.ts';

/**
 * Fields that users change in a MaintenancePlan while it runs: whether it goes on, which nodes are
 * skipped, which are retried.
 */

function retriesOf({ retries = [] }: MaintenancePlanSpec): Plan['retries'] {
  return new Map(
    retries.flatMap(({ name, before }) =>
      ((at): [string, Temporal.Instant][] => (at ? [[name, at]] : []))(readTime(before)),
    ),
  );
}

function pauseOf({ reason, until }: NonNullable<MaintenancePlanSpec['pause']>): Pause {
  const end = readTime(until);
  return { ...(reason !== undefined && { reason }), ...(end && { until: end }) };
}

/** Reads these fields, with the defaults of the CRD. */
export function switchesOf(
  spec: MaintenancePlanSpec,
): Pick<Plan, 'onDelete' | 'paused' | 'pause' | 'aborted' | 'skips' | 'retries'> {
  const isPaused = spec.state === 'Paused';
  return {
    onDelete: spec.onDelete ?? 'Release',
    paused: isPaused && spec.pause?.until === undefined,
    ...(isPaused && spec.pause && { pause: pauseOf(spec.pause) }),
    aborted: spec.state === 'Aborted',
    skips: new Map((spec.skipNodes ?? []).map(({ name, reason = '' }) => [name, reason])),
    retries: retriesOf(spec),
  };
}
