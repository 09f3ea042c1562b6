import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { secondsBetween } from '@drydock/apimachinery';
import { type DrainPolicy, type Rung, seedPolicy } from '../../../drain/policy.ts';
import { type MaintenanceRequest, noHistory } from '../../../request/request.ts';
import {
  at,
  makeBudget,
  makeNode,
  makePod,
  makeRequest,
  makeSnapshot,
  ourLease,
} from '../../../testing/make.ts';
import { makeContext, makeProgress } from '../../../testing/make-context.ts';
import { launcherOf, makeVmi, makeVms } from '../../../testing/make-vms.ts';
import { decide, decideDrainOnly } from '../../decide.ts';
import type { RequestProgress } from '../../reconcile-context.ts';
import { emptyMemo, type NodeSnapshot } from '../../snapshot.ts';
import { drain } from './drain.ts';

/** A request that began to drain at 0. */
function draining(
  policy: Partial<DrainPolicy> = {},
  history: Partial<MaintenanceRequest['history']> = {},
  name = 'one',
): MaintenanceRequest {
  return makeRequest(name, {
    policy: { ...seedPolicy, ...policy },
    history: { ...noHistory, state: 'Draining', drainStartedAt: at(0), ...history },
  });
}

function looked(
  requests: readonly MaintenanceRequest[],
  now: number,
  over: Partial<NodeSnapshot> = {},
) {
  return decide(makeSnapshot({ requests, pods: [makePod('a')], ...over }), at(now));
}
function asked(...args: Parameters<typeof looked>) {
  return looked(...args).calls.map(({ pod, method, gracePeriodSeconds, escalated }) => [
    pod.name,
    method,
    gracePeriodSeconds,
    escalated,
  ]);
}
function requeueAt(...args: Parameters<typeof looked>): number | undefined {
  const moment = looked(...args).requeueAt;
  return moment && secondsBetween(at(0), moment);
}

/** Nothing else is to be looked at again: the lease is renewed long after all of this. */
const terms = { durationSeconds: 36_000, renewEverySeconds: 30_000 };
const leases = new Map([[ourLease.key, { ...ourLease, durationSeconds: 36_000 }]]);
const quiet = { terms, leases };

describe('how long a pod gets to end', () => {
  // Of the pod: what it asks for itself. Undefined: nothing is said, and its own counts.
  const rows: readonly (readonly [Partial<DrainPolicy>, own: number, asked: number | undefined])[] =
    [
      [{}, 30, undefined],
      [{ gracePeriodSeconds: 5 }, 30, 5],
      [{ gracePeriodSeconds: 0 }, 30, 0],
      [{ maxGracePeriodSeconds: 60 }, 30, undefined],
      [{ maxGracePeriodSeconds: 60 }, 60, undefined],
      [{ maxGracePeriodSeconds: 60 }, 61, 60],
      [{ gracePeriodSeconds: 90, maxGracePeriodSeconds: 60 }, 30, 60],
      [{ gracePeriodSeconds: 5, maxGracePeriodSeconds: 60 }, 300, 5],
    ];
  for (const [policy, graceSeconds, wanted] of rows) {
    test(`${JSON.stringify(policy)} and ${graceSeconds} s of its own: ${wanted ?? 'its own'}`, () => {
      assert.deepEqual(asked([draining(policy)], 1, { pods: [makePod('a', { graceSeconds })] }), [
        ['a', 'evict', wanted, false],
      ]);
    });
  }
});

describe('how long a pod gets that somebody has deleted with a longer time', () => {
  // Of the pod's deletion: what it got. What is asked for then; undefined: nothing.
  const rows: readonly (readonly [Partial<DrainPolicy>, got: number, asked: number | undefined])[] =
    [
      [{}, 3600, undefined],
      [{ gracePeriodSeconds: 5 }, 3600, 5],
      [{ gracePeriodSeconds: 5 }, 5, undefined],
      [{ maxGracePeriodSeconds: 60 }, 3600, 60],
      [{ maxGracePeriodSeconds: 60 }, 60, undefined],
      [{ disableEviction: true }, 3600, 30],
      [{ disableEviction: true }, 30, undefined],
      [{ disableEviction: true, gracePeriodSeconds: 5 }, 3600, 5],
    ];
  for (const [policy, deletionGraceSeconds, wanted] of rows)
    test(`${JSON.stringify(policy)} and ${deletionGraceSeconds} s: ${wanted ?? 'left alone'}`, () => {
      const leaving = makePod('a', {
        deletionTimestamp: at(deletionGraceSeconds),
        deletionGraceSeconds,
      });
      const calls = asked([draining(policy)], 1, { pods: [leaving] });
      assert.deepEqual(
        calls,
        wanted === undefined
          ? []
          : [['a', policy.disableEviction === true ? 'delete' : 'evict', wanted, false]],
      );
      const refused = makePod('b', { localData: true });
      assert.deepEqual(
        asked([draining({ ...policy, deleteEmptyDirData: false })], 1, {
          pods: [leaving, refused],
        }),
        [],
        'nothing is hurried for a drain that is refused',
      );
    });
});

describe('the ladder', () => {
  const ladder: readonly Rung[] = [
    { afterSeconds: 100, action: 'Delete', gracePeriodSeconds: 7 },
    { afterSeconds: 200, action: 'KeepTrying' },
  ];
  const slow = { gracePeriodSeconds: 5, maxGracePeriodSeconds: 60 };

  test('a rung that deletes goes past the policy: its own grace period counts, and where it has none the pod’s own', () => {
    assert.deepEqual(asked([draining({ ladder, ...slow })], 99), [['a', 'evict', 5, false]]);
    assert.deepEqual(asked([draining({ ladder, ...slow })], 100), [['a', 'delete', 7, true]]);
    assert.deepEqual(
      asked([draining({ ladder: [{ afterSeconds: 100, action: 'Delete' }], ...slow })], 100),
      [['a', 'delete', undefined, true]],
    );
    assert.deepEqual(
      asked([draining({ ladder, ...slow })], 200),
      [['a', 'evict', 5, false]],
      'the next rung ends it',
    );
  });

  test('the next rung is looked out for, from the start of the drain; none once it was complete', () => {
    assert.equal(requeueAt([draining({ ladder })], 50, quiet), 100);
    assert.equal(requeueAt([draining({ ladder })], 100, quiet), 200);
    assert.equal(requeueAt([draining({ ladder })], 200, quiet), 30_000);
    assert.equal(
      requeueAt([draining({ ladder }, { drainStartedAt: undefined } as never)], 50, quiet),
      150,
      'it begins now',
    );
    assert.equal(requeueAt([draining({ ladder }, { drainedAt: at(20) })], 50, quiet), 30_000);
    assert.deepEqual(asked([draining({ ladder }, { drainedAt: at(20) })], 150), [
      ['a', 'evict', undefined, false],
    ]);
  });

  test('one that fails keeps the node; one that releases gives it back; an empty node is drained whatever the rung', () => {
    const phase = (action: Rung['action'], pods: NodeSnapshot['pods'] = [makePod('a')]) => {
      const { writes, calls } = looked([draining({ ladder: [{ afterSeconds: 10, action }] })], 20, {
        pods: pods ?? [],
      });
      const status = writes.find(({ reportOf }) => reportOf !== undefined)?.body['status'] as
        | { phase?: string; problem?: string }
        | undefined;
      return [status?.phase, status?.problem?.split(';')[1], calls.length];
    };
    assert.deepEqual(phase('Fail'), ['Failed', ' the node stays held', 0]);
    assert.deepEqual(phase('Release'), ['Failed', ' the node is released', 0]);
    assert.deepEqual(phase('KeepTrying'), ['Draining', undefined, 1]);
    assert.deepEqual(phase('Fail', []), ['Drained', undefined, 0]);
  });

  test('a drain that ran out of time stays held, and asks for nothing', () => {
    const { calls, writes } = looked(
      [draining({}, { state: 'Failed', failure: 'DeadlineExceeded' })],
      20,
    );
    assert.deepEqual(calls, []);
    assert.ok(!writes.some(({ description: what }) => what === 'release the node'));
  });
});

describe('several requests on one node', () => {
  const [evicting, deleting] = [draining(), draining({ disableEviction: true }, {}, 'two')];
  test('the one that may do most decides how a pod goes, in whatever order they came', () => {
    for (const requests of [
      [evicting, deleting],
      [{ ...deleting, createdAt: at(-9) }, evicting],
    ]) {
      assert.deepEqual(asked(requests, 1), [['a', 'delete', undefined, false]]);
    }
  });

  test('one that agrees to shutting VMs down is enough', () => {
    const vmi = makeVmi('db', { strategy: 'None' });
    const kubevirt = { pods: [launcherOf(vmi)], vms: makeVms({ vmis: [vmi] }) };
    const waits = draining(
      { virtualMachines: { ...seedPolicy.virtualMachines, notMigrated: 'Wait' } },
      {},
      'two',
    );
    assert.equal(looked([waits], 1, kubevirt).calls.length, 0);
    for (const requests of [
      [evicting, waits],
      [waits, evicting],
      [{ ...waits, createdAt: at(-9) }, evicting],
    ])
      assert.equal(looked(requests, 1, kubevirt).calls.length, 1);
  });

  test('of those that may do as much the oldest decides how long a pod gets', () => {
    const [five, nine] = [
      draining({ gracePeriodSeconds: 5 }),
      draining({ gracePeriodSeconds: 9 }, {}, 'two'),
    ];
    const careful = {
      virtualMachines: { ...seedPolicy.virtualMachines, notMigrated: 'Wait' },
    } as const;
    assert.deepEqual(asked([five, nine], 1), [['a', 'evict', 5, false]]);
    assert.deepEqual(asked([five, { ...nine, createdAt: at(-9) }], 1), [['a', 'evict', 9, false]]);
    const waiting = [
      draining({ gracePeriodSeconds: 5, ...careful }),
      draining({ gracePeriodSeconds: 9, ...careful }, {}, 'two'),
    ];
    assert.deepEqual(asked(waiting, 1), [['a', 'evict', 5, false]]);
  });

  test('none is called empty by a list that may be older than the hold, as long as one has nothing left', () => {
    const none = draining({ podSelector: { matchLabels: { app: 'other' } } }, {}, 'two');
    assert.deepEqual(asked([evicting, none], 1, { podsConfirmed: false }), []);
    assert.equal(asked([evicting, none], 1).length, 1);
  });
});

describe('pods that take too long to end', () => {
  const leaving = makePod('a', { deletionTimestamp: at(30), deletionGraceSeconds: 30 });
  test('stop to count when the policy says so, and that is looked out for', () => {
    assert.equal(
      requeueAt([draining({ skipWaitForDeleteTimeoutSeconds: 20 })], 10, {
        ...quiet,
        pods: [leaving],
      }),
      51,
    );
    assert.equal(
      requeueAt([draining()], 10, { ...quiet, pods: [leaving] }),
      60,
      'else only that they are stuck',
    );
    const ignored = draining({
      skipWaitForDeleteTimeoutSeconds: 20,
      podSelector: { matchLabels: { app: 'other' } },
    });
    assert.equal(requeueAt([ignored], 10, { ...quiet, pods: [leaving] }), 30_000);
    assert.equal(
      requeueAt([draining({ skipWaitForDeleteTimeoutSeconds: 20 })], 10, {
        ...quiet,
        pods: [makePod('b')],
        budgets: [makeBudget('x', { disruptionsAllowed: 0 })],
      }),
      70,
    );
  });
});

describe('what is said of pods that stay', () => {
  type Told = { readonly blockers?: readonly string[] };
  const blockers = (pod: Parameters<typeof makePod>[1], policy: Partial<DrainPolicy> = {}) => {
    const { writes } = looked([draining(policy, { state: 'Pending' })], 1, {
      pods: [makePod('a', pod)],
    });
    return (
      writes.find(({ reportOf }) => reportOf !== undefined)?.body['status'] as Told | undefined
    )?.blockers;
  };
  test('a pod that is left to finish, and a volume of a VM that goes along', () => {
    assert.deepEqual(blockers({}, { awaitPods: [{ ownerKinds: ['ReplicaSet'] }] }), [
      'AwaitingCompletion a',
    ]);
    const owner = { kind: 'Pod', name: 'x', uid: 'x', apiVersion: 'v1' };
    const request = draining({}, { state: 'Pending' });
    const volume = makePod('hp-volume-1', { owner });
    const { writes } = looked([request], 1, { pods: [volume] });
    assert.deepEqual(
      (writes.find(({ reportOf }) => reportOf !== undefined)?.body['status'] as Told | undefined)
        ?.blockers,
      ['EarlierWave hp-volume-1'],
    );
  });
});

describe('pods that came after the node was held are moved on more slowly each time', () => {
  const pods = [makePod('a')];
  const recreations = new Map([['shop/ReplicaSet/web-1', { count: 5, lastAt: at(99) }]]);
  const notesOf = (residents: readonly string[]) => ({
    ...emptyMemo,
    recreations,
    residents: new Set(residents),
  });

  test('those that were not on the first list after the hold', () => {
    assert.deepEqual(asked([draining()], 100, { pods, memo: notesOf(['uid-shop-b']) }), []);
    assert.equal(asked([draining()], 100, { pods, memo: notesOf(['uid-shop-a']) }).length, 1);
  });

  test('no lease, no time of a pod and no clock has a say in it', () => {
    const notes = { ...emptyMemo, recreations };
    for (const acquireTime of [at(-1e6), at(50), at(1e6)])
      for (const createdAt of [at(-1e6), at(0), at(100), at(1e6)]) {
        const leases = new Map([[ourLease.key, { ...ourLease, acquireTime }]]);
        assert.equal(
          asked([draining()], 100, { pods: [makePod('a', { createdAt })], memo: notes, leases })
            .length,
          1,
        );
      }
  });

  test('which those are is remembered while the node is held, and no longer', () => {
    const residents = (over: Partial<NodeSnapshot>) =>
      looked([draining()], 1, { pods, ...over }).notes.residents;
    assert.deepEqual(residents({}), new Set(['uid-shop-a']));
    assert.deepEqual(residents({ memo: notesOf(['uid-shop-b']) }), new Set(['uid-shop-b']));
    assert.equal(residents({ podsConfirmed: false }), undefined, 'an older list proves nothing');
    assert.equal(
      residents({ memo: notesOf(['uid-shop-b']), node: makeNode(), podsConfirmed: false }),
      undefined,
    );
  });
});

describe('how far the drain is', () => {
  const daemon = makePod('agent', {
    owner: { kind: 'DaemonSet', name: 'agent', uid: 'ds', apiVersion: 'apps/v1' },
  });
  const counted = (pods: NodeSnapshot['pods'], notes = emptyMemo) => {
    const snapshot = makeSnapshot({ requests: [draining()], pods: pods ?? [], memo: notes });
    const { decision, reports } = decideDrainOnly(snapshot, at(10));
    return { notes: decision.notes, pods: reports[0]?.pods };
  };
  test('pods that stay are counted among all, and not among those that have to leave', () => {
    const first = counted([makePod('a'), makePod('b'), daemon]);
    assert.deepEqual(first.pods, { toEvict: 2, gone: 0, waiting: 2, total: 3 });
    const then = counted([makePod('b'), daemon], first.notes);
    assert.deepEqual(then.pods, { toEvict: 2, gone: 1, waiting: 1, total: 3 });
    assert.deepEqual(counted([daemon], then.notes).pods, {
      toEvict: 2,
      gone: 2,
      waiting: 0,
      total: 3,
    });
  });

  test('when the VMs will have moved is told', () => {
    const vmis = [makeVmi('db')];
    const samples = [{ bytes: 2 * 2 ** 30, waitedSeconds: 2, copiedSeconds: 10 }];
    const snapshot = makeSnapshot({
      requests: [draining()],
      pods: vmis.map(vmi => launcherOf(vmi)),
      vms: makeVms({ vmis, samples }),
    });
    assert.equal(
      decideDrainOnly(snapshot, at(10)).reports[0]?.estimatedEnd?.toString(),
      at(22).toString(),
    );
  });

  test('what is left to end by itself, or goes along with a VM, is said in words', () => {
    const said = (
      pod: Parameters<typeof makePod>[1],
      policy: Partial<DrainPolicy> = {},
      name = 'a',
    ) => {
      const snapshot = makeSnapshot({ requests: [draining(policy)], pods: [makePod(name, pod)] });
      return decideDrainOnly(snapshot, at(10)).reports[0]?.blockers.map(({ message }) => message);
    };
    assert.deepEqual(said({}, { awaitPods: [{}] }), [
      'is left to finish by itself, as the policy demands',
    ]);
    const owner = { kind: 'Pod', name: 'x', uid: 'x', apiVersion: 'v1' };
    assert.deepEqual(said({ owner }, {}, 'hp-volume-1'), ['is a volume of a VM, and goes with it']);
  });
});

test('a VM that cannot move is shut down so long after the drain began, and it begins with the first look', () => {
  const vmi = makeVmi('db', { migratable: false });
  const policy = {
    virtualMachines: {
      ...seedPolicy.virtualMachines,
      notMigratable: 'ShutDown',
      shutDownAfterSeconds: 60,
    },
  } as const;
  const over = { ...quiet, pods: [launcherOf(vmi)], vms: makeVms({ vmis: [vmi] }) };
  const { drainStartedAt: _, ...history } = draining().history;
  const fresh = { ...draining(policy), history };
  assert.deepEqual([asked([fresh], 10, over), requeueAt([fresh], 10, over)], [[], 70]);
  assert.deepEqual(
    [asked([draining(policy)], 10, over), requeueAt([draining(policy)], 10, over)],
    [[], 60],
  );
});

test('a drain that pauses or has run out of time holds its node, whatever else', () => {
  const after = (progress: Partial<RequestProgress>, pods = [makePod('a')]) => {
    const { context } = drain(makeContext([makeProgress(progress)], { pods }));
    return context.progresses.map(({ holds, failure }) => [
      holds,
      failure,
      context.plan.calls.length,
    ]);
  };
  const late = (action: Rung['action']) => ({
    request: draining({ ladder: [{ afterSeconds: 10, action }] }),
  });
  assert.deepEqual(after({}), [[true, undefined, 1]]);
  assert.deepEqual(after({ paused: true }), [[true, undefined, 0]]);
  assert.deepEqual(after({ failure: 'DeadlineExceeded' }), [[true, 'DeadlineExceeded', 0]]);
  assert.deepEqual(after(late('Fail')), [[true, 'DeadlineExceeded', 0]]);
  assert.deepEqual(
    after(late('Release')),
    [[true, 'Released', 0]],
    'it is released once that is stored',
  );
});
