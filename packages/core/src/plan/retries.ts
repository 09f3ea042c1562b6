import { earliest, isBefore } from '@drydock/apimachinery';
import type { Plan } from './plan.ts';

/**
 * Reports whether a user has set a failure of this time aside. A failure of a node uses the entry
 * of the node, if there is one.
 */
export function isRetried(
  failedAt: Temporal.Instant,
  { retries }: Pick<Plan, 'retries'>,
  node = '*',
): boolean {
  const before = retries.get(node) ?? retries.get('*');
  return before !== undefined && Temporal.Instant.compare(failedAt, before) <= 0;
}

/**
 * Returns the entries that count now, and when the next one will: an entry with a future time would
 * set aside failures that have not happened yet.
 */
export function retriesNow(
  { retries }: Pick<Plan, 'retries'>,
  now: Temporal.Instant,
): { readonly retries: Plan['retries']; readonly next?: Temporal.Instant } {
  const later = [...retries].filter(([, before]) => isBefore(now, before));
  if (later.length === 0) return { retries };
  const next = earliest(later.map(([, before]) => before));
  return {
    retries: new Map([...retries].filter(([, before]) => !isBefore(now, before))),
    ...(next && { next }),
  };
}
