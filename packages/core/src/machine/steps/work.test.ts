import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type EventKind, eventKinds } from '../../event-kind.ts';
import { at, makeNode } from '../../testing/make.ts';
import {
  isReady,
  type MachineRequestOverrides,
  type MachineSnapshotOverrides,
  makeChild,
  makeEvent,
  makeMachine,
  makeMachineRequest,
  makeMachineSnapshot,
  makeSet,
} from '../../testing/make-machine.ts';
import { makeWindow } from '../../testing/make-window.ts';
import type { MaintenanceWindow } from '../../window/spans.ts';
import { decideMachine } from '../decide.ts';
import type { MachineEvent } from '../event.ts';
import { hookName, hookOwner } from '../machine.ts';
import type { MachineRequest, MachineStrategy } from '../request.ts';

const now = at(0);

/** Work that began a minute ago. */
function begun(strategy: MachineStrategy, over: MachineRequestOverrides = {}) {
  return makeMachineRequest({
    ...over,
    history: {
      phase: 'Draining',
      startedAt: at(-60),
      strategy,
      set: makeSet().key,
      ...over.history,
    },
  });
}
function decided(seen: MachineSnapshotOverrides, moment = now) {
  return decideMachine(makeMachineSnapshot(seen), moment);
}
function does(seen: MachineSnapshotOverrides, moment = now) {
  const { phase, reason, writes = [], own } = decided(seen, moment);
  return `${phase} ${reason}: ${[...writes, ...(own ? [own] : [])].map(({ description: what }) => what).join()}`;
}

const hook = { name: hookName, owner: hookOwner };
const other = { name: 'other', owner: 'x' };
function replacement(ready: number, set = makeSet()) {
  return { set, members: [makeMachine()], ready, unready: [] };
}

describe('a machine more, before the node is emptied', () => {
  describe('by Cluster API: the set is made larger', () => {
    const capi = makeMachine({ api: 'capi' });
    const larger = makeSet({ api: 'capi', replicas: 4 });
    const surge = (seen: MachineSnapshotOverrides, over: MachineRequestOverrides = {}) =>
      does({
        request: begun('ReplaceWithSurge', over),
        machine: capi,
        replacement: replacement(3, larger),
        ...seen,
      });
    const whole = { machine: { ...capi, preDrainHooks: [other, hook] } };
    test('marked, then larger, then waited for, then emptied', () => {
      assert.equal(
        surge({}),
        'Surging Replacement: keep the machine until its replacement is ready',
      );
      assert.equal(
        surge({ machine: { ...capi, preDrainHooks: [other] } }),
        'Surging Replacement: keep the machine until its replacement is ready',
      );
      assert.equal(surge(whole), 'Surging Replacement: add a machine');
      assert.equal(surge({ ...whole, surged: [larger] }), 'Surging Replacement: ');
      assert.equal(
        surge({ ...whole, surged: [larger], replacement: replacement(4, larger) }),
        'Draining Drain: create the maintenance of the node',
      );
    });
    test('a machine that its cloud has stopped already is none of those that are waited for', () => {
      const stopped = { ...whole, surged: [larger], node: makeNode() };
      assert.equal(surge(stopped), 'Draining Drain: create the maintenance of the node');
      assert.equal(
        surge({ ...stopped, replacement: replacement(2, larger) }),
        'Surging Replacement: ',
        'the one that was added is',
      );
      const failed = {
        ...replacement(2, larger),
        failed: [makeMachine({ api: 'capi', createdAt: at(-999) })],
      };
      assert.equal(
        surge({ ...stopped, replacement: failed }),
        'Surging Replacement: ',
        'it is not counted twice',
      );
    });
    test('not again for one that is on its way out, nor for one that is gone', () => {
      assert.match(surge({ machine: { ...capi, deleting: true } }), /^Draining/);
      assert.match(surge(whole, { deletionIssued: true }), /^Draining/);
      assert.match(surge({ machine: undefined }, { nodeName: 'n1' }), /^Draining/);
    });
  });

  describe('by OpenShift: the machine is deleted, and kept whole by the hook', () => {
    const surge = (seen: MachineSnapshotOverrides, over: MachineRequestOverrides = {}) =>
      does({ request: begun('ReplaceWithSurge', over), replacement: replacement(2), ...seen });
    const whole = makeMachine({ preDrainHooks: [hook] });
    test('hooked, then flagged, then deleted, then waited for, then emptied', () => {
      assert.equal(
        surge({}),
        'Surging Replacement: keep the machine until its replacement is ready',
      );
      assert.equal(
        surge({ machine: whole }),
        'Surging Replacement: record that the machine is to be deleted',
      );
      assert.equal(
        surge({ machine: whole }, { deletionIssued: true }),
        'Surging Replacement: delete the machine',
      );
      const leaving = { ...whole, deleting: true };
      assert.equal(surge({ machine: leaving }, { deletionIssued: true }), 'Surging Replacement: ');
      assert.equal(
        surge({ machine: leaving, replacement: replacement(3) }, { deletionIssued: true }),
        'Draining Drain: create the maintenance of the node',
      );
      assert.match(
        surge({ machine: { ...leaving, preDrainHooks: [] } }, { deletionIssued: true }),
        /^Draining/,
        'somebody has let it go',
      );
    });
  });

  test('Replace makes none', () =>
    assert.match(does({ request: begun('Replace'), replacement: replacement(2) }), /^Draining/));
});

describe('a machine that is lost is not drained: the cloud has taken it, and its node is silent', () => {
  const silent = makeNode({ conditions: [{ ...isReady, status: 'Unknown' }] });
  const taken = (over: Partial<MachineEvent> = {}) =>
    makeEvent({ kind: 'preemption', deadline: at(-31), ...over });
  const isLost = (
    events: readonly MachineEvent[],
    seen: MachineSnapshotOverrides = {},
    over: MachineRequestOverrides = {},
  ): boolean =>
    !does({ request: begun('Replace', { events, ...over }), node: silent, ...seen }).startsWith(
      'Draining Drain',
    );

  test('half a minute after its deadline', () => {
    assert.equal(isLost([taken()]), true);
    assert.equal(isLost([taken({ deadline: at(-30) })]), false);
    assert.equal(isLost([taken({ deadline: at(60) })]), false);
  });
  test('a node that still says that it is Ready is drained; one that has never said anything is silent', () => {
    assert.equal(isLost([taken()], { node: makeNode({ conditions: [isReady] }) }), false);
    assert.equal(isLost([taken()], { node: makeNode() }), true);
  });
  test('one event that takes it is enough, and nothing else does', () => {
    assert.equal(isLost([taken(), makeEvent({ id: 'e2', kind: 'reboot' })]), true);
    const { deadline: _, ...timeless } = taken();
    assert.equal(isLost([timeless]), false, 'nobody knows when');
    assert.equal(isLost([timeless], {}, { deadline: at(-31) }), true, 'the request says when');
  });
  test('nor is one drained that a plan replaces, before and after the end of the event is known', () => {
    const ofPlan = { independent: true, plan: 'replacement' };
    for (const state of ['Scheduled', 'Completed'] as const)
      assert.equal(isLost([taken({ kind: 'stop', state })], {}, ofPlan), true, state);
    assert.equal(isLost([taken({ state: 'Cancelled' })], {}, ofPlan), false);
    assert.equal(isLost([], {}, ofPlan), false);
  });
  const takes: Readonly<Record<EventKind, boolean>> = {
    reboot: false,
    redeploy: false,
    freeze: false,
    maintenance: false,
    rebalance: false,
    stop: true,
    retirement: true,
    termination: true,
    preemption: true,
  };
  for (const kind of eventKinds)
    test(`${kind}: ${takes[kind] ? 'lost' : 'not lost'} when it is over, and past its deadline, by the word of somebody whose word counts`, () => {
      for (const event of [
        taken({ kind }),
        taken({ kind, state: 'Active' }),
        taken({ kind, state: 'Completed' }),
      ]) {
        const next = (request: MachineRequest, node = silent): string =>
          does({ request, node, child: makeChild('Draining') });
        const speaks = makeNode({ conditions: [{ ...isReady, status: 'False' }] });
        const atOnce = kind === 'preemption' || kind === 'termination';
        assert.equal(
          next(begun('Replace', { events: [event] }), speaks).startsWith('Replacing'),
          atOnce,
          'its kubelet speaks still',
        );
        assert.equal(
          next(begun('Replace', { events: [event] })).startsWith('Replacing'),
          takes[kind],
          event.state,
        );
        assert.doesNotMatch(
          next(begun('Drain', { events: [event] })),
          /^Replacing/,
          'a node that is only drained is not lost',
        );
        const sent = next(begun('Replace', { events: [{ ...event, source: 'sender' }] }));
        if (takes[kind]) assert.match(sent, /^Draining Drain/, `${event.state}, by anybody else`);
      }
    });
});

describe('the node is emptied', () => {
  const drain = (seen: MachineSnapshotOverrides, over: MachineRequestOverrides = {}) =>
    decided({ request: begun('Replace', over), ...seen });
  test('the node of the machine, else the one that was noted', () => {
    const nodeOf = (seen: MachineSnapshotOverrides, over: MachineRequestOverrides = {}) =>
      (drain(seen, over).writes?.[0]?.body['spec'] as { nodeName?: string } | undefined)?.nodeName;
    const { nodeName: _, ...nodeless } = makeMachine();
    assert.equal(nodeOf({}, { nodeName: 'n2' }), 'n1');
    assert.equal(
      nodeOf({ machine: nodeless }, { nodeName: 'n2', history: { nodeName: 'n3' } }),
      'n2',
    );
    assert.equal(
      nodeOf({ machine: undefined }, { deletionIssued: true, history: { nodeName: 'n3' } }),
      'n3',
    );
    assert.doesNotMatch(does({ request: begun('Replace'), machine: nodeless }), /^Draining/);
  });

  test('a node that is not known is not taken for one that is gone before the API server has said so', () => {
    const seen = { request: begun('Replace'), node: undefined };
    const asks = decided(seen);
    assert.deepEqual(
      [asks.reason, asks.unseenNode, asks.writes, asks.own, asks.requeueAt?.toString()],
      ['NodeUnknown', { name: 'n1' }, undefined, undefined, at(1).toString()],
    );
    assert.match(asks.message, /^Waiting: reading node n1 of Machine m1/);
    const { nodeName: _, ...nodeless } = makeMachine();
    for (const named of [{ nodeName: 'n2' }, { history: { nodeName: 'n2' } }])
      assert.deepEqual(
        decided({ ...seen, machine: nodeless, request: begun('Replace', named) }).unseenNode,
        { name: 'n2' },
        JSON.stringify(named),
      );
    const provided = { ...nodeless, providerId: 'aws:///a/i-1' };
    assert.deepEqual(
      decided({ ...seen, machine: provided }).unseenNode,
      { providerId: 'aws:///a/i-1' },
      'one that has not named its node',
    );
    const known: readonly MachineSnapshotOverrides[] = [
      { machine: provided, nodeIsGone: true },
      { nodeIsGone: true },
      { machine: nodeless },
      { machine: makeMachine({ deleting: true }) },
      { machine: undefined },
    ];
    for (const more of known)
      assert.match(
        decided({ ...seen, ...more }).phase,
        /^(Replacing|Succeeded)$/,
        JSON.stringify(more),
      );
    const late = decided({
      ...seen,
      request: begun('Replace', { events: [makeEvent({ kind: 'preemption', deadline: at(-31) })] }),
    });
    assert.equal(late.reason, 'NodeUnknown', 'also where its cloud has taken it');
  });

  test('what its Maintenance says is said; one that was paused goes on', () => {
    assert.equal(
      drain({ child: makeChild('Draining', { status: { message: 'two pods left' } }) }).message,
      'mm-m1-uid-mm: two pods left',
    );
    for (const status of [{}, { message: '' }, { message: 5 }])
      assert.equal(
        drain({ child: makeChild('Draining', { status }) }).message,
        'mm-m1-uid-mm is waiting to begin',
      );
    assert.equal(
      does({ request: begun('Replace'), child: makeChild('Draining', { level: 'Cordon' }) }),
      'Draining Drain: continue the drain',
    );
    assert.equal(
      does({
        request: begun('Replace'),
        child: makeChild('Draining', { level: 'Cordon', deleting: true }),
      }),
      'Draining Drain: ',
    );
  });

  test('an event that is over leaves a node to be released, not to be emptied', () => {
    const over = [makeEvent({ kind: 'reboot', state: 'Completed' })];
    assert.equal(
      does({ request: begun('Drain', { events: over }), child: makeChild('Draining') }),
      'Releasing Ending: delete the maintenance of the node',
    );
    assert.match(
      does({
        request: begun('Replace', { events: over, deletionIssued: true }),
        machine: makeMachine({ deleting: true }),
        child: makeChild('Draining'),
      }),
      /^Draining/,
    );
  });
});

describe('when its window closes', () => {
  const window = (atEnd: MaintenanceWindow['atEnd'], from: number, to: number) =>
    makeWindow({ openings: [{ from: at(from), to: at(to) }], atEnd });
  const closed = (
    atEnd: MaintenanceWindow['atEnd'],
    seen: MachineSnapshotOverrides = {},
    from = 3600,
    over: MachineRequestOverrides = {},
  ) =>
    decided({
      request: begun('Replace', over),
      windows: [window(atEnd, from, from + 7200)],
      child: makeChild('Draining'),
      ...seen,
    });
  const brief = ({
    phase,
    reason,
    writes = [],
    requeueAt,
    restarts,
    message,
  }: ReturnType<typeof closed>) => [
    phase,
    reason,
    writes.map(({ description: what }) => what).join(),
    requeueAt?.toString(),
    restarts,
    message.split('; ')[1],
  ];
  const opens = at(3600).toString();

  test('the drain pauses, once, and goes on at the next opening', () => {
    const next = `continues at ${opens}`;
    assert.deepEqual(brief(closed('Pause')), [
      'Draining',
      'WindowClosed',
      'pause the drain',
      opens,
      undefined,
      next,
    ]);
    assert.deepEqual(
      brief(closed('Pause', { child: makeChild('Draining', { level: 'Cordon' }) })),
      ['Draining', 'WindowClosed', '', opens, undefined, next],
    );
    assert.deepEqual(
      brief(closed('Pause', { child: makeChild('Draining', { deleting: true }) }))[2],
      '',
    );
    assert.deepEqual(brief(closed('Pause', { child: undefined }))[2], '');
    assert.deepEqual(brief(closed('Pause', {}, -9000)), [
      'Draining',
      'WindowClosed',
      'pause the drain',
      undefined,
      undefined,
      'no opening is known',
    ]);
  });

  test('or everything is released, and begins anew then', () => {
    assert.deepEqual(brief(closed('Release')).slice(0, 3), [
      'Releasing',
      'Ending',
      'delete the maintenance of the node',
    ]);
    assert.deepEqual(brief(closed('Release', { child: undefined })), [
      'Scheduled',
      'WindowClosed',
      '',
      opens,
      true,
      `continues at ${opens}`,
    ]);
  });

  test('what began because of its deadline, or is urgent, goes on', () => {
    assert.equal(
      closed('Pause', {}, 3600, { history: { becauseOfDeadline: true } }).reason,
      'Drain',
    );
    assert.equal(
      closed('Pause', {}, 3600, { events: [makeEvent({ kind: 'preemption', deadline: at(60) })] })
        .reason,
      'Drain',
    );
    assert.equal(closed('Continue').reason, 'Drain');
  });

  test('while it is open, its end is looked out for', () => {
    assert.equal(closed('Pause', {}, -3600).requeueAt?.toString(), at(3600).toString());
    assert.equal(closed('Continue', {}, -3600).requeueAt, undefined);
  });
});

describe('the machine goes', () => {
  const drained = { child: makeChild('Drained') };
  const goes = (
    strategy: MachineStrategy,
    seen: MachineSnapshotOverrides,
    over: MachineRequestOverrides = {},
  ) => does({ request: begun(strategy, over), ...drained, ...seen });

  test('by its deletion: flagged, deleted, let go by the hook, waited for', () => {
    assert.equal(
      goes('Replace', {}),
      'Replacing MachineDeletion: record that the machine is to be deleted',
    );
    assert.equal(
      goes('Replace', {}, { deletionIssued: true }),
      'Replacing MachineDeletion: delete the machine',
    );
    const leaving = makeMachine({ deleting: true, preDrainHooks: [hook] });
    assert.equal(
      goes('Replace', { machine: leaving }, { deletionIssued: true }),
      'Replacing MachineDeletion: remove the pre-drain hook of the machine',
    );
    assert.equal(
      goes('Replace', { machine: { ...leaving, preDrainHooks: [] } }, { deletionIssued: true }),
      'Replacing MachineDeletion: ',
    );
    assert.match(
      goes(
        'Replace',
        { machine: undefined, replacement: replacement(2) },
        { deletionIssued: true },
      ),
      /^Replacing Replacement: $/,
    );
    assert.match(
      goes('Drain', {}, { events: [makeEvent({ kind: 'reboot' })] }),
      /^Drained EventPending/,
      'Drain replaces nothing',
    );
  });

  test('by Cluster API with a machine more: flagged, deleted, counted back, then let go', () => {
    const larger = makeSet({ api: 'capi', replicas: 4 });
    const capi = makeMachine({ api: 'capi', preDrainHooks: [hook] });
    const surge = (seen: MachineSnapshotOverrides, over: MachineRequestOverrides = {}) =>
      goes(
        'ReplaceWithSurge',
        { machine: capi, surged: [larger], replacement: replacement(4, larger), ...seen },
        over,
      );
    const flagged = { deletionIssued: true };
    assert.equal(surge({}), 'Replacing MachineDeletion: record that the machine is to be deleted');
    assert.equal(surge({}, flagged), 'Replacing MachineDeletion: delete the machine');
    const leaving = { ...capi, deleting: true };
    assert.equal(
      surge({ machine: leaving }, flagged),
      'Replacing MachineDeletion: restore the replica count',
    );
    assert.equal(
      surge({ machine: leaving, surged: [] }, flagged),
      'Replacing MachineDeletion: remove the pre-drain hook of the machine',
    );
    const gone = { machine: undefined, replacement: { ...replacement(4, larger), members: [] } };
    assert.equal(
      surge(gone, flagged),
      'Releasing Ending: restore the replica count',
      'its set has made another by itself',
    );
  });

  test('without a machine more no set is counted back, whatever record it has', () => {
    const larger = makeSet({ api: 'capi', replicas: 4 });
    const leaving = makeMachine({ api: 'capi', deleting: true, preDrainHooks: [hook] });
    assert.equal(
      goes('Replace', { machine: leaving, surged: [larger] }, { deletionIssued: true }),
      'Replacing MachineDeletion: remove the pre-drain hook of the machine',
    );
  });

  test('what keeps it is said', () => {
    const said = (over: Partial<ReturnType<typeof makeMachine>>) =>
      decided({
        request: begun('Replace', { deletionIssued: true }),
        machine: makeMachine({ deleting: true, ...over }),
        ...drained,
      }).message;
    assert.equal(said({}), 'Waiting until Machine m1 is gone');
    assert.equal(said({ statusMessage: 'busy' }), 'Waiting until Machine m1 is gone: busy');
    assert.equal(
      said({ preDrainHooks: [other] }),
      'Waiting until Machine m1 is gone; hooks of others: other (x)',
    );
  });
});

test('a node that outlives its machine is emptied and released once: it is not taken again', () => {
  const gone = { machine: undefined, replacement: replacement(3) };
  const replaced = (drained: boolean) =>
    begun('Replace', {
      deletionIssued: true,
      nodeName: 'n1',
      ...(drained && { history: { drainedAt: at(-30) } }),
    });
  assert.equal(
    does({ ...gone, request: replaced(true), child: makeChild('Drained') }),
    'Releasing Ending: delete the maintenance of the node',
  );
  assert.equal(does({ ...gone, request: replaced(true) }), 'Succeeded Succeeded: ');
  assert.equal(
    does({ ...gone, request: replaced(false) }),
    'Draining Drain: create the maintenance of the node',
    'it was never emptied',
  );
  const guarded = begun('Drain', {
    nodeOnly: true,
    nodeName: 'n1',
    events: [makeEvent({ kind: 'reboot' })],
    history: { drainedAt: at(-30) },
  });
  assert.equal(
    does({ machine: undefined, request: guarded }),
    'Draining Drain: create the maintenance of the node',
    'one that is only drained is',
  );
});

describe('a machine that the operator itself runs on', () => {
  const drained = makeChild('Drained', {
    status: {
      observedGeneration: 1,
      message: 'The node is drained and held; pod drydock/one stays',
    },
  });
  const seen = { child: drained, replacement: replacement(2), operatorPod: 'drydock/one' };

  test('is not deleted before another node runs it, and says why', () => {
    for (const strategy of ['Replace', 'ReplaceWithSurge'] as const) {
      const decision = decided({
        ...seen,
        request: begun(strategy, { deletionIssued: true }),
        machine: makeMachine({ deleting: true, preDrainHooks: [hook] }),
        replacement: replacement(3),
      });
      assert.deepEqual(
        [decision.phase, decision.reason, decision.writes, decision.warning],
        ['Draining', 'OperatorStays', undefined, true],
      );
      assert.match(
        decision.message,
        /^Pod drydock\/one of the operator runs on node n1: machine m1 is kept until .*; pod drydock\/one stays$/,
      );
    }
    assert.equal(does({ ...seen, request: begun('Replace') }), 'Draining OperatorStays: ');
  });

  test('goes once it does, and where it goes already; a node that is only drained is no such machine', () => {
    const { operatorPod: _, ...free } = seen;
    assert.match(does({ ...free, request: begun('Replace') }), /^Replacing/);
    assert.match(
      does({
        ...seen,
        request: begun('Replace', { deletionIssued: true }),
        machine: makeMachine({ deleting: true }),
      }),
      /^Replacing/,
    );
    assert.doesNotMatch(does({ ...seen, request: begun('Drain') }), /OperatorStays/);
  });
});
