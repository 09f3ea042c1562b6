import type { MaintenanceRequest } from '../../core/request/request.ts';
import { secondsBetween } from '../../core/time.ts';
import type { Overview } from '../ports.ts';

/** How many there are of each kind and state. */
export const countedByState = (all: readonly (readonly [kind: string, state: string])[]): Overview['maintenances'] => {
  const counts = new Map<string, { readonly kind: string; readonly state: string; readonly count: number }>();
  for (const [kind, state] of all) {
    const key = `${kind}/${state}`;
    counts.set(key, { kind, state, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()];
};

/** How long the drains of the maintenances that there are have taken, in seconds: the longest, where one is complete. */
export const maxDrain = (requests: Iterable<MaintenanceRequest>): { readonly drainSeconds?: number } => {
  let longest: number | undefined;
  for (const { history } of requests) {
    const { drainStartedAt, drainedAt } = history;
    if (drainStartedAt && drainedAt) longest = Math.max(longest ?? 0, secondsBetween(drainStartedAt, drainedAt));
  }
  return longest === undefined ? {} : { drainSeconds: longest };
};
