import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { eventKinds } from '../event-kind.ts';
import { at, makeNode, makeRequest } from '../testing/make.ts';
import {
  makeEvent as event,
  makeMachineHistory as history,
  makeMachine as machine,
  isReady as ready,
  makeMachineRequest as request,
  makeSet as set,
  makeMachineSnapshot as snapshot,
} from '../testing/make-machine.ts';
import { makeWindow } from '../testing/make-window.ts';
import { decideMachine } from './decide.ts';
import { eventStates, type MachineEvent } from './event.ts';
import { hookName, type Machine } from './machine.ts';
import { type MachineHistory, type MachineRequest, machinePhases, strategies } from './request.ts';
import type { MachineDecision, MachineSnapshot, UnreadyMachine } from './snapshot.ts';
import { machineMaintenanceFinalizer } from './writes.ts';

const now = at(0);
const day = 86_400;

function without<K extends keyof MachineSnapshot>(
  from: MachineSnapshot,
  ...keys: readonly K[]
): MachineSnapshot {
  return Object.fromEntries(
    Object.entries(from).filter(([key]) => !keys.includes(key as K)),
  ) as MachineSnapshot;
}

function decided(over: Partial<MachineSnapshot> = {}): MachineDecision {
  return decideMachine(snapshot(over), now);
}
function says({ phase, reason }: MachineDecision): string {
  return `${phase} ${reason}`;
}

describe('before it begins', () => {
  test('the finalizer comes first', () => {
    const { own } = decided({ request: request({ finalizers: ['somebody.else/x'] }) });
    assert.deepEqual(own?.body, {
      metadata: {
        finalizers: ['somebody.else/x', machineMaintenanceFinalizer],
        resourceVersion: '7',
      },
    });
  });

  test('a machine to be retired begins at once where no window says otherwise; the beginning is noted, and nothing else is done', () => {
    const verdict = decided();
    assert.equal(says(verdict), 'Draining Begun');
    assert.deepEqual(verdict.begins, {
      strategy: 'Replace',
      becauseOfDeadline: false,
      set: set().key,
      machineUid: 'uid-m1',
      nodeName: 'n1',
    });
    assert.equal(verdict.writes, undefined);
  });

  test('a reboot is drained for half an hour before, not two weeks before', () => {
    const verdict = decided({ request: request({ events: [event({ kind: 'reboot' })] }) });
    assert.equal(says(verdict), 'Scheduled NotYetDue');
    assert.equal(verdict.startsAt?.toString(), at(14 * day - 1800).toString());
  });

  test('what cannot be begun in an opening before the deadline begins outside of them, and says so', () => {
    const nights = makeWindow({ openings: [{ cron: '0 22 * * *', seconds: 4 * 3600 }] });
    const soon = decided({
      windows: [nights],
      request: request({ events: [event({ deadline: at(3 * 3600) })] }),
    });
    assert.equal(says(soon), 'Scheduled WindowMissed');
    assert.equal(soon.startsAt?.toString(), at(3 * 3600 - 1800).toString());
    assert.match(
      soon.message,
      /No opening of nights comes before the deadline 2026-11-21T11:00:00Z: the maintenance begins outside of them/,
    );
    const due = decideMachine(
      snapshot({
        windows: [nights],
        request: request({ events: [event({ deadline: at(3 * 3600) })] }),
      }),
      at(2.6 * 3600),
    );
    assert.equal(due.begins?.becauseOfDeadline, true);
    assert.equal(due.warning, true);
  });

  test('a reboot waits in the last opening before the cloud begins, not in the first', () => {
    const window = makeWindow({ openings: [{ cron: '0 22 * * *', seconds: 4 * 3600 }] });
    const { startsAt } = decided({
      windows: [window],
      request: request({ events: [event({ kind: 'reboot', deadline: at(2.5 * day) })] }),
    });
    assert.equal(
      startsAt?.toString(),
      '2026-11-23T01:30:00Z',
      'half an hour before the last night ends',
    );
  });

  test('approval is waited for, but not when the machine is taken within minutes', () => {
    assert.equal(
      says(decided({ request: request({ needsApproval: true }) })),
      'AwaitingApproval Approval',
    );
    assert.equal(
      says(decided({ request: request({ needsApproval: true, approved: true }) })),
      'Draining Begun',
    );
    const spot = event({ kind: 'preemption', deadline: at(120) });
    assert.equal(
      says(decided({ request: request({ needsApproval: true, events: [spot] }) })),
      'Draining Begun',
    );
  });

  test('urgency is believed of the agent and of the cloud itself, and not of what has been over for long', () => {
    const says5 = (
      over: Partial<MachineEvent>,
      urgentSources = new Set(['aws', 'agent/aws']),
    ): string =>
      says(
        decided({
          urgentSources,
          request: request({
            needsApproval: true,
            events: [event({ kind: 'termination', ...over })],
          }),
        }),
      );
    assert.equal(says5({ source: 'agent/aws', deadline: at(120) }), 'Draining Begun');
    assert.equal(says5({ source: 'somebody', deadline: at(120) }), 'AwaitingApproval Approval');
    assert.equal(
      says5({ deadline: at(120) }, new Set()),
      'AwaitingApproval Approval',
      'its source forbids it',
    );
    assert.equal(says5({ deadline: at(601) }), 'AwaitingApproval Approval');
    assert.equal(says5({ deadline: at(600) }), 'Draining Begun');
    assert.equal(says5({ deadline: at(-600) }), 'Draining Begun');
    assert.equal(
      says5({ deadline: at(-601) }),
      'AwaitingApproval Approval',
      'an old deadline presses nobody',
    );
    assert.equal(says5({ deadline: at(120), state: 'Cancelled' }), 'Cancelled EventCancelled');
    const now5 = (over: Partial<MachineEvent>): string =>
      says5({ deadline: undefined, state: 'Active', ...over } as Partial<MachineEvent>);
    assert.equal(now5({}), 'Draining Begun', 'it is being taken now, by whatever time');
    assert.equal(now5({ source: 'somebody' }), 'AwaitingApproval Approval');
    assert.equal(now5({ state: 'Scheduled' }), 'AwaitingApproval Approval');
    const grace = (source: string): unknown => {
      const [write] =
        decided({
          request: request({
            events: [event({ kind: 'preemption', source, deadline: at(120) })],
            history: history({ startedAt: at(-1), strategy: 'Replace' }),
          }),
        }).writes ?? [];
      return (write?.body['spec'] as { drain?: { maxGracePeriodSeconds?: number } } | undefined)
        ?.drain?.maxGracePeriodSeconds;
    };
    assert.equal(grace('aws'), 110);
    assert.equal(grace('somebody'), undefined, 'nor do pods get less to end');
  });

  test('machines of one set, of one zone and of the control plane wait for each other', () => {
    const other = {
      key: 'drydock-system/mm-m2',
      active: true,
      responds: true,
      controlPlane: false,
      undrained: new Set<string>(),
    };
    assert.equal(says(decided({ others: [{ ...other, set: set().key }] })), 'Scheduled Turn');
    assert.equal(says(decided({ others: [{ ...other, set: 'another' }] })), 'Draining Begun');
    assert.equal(
      says(
        decided({
          others: [{ ...other, set: set().key }],
          limits: { perSet: 2, perZone: 0, nodes: 0 },
        }),
      ),
      'Draining Begun',
    );
    // The cloud has taken it already: the one before may be waiting for its set to be whole.
    const taken = {
      others: [{ ...other, set: set().key }],
      request: request({ events: [event({ deadline: at(-60) })] }),
    };
    assert.equal(says(decided(taken)), 'Scheduled Turn');
    assert.equal(
      says(
        decided({ ...taken, node: makeNode({ conditions: [{ ...ready, status: 'Unknown' }] }) }),
      ),
      'Draining Begun',
    );
    const zoned = { machine: machine({ zone: 'a' }), limits: { perSet: 0, perZone: 1, nodes: 0 } };
    assert.equal(says(decided({ ...zoned, others: [{ ...other, zone: 'a' }] })), 'Scheduled Turn');
    assert.equal(says(decided({ ...zoned, others: [{ ...other, zone: 'b' }] })), 'Draining Begun');
    const master = {
      machine: machine({ controlPlane: true }),
      request: request({ events: [event({ kind: 'reboot', deadline: at(60) })] }),
    };
    assert.equal(
      says(decided({ ...master, others: [{ ...other, controlPlane: true }] })),
      'Scheduled Turn',
    );
  });

  test('an event that ends before anything was begun ends the request', () => {
    assert.equal(
      says(decided({ request: request({ events: [event({ state: 'Cancelled' })] }) })),
      'Cancelled EventCancelled',
    );
    assert.equal(
      says(
        decided({ request: request({ events: [event({ kind: 'reboot', state: 'Completed' })] }) }),
      ),
      'Cancelled EventCompleted',
    );
    // Giving back what had begun is not the end of a drain that was complete: nothing is begun anew
    // meanwhile.
    const drained = history({
      phase: 'Releasing',
      strategy: 'Drain',
      startedAt: at(-60),
      drainedAt: at(-30),
    });
    assert.equal(
      says(
        decided({
          request: request({ events: [event({ state: 'Cancelled' })], history: drained }),
        }),
      ),
      'Succeeded Succeeded',
    );
    const begun = history({ phase: 'Releasing', strategy: 'Drain', startedAt: at(-60) });
    assert.equal(
      says(
        decided({ request: request({ events: [event({ state: 'Cancelled' })], history: begun }) }),
      ),
      'Cancelled EventCancelled',
    );
    assert.equal(
      says(
        decided({
          request: request({ events: [event({ state: 'Completed' }), event({ id: 'e2' })] }),
        }),
      ),
      'Draining Begun',
    );
  });

  test('a machine that is gone is not looked for as long as its API is away', () => {
    assert.equal(
      says(decideMachine(without(snapshot({ machineApi: false }), 'machine'), now)),
      'Pending NoMachineApi',
    );
    assert.equal(says(decideMachine(without(snapshot(), 'machine'), now)), 'Cancelled MachineGone');
  });
});

describe('the strategy', () => {
  const strategyOf = (over: Partial<MachineSnapshot>): string | undefined =>
    decided(over).begins?.strategy;

  test('is the strongest of those of its events, and Replace for what the replaced operator made', () => {
    const soon = { deadline: at(60) };
    const of = (...kinds: readonly MachineEvent['kind'][]): string | undefined =>
      strategyOf({
        request: request({
          events: kinds.map((kind, index) => event({ id: `e${index}`, kind, ...soon })),
        }),
      });
    assert.deepEqual(
      [
        of('reboot'),
        of('redeploy'),
        of('maintenance'),
        of('stop'),
        of('retirement'),
        of('termination'),
        of('preemption'),
      ],
      ['Drain', 'Drain', 'Drain', 'Replace', 'Replace', 'Replace', 'Replace'],
    );
    assert.equal(of('reboot', 'retirement'), 'Replace');
    assert.equal(of('freeze', 'reboot'), 'Drain');
    assert.equal(
      says(decided({ request: request({ events: [event({ kind: 'rebalance' })] }) })),
      'Notified EventPending',
    );
    assert.equal(strategyOf({ request: request({ events: [] }) }), 'Replace');
  });

  test('of the control plane is Replace only where its own controller replaces', () => {
    const master = machine({ controlPlane: true });
    const soon = { request: request({ events: [event({ deadline: at(60) })] }), machine: master };
    assert.equal(strategyOf(soon), 'Drain');
    assert.equal(
      strategyOf({
        ...soon,
        replacement: {
          set: set({ kind: 'ControlPlaneMachineSet', controlPlane: true }),
          members: [],
          ready: 3,
          unready: [],
        },
      }),
      'Replace',
    );
    const asked = decided({ ...soon, request: request({ strategy: 'Replace' }) });
    assert.equal(says(asked), 'Pending StrategyNotPossible');
    assert.match(
      asked.message,
      /no active ControlPlaneMachineSet or KubeadmControlPlane would replace it/,
    );
  });

  test('that cannot be followed becomes Drain when nobody has chosen it, and is told when somebody has', () => {
    const alone = without(
      snapshot({ request: request({ events: [event({ deadline: at(60) })] }) }),
      'replacement',
    );
    assert.equal(decideMachine(alone, now).begins?.strategy, 'Drain');
    assert.equal(
      decideMachine({ ...alone, request: request({ strategy: 'Replace' }) }, now).begins?.strategy,
      'Replace',
      'asked for by name',
    );
    assert.equal(
      says(decideMachine({ ...alone, request: request({ strategy: 'ReplaceWithSurge' }) }, now)),
      'Pending StrategyNotPossible',
    );
    const owned = {
      set: set({ api: 'capi', topologyOwned: true }),
      members: [],
      ready: 3,
      unready: [],
    };
    assert.equal(
      says(
        decided({
          machine: machine({ api: 'capi' }),
          replacement: owned,
          request: request({ strategy: 'ReplaceWithSurge' }),
        }),
      ),
      'Pending StrategyNotPossible',
    );
    const nodeOnly = request({
      nodeOnly: true,
      nodeName: 'n1',
      events: [event({ deadline: at(60) })],
    });
    assert.equal(
      decideMachine({ ...alone, request: nodeOnly, machineApi: false }, now).begins?.strategy,
      'Drain',
    );
  });
});

describe('under way', () => {
  const begun = (
    over: Partial<MachineRequest> = {},
    strategy: MachineHistory['strategy'] = 'Replace',
  ): MachineRequest =>
    request({
      ...over,
      history: history({
        phase: 'Draining',
        startedAt: at(-60),
        strategy: strategy ?? 'Replace',
        set: set().key,
        ...over.history,
      }),
    });
  const child = (state: 'Draining' | 'Drained') =>
    makeRequest('mm-m1-uid-mm', {
      level: 'Drain',
      history: { ...makeRequest('x').history, state },
      status: { observedGeneration: 1 },
    });

  test('the node is emptied before the machine is deleted, and the flag is stored before that', () => {
    const first = decided({ request: begun() });
    assert.deepEqual(
      first.writes?.map(({ method, path }) => `${method} ${path}`),
      ['POST /apis/drydock.dev/v1alpha1/maintenances'],
    );
    assert.equal(decided({ request: begun(), child: child('Draining') }).writes, undefined);
    const flag = decided({ request: begun(), child: child('Drained') });
    assert.deepEqual(
      [flag.writes?.length ?? 0, flag.own?.body['spec']],
      [0, { maintenancescheduled: true }],
    );
    const deletion = decided({ request: begun({ deletionIssued: true }), child: child('Drained') });
    assert.deepEqual(
      deletion.writes?.map(({ method, path, body }) => [method, path, body]),
      [['DELETE', '/m1', { preconditions: { uid: 'uid-m1', resourceVersion: '1' } }]],
      'not one that has changed: it may have got its node meanwhile',
    );
  });

  test('a Maintenance of another node, or of somebody else, moves nothing on; a drain that was changed is put back and waited for anew', () => {
    const stranger = makeRequest('mm-m1-uid-mm', {
      nodeName: 'n2',
      part: { of: 'tenant/mm' },
      history: child('Drained').history,
    });
    const refused = decided({ request: begun(), stranger });
    assert.equal(says(refused), 'Draining MaintenanceNotOurs');
    assert.match(
      refused.message,
      /^Maintenance mm-m1-uid-mm has the name .* is of node n2 and belongs to tenant\/mm, not to drydock-system\/mm-m1: delete it$/,
    );
    assert.deepEqual([refused.writes ?? [], refused.own, refused.warning], [[], undefined, true]);
    const changed = {
      ...child('Drained'),
      part: { of: 'drydock-system/mm-m1' },
      storedDrain: { podSelector: { matchLabels: { none: 'x' } }, force: true },
    };
    const back = decided({ request: begun(), child: changed, childChanged: true });
    assert.deepEqual(
      back.writes?.map(({ method, body }) => [method, body['spec']]),
      [['PATCH', { level: 'Drain', drain: { podSelector: null, deleteEmptyDirData: true } }]],
    );
    const stale = decided({ request: begun(), child: { ...child('Drained'), generation: 2 } });
    assert.deepEqual(
      [says(stale), stale.own],
      ['Draining Drain', undefined],
      'what was drained was drained as somebody else wanted',
    );
  });

  test('hooks of others are waited for and named', () => {
    const held = machine({
      deleting: true,
      preDrainHooks: [{ name: 'EtcdQuorumOperator', owner: 'clusteroperator/etcd' }],
      statusMessage: 'Drain operation currently blocked',
    });
    const verdict = decided({
      request: begun({ deletionIssued: true }),
      machine: held,
      child: child('Drained'),
    });
    assert.equal(says(verdict), 'Replacing MachineDeletion');
    assert.deepEqual(verdict.writes, []);
    assert.match(
      verdict.message,
      /Drain operation currently blocked; hooks of others: EtcdQuorumOperator \(clusteroperator\/etcd\)/,
    );
  });

  test('it is not over before the replacement is ready', () => {
    const gone = without(
      snapshot({ request: begun({ deletionIssued: true }), child: child('Drained') }),
      'machine',
      'node',
    );
    assert.equal(
      says(
        decideMachine(
          { ...gone, replacement: { set: set(), members: [], ready: 2, unready: [] } },
          now,
        ),
      ),
      'Replacing Replacement',
    );
    assert.equal(says(decideMachine(gone, now)), 'Releasing Ending');
    assert.equal(says(decideMachine(without(gone, 'child'), now)), 'Succeeded Succeeded');
  });

  describe('a machine that was not Ready before the work began', () => {
    const gone = without(
      snapshot({ request: begun({ deletionIssued: true }), child: child('Drained') }),
      'machine',
      'node',
    );
    const decide = (unready: readonly UnreadyMachine[], replicas = 3) =>
      decideMachine(
        { ...gone, replacement: { set: set({ replicas }), members: [], ready: 2, unready } },
        now,
      );
    const isWaitedFor = (one: UnreadyMachine): boolean =>
      says(decide([one])) === 'Replacing Replacement';
    const began = gone.request.history.startedAt!;
    const after = (seconds: number) => began.add({ seconds });

    test('it is not waited for when it had failed; one that was made since and has failed is', () => {
      assert.equal(says(decide([{ machine: machine({ phase: 'Failed' }) }])), 'Releasing Ending');
      assert.equal(isWaitedFor({ machine: machine({ phase: 'Failed', createdAt: now }) }), true);
      const made = (seconds: number) => ({
        machine: machine({ phase: 'Failed', createdAt: after(seconds) }),
      });
      assert.deepEqual(
        [-31, -30, -1].map(made).map(isWaitedFor),
        [false, true, true],
        'the clock that says when it began may be ahead',
      );
    });

    test('it is not waited for when its node was not Ready; one that became so since is, and so is one of which nothing is known', () => {
      const lost = (seconds: number) => ({ machine: machine(), since: after(seconds) });
      assert.deepEqual([-31, -30, -1, 5].map(lost).map(isWaitedFor), [false, true, true, true]);
      assert.equal(isWaitedFor({ machine: machine() }), true);
      assert.equal(
        isWaitedFor({ machine: machine({ createdAt: after(1) }), since: after(-900) }),
        true,
        'a new node says what it likes',
      );
    });

    test('both kinds are named', () => {
      const unready = [
        { machine: machine({ name: 'm8' }) },
        { machine: machine({ name: 'm9', createdAt: now, phase: 'Provisioning' }) },
        { machine: machine({ name: 'm2' }), since: after(-900) },
      ];
      assert.match(
        decide(unready, 5).message,
        /has 2 of 5 machines with a node that is Ready; not Ready: m8, m9; not Ready before, and not waited for: m2$/,
      );
    });
  });

  test('a node that the cloud is done with comes back when it is Ready, and its gates say so', () => {
    const over = begun(
      { events: [event({ kind: 'reboot', state: 'Completed' })], gates: ['StorageHealthy'] },
      'Drain',
    );
    const down = makeNode({ conditions: [{ ...ready, status: 'Unknown' }] });
    assert.equal(
      says(decided({ request: over, node: down, child: child('Drained') })),
      'Drained NodeNotFit',
    );
    assert.match(
      decided({ request: over, child: child('Drained') }).message,
      /condition StorageHealthy of node \S+ is not True/,
    );
    const fit = makeNode({
      conditions: [ready, { type: 'StorageHealthy', status: 'True', reason: '', message: '' }],
    });
    assert.equal(
      says(decided({ request: over, node: fit, child: child('Drained') })),
      'Releasing Ending',
    );
    assert.equal(
      says(
        decided({
          request: begun({ events: [event({ kind: 'reboot' })] }, 'Drain'),
          child: child('Drained'),
        }),
      ),
      'Drained EventPending',
    );
  });

  test('a retirement that is announced during a reboot is worked on as soon as it may be, and does not hold the node until then', () => {
    const reboot = event({ id: 'e0', kind: 'reboot', state: 'Active', deadline: at(60) });
    const both = begun({ events: [reboot, event()] }, 'Drain');
    const on = decided({ request: both, child: child('Drained') });
    assert.equal(says(on), 'Draining NewEvent');
    assert.deepEqual(on.begins?.strategy, 'Replace');
    assert.equal(
      says(decided({ request: { ...both, strategy: 'Drain' }, child: child('Drained') })),
      'Drained EventPending',
    );
    assert.equal(
      says(
        decideMachine(
          without(snapshot({ request: both, child: child('Drained') }), 'replacement'),
          now,
        ),
      ),
      'Drained EventPending',
    );

    // Nobody has agreed to it yet: the reboot goes on as it was.
    const asked = { ...both, needsApproval: true };
    assert.equal(
      says(decided({ request: asked, child: child('Drained') })),
      'Drained EventPending',
    );
    const rebooted = { ...asked, events: [event({ ...reboot, state: 'Completed' }), event()] };
    assert.equal(says(decided({ request: rebooted, child: child('Drained') })), 'Releasing Ending');
    const next = decided({ request: rebooted });
    assert.deepEqual([says(next), next.restarts], ['Pending NewEvent', true]);
    const calledOff = { ...asked, events: [event({ ...reboot, state: 'Cancelled' }), event()] };
    assert.equal(
      says(decided({ request: calledOff, child: child('Draining') })),
      'Releasing Ending',
    );
    assert.deepEqual(
      [says(decided({ request: calledOff })), decided({ request: calledOff }).restarts],
      ['Pending NewEvent', true],
    );
  });

  test('an event that was called off has no say in what is done about another one', () => {
    const events = [
      event({ state: 'Cancelled' }),
      event({ id: 'e2', kind: 'reboot', deadline: at(60) }),
    ];
    assert.equal(decided({ request: request({ events }) }).begins?.strategy, 'Drain');
  });

  test('an object of the replaced operator whose machine it has deleted is finished', () => {
    const theirs = request({ deletionIssued: true, events: [] });
    assert.equal(
      says(decideMachine(without(snapshot({ request: theirs }), 'machine'), now)),
      'Succeeded MachineGone',
    );
  });

  test('what is deleted gives everything back: the machine too many, the mark, the hook, the node', () => {
    const leaving = begun({ deleting: true }, 'ReplaceWithSurge');
    const capi = machine({
      api: 'capi',
      deleteMark: 'uid-mm',
      preDrainHooks: [{ name: hookName, owner: 'x' }],
    });
    const larger = set({
      api: 'capi',
      replicas: 4,
      surges: new Map([['uid-mm', 'drydock-system/mm-m1']]),
    });
    const young = machine({
      key: 'capi/machines/m4',
      name: 'm4',
      api: 'capi',
      path: '/m4',
      createdAt: at(-10),
    });
    const [m2, m3] = ['m2', 'm3'].map(name =>
      machine({ key: `capi/machines/${name}`, name, api: 'capi', path: `/${name}` }),
    ) as [Machine, Machine];
    const members = [capi, m2, m3, young];
    const replacement = { set: larger, members, ready: 4, unready: [] };
    const steps: string[] = [];
    const step = (over: Partial<MachineSnapshot>): void => {
      const { writes = [], own } = decided({
        request: leaving,
        child: child('Draining'),
        replacement,
        ...over,
      });
      steps.push(
        [...writes, ...(own ? [own] : [])]
          .map(({ description: what, path }) => `${what} ${path.split('/').at(-1)}`)
          .join(),
      );
    };
    step({ machine: capi, surged: [larger] });
    const { deleteMark: _mark, ...unmarked } = capi;
    step({ machine: unmarked, surged: [larger] });
    const inLine = [unmarked, m2, m3, { ...young, deleteMark: 'uid-mm' }];
    step({ machine: unmarked, surged: [larger], replacement: { ...replacement, members: inLine } });
    step({ machine: unmarked });
    step({ machine: machine() });
    assert.deepEqual(steps, [
      'remove the deletion mark of the machine m1',
      'mark the machine as the next to be deleted m4',
      'mark the machine as the next to be deleted m4,restore the replica count workers',
      'remove the pre-drain hook of the machine m1',
      'delete the maintenance of the node mm-m1-uid-mm',
    ]);
    const { own } = decideMachine(
      without(snapshot({ request: leaving, machine: machine() }), 'child'),
      now,
    );
    assert.deepEqual(own?.body['metadata'], { finalizers: [], resourceVersion: '7' });
  });
});

describe('laws', () => {
  const anyEvent = fc.record({
    kind: fc.constantFrom(...eventKinds),
    state: fc.constantFrom(...eventStates),
    deadlineIn: fc.integer({ min: -7200, max: 7200 }),
  });
  const anySnapshot = fc
    .record({
      events: fc.array(anyEvent, { maxLength: 3 }),
      phase: fc.option(fc.constantFrom(...machinePhases), { nil: undefined }),
      strategy: fc.option(fc.constantFrom(...strategies), { nil: undefined }),
      started: fc.boolean(),
      flagged: fc.boolean(),
      deleting: fc.boolean(),
      approval: fc.boolean(),
      hasMachine: fc.boolean(),
      machineDeleting: fc.boolean(),
      hooked: fc.boolean(),
      surged: fc.boolean(),
      api: fc.constantFrom('openshift' as const, 'capi' as const),
      childState: fc.option(
        fc.constantFrom('Pending' as const, 'Draining' as const, 'Drained' as const),
        { nil: undefined },
      ),
      ready: fc.integer({ min: 0, max: 4 }),
      broken: fc.boolean(),
      hasNode: fc.boolean(),
      windowsProblem: fc.constantFrom(undefined, 'the list failed'),
    })
    .map(
      ({
        events,
        phase,
        strategy,
        started,
        flagged,
        deleting,
        approval,
        hasMachine,
        machineDeleting,
        hooked,
        surged,
        api,
        childState,
        ready: count,
        broken,
        hasNode,
        windowsProblem,
      }) => {
        const ours = machine({
          api,
          deleting: machineDeleting,
          preDrainHooks: hooked ? [{ name: hookName, owner: 'x' }] : [],
        });
        const workers = set({ api, surges: new Map(surged ? [['uid-mm', 'x']] : []) });
        const all = snapshot({
          request: request({
            events: events.map(({ kind, state, deadlineIn }, index) =>
              event({ id: `e${index}`, kind, state, deadline: at(deadlineIn) }),
            ),
            deleting,
            deletionIssued: flagged,
            needsApproval: approval,
            history: history({
              ...(phase && { phase }),
              ...(started && { startedAt: at(-60), strategy: strategy ?? 'Replace' }),
            }),
            ...(strategy && { strategy }),
          }),
          machine: ours,
          replacement: {
            set: workers,
            members: [ours],
            ready: count,
            unready: broken ? [{ machine: ours, since: at(-500) }] : [],
          },
          surged: surged ? [workers] : [],
          windowsProblem,
          ...(childState && {
            child: makeRequest('mm-m1-uid-mm', {
              level: 'Drain',
              history: { ...makeRequest('x').history, state: childState },
              status: { observedGeneration: 1 },
            }),
          }),
        });
        const gone = hasMachine ? all : without(all, 'machine');
        return hasNode ? gone : without(gone, 'node');
      },
    );

  test('there is always a verdict, deciding twice is the same, and one thing is done at a time', () => {
    fc.assert(
      fc.property(anySnapshot, pictured => {
        const verdict = decideMachine(pictured, now);
        assert.deepEqual(decideMachine(pictured, now), verdict);
        assert.ok((verdict.writes?.length ?? 0) + (verdict.own ? 1 : 0) <= 1);
      }),
      { numRuns: 500 },
    );
  });

  test('no machine is deleted, marked or counted before the work has begun, without approval, or with a full node that is there', () => {
    fc.assert(
      fc.property(anySnapshot, pictured => {
        const { writes = [] } = decideMachine(pictured, now);
        const deletion = writes.find(
          ({ method, cache: store }) => method === 'DELETE' && store === 'machines',
        );
        if (deletion === undefined) return;
        assert.ok(pictured.request.history.startedAt !== undefined);
        assert.equal(pictured.request.deletionIssued, true, 'the flag is stored first');
        assert.equal(pictured.request.deleting, false);
        const { history: past, events } = pictured.request;
        // OpenShift makes the replacement by the deletion, under the hook; everything else finds
        // the node empty, or gone.
        const surges =
          past.strategy === 'ReplaceWithSurge' &&
          pictured.machine?.preDrainHooks.some(({ name }) => name === hookName);
        const taken = events.some(({ kind }) => kind === 'preemption' || kind === 'termination');
        assert.ok(
          surges === true ||
            taken ||
            pictured.node === undefined ||
            pictured.child?.history.state === 'Drained',
        );
      }),
      { numRuns: 2000 },
    );
  });

  test('nothing begins before all windows are known, unless no window could keep it', () => {
    fc.assert(
      fc.property(anySnapshot, pictured => {
        const { begins, asksForWindows, writes, own } = decideMachine(pictured, now);
        if (asksForWindows)
          assert.deepEqual(
            [begins, writes, own, pictured.windowsProblem],
            [undefined, undefined, undefined, 'the list failed'],
          );
        if (begins !== undefined)
          assert.ok(pictured.windowsProblem === undefined || begins.becauseOfDeadline);
      }),
      { numRuns: 1000 },
    );
  });

  test('what is over touches nothing but itself', () => {
    fc.assert(
      fc.property(anySnapshot, pictured => {
        const verdict = decideMachine(pictured, now);
        if (verdict.phase === 'Succeeded' || verdict.phase === 'Cancelled')
          assert.deepEqual(verdict.writes ?? [], []);
      }),
      { numRuns: 500 },
    );
  });
});
