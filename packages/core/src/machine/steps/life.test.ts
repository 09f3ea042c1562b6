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
import { decideMachine } from '../decide.ts';
import type { MachineEvent } from '../event.ts';
import { hookName, hookOwner, type Machine, type MachineSet } from '../machine.ts';

const now = at(0);
function decided(seen: MachineSnapshotOverrides, moment = now) {
  return decideMachine(makeMachineSnapshot(seen), moment);
}
function brief(seen: MachineSnapshotOverrides, moment = now) {
  const { phase, reason, own, requeueAt, warning } = decided(seen, moment);
  return [phase, reason, own?.description, requeueAt?.toString(), warning]
    .filter(one => one !== undefined)
    .join(' ');
}
function says(seen: MachineSnapshotOverrides) {
  const { phase, reason } = decided(seen);
  return `${phase} ${reason}`;
}

describe('what is over', () => {
  const over = (
    history: MachineRequestOverrides['history'] = {},
    request: MachineRequestOverrides = {},
  ) =>
    makeMachineRequest({
      events: [makeEvent({ state: 'Completed' })],
      ...request,
      history: { phase: 'Succeeded', completedAt: at(-3600), handled: new Set(['e1']), ...history },
    });

  test('is kept for its time, and then taken away', () => {
    assert.equal(
      brief({ request: over({ completedAt: at(-3599) }) }),
      `Succeeded Succeeded ${at(1).toString()}`,
    );
    assert.equal(brief({ request: over() }), 'Succeeded Succeeded clean up');
    const { completedAt: _, ...history } = over().history;
    assert.equal(
      brief({ request: { ...over(), history } }),
      'Succeeded Succeeded',
      'nobody knows since when',
    );
    assert.equal(brief({ request: over({ phase: 'Cancelled' }) }), 'Cancelled Cancelled clean up');
  });

  test('is kept as long as its event is announced for a machine that is there: it would come back at once', () => {
    const events = [makeEvent({ id: 'e0', state: 'Completed' }), makeEvent()];
    assert.equal(brief({ request: over({}, { events }) }), 'Succeeded Succeeded');
    assert.equal(
      brief({ request: over({}, { events }), machine: undefined }),
      'Succeeded Succeeded clean up',
    );
  });

  test('begins anew for an event that it has not dealt with', () => {
    const events = [makeEvent(), makeEvent({ id: 'e2' })];
    assert.equal(says({ request: over({}, { events }) }), 'Pending NewEvent');
    assert.equal(decided({ request: over({}, { events }) }).restarts, true);
    assert.equal(
      says({
        request: over({ handled: new Set() }, { events: [makeEvent({ state: 'Cancelled' })] }),
      }),
      'Succeeded Succeeded',
    );
  });

  test('and for an occurrence that it has not dealt with, of whatever provider', () => {
    const anew = (events: readonly ReturnType<typeof makeEvent>[], ...handled: readonly string[]) =>
      decided({ request: over({ handled: new Set(handled) }, { events }) }).restarts === true;
    const second = makeEvent({ occurrence: 2 });
    assert.deepEqual(
      [anew([makeEvent()], 'aws e1'), anew([makeEvent()], 'e1')],
      [false, false],
      'statuses of before have the id alone',
    );
    assert.deepEqual(
      [anew([second], 'aws e1'), anew([second], 'e1'), anew([second], 'aws e1 2')],
      [true, true, false],
    );
    assert.deepEqual(
      [
        anew([makeEvent({ provider: 'azure' })], 'aws e1'),
        anew([makeEvent({ occurrence: 3 })], 'aws e1 2'),
      ],
      [true, true],
    );
  });
});

test('without a machine API nothing is concluded, but for requests about a node only', () => {
  assert.equal(brief({ machineApi: false }), 'Pending NoMachineApi true');
  assert.equal(
    brief({ machineApi: false, request: makeMachineRequest({ history: { phase: 'Draining' } }) }),
    'Draining NoMachineApi true',
  );
  assert.doesNotMatch(
    brief({ machineApi: false, request: makeMachineRequest({ nodeOnly: true }) }),
    /NoMachineApi/,
  );
});

test('a machine that is not proven to be its node: nothing begins, goes on or is deleted, unless it is going or nothing is done anyway', () => {
  const unidentified = 'Machine m/m1 has providerID a://1, and node n1 has b://2';
  const under = { startedAt: at(-60), strategy: 'Replace', phase: 'Replacing' } as const;
  assert.equal(brief({ unidentified }), 'Pending NodeNotIdentified true');
  assert.match(
    decided({ unidentified }).message,
    /has providerID a:.*Correct spec.providerID or status.nodeRef/,
  );
  assert.equal(
    brief({
      unidentified,
      request: makeMachineRequest({ history: under }),
      child: makeChild('Drained'),
    }),
    'Replacing NodeNotIdentified true',
  );
  const going = makeMachine({ deleting: true });
  assert.doesNotMatch(
    brief({ unidentified, machine: going, request: makeMachineRequest({ history: under }) }),
    /NodeNotIdentified/,
  );
  assert.doesNotMatch(
    brief({ unidentified, request: makeMachineRequest({ strategy: 'Notify' }) }),
    /NodeNotIdentified/,
  );
  assert.match(
    decided({
      unidentified,
      machine: undefined,
      replacement: undefined,
      request: makeMachineRequest({ nodeOnly: true, strategy: 'Replace' }),
    }).message,
    /has no Machine that could be replaced \(Machine m\/m1 has providerID/,
  );
});

test('what somebody has asked for by itself goes on when an event is over that was announced meanwhile', () => {
  for (const state of ['Cancelled', 'Completed'] as const) {
    const asked = { independent: true, events: [makeEvent({ kind: 'reboot', state })] };
    assert.equal(
      decided({ request: makeMachineRequest(asked) }).begins?.strategy,
      'Replace',
      'nor is a reboot an answer to it',
    );
    const history = { phase: 'Surging', startedAt: at(-60), strategy: 'ReplaceWithSurge' } as const;
    assert.match(says({ request: makeMachineRequest({ ...asked, history }) }), /^Surging/);
    const held = {
      phase: 'Drained',
      startedAt: at(-60),
      drainedAt: at(-30),
      strategy: 'Drain',
    } as const;
    const child = makeChild('Drained');
    assert.equal(
      says({ request: makeMachineRequest({ ...asked, strategy: 'Drain', history: held }), child }),
      'Drained EventPending',
    );
  }
});

describe('what there is no point in', () => {
  test('a machine that is gone', () => {
    assert.equal(says({ machine: undefined }), 'Cancelled MachineGone');
    assert.equal(
      says({ machine: undefined, request: makeMachineRequest({ deletionIssued: true }) }),
      'Succeeded MachineGone',
    );
    assert.doesNotMatch(
      says({ machine: undefined, request: makeMachineRequest({ nodeOnly: true }) }),
      /Gone/,
    );
    assert.doesNotMatch(
      says({
        machine: undefined,
        request: makeMachineRequest({ history: { startedAt: at(-1), strategy: 'Replace' } }),
      }),
      /Gone/,
    );
  });

  test('a node that is gone, by whatever name it is known', () => {
    const gone = (over: MachineRequestOverrides) =>
      decided({
        machine: undefined,
        node: undefined,
        request: makeMachineRequest({ nodeOnly: true, ...over }),
      }).message;
    assert.equal(gone({ nodeName: 'n7' }), 'Node n7 does not exist (any more)');
    assert.equal(gone({}), 'Node m1 does not exist (any more)');
    assert.doesNotMatch(says({ node: undefined }), /NodeGone/, 'a machine may be without a node');
  });

  test('an event that has ended: called off only when all of them were', () => {
    const ended = (...states: readonly ('Completed' | 'Cancelled')[]) =>
      says({
        request: makeMachineRequest({
          events: states.map((state, n) => makeEvent({ id: `e${n}`, kind: 'reboot', state })),
        }),
      });
    assert.equal(ended('Cancelled'), 'Cancelled EventCancelled');
    assert.equal(ended('Completed'), 'Cancelled EventCompleted');
    assert.equal(ended('Cancelled', 'Completed'), 'Cancelled EventCompleted');
    assert.equal(ended('Cancelled', 'Cancelled'), 'Cancelled EventCancelled');
  });

  test('who ended the event is said', () => {
    const said = (state: 'Cancelled' | 'Completed') =>
      decided({ request: makeMachineRequest({ events: [makeEvent({ kind: 'reboot', state })] }) })
        .message;
    assert.equal(said('Cancelled'), 'The cloud has cancelled its event');
    assert.equal(said('Completed'), 'The event was over before anything had to be done');
  });
});

describe('called off while it is under way', () => {
  const begun = (
    strategy: 'Drain' | 'Replace',
    state: 'Completed' | 'Cancelled',
    over: MachineRequestOverrides = {},
  ) =>
    makeMachineRequest({
      events: [makeEvent({ state, kind: strategy === 'Drain' ? 'reboot' : 'retirement' })],
      ...over,
      history: { phase: 'Draining', startedAt: at(-60), strategy, ...over.history },
    });
  const off = (...args: Parameters<typeof begun>) =>
    says({ request: begun(...args), child: makeChild('Draining') });

  test('what can be taken back is taken back, and then it is over', () => {
    assert.equal(off('Replace', 'Cancelled'), 'Releasing Ending');
    assert.equal(says({ request: begun('Replace', 'Cancelled') }), 'Cancelled EventCancelled');
    assert.equal(says({ request: begun('Drain', 'Cancelled') }), 'Cancelled EventCancelled');
  });

  test('a machine that is on its way out goes', () => {
    assert.equal(off('Replace', 'Cancelled', { deletionIssued: true }), 'Draining Drain');
    assert.equal(
      says({
        request: begun('Replace', 'Cancelled'),
        machine: makeMachine({ deleting: true }),
        child: makeChild('Draining'),
      }),
      'Draining Drain',
    );
    assert.equal(
      says({
        request: begun('Replace', 'Cancelled', { nodeName: 'n1' }),
        machine: undefined,
        child: makeChild('Draining'),
      }),
      'Draining Drain',
    );
  });

  test('a node that was drained has to be fit before it comes back', () => {
    const silent = { node: makeNode(), child: makeChild('Drained') };
    assert.equal(
      says({
        request: begun('Drain', 'Cancelled', { history: { drainedAt: at(-30) } }),
        ...silent,
      }),
      'Drained NodeNotFit',
    );
    assert.equal(says({ request: begun('Drain', 'Completed'), ...silent }), 'Drained NodeNotFit');
    assert.equal(
      says({ request: begun('Drain', 'Cancelled'), ...silent }),
      'Releasing Ending',
      'it was never empty',
    );
  });
});

describe('over has two meanings', () => {
  const left: Readonly<Record<EventKind, 'passed' | 'taken'>> = {
    reboot: 'passed',
    redeploy: 'passed',
    freeze: 'passed',
    maintenance: 'passed',
    rebalance: 'passed',
    stop: 'taken',
    retirement: 'taken',
    termination: 'taken',
    preemption: 'taken',
  };
  const node = (status: string) => makeNode({ conditions: [{ ...isReady, status }] });
  const windows = [makeWindow({ openings: [{ cron: '0 3 1 1 *', seconds: 4 * 3600 }] })];
  const events = (kind: EventKind, over: Partial<MachineEvent> = {}) => [
    makeEvent({ kind, state: 'Completed', ...over }),
  ];
  const request = (kind: EventKind, over: MachineRequestOverrides = {}) =>
    makeMachineRequest({ events: events(kind), ...over });

  for (const kind of eventKinds)
    test(`${kind}: ${left[kind] === 'taken' ? 'the harm is done, and the machine is replaced at once' : 'the danger has passed'}`, () => {
      const taken = left[kind] === 'taken';
      for (const status of ['Unknown', 'False']) {
        const dead = { node: node(status), windows };
        const { begins, phase, reason } = decided({ request: request(kind), ...dead });
        if (!taken) {
          assert.deepEqual([phase, begins], ['Cancelled', undefined]);
          continue;
        }
        assert.deepEqual(
          [reason, begins?.strategy, begins?.becauseOfDeadline],
          ['Begun', 'Replace', true],
          'outside of its window',
        );
        const under = {
          history: { phase: 'Draining', strategy: 'Replace', startedAt: at(-60) },
        } as const;
        const going = decided({
          request: request(kind, under),
          child: makeChild('Draining'),
          ...dead,
        });
        const isLost = status === 'Unknown' || kind === 'preemption' || kind === 'termination';
        assert.equal(
          going.own?.description,
          isLost ? 'record that the machine is to be deleted' : undefined,
          status,
        );
        assert.equal(
          says({ request: request(kind, { needsApproval: true }), ...dead }),
          'AwaitingApproval Approval',
          'a person decides still',
        );
        assert.equal(
          says({ request: request(kind, { strategy: 'Notify' }), ...dead }),
          'Cancelled EventCompleted',
        );
        assert.equal(
          says({ request: request(kind, { nodeOnly: true }), machine: undefined, ...dead }),
          'Cancelled EventCompleted',
        );
        const sent = events(kind, { source: 'sender' });
        assert.equal(
          says({ request: makeMachineRequest({ events: sent }), ...dead }),
          'Scheduled MaintenanceWindow',
          'by anybody else',
        );
        const before = { history: { handled: new Set(['aws e1']) } };
        assert.equal(
          says({ request: request(kind, before), ...dead }),
          'Cancelled EventCompleted',
          'of an earlier life',
        );
      }
    });

  test('a node that is Ready is looked at for a minute: it may not be missed yet', () => {
    const ready = (eventsEndedAt?: Temporal.Instant, over: MachineRequestOverrides = {}) =>
      brief({
        request: request('stop', {
          ...over,
          history: { ...over.history, ...(eventsEndedAt && { eventsEndedAt }) },
        }),
        child: over.history && makeChild('Draining'),
      });
    const begun = {
      history: { phase: 'Draining', strategy: 'Replace', startedAt: at(-90) },
    } as const;
    assert.deepEqual(
      [ready(), ready(at(-59))],
      [`Pending Settling ${at(60).toString()}`, `Pending Settling ${at(1).toString()}`],
    );
    assert.equal(ready(at(-60)), 'Cancelled EventCompleted', 'somebody has started it again');
    assert.equal(ready(at(-59), begun), `Draining Settling ${at(1).toString()}`);
    assert.equal(ready(at(-60), begun), 'Releasing Ending');
  });

  test('one that was called off is called off, whatever its node is like', () => {
    for (const kind of eventKinds)
      assert.equal(
        says({
          request: makeMachineRequest({ events: events(kind, { state: 'Cancelled' }) }),
          node: node('Unknown'),
        }),
        'Cancelled EventCancelled',
      );
  });
});

describe('somebody only wants to know', () => {
  const notify = (
    state: 'Scheduled' | 'Completed' | 'Cancelled',
    over: MachineRequestOverrides = {},
  ) =>
    says({
      request: makeMachineRequest({ strategy: 'Notify', events: [makeEvent({ state })], ...over }),
    });
  test('told, and over with the event', () => {
    assert.equal(notify('Scheduled'), 'Notified EventPending');
    const started = { history: { startedAt: at(-1), strategy: 'Notify' as const } };
    assert.equal(notify('Completed', started), 'Succeeded EventCompleted');
    assert.equal(notify('Cancelled', started), 'Succeeded EventCancelled');
  });
});

describe('a strategy that cannot be followed', () => {
  const possible = (
    strategy: 'Replace' | 'ReplaceWithSurge' | 'Drain',
    seen: MachineSnapshotOverrides,
    over: MachineRequestOverrides = {},
  ) => {
    const { reason, message, warning } = decided({
      request: makeMachineRequest({ strategy, ...over }),
      ...seen,
    });
    return reason === 'StrategyNotPossible' && warning === true ? message : undefined;
  };
  const master = makeMachine({ controlPlane: true });
  const supplied = (over: Parameters<typeof makeSet>[0]) => ({
    replacement: { set: makeSet(over), members: [], ready: 3, unready: [] },
  });

  test('is told, with what would do', () => {
    assert.match(
      possible('Replace', { machine: undefined }, { nodeOnly: true, nodeName: 'n7' }) ?? '',
      /^node n7 has no Machine/,
    );
    assert.match(
      possible('Replace', { machine: undefined }, { nodeOnly: true }) ?? '',
      /^node m1 has no Machine/,
    );
    assert.match(
      possible('Replace', { machine: master }) ?? '',
      /no active ControlPlaneMachineSet/,
    );
    assert.match(
      possible('ReplaceWithSurge', { machine: master, ...supplied({ controlPlane: true }) }) ?? '',
      /its controller knows the order/,
    );
    assert.match(
      possible('ReplaceWithSurge', { replacement: undefined }) ?? '',
      /no MachineSet that could be made larger/,
    );
    assert.match(
      possible('ReplaceWithSurge', {
        machine: makeMachine({ api: 'capi' }),
        ...supplied({ topologyOwned: true }),
      }) ?? '',
      /topology of its Cluster/,
    );
  });

  test('anything else can be', () => {
    assert.equal(possible('Replace', {}), undefined);
    assert.equal(
      possible('Replace', { machine: master, ...supplied({ controlPlane: true }) }),
      undefined,
    );
    assert.equal(possible('Replace', { replacement: undefined }), undefined, 'asked for by name');
    assert.equal(possible('ReplaceWithSurge', {}), undefined);
    assert.equal(
      possible('ReplaceWithSurge', { machine: makeMachine({ api: 'capi' }), ...supplied({}) }),
      undefined,
    );
    assert.equal(
      possible('ReplaceWithSurge', supplied({ topologyOwned: true })),
      undefined,
      'OpenShift has no topologies',
    );
    assert.equal(possible('Drain', { machine: master }), undefined);
  });
});

describe('what is taken back for a request that is deleted', () => {
  const leaving = makeMachineRequest({
    deleting: true,
    history: { startedAt: at(-60), strategy: 'ReplaceWithSurge' },
  });
  const young = makeMachine({ key: 'm4', name: 'm4', path: '/m4', createdAt: at(-10) });
  const [ours, theirs, gone] = [
    'uid-mm',
    'uid-other',
    '00000000-0000-4000-8000-000000000001',
  ] as const;
  const surgesOf = (...uids: readonly string[]): MachineSet['surges'] =>
    new Map(uids.map(uid => [uid, `drydock-system/${uid}`]));
  const back = (machine: Machine, members: readonly Machine[], set: Partial<MachineSet> = {}) => {
    const larger = makeSet({ replicas: members.length, surges: surgesOf(ours), ...set });
    return decided({
      request: leaving,
      machine,
      surged: [larger],
      replacement: { set: larger, members, ready: 4, unready: [] },
    }).writes?.map(({ description: what, path }) => `${what} ${path}`);
  };
  const old = makeMachine();
  const marks = (name: string): string => `mark the machine as the next to be deleted /${name}`;
  const lowers = 'restore the replica count /workers';
  const dying = makeMachine({
    key: 'm5',
    name: 'm5',
    path: '/m5',
    createdAt: at(-5),
    deleting: true,
  });

  test('the machine that goes is the youngest that nobody is deleting, and it is marked first', () => {
    assert.deepEqual(back(old, [old, young]), [marks('m4')]);
    assert.deepEqual(back(old, [dying, old, young]), [marks('m4')]);
    assert.deepEqual(back({ ...old, deleteMark: ours }, [old, young]), [
      'remove the deletion mark of the machine /m1',
    ]);
    assert.deepEqual(
      back({ ...old, deleting: true }, [old, young]),
      [lowers],
      'it goes all the same',
    );
  });

  test('the set is made smaller only after a write that fails where the machine in line is not as it was seen', () => {
    assert.deepEqual(back(old, [old, { ...young, deleteMark: ours }]), [marks('m4'), lowers]);
    const { writes = [] } = decided({
      request: leaving,
      machine: old,
      surged: [makeSet({ replicas: 2, surges: surgesOf(ours) })],
      replacement: {
        set: makeSet({ replicas: 2 }),
        members: [old, { ...young, deleteMark: ours }],
        ready: 2,
        unready: [],
      },
    });
    assert.deepEqual(
      writes.map(
        ({ body }) =>
          (body['metadata'] as { readonly resourceVersion?: string }).resourceVersion !== undefined,
      ),
      [true, true],
      'both are guarded by what was seen',
    );
  });

  test('where the set has fewer machines than it wants none goes, and none is marked', () =>
    assert.deepEqual(back(old, [old, young], { replicas: 3 }), [lowers]));

  test('of two surges each has a machine in line, and the mark of one that is over counts', () => {
    const younger = makeMachine({
      key: 'm6',
      name: 'm6',
      path: '/m6',
      createdAt: at(-8),
      deleteMark: theirs,
    });
    const both = { surges: surgesOf(ours, theirs) };
    assert.deepEqual(back(old, [old, young, younger], both), [marks('m4')]);
    assert.deepEqual(back(old, [old, { ...young, deleteMark: ours }, younger], both), [
      marks('m4'),
      lowers,
    ]);
    // The other has taken the machine with our mark, and has left its own behind.
    assert.deepEqual(back(old, [old, { ...younger, deleteMark: gone }]), [marks('m6'), lowers]);
    assert.deepEqual(
      back(old, [
        old,
        { ...young, deleteMark: ours, deleting: true },
        { ...younger, deleteMark: gone },
      ]),
      [marks('m6'), lowers],
    );
  });

  test('what people have marked is not counted on', () => {
    assert.deepEqual(
      back(old, [old, { ...young, deleteMark: 'yes' }]),
      [lowers],
      'there is no other machine',
    );
    const younger = makeMachine({
      key: 'm6',
      name: 'm6',
      path: '/m6',
      createdAt: at(-8),
      deleteMark: 'yes',
    });
    assert.deepEqual(back(old, [old, young, younger]), [marks('m4')]);
  });

  test('the mark, as long as the machine is not on its way out; the hook; the node', () => {
    const hooked = makeMachine({
      preDrainHooks: [
        { name: 'x', owner: 'y' },
        { name: hookName, owner: hookOwner },
      ],
    });
    const does = (seen: MachineSnapshotOverrides) =>
      decided({ request: leaving, ...seen }).writes?.map(({ description: what }) => what);
    assert.deepEqual(does({ machine: { ...hooked, deleteMark: 'uid-mm' } }), [
      'remove the deletion mark of the machine',
    ]);
    assert.deepEqual(does({ machine: { ...hooked, deleteMark: 'uid-mm', deleting: true } }), [
      'remove the pre-drain hook of the machine',
    ]);
    assert.deepEqual(does({ machine: { ...hooked, deleteMark: 'somebody' } }), [
      'remove the pre-drain hook of the machine',
    ]);
    assert.deepEqual(
      does({
        machine: makeMachine({ preDrainHooks: [{ name: 'x', owner: 'y' }] }),
        child: makeChild('Draining'),
      }),
      ['delete the maintenance of the node'],
    );
    assert.deepEqual(does({ child: makeChild('Draining', { deleting: true }) }), []);
  });
});
