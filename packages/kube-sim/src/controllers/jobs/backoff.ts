import type { Stored } from '../../object.ts';
import { finishedMs } from './count.ts';

/**
 * Delay of a Job after failures before it creates new pods (backoff_utils.go): 10 s, doubled with
 * each, 10 min at most.
 */

const firstMs = 10_000;
const maxMs = 600_000;

export type Failures = { readonly count: number; readonly lastMs: number };

/** Returns the failures since the last success, after more pods have ended. */
export function afterEnds(
  before: Failures | undefined,
  succeeded: readonly Stored[],
  failed: readonly Stored[],
): Failures | undefined {
  if (succeeded.length === 0 && failed.length === 0) return before;
  const lastSuccess = Math.max(Number.NEGATIVE_INFINITY, ...succeeded.map(finishedMs));
  const later = failed.map(finishedMs).filter(end => end > lastSuccess);
  if (later.length === 0) return undefined;
  return {
    count: later.length + (succeeded.length === 0 ? (before?.count ?? 0) : 0),
    lastMs: Math.max(...later),
  };
}

/** Returns the remaining delay. */
export function waitMs(failures: Failures | undefined, nowMs: number): number {
  return failures === undefined
    ? 0
    : Math.max(0, Math.min(maxMs, firstMs * 2 ** (failures.count - 1)) - (nowMs - failures.lastMs));
}
