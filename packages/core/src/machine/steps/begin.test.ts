import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { IntOrPercent } from '@drydock/apimachinery';
import { at, makeNode } from '../../testing/make.ts';
import {
  isReady,
  type MachineRequestOverrides,
  type MachineSnapshotOverrides,
  makeEvent,
  makeMachine,
  makeMachineRequest,
  makeMachineSnapshot,
  makeSet,
} from '../../testing/make-machine.ts';
import { makeWindow } from '../../testing/make-window.ts';
import { decideMachine } from '../decide.ts';

const hour = 3600;
const now = at(0);
function decided(request: MachineRequestOverrides = {}, seen: MachineSnapshotOverrides = {}) {
  return decideMachine(makeMachineSnapshot({ request: makeMachineRequest(request), ...seen }), now);
}
function says(...args: Parameters<typeof decided>) {
  const { phase, reason, warning, startsAt, requeueAt } = decided(...args);
  const word = (moment: Temporal.Instant | undefined) =>
    moment && String((moment.epochMilliseconds - now.epochMilliseconds) / 1000);
  return [phase, reason, warning && '!', word(startsAt), word(requeueAt)]
    .filter(one => one !== undefined)
    .join(' ');
}
const { deadline: _, ...timeless } = makeEvent();
const later = makeWindow({ openings: [{ from: at(hour), to: at(3 * hour) }] });

describe('which windows have a say', () => {
  const waits = `Scheduled MaintenanceWindow ${hour} ${hour}`;
  test('those for machines, and for the events that are pending', () => {
    assert.equal(says({}, { windows: [later] }), waits);
    assert.equal(says({}, { windows: [{ ...later, kinds: ['Maintenance'] }] }), 'Draining Begun');
    const reboots = { windows: [{ ...later, eventKinds: ['reboot'] as const }] };
    const reboot = makeEvent({ id: 'e2', kind: 'reboot', state: 'Completed' });
    assert.equal(says({ events: [makeEvent(), reboot] }, reboots), 'Draining Begun');
    assert.equal(
      says({ events: [makeEvent(), { ...reboot, state: 'Scheduled' }] }, reboots),
      waits,
    );
  });

  test('those for the node, if there is one', () => {
    const blue = { windows: [{ ...later, nodeSelector: { matchLabels: { pool: 'blue' } } }] };
    assert.equal(
      says({}, { ...blue, node: makeNode({ conditions: [isReady], labels: { pool: 'blue' } }) }),
      waits,
    );
    assert.equal(says({}, blue), 'Draining Begun');
    assert.equal(says({}, { ...blue, node: undefined }), 'Draining Begun');
  });
});

describe('before it begins, all windows that were there before it are known', () => {
  const unknown = { windowsProblem: 'the list failed' };
  test('it waits until the API server has been asked', () => {
    const { asksForWindows, begins, writes, message } = decided({}, unknown);
    assert.deepEqual([asksForWindows, begins, writes], [true, undefined, undefined]);
    assert.equal(message, 'Waiting: not all maintenance windows are known: the list failed');
    assert.equal(says({}, unknown), 'Scheduled WindowsUnknown 1');
    assert.equal(
      says({}, { ...unknown, windows: [later] }),
      `Scheduled MaintenanceWindow ${hour} ${hour}`,
      'it would not begin anyway',
    );
  });

  test('what is urgent asks for no windows', () => {
    const events = [makeEvent({ kind: 'preemption', deadline: at(60), source: 'agent/n-m1' })];
    const urgent = { ...unknown, urgentSources: new Set(['agent/n-m1']) };
    assert.equal(says({ events }, urgent), 'Draining Begun');
  });
});

describe('when it begins', () => {
  test('not before the request says', () => {
    assert.equal(says({ notBefore: at(hour) }), `Scheduled NotYetDue ${hour} ${hour}`);
    assert.match(
      decided({ notBefore: at(hour) }).message,
      /^Begins at 2026-11-21T09:00:00Z: no earlier than necessary$/,
    );
  });

  test('in an opening, and because of it: no word of a deadline', () => {
    const open = { windows: [makeWindow({ openings: [{ from: at(-hour), to: at(hour) }] })] };
    const { message, warning, begins } = decided({}, open);
    assert.deepEqual(
      [says({}, open), message, warning, begins?.becauseOfDeadline],
      ['Draining Begun', 'Starting: Replace', undefined, false],
    );
  });

  test('outside of the openings where none comes before the deadline, and that is a warning before and when it does', () => {
    const late = {
      windows: [makeWindow({ openings: [{ from: at(9 * hour), to: at(12 * hour) }] })],
    };
    assert.equal(
      says({ events: [makeEvent({ deadline: at(hour) })] }, late),
      `Scheduled WindowMissed ! ${hour / 2} ${hour / 2}`,
    );
    assert.equal(
      says({ events: [makeEvent({ deadline: at(60) })] }, late),
      'Draining WindowMissed !',
    );
  });

  test('never where no opening is long enough, or none is to come: that is a warning, and looked at again every day', () => {
    const never = (...openings: Parameters<typeof makeWindow>[0][]) =>
      [says, decided].map(ask =>
        ask({ events: [timeless] }, { windows: openings.map(makeWindow) }),
      );
    const [short, told] = never({
      openings: [{ from: at(hour), to: at(hour + 600) }],
      expectedSeconds: 1800,
    });
    assert.equal(short, 'Scheduled NoOpening ! 86400');
    assert.match(
      JSON.stringify(told),
      /No opening of nights is long enough: 30 min are expected, the longest is 10 min/,
    );
    const [none, toldNone] = never({ openings: [{ from: at(-2 * hour), to: at(-hour) }] });
    assert.equal(none, 'Scheduled NoOpening ! 86400');
    assert.match(JSON.stringify(toldNone), /nights will not be open in the next 400 days/);
  });

  test('after a freeze, with its reason where it has one', () => {
    const frozen = (reason?: string) => {
      const freeze = { from: at(-hour), to: at(hour), ...(reason !== undefined && { reason }) };
      return decided({}, { windows: [makeWindow({ freezes: [freeze] })] }).message;
    };
    assert.equal(
      frozen('sale'),
      'Begins at 2026-11-21T09:00:00Z: frozen until 2026-11-21T09:00:00Z (sale)',
    );
    assert.equal(frozen(), 'Begins at 2026-11-21T09:00:00Z: frozen until 2026-11-21T09:00:00Z');
  });
});

describe('whose turn it is', () => {
  const other = {
    key: 'drydock-system/mm-m2',
    active: true,
    responds: true,
    controlPlane: false,
    set: makeSet().key,
    undrained: new Set<string>(),
  };
  test('one that waits for its turn is looked at again when its deadline comes, as long as that is ahead', () => {
    const turn = (events: MachineRequestOverrides['events'] = [makeEvent()]) =>
      says({ events }, { others: [other] });
    assert.equal(turn([makeEvent({ deadline: at(hour) })]), `Scheduled Turn 0 ${hour - 1800}`);
    assert.equal(turn([makeEvent({ deadline: at(60) })]), 'Scheduled Turn 0 60');
    assert.equal(turn([makeEvent({ deadline: at(-60) })]), 'Scheduled Turn 0');
    assert.equal(turn([timeless]), 'Scheduled Turn 0');
  });

  test('one signal on all nodes takes few of them, with Machines or without; what its cloud does by a deadline waits for no such turn', () => {
    const nodeOnly = {
      nodeOnly: true,
      machineName: 'n1',
      nodeName: 'n1',
      strategy: 'Drain',
    } as const;
    const elsewhere = (key: string, over: Partial<typeof other> = {}) => ({
      ...other,
      key,
      set: 'another',
      ...over,
    });
    const seen = (nodes: IntOrPercent, out: number): MachineSnapshotOverrides => ({
      limits: { perSet: 0, perZone: 0, nodes },
      nodeCount: 20,
      others: Array.from({ length: out }, (_, index) => elsewhere(`o${index}`)),
    });
    const turn = (
      nodes: IntOrPercent,
      out: number,
      request: MachineRequestOverrides = { ...nodeOnly, events: [timeless] },
    ): string =>
      says(request, {
        ...seen(nodes, out),
        ...(request.nodeOnly && { machine: undefined, replacement: undefined }),
      }).split(' ')[1] ?? '';
    assert.deepEqual([turn(1, 0), turn(1, 1), turn(1, 19)], ['Begun', 'Turn', 'Turn']);
    assert.deepEqual(
      [turn('10%', 1), turn('10%', 2), turn('1%', 0), turn('1%', 1)],
      ['Begun', 'Turn', 'Begun', 'Turn'],
    );
    assert.equal(turn(0, 19), 'Begun', '0 is no limit');
    assert.equal(turn(1, 1, { events: [timeless] }), 'Turn', 'one with a Machine too');
    const asked = says(
      { ...nodeOnly, events: [timeless] },
      { ...seen(1, 0), machine: undefined, others: [elsewhere('o', { responds: false })] },
    );
    assert.match(asked, /Begun/, 'what somebody has asked for does not count');
    assert.equal(
      turn(1, 1, { ...nodeOnly, events: [], independent: true }),
      'Begun',
      'nor does it wait',
    );
    assert.equal(
      turn(1, 1, { ...nodeOnly, events: [makeEvent({ kind: 'reboot', deadline: at(1800) })] }),
      'Begun',
      'it goes in half an hour anyway',
    );
    const message = decided(
      { ...nodeOnly, events: [timeless] },
      { ...seen(1, 1), machine: undefined },
    ).message;
    assert.equal(
      message,
      'Waiting for its turn: 1 of 20 nodes are out of service for announcements, which is the limit (--nodes-unavailable=1)',
    );
  });

  test('a machine that its cloud has taken waits for nobody where it is replaced, with a machine more or without', () => {
    const silent = {
      others: [other],
      node: makeNode({ conditions: [{ ...isReady, status: 'Unknown' }] }),
    };
    const taken = (strategy: NonNullable<MachineRequestOverrides['strategy']>) =>
      says({ strategy, events: [makeEvent({ deadline: at(-60) })] }, silent)
        .split(' ')
        .slice(0, 2)
        .join(' ');
    assert.equal(taken('Replace'), 'Draining Begun');
    assert.equal(taken('ReplaceWithSurge'), 'Surging Begun');
    assert.equal(taken('Drain'), 'Scheduled Turn');
  });

  test('nor does one that a plan replaces, when the end of the event is known: others of its set wait for it to be Ready', () => {
    const taken = (
      over: MachineRequestOverrides = {},
      condition: { readonly status?: string; readonly lastTransitionTime?: string } = {},
    ) =>
      says(
        {
          strategy: 'ReplaceWithSurge',
          independent: true,
          plan: 'replacement',
          events: [makeEvent({ kind: 'stop', state: 'Completed', deadline: at(-60) })],
          ...over,
        },
        {
          others: [other],
          windows: [later],
          node: makeNode({ conditions: [{ ...isReady, status: 'Unknown', ...condition }] }),
        },
      );
    const waits = `Scheduled MaintenanceWindow ${hour} ${hour}`;
    assert.equal(taken(), 'Surging Begun');
    assert.equal(taken({ strategy: 'Drain' }), waits);
    assert.equal(taken({ events: [makeEvent({ kind: 'stop', state: 'Cancelled' })] }), waits);
    assert.equal(taken({}, { status: 'True' }), waits);
    const failedAt = (seconds: number) =>
      taken(
        { history: { eventsEndedAt: at(-100) } },
        { lastTransitionTime: at(seconds).toString() },
      );
    assert.equal(failedAt(-40), 'Surging Begun');
    assert.equal(failedAt(-39), waits, 'it was started again, and has failed since');
  });
});

test('the node that is noted is that of the machine, else that of the request', () => {
  const noted = (request: MachineRequestOverrides, seen: MachineSnapshotOverrides = {}) =>
    decided(request, seen).begins?.nodeName;
  const { nodeName: _, ...nodeless } = makeMachine();
  assert.equal(noted({ nodeName: 'n2' }), 'n1');
  assert.equal(noted({ nodeName: 'n2' }, { machine: nodeless }), 'n2');
  assert.equal(noted({}, { machine: nodeless }), undefined);
});
