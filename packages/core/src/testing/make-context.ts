import { type DrainProgress, type ReconcileContext, type RequestProgress, startContext } from '../maintenance/reconcile-context.ts';
import type { NodeSnapshot } from '../maintenance/snapshot.ts';
import { at, makeRequest, makeSnapshot } from './make.ts';

/** Small courses for tests of single steps: a node that is held for each of the standings, at 100. */

/** One pod of two has left. */
export const makeDrain = (over: Partial<DrainProgress> = {}): DrainProgress => ({
  count: { toEvict: 2, gone: 1, waiting: 1 },
  total: 2,
  tally: { base: 0, seen: new Set() },
  waiting: [],
  blockerInfos: [],
  complete: false,
  emptied: false,
  vms: [],
  ...over,
});

export const makeProgress = (over: Partial<RequestProgress> = {}): RequestProgress => ({
  request: makeRequest('one'),
  granted: true,
  holds: true,
  barred: false,
  leaseErrors: 0,
  ...over,
});

export const makeContext = (progresses: readonly RequestProgress[], snapshot: Partial<NodeSnapshot> = {}): ReconcileContext => ({
  ...startContext(makeSnapshot({ requests: progresses.map(({ request }) => request), ...snapshot }), at(100)),
  progresses,
});
