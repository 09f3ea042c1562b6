import {
  type DrainProgress,
  type ReconcileContext,
  type RequestProgress,
  startContext,
} from '../maintenance/reconcile-context.ts';
import type { NodeSnapshot } from '../maintenance/snapshot.ts';
import { at, makeRequest, makeSnapshot } from './make.ts';

/**
 * Small courses for tests of single steps: a node that is held for each of the standings, at 100.
 */

/** One pod of two has left. */
export function makeDrain(over: Partial<DrainProgress> = {}): DrainProgress {
  return {
    count: { toEvict: 2, gone: 1, waiting: 1 },
    total: 2,
    tally: { base: 0, seen: new Set() },
    waiting: [],
    blockerInfos: [],
    complete: false,
    emptied: false,
    vms: [],
    ...over,
  };
}

export function makeProgress(over: Partial<RequestProgress> = {}): RequestProgress {
  return {
    request: makeRequest('one'),
    granted: true,
    holds: true,
    barred: false,
    leaseErrors: 0,
    ...over,
  };
}

export function makeContext(
  progresses: readonly RequestProgress[],
  snapshot: Partial<NodeSnapshot> = {},
): ReconcileContext {
  return {
    ...startContext(
      makeSnapshot({ requests: progresses.map(({ request }) => request), ...snapshot }),
      at(100),
    ),
    progresses,
  };
}
