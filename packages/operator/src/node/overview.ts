import { secondsBetween } from '@drydock/apimachinery';
import type { MaintenanceRequest } from '@drydock/core/request';
import type { Overview } from '../ports.ts';

/** Counts maintenances by kind and state. */
export function countedByState(
  all: readonly (readonly [kind: string, state: string])[],
): Overview['maintenances'] {
  const counts = new Map<
    string,
    { readonly kind: string; readonly state: string; readonly count: number }
  >();
  for (const [kind, state] of all) {
    const key = `${kind}/${state}`;
    counts.set(key, { kind, state, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()];
}

/**
 * Returns the seconds that the longest complete drain of the existing maintenances took; nothing if
 * none is complete.
 */
export function maxDrain(requests: Iterable<MaintenanceRequest>): {
  readonly drainSeconds?: number;
} {
  let longest: number | undefined;
  for (const { history } of requests) {
    const { drainStartedAt, drainedAt } = history;
    if (drainStartedAt && drainedAt)
      longest = Math.max(longest ?? 0, secondsBetween(drainStartedAt, drainedAt));
  }
  return longest === undefined ? {} : { drainSeconds: longest };
}
