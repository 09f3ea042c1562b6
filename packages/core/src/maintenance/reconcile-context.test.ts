import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { nothingTracked } from '../drain/vm/vm-pod-decision.ts';
import { type MaintenanceRequest, noHistory } from '../request/request.ts';
import { at, makeRequest, makeSnapshot } from '../testing/make.ts';
import { makeProgress } from '../testing/make-context.ts';
import { isActive, isDraining, kubeEventFor, startContext } from './reconcile-context.ts';
import { emptyMemo } from './snapshot.ts';

describe('a drain', () => {
  const cordon = makeRequest('one', { level: 'Cordon' });
  // Whether it drains, and whether it does so now.
  const rows: readonly (readonly [
    what: string,
    ReturnType<typeof makeProgress>,
    drains: boolean,
    active: boolean,
  ])[] = [
    ['held and granted', makeProgress(), true, true],
    ['that only cordons', makeProgress({ request: cordon }), false, false],
    [
      'that only cordons, and pauses',
      makeProgress({ request: cordon, paused: true }),
      false,
      false,
    ],
    ['without the lease', makeProgress({ granted: false }), false, false],
    ['without its marks on the node', makeProgress({ holds: false }), false, false],
    ['that pauses', makeProgress({ paused: true }), true, false],
    ['that has failed', makeProgress({ failure: 'DeadlineExceeded' }), true, false],
  ];
  for (const [what, progress, drains, active] of rows)
    test(`${what}: ${active ? 'is active' : drains ? 'is none that is active' : 'is none'}`, () =>
      assert.deepEqual([isDraining(progress), isActive(progress)], [drains, active]));
});

test('at the start nothing is known, granted or asked for', () => {
  const snapshot = makeSnapshot();
  const [request] = snapshot.requests;
  assert.deepEqual(startContext(snapshot, at(0)), {
    snapshot,
    now: at(0),
    progresses: [{ request, granted: false, holds: false, barred: false, leaseErrors: 0 }],
    leaving: [],
    writes: [],
    plan: {
      calls: [],
      blockerInfos: [],
      waitsFor: [],
      waitsForSlots: false,
      recreations: new Map(),
    },
    moments: [],
    lookups: [],
    confirmPods: false,
    handOver: false,
    evictable: new Set(),
    isDrainJudged: false,
    recalled: new Map(),
    stillMoving: [],
  });
  const known = { ...emptyMemo, vms: nothingTracked, leaseMissedAt: at(-5) };
  const { vms, leaseMissedAt } = startContext(makeSnapshot({ memo: known }), at(0));
  assert.deepEqual([vms, leaseMissedAt], [nothingTracked, at(-5)]);
});

test('a failure of the past counts, but for a node that was missing: it is looked for anew', () => {
  const failureOf = (failure: NonNullable<MaintenanceRequest['history']['failure']>) =>
    startContext(
      makeSnapshot({ requests: [makeRequest('one', { history: { ...noHistory, failure } })] }),
      at(0),
    ).progresses.map(progress => progress.failure);
  assert.deepEqual(failureOf('LeaseLost'), ['LeaseLost']);
  assert.deepEqual(failureOf('NodeNotFound'), [undefined]);
});

test('what is announced of a request names it, with its namespace where it has one', () => {
  const text = { reason: 'r', message: 'm' };
  const about = {
    apiVersion: 'test/v1',
    kind: 'Plain',
    name: 'one',
    uid: 'uid-one',
    resourceVersion: '30',
  };
  assert.deepEqual(kubeEventFor(makeRequest('one'), 'Normal', text), {
    type: 'Normal',
    ...text,
    component: 'test',
    about,
  });
  assert.deepEqual(kubeEventFor(makeRequest('one', { namespace: 'ops' }), 'Normal', text).about, {
    ...about,
    namespace: 'ops',
  });
});
