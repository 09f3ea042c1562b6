import type { Plan } from './plan.ts';

/** Somebody has said that what failed at this time does not count any more. What is about a node goes by the entry of the node, where it has one. */
export const isRetried = (failedAt: Temporal.Instant, { retries }: Pick<Plan, 'retries'>, node = '*'): boolean => {
  const before = retries.get(node) ?? retries.get('*');
  return before !== undefined && Temporal.Instant.compare(failedAt, before) <= 0;
};
