import { earliest, isBefore } from '../time.ts';
import type { Plan } from './plan.ts';

/** Somebody has said that what failed at this time does not count any more. What is about a node goes by the entry of the node, where it has one. */
export const isRetried = (failedAt: Temporal.Instant, { retries }: Pick<Plan, 'retries'>, node = '*'): boolean => {
  const before = retries.get(node) ?? retries.get('*');
  return before !== undefined && Temporal.Instant.compare(failedAt, before) <= 0;
};

/** The entries that count now, and when the next one will: one of the future would set aside what has not happened yet. */
export const retriesNow = (
  { retries }: Pick<Plan, 'retries'>,
  now: Temporal.Instant,
): { readonly retries: Plan['retries']; readonly next?: Temporal.Instant } => {
  const later = [...retries].filter(([, before]) => isBefore(now, before));
  if (later.length === 0) return { retries };
  const next = earliest(later.map(([, before]) => before));
  return { retries: new Map([...retries].filter(([, before]) => !isBefore(now, before))), ...(next && { next }) };
};
