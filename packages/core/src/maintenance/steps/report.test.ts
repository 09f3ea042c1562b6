import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { secondsBetween } from '@drydock/apimachinery';
import {
  type MaintenanceFailure,
  type MaintenanceRequest,
  noHistory,
} from '../../request/request.ts';
import { at, heldNode, makeNode, makeRequest, makeSnapshot } from '../../testing/make.ts';
import type { VmStatus } from '../../vm/vm-status.ts';
import {
  type DrainProgress,
  type ReconcileContext,
  type RequestProgress,
  startContext,
} from '../reconcile-context.ts';
import { emptyMemo, type NodeSnapshot } from '../snapshot.ts';
import { lifecycleConditionsFor } from './quorum.ts';
import { memoAfter, reports } from './report.ts';

const now = at(100);

/** Of ten pods four have left. */
const half: DrainProgress = {
  count: { toEvict: 10, gone: 4, waiting: 6 },
  total: 11,
  tally: { base: 0, seen: new Set(['u1']) },
  waiting: [{ namespace: 'shop', name: 'a' }],
  blockerInfos: [],
  complete: false,
  emptied: false,
  vms: [],
};

function contextOf(
  progress: Partial<RequestProgress> = {},
  request: Partial<MaintenanceRequest> = {},
  snapshot: Partial<NodeSnapshot> = {},
): ReconcileContext {
  const context = startContext(
    makeSnapshot({ requests: [makeRequest('one', request)], ...snapshot }),
    now,
  );
  return {
    ...context,
    progresses: context.progresses.map(one => ({
      ...one,
      granted: true,
      holds: true,
      ...progress,
    })),
  };
}

function reported(...args: Parameters<typeof contextOf>) {
  return reports(contextOf(...args), true);
}
function report(...args: Parameters<typeof contextOf>) {
  const [found] = reported(...args);
  assert.ok(found);
  return found.report;
}
function history(over: Partial<MaintenanceRequest['history']>): Partial<MaintenanceRequest> {
  return { history: { ...noHistory, ...over } };
}

describe('the state', () => {
  const rows: readonly (readonly [
    string,
    Partial<RequestProgress>,
    Partial<MaintenanceRequest>,
    string,
  ])[] = [
    ['failed, whatever else', { failure: 'LeaseLost', drain: half }, {}, 'Failed'],
    ['announced only', {}, { level: 'Announce' }, 'Announced'],
    ['drained', { drain: { ...half, complete: true, emptied: true } }, {}, 'Drained'],
    [
      'emptied, and volumes are still attached',
      { drain: { ...half, emptied: true } },
      {},
      'Detaching',
    ],
    ['under way', { drain: half }, {}, 'Draining'],
    ['cordoned', {}, { level: 'Cordon' }, 'Cordoned'],
    ['held, and its pods are not known yet', {}, {}, 'Draining'],
    ['not held', { holds: false }, {}, 'Pending'],
    [
      'held and not granted: as it was',
      { granted: false, problem: { reason: 'LeaseLost', message: '' } },
      history({ state: 'Drained' }),
      'Drained',
    ],
    [
      'held and not granted, for the first time',
      { granted: false, problem: { reason: 'LeaseLost', message: '' } },
      {},
      'Pending',
    ],
  ];
  for (const [what, progress, request, wanted] of rows)
    test(`${what}: ${wanted}`, () => assert.equal(report(progress, request).state, wanted));
});

describe('a node is said to be held when it was seen to carry all marks, whatever is wanted', () => {
  const trouble = { reason: 'WriteRefused', message: 'cannot write: no' };
  const [first, second] = heldNode.taints;
  const taints = [first, second].filter(taint => taint !== undefined);
  const rows: readonly (readonly [what: string, node: NodeSnapshot['node'], held: boolean])[] = [
    ['all of them', heldNode, true],
    ['all of them, whoever has put them there', makeNode({ unschedulable: true, taints }), true],
    ['nothing, the first write was refused', makeNode(), false],
    ['the record alone', makeNode({ holdRecord: heldNode.holdRecord ?? '' }), false],
    ['no cordon', { ...heldNode, unschedulable: false }, false],
    ['one taint less', { ...heldNode, taints: taints.slice(1) }, false],
    ['the other taint less', { ...heldNode, taints: taints.slice(0, 1) }, false],
  ];
  for (const [what, node, held] of rows)
    for (const state of [undefined, 'Pending', 'Draining'] as const)
      test(`${what}, ${state ?? 'new'}: ${held ? 'held' : 'not held'}`, () => {
        const over = { trouble, ...(node && { node }) };
        const seen = report({}, state === undefined ? {} : history({ state }), over);
        assert.deepEqual([seen.held, seen.state], [held, held ? 'Draining' : (state ?? 'Pending')]);
        assert.equal(report({ holds: false }, {}, over).held, false, 'and nothing is wanted');
      });

  test('a refused write is announced, once', () => {
    const told = (status: MaintenanceRequest['status']) =>
      reported({}, { status }, { trouble, node: makeNode() })[0]?.write?.events.map(
        ({ type, reason, message }) => [type, reason, message],
      );
    assert.deepEqual(told({}), [['Warning', 'WriteRefused', 'cannot write: no']]);
    assert.deepEqual(
      told({ phase: 'Other', conditions: [{ type: 'NodeHeld', message: 'cannot write: no' }] }),
      [],
    );
    assert.deepEqual(
      told({ conditions: [{ type: 'NodeHeld', message: 'cannot write: another' }] })?.length,
      1,
    );
  });
});

describe('of blockers that need help somebody is told once', () => {
  const denied = (name: string): DrainProgress['blockerInfos'][number] => ({
    reason: 'AdmissionDenied',
    pod: { namespace: 'shop', name },
    message: 'no',
  });
  const drain = (...names: readonly string[]): Partial<RequestProgress> => ({
    drain: { ...half, blockerInfos: names.map(denied) },
  });
  const naming = { adapter: { ...makeRequest('one').adapter, namesBlockers: true as const } };
  const id = (name: string): string => `AdmissionDenied shop/${name} `;
  const events = (
    names: readonly string[],
    told: {
      readonly last?: readonly string[];
      readonly stored?: readonly string[];
      readonly count?: number;
    },
  ) => {
    const reportedNow =
      told.last &&
      new Map([['plains.test//one', { at: at(0), gist: '', stuck: new Set(told.last.map(id)) }]]);
    const blockedSince = new Map((told.stored ?? []).map(name => [id(name), at(0)]));
    const count = told.count ?? told.stored?.length;
    const past = history({
      state: 'Draining',
      blockedSince,
      ...(count !== undefined && { blockerCount: count }),
    });
    const notes = { ...emptyMemo, ...(reportedNow && { reported: reportedNow }) };
    return reported(drain(...names), { ...naming, ...past }, { memo: notes })[0]?.write?.events.map(
      ({ reason }) => reason,
    );
  };
  test('those that are new, by the last report', () => {
    assert.deepEqual(events(['a'], {}), ['DrainBlocked']);
    assert.deepEqual(events(['a'], { last: ['a'] }), []);
    assert.deepEqual(events(['a', 'b'], { last: ['a'] }), ['DrainBlocked']);
    assert.deepEqual(
      events(['a', 'b'], { last: ['a', 'b'], stored: ['a'], count: 2 }),
      [],
      'the stored list was cut',
    );
  });
  test('after a restart, by what is stored, and where that was cut by its causes', () => {
    assert.deepEqual(events(['a'], { stored: ['a'] }), []);
    assert.deepEqual(events(['a', 'b'], { stored: ['a'] }), ['DrainBlocked']);
    assert.deepEqual(events(['a', 'b'], { stored: ['a'], count: 2 }), []);
  });
});

test('that marks are removed is news: the first time, from somebody else, and when it is twice as often', () => {
  const draining = history({ state: 'Draining' });
  const restored = (count: number, by?: string) => ({
    count,
    since: at(0),
    lastAt: at(99),
    ...(by !== undefined && { by }),
  });
  const waits = (
    before: ReturnType<typeof restored> | undefined,
    now: ReturnType<typeof restored>,
  ): number | undefined => {
    const first = { ...contextOf({}, draining), ...(before && { restored: before }) };
    const gist =
      memoAfter(first, reports(first, true)).reported.get('plains.test//one')?.gist ?? '';
    const last = new Map([['plains.test//one', { at: at(94), gist, stuck: new Set<string>() }]]);
    const [found] = reported({}, draining, {
      memo: { ...emptyMemo, reported: last, restored: now },
    });
    return found?.write === undefined && found?.requeueAt
      ? secondsBetween(at(0), found.requeueAt)
      : undefined;
  };
  assert.equal(waits(undefined, restored(1)), undefined, 'written now');
  assert.equal(waits(restored(1), restored(2)), undefined);
  assert.equal(waits(restored(2), restored(2, 'x')), undefined);
  assert.equal(waits(restored(4, 'x'), restored(7, 'x')), 154, 'a minute after the last one');
});

test('what passes by itself in most cases has another reason once it has lasted, since the same moment, and that is looked out for', () => {
  const lasting = { reason: 'TooFewHealthy', afterSeconds: 120 } as const;
  const info = {
    reason: 'DisruptionBudget',
    pod: { namespace: 'shop', name: 'a' },
    message: '',
    lasting,
  } as const;
  const seen = (
    since: number,
    reason: 'DisruptionBudget' | 'TooFewHealthy' = 'DisruptionBudget',
  ) => {
    const notes = { ...emptyMemo, blockedSince: new Map([[`${reason} shop/a `, at(since)]]) };
    const [found] = reported(
      { drain: { ...half, blockerInfos: [info] } },
      history({ state: 'Draining' }),
      { memo: notes },
    );
    const [blocker] = found?.report.blockers ?? [];
    assert.ok(blocker !== undefined && !('lasting' in blocker), 'it is no part of what is stored');
    return [
      blocker.reason,
      secondsBetween(at(0), blocker.since),
      found?.requeueAt && secondsBetween(at(0), found.requeueAt),
    ];
  };
  assert.deepEqual(seen(-19), ['DisruptionBudget', -19, 101]);
  assert.deepEqual(seen(-20), ['TooFewHealthy', -20, undefined]);
  assert.deepEqual(seen(-500, 'TooFewHealthy'), ['TooFewHealthy', -500, undefined]);
});

test('blockers come so that each reason is among the first', () => {
  const info = (reason: 'AdmissionDenied' | 'Forbidden' | 'DisruptionBudget', name: string) => ({
    reason,
    pod: { namespace: 'shop', name },
    message: '',
  });
  const blockerInfos = [
    ...['a', 'b', 'c'].map(name => info('AdmissionDenied', name)),
    info('Forbidden', 'd'),
    info('DisruptionBudget', 'e'),
  ];
  const { blockers } = report({ drain: { ...half, blockerInfos } });
  assert.deepEqual(
    blockers.map(({ pod }) => pod?.name),
    ['a', 'd', 'e', 'b', 'c'],
  );
});

describe('times', () => {
  const times = (...args: Parameters<typeof contextOf>) => {
    const { drainStartedAt, drainedAt, estimatedEnd } = report(...args);
    return [drainStartedAt, drainedAt, estimatedEnd].map(
      time => time && secondsBetween(at(0), time),
    );
  };
  const begun = history({ drainStartedAt: at(0) });

  test('the drain begins with the first look at its pods, and ends with the first time that it is complete', () => {
    assert.deepEqual(times({}), [undefined, undefined, undefined]);
    assert.deepEqual(
      times({ drain: half }),
      [100, undefined, undefined],
      'nothing can be told of the pace yet',
    );
    assert.deepEqual(times({ drain: { ...half, complete: true } }, begun), [0, 100, undefined]);
    assert.deepEqual(
      times({}, begun),
      [0, undefined, undefined],
      'its pods are not known at the moment',
    );
    assert.deepEqual(
      times({ drain: half }, history({ drainStartedAt: at(0), drainedAt: at(50) })),
      [0, 50, undefined],
    );
  });

  test('the end is told from the pace so far', () =>
    assert.deepEqual(times({ drain: half }, begun), [0, undefined, 250]));

  test('it is not told when somebody has to help first', () => {
    const pod = { namespace: 'shop', name: 'a' };
    const [spent, denied] = [
      { reason: 'DisruptionBudget', pod, message: '' },
      { reason: 'AdmissionDenied', pod, message: '' },
    ] as const;
    assert.deepEqual(times({ drain: { ...half, blockerInfos: [spent] } }, begun), [
      0,
      undefined,
      250,
    ]);
    assert.deepEqual(times({ drain: { ...half, blockerInfos: [spent, denied] } }, begun), [
      0,
      undefined,
      undefined,
    ]);
  });

  test('what begins anew another time has no times', () =>
    assert.deepEqual(times({ drain: half, restarts: true }, begun), [
      undefined,
      undefined,
      undefined,
    ]));

  test('VMs are waited for; pods beside them only when they take longer', () => {
    const vm = (state: VmStatus['state']): VmStatus => ({
      platform: 'KubeVirt',
      id: state,
      name: state,
      state,
    });
    const end = (drain: Partial<DrainProgress>) =>
      times({ drain: { ...half, ...drain } }, begun)[2];
    assert.equal(end({ vms: [vm('Moved'), vm('Migrating')], vmsMovedAt: at(300) }), 300);
    assert.equal(
      end({ vms: [vm('Moved'), vm('Migrating')], vmsMovedAt: at(200) }),
      250,
      'pods take longer',
    );
    assert.equal(end({ vms: [vm('Moved')], vmsMovedAt: at(900) }), 250, 'none is on its way');
    assert.equal(end({ vms: [vm('Migrating')] }), undefined, 'nothing can be told of the VM');
    assert.equal(
      end({
        count: { toEvict: 5, gone: 4, waiting: 1 },
        vms: [vm('Migrating')],
        vmsMovedAt: at(110),
      }),
      110,
      'the VM is all that waits',
    );
    assert.equal(
      end({
        count: { toEvict: 6, gone: 4, waiting: 2 },
        vms: [vm('Migrating'), vm('Cannot')],
        vmsMovedAt: at(110),
      }),
      150,
      'what cannot move waits with the pods',
    );
    assert.equal(
      end({
        count: { toEvict: 3, gone: 1, waiting: 2 },
        vms: [vm('Migrating')],
        vmsMovedAt: at(110),
      }),
      110,
      'too few have left to tell of pods',
    );
  });
});

describe('blockers', () => {
  const pod = (name: string) => ({ namespace: 'shop', name });
  const blockerInfos = [
    { reason: 'Terminating', pod: pod('b'), message: '' },
    { reason: 'Terminating', pod: pod('a'), message: '' },
    { reason: 'LocalData', pod: pod('z'), message: '' },
  ] as const;

  test('those that need somebody come first, then by name, in whatever order they were found', () => {
    for (const found of [blockerInfos, blockerInfos.toReversed()]) {
      assert.deepEqual(
        report({ drain: { ...half, blockerInfos: found } }).blockers.map(({ pod }) => pod?.name),
        ['z', 'a', 'b'],
      );
    }
  });

  test('each is known since the first look at it, as remembered, else as stored', () => {
    const since = (
      remembered: ReadonlyMap<string, Temporal.Instant>,
      stored: ReadonlyMap<string, Temporal.Instant>,
    ) =>
      report(
        { drain: { ...half, blockerInfos: blockerInfos.slice(2) } },
        history({ blockedSince: stored }),
        {
          memo: { ...emptyMemo, blockedSince: remembered },
        },
      ).blockers[0]?.since.toString();
    const [id, none] = ['LocalData shop/z ', new Map<string, Temporal.Instant>()];
    assert.equal(since(none, none), now.toString());
    assert.equal(since(none, new Map([[id, at(5)]])), at(5).toString());
    assert.equal(since(new Map([[id, at(7)]]), new Map([[id, at(5)]])), at(7).toString());
  });
});

describe('what else is said', () => {
  test('pods in numbers and by name, once they are known', () => {
    assert.partialDeepStrictEqual(report({ drain: half }), {
      pods: { toEvict: 10, gone: 4, waiting: 6, total: 11 },
      waiting: half.waiting,
      held: true,
    });
    const unknown = report({});
    assert.deepEqual(
      [
        unknown.waiting,
        'pods' in unknown,
        'vms' in unknown,
        'startsAt' in unknown,
        'failure' in unknown,
      ],
      [[], false, false, false, false],
    );
  });

  test('VMs, those that left before included', () => {
    const told = (before: { moved: number; stopped: number }, vms: readonly VmStatus[] = []) =>
      reports(
        { ...contextOf({ drain: { ...half, vms } }), vms: { vms: new Map(), before } },
        true,
      )[0]?.report.vmsBefore;
    assert.equal(told({ moved: 0, stopped: 0 }), undefined);
    assert.deepEqual(told({ moved: 1, stopped: 0 }), { moved: 1, stopped: 0 });
    assert.deepEqual(told({ moved: 1, stopped: 1 }), { moved: 1, stopped: 1 });
    assert.deepEqual(told({ moved: 0, stopped: 1 }), { moved: 0, stopped: 1 });
    const vm = { platform: 'KubeVirt', id: '1', name: 'x', state: 'Moved' } as const;
    assert.deepEqual(told({ moved: 1, stopped: 0 }, [vm]), { moved: 1, stopped: 0 });
  });

  test('the problem is its own, else what has failed, else the trouble with the last write', () => {
    const trouble = { reason: 'WriteRefused', message: 'no' };
    const said = (progress: Partial<RequestProgress>) =>
      report(progress, {}, { trouble }).problem?.reason;
    assert.equal(said({ problem: { reason: 'Own', message: '' } }), 'Own');
    assert.equal(said({}), 'WriteRefused');
    assert.equal(said({ failure: 'Released' }), 'Released');
    assert.equal(said({ failure: 'LeaseLost' }), undefined);
    assert.equal(report({ startsAt: at(900) }).startsAt?.toString(), at(900).toString());
  });

  test('nothing, as long as nothing is known, unless a write is in trouble', () => {
    const count = (
      finished: boolean,
      progress: Partial<RequestProgress>,
      request: Partial<MaintenanceRequest> = {},
      snapshot: Partial<NodeSnapshot> = {},
    ) => reports(contextOf(progress, request, snapshot), finished).length;
    assert.deepEqual(
      [count(true, {}), count(false, {}), count(true, { granted: false })],
      [1, 0, 0],
    );
    assert.equal(count(true, { granted: false }, { level: 'Announce' }), 1);
    assert.deepEqual(
      [
        count(false, { failure: 'LeaseLost' }),
        count(false, { problem: { reason: 'x', message: '' } }),
      ],
      [1, 1],
    );
    assert.equal(count(false, {}, {}, { trouble: { reason: 'x', message: '' } }), 1);
  });

  test('one that is written to for another reason is left for the next look', () => {
    const context = contextOf({ drain: half });
    const write = {
      description: 'claim',
      method: 'PATCH',
      path: '/apis/test/v1/plains/one',
      body: {},
      cache: 'requests',
      events: [],
    } as const;
    assert.equal(reports({ ...context, writes: [write] }, true).length, 0);
    assert.equal(
      reports({ ...context, writes: [{ ...write, path: '/apis/test/v1/plains/two' }] }, true)
        .length,
      1,
    );
  });
});

describe('when a status is written', () => {
  const draining = history({ state: 'Draining' });
  const wrote = (
    secondsAgo: number,
    gist: 'same' | 'other',
    progress: Partial<RequestProgress> = {},
    request: Partial<MaintenanceRequest> = draining,
  ) => {
    const first = contextOf({ drain: half }, request);
    const gistNow = memoAfter(first, reports(first, true)).reported.get('plains.test//one')?.gist;
    const last = new Map([
      [
        'plains.test//one',
        {
          at: at(100 - secondsAgo),
          gist: gist === 'same' ? String(gistNow) : 'other',
          stuck: new Set<string>(),
        },
      ],
    ]);
    const [found] = reported({ drain: half, ...progress }, request, {
      memo: { ...emptyMemo, reported: last },
    });
    return [found?.write !== undefined, found?.requeueAt && secondsBetween(at(0), found.requeueAt)];
  };

  test('progress every five seconds, mere words every minute, and not looked at before', () => {
    assert.deepEqual(wrote(4, 'other'), [false, 101]);
    assert.deepEqual(wrote(5, 'other'), [true, undefined]);
    assert.deepEqual(wrote(59, 'same'), [false, 101]);
    assert.deepEqual(wrote(60, 'same'), [true, undefined]);
  });

  test('a transition at once', () => {
    assert.deepEqual(wrote(0, 'other', { drain: { ...half, complete: true } }), [true, undefined]);
    assert.deepEqual(wrote(0, 'other', { leaseErrors: 1 }), [true, undefined]);
  });

  test('only what differs from what is stored; when it will read differently is looked out for', () => {
    const stored = reported({ drain: half }, draining)[0]?.write?.body[
      'status'
    ] as MaintenanceRequest['status'];
    const [found] = reported({ drain: half }, { ...draining, status: stored });
    assert.deepEqual([found?.write, found?.requeueAt], [undefined, undefined]);
    const { adapter } = makeRequest('one');
    const slowly = { ...draining, adapter: { ...adapter, readsDifferentlyAt: () => at(130) } };
    assert.equal(reported({ drain: half }, slowly)[0]?.requeueAt?.toString(), at(130).toString());
  });

  test('the end is announced once: well, or badly', () => {
    const announced = (
      progress: Partial<RequestProgress>,
      state?: MaintenanceRequest['history']['state'],
    ) =>
      reported(progress, history(state === undefined ? {} : { state }))[0]?.write?.events.map(
        ({ type, reason }) => `${type} ${reason}`,
      );
    assert.deepEqual(announced({ drain: { ...half, complete: true } }, 'Draining'), [
      'Normal Succeeded',
    ]);
    assert.deepEqual(announced({ drain: { ...half, complete: true } }, 'Drained'), []);
    assert.deepEqual(announced({ failure: 'LeaseLost' }), ['Warning Failed']);
    assert.deepEqual(announced({ drain: half }), []);
  });
});

describe('the notes for the next look', () => {
  const notes = (context: ReconcileContext) => memoAfter(context, reports(context, true));
  test('are of the requests that are still there', () => {
    const tally = { base: 1, seen: new Set<string>() };
    const last = { at: at(99), gist: '', stuck: new Set<string>() };
    const before = {
      ...emptyMemo,
      tallies: new Map([
        ['plains.test//one', tally],
        ['gone', tally],
      ]),
      reported: new Map([
        ['plains.test//one', last],
        ['gone', last],
      ]),
    };
    const after = notes(
      contextOf({ problem: { reason: 'x', message: '' } }, history({ state: 'Draining' }), {
        memo: before,
      }),
    );
    assert.deepEqual(
      [[...after.tallies.keys()], [...after.reported.keys()]],
      [['plains.test//one'], ['plains.test//one']],
    );
    assert.equal(
      after.reported.get('plains.test//one')?.at.toString(),
      at(99).toString(),
      'nothing was written',
    );
  });

  test('are of who holds the node, once it is held', () => {
    const node = makeNode({ holdRecord: '{}' });
    const holding = (progress: Partial<RequestProgress>, snapshot: Partial<NodeSnapshot>) =>
      [...notes(contextOf(progress, {}, snapshot)).holding].length;
    assert.deepEqual(
      [
        holding({}, { node }),
        holding({ holds: false }, { node }),
        holding({ granted: false }, { node }),
        holding({}, { node: makeNode() }),
      ],
      [1, 0, 0, 0],
    );
  });

  test('keep since when something blocks for as long as nobody has looked at the pods', () => {
    const blockedSince = new Map([['x', at(5)]]);
    assert.deepEqual(
      [...notes(contextOf({}, {}, { memo: { ...emptyMemo, blockedSince } })).blockedSince.keys()],
      ['x'],
    );
    assert.deepEqual(
      [
        ...notes(
          contextOf({ drain: half }, {}, { memo: { ...emptyMemo, blockedSince } }),
        ).blockedSince.keys(),
      ],
      [],
    );
    const two = contextOf(
      {},
      {},
      { memo: { ...emptyMemo, blockedSince }, requests: [makeRequest('one'), makeRequest('two')] },
    );
    const [first, second] = two.progresses as [RequestProgress, RequestProgress];
    assert.deepEqual(
      [...notes({ ...two, progresses: [first, { ...second, drain: half }] }).blockedSince.keys()],
      [],
      'one that has looked is enough',
    );
  });

  test('a seat in the quorum is taken from the moment that a node is to be held until it is seen to be', () => {
    const seat = (progress: Partial<RequestProgress>, node = makeNode()) =>
      notes(contextOf(progress, {}, { node })).seat;
    assert.deepEqual(
      [seat({}), seat({ granted: false }), seat({ holds: false }), seat({}, heldNode)],
      [true, false, false, false],
    );
    const two = contextOf(
      {},
      {},
      { node: makeNode(), requests: [makeRequest('one'), makeRequest('two')] },
    );
    const [first, second] = two.progresses as [RequestProgress, RequestProgress];
    assert.equal(notes({ ...two, progresses: [first, { ...second, granted: false }] }).seat, true);
  });

  test('a lease that was missed is remembered', () => {
    assert.equal(
      notes({ ...contextOf(), leaseMissedAt: at(98) }).leaseMissedAt?.toString(),
      at(98).toString(),
    );
    assert.equal('leaseMissedAt' in notes(contextOf()), false);
  });
});

describe('what the node says', () => {
  type State = 'Draining' | 'Detaching' | 'Drained' | 'Cordoned' | 'Failed' | 'Pending';
  const progresses: Record<State, Partial<RequestProgress>> = {
    Draining: { drain: half },
    Detaching: { drain: { ...half, emptied: true } },
    Drained: { drain: { ...half, complete: true } },
    Cordoned: {},
    Failed: { failure: 'DeadlineExceeded' satisfies MaintenanceFailure },
    Pending: { holds: false, problem: { reason: 'x', message: '' } },
  };
  const said = (states: readonly State[], over: Partial<MaintenanceRequest> = {}, held?: boolean) =>
    lifecycleConditionsFor(
      states.flatMap((state, n) =>
        reports(
          contextOf(
            { ...progresses[state], ...(held !== undefined && { holds: held }) },
            { name: `m${n}`, ...(state === 'Cordoned' && { level: 'Cordon' }), ...over },
          ),
          true,
        ),
      ),
    );
  const words = (...states: readonly State[]) =>
    Object.entries(said(states)).map(
      ([type, word]) => `${type} ${word.status} ${word.reason.replace('Drydock', '')}`,
    );

  test('under way, complete, given up; of several maintenances what is least far counts', () => {
    assert.deepEqual(words('Draining'), [
      'DrainInProgress True DrainStarted',
      'Drained False DrainStarted',
    ]);
    assert.deepEqual(words('Detaching'), [
      'DrainInProgress True DrainStarted',
      'Drained False DrainStarted',
    ]);
    assert.deepEqual(words('Drained'), [
      'DrainInProgress False DrainCompleted',
      'Drained True DrainCompleted',
      'MaintenanceInProgress True MaintenanceHeld',
    ]);
    assert.deepEqual(words('Drained', 'Draining').slice(0, 1), [
      'DrainInProgress True DrainStarted',
    ]);
    assert.deepEqual(words('Failed'), [
      'DrainInProgress False DrainFailed',
      'Drained False DrainFailed',
    ]);
    assert.deepEqual(words('Cordoned'), ['MaintenanceInProgress True MaintenanceHeld']);
    assert.deepEqual(
      words('Draining', 'Cordoned').at(-1),
      'MaintenanceInProgress True MaintenanceHeld',
    );
  });

  test('planned, as long as nobody holds it; what has failed plans nothing', () => {
    assert.deepEqual(words('Pending'), ['MaintenancePlanned True MaintenanceRequested']);
    assert.deepEqual(words('Pending', 'Cordoned'), ['MaintenanceInProgress True MaintenanceHeld']);
    assert.deepEqual(said(['Failed'], {}, false), {});
    assert.deepEqual(said([]), {});
  });

  test('whose it is, and why', () => {
    const owners = (over: Partial<MaintenanceRequest> = {}) =>
      said(['Drained', 'Drained'], over).Drained?.message;
    assert.equal(owners(), 'Plain m0, Plain m1');
    assert.equal(owners({ reason: 'disk' }), 'Plain m0 (disk), Plain m1 (disk)');
    assert.equal(owners({ reason: '' }), 'Plain m0, Plain m1');
  });
});
