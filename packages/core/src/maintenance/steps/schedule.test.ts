import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { noHistory, type RequestedStart } from '../../request/request.ts';
import { at, makeNode, makeRequest, makeSnapshot, ourLease } from '../../testing/make.ts';
import { makeWindow as makeAnyWindow } from '../../testing/make-window.ts';
import type { MaintenanceWindow, Span } from '../../window/spans.ts';
import { type ReconcileContext, type RequestProgress, startContext } from '../reconcile-context.ts';
import { emptyMemo, type NodeSnapshot } from '../snapshot.ts';
import { schedule } from './schedule.ts';

const hour = 3600;
function span(from: number, to: number): Span {
  return { from: at(from), to: at(to) };
}

function makeWindow(over: Partial<MaintenanceWindow> = {}): MaintenanceWindow {
  return makeAnyWindow({ kinds: ['Maintenance'], openings: [span(10 * hour, 14 * hour)], ...over });
}

type ScheduleCase = {
  readonly start?: RequestedStart;
  readonly state?: 'Pending' | 'Announced' | 'Failed' | 'Draining';
  readonly level?: 'Announce' | 'Drain';
};

/** Where a request of this kind stands at `now` (seconds), and when to look again. */
function looked(
  windows: readonly MaintenanceWindow[],
  now: number,
  given: ScheduleCase = {},
  snapshot: Partial<NodeSnapshot> = {},
) {
  const request = makeRequest('one', {
    start: given.start ?? { windows: 'Respect' },
    ...(given.level && { level: given.level }),
    history: { ...noHistory, ...(given.state && { state: given.state }) },
  });
  const context: ReconcileContext = startContext(
    makeSnapshot({ node: makeNode(), requests: [request], windows, ...snapshot }),
    at(now),
  );
  const { progresses, moments, lookups } = schedule(context).context;
  const [progress] = progresses as [RequestProgress];
  return {
    progress,
    lookups,
    moments: moments.map(moment => (moment.epochMilliseconds - at(0).epochMilliseconds) / 1000),
  };
}

function makeOne() {
  return makeRequest('one', { start: { windows: 'Respect' } });
}
const free = { barred: false, reason: undefined, moments: [] };
function brief({ progress: { barred, problem }, moments }: ReturnType<typeof looked>) {
  return { barred, reason: problem?.reason, moments };
}

describe('before it begins', () => {
  const rows: readonly (readonly [string, Parameters<typeof looked>, ReturnType<typeof brief>])[] =
    [
      ['without windows, at once', [[], 0], free],
      [
        'for its window',
        [[makeWindow()], 0],
        { barred: true, reason: 'MaintenanceWindow', moments: [10 * hour] },
      ],
      ['in its window, at once', [[makeWindow()], 10 * hour], free],
      ['windows that it is to ignore', [[makeWindow()], 0, { start: { windows: 'Ignore' } }], free],
      [
        'a window for other nodes',
        [[makeWindow({ nodeSelector: { matchLabels: { pool: 'blue' } } })], 0],
        free,
      ],
      [
        'a window for machine maintenances',
        [[makeWindow({ kinds: ['MachineMaintenance'] })], 0],
        free,
      ],
      [
        'its own time',
        [[], 0, { start: { windows: 'Respect', notBefore: at(hour) } }],
        { barred: true, reason: 'NotYetDue', moments: [hour] },
      ],
      [
        'a freeze',
        [[makeWindow({ openings: [], freezes: [span(-hour, 2 * hour)] })], 0],
        { barred: true, reason: 'Frozen', moments: [2 * hour] },
      ],
      [
        // Nine hundred seconds are expected where nothing has been seen.
        'its deadline, where no opening comes before',
        [[makeWindow()], 0, { start: { windows: 'Respect', deadline: at(5 * hour) } }],
        { barred: true, reason: 'WindowMissed', moments: [5 * hour - 900] },
      ],
      [
        'its deadline, no longer',
        [[makeWindow()], 5 * hour - 900, { start: { windows: 'Respect', deadline: at(5 * hour) } }],
        free,
      ],
      [
        'nothing that will ever come',
        [[makeWindow({ openings: [], problem: 'cannot be read' })], 0],
        { barred: true, reason: 'NoOpening', moments: [86_400] },
      ],
      ['announced only, for nothing', [[makeWindow()], 0, { level: 'Announce' }], free],
    ];
  for (const [what, args, wanted] of rows)
    test(`it waits for ${what}`, () => assert.deepEqual(brief(looked(...args)), wanted));

  test('what keeps it is said with the time that it begins at', () => {
    const said = (...args: Parameters<typeof looked>) => {
      const { progress } = looked(...args);
      return [progress.problem?.message, progress.startsAt?.toString()];
    };
    const ten = '2026-11-21T10:00:00Z';
    const frozen = makeWindow({
      openings: [],
      freezes: [{ ...span(-hour, 2 * hour), reason: 'black friday' }],
    });
    assert.deepEqual(said([frozen], 0), [
      `begins at ${ten}: frozen until ${ten} (black friday)`,
      ten,
    ]);
    const { reason: _, ...nameless } = frozen.freezes[0]!;
    assert.deepEqual(said([{ ...frozen, freezes: [nameless] }], 0), [
      `begins at ${ten}: frozen until ${ten}`,
      ten,
    ]);
    const short = makeWindow({ openings: [span(10 * hour, 10 * hour + 600)] });
    assert.deepEqual(said([short], 0), [
      'no opening of nights is long enough: 15 min are expected, the longest is 10 min',
      undefined,
    ]);
    assert.deepEqual(said([makeWindow({ openings: [], problem: 'x' })], 0), [
      'nights will not be open in the next 400 days',
      undefined,
    ]);
  });

  test('how long it takes is what it says, else what has been seen', () => {
    const short = makeWindow({ openings: [span(hour, hour + 1200), span(10 * hour, 14 * hour)] });
    assert.deepEqual(looked([short], 0).moments, [hour], 'by the guess, twenty minutes are enough');
    assert.deepEqual(
      looked([short], 0, {}, { drainSeconds: 1000 }).moments,
      [10 * hour],
      'what was seen gets half as much room again',
    );
    assert.deepEqual(
      looked(
        [short],
        0,
        { start: { windows: 'Respect', expectedSeconds: 1200 } },
        { drainSeconds: 1000 },
      ).moments,
      [hour],
    );
  });
});

describe('before it begins, all windows that were there before it are known', () => {
  const unknown = { windowsKnownTo: new Set<string>(), leases: new Map() };
  const asked = (...[windows, now, given, seen]: Parameters<typeof looked>) => {
    const { progress, lookups, moments } = looked(windows, now, given, { ...unknown, ...seen });
    return [
      progress.barred,
      progress.problem?.reason,
      moments,
      lookups.map(({ kind, key }) => [kind, key]),
    ];
  };
  const asks = [true, undefined, [], [['MaintenanceWindows', makeRequest('one').key]]];

  test('the API server is asked at the moment of the start, and not before; meanwhile nothing is said', () => {
    assert.deepEqual(asked([], 0), asks);
    assert.deepEqual(asked([makeWindow()], 0), [true, 'MaintenanceWindow', [10 * hour], []]);
    assert.deepEqual(asked([makeWindow()], 10 * hour), asks);
  });

  test('what was in the way of an answer is said', () => {
    const { progress, lookups } = looked(
      [],
      0,
      {},
      { ...unknown, windowsProblem: 'the server is busy' },
    );
    assert.deepEqual([progress.barred, lookups.length], [true, 1]);
    assert.deepEqual(progress.problem, {
      reason: 'WindowsUnknown',
      message: 'not all maintenance windows are known: the server is busy',
    });
    assert.deepEqual(
      asked(
        [],
        0,
        {},
        { windowsKnownTo: new Set([makeRequest('one').uid]), windowsProblem: 'busy' },
      ),
      [false, undefined, [], []],
    );
  });

  test('it begins once they are known to it, and to no other', () => {
    const knownTo = (uid: string) => asked([], 0, {}, { windowsKnownTo: new Set([uid]) });
    assert.deepEqual(knownTo(makeRequest('one').uid), [false, undefined, [], []]);
    assert.deepEqual(knownTo('other'), asks);
  });

  test('a node that is held already is not released for the time of the question, unless the hold is of another one', () => {
    const node = makeNode({ holdRecord: '{}' });
    const free = [false, undefined, [], []];
    assert.deepEqual(asked([], 0, {}, { node }), free, 'its status has not been stored yet');
    const leasedTo = (holder: string) =>
      asked([], 0, {}, { leases: new Map([[ourLease.key, { ...ourLease, holder }]]) });
    assert.deepEqual([leasedTo('us'), leasedTo('somebody')], [free, asks], 'nor has the hold');
    const other = (state: 'Cordoned' | 'Pending', over: object = {}) =>
      makeRequest('other', { history: { ...noHistory, state }, ...over });
    const beside = (request: ReturnType<typeof other>) =>
      asked([], 0, {}, { node, requests: [makeOne(), request] });
    assert.deepEqual(beside(other('Cordoned')), asks);
    assert.deepEqual(beside(other('Pending')), free);
    assert.deepEqual(
      beside(other('Cordoned', { deleting: true })),
      free,
      'the hold passes from one to the other',
    );
  });

  test('what does not go by windows, or has begun, does not ask', () => {
    for (const given of [
      { start: { windows: 'Ignore' } },
      { state: 'Draining' },
      { level: 'Announce' },
    ] as const)
      assert.deepEqual(asked([], 0, given), [false, undefined, [], []], JSON.stringify(given));
  });
});

describe('whether it has begun', () => {
  // Outside of the window: what has begun goes on, what has not waits.
  for (const [state, begun] of [
    [undefined, false],
    ['Pending', false],
    ['Announced', false],
    ['Failed', false],
    ['Draining', true],
  ] as const) {
    test(`${state ?? 'without a status'}: ${begun ? 'yes' : 'no'}`, () => {
      assert.equal(looked([makeWindow()], 0, state && { state }).progress.barred, !begun);
    });
  }

  test('it held the node at the last look, and its status could not be stored: yes', () => {
    const { uid } = makeOne();
    const barredWith = (holding: ReadonlySet<string>): boolean =>
      looked([makeWindow()], 0, {}, { memo: { ...emptyMemo, holding } }).progress.barred;
    assert.deepEqual([barredWith(new Set([uid])), barredWith(new Set(['another']))], [false, true]);
  });
});

describe('while it is under way', () => {
  const draining = { state: 'Draining' } as const;
  const pausing = makeWindow({ atEnd: 'Pause' });
  const givingBack = makeWindow({ atEnd: 'Release' });
  const context = (found: ReturnType<typeof looked>) => {
    const { barred, paused = false, restarts = false, problem } = found.progress;
    return { barred, paused, restarts, said: problem?.message, moments: found.moments };
  };
  const goesOn = { barred: false, paused: false, restarts: false, said: undefined, moments: [] };

  test('in the window it goes on, and its end is looked out for', () => {
    assert.deepEqual(context(looked([pausing], 11 * hour, draining)), {
      ...goesOn,
      moments: [14 * hour],
    });
  });

  test('outside of it, it pauses, or gives back, or goes on, as the window says', () => {
    const after = (window: MaintenanceWindow) =>
      context(
        looked(
          [window, makeWindow({ openings: [span(30 * hour, 34 * hour)] })],
          20 * hour,
          draining,
        ),
      );
    const next = '2026-11-22T14:00:00Z';
    assert.deepEqual(after(makeWindow()), goesOn);
    assert.deepEqual(after(pausing), {
      ...goesOn,
      paused: true,
      said: `paused: the window has closed; continues at ${next}`,
      moments: [30 * hour],
    });
    assert.deepEqual(after(givingBack), {
      ...goesOn,
      barred: true,
      restarts: true,
      said: `released: the window has closed; continues at ${next}`,
      moments: [30 * hour],
    });
  });

  test('where no opening is known, it looks again a day later', () => {
    assert.deepEqual(context(looked([pausing], 20 * hour, draining)), {
      ...goesOn,
      paused: true,
      said: 'paused: the window has closed; no opening is known',
      moments: [20 * hour + 86_400],
    });
  });

  test('once drained it stays, whatever the window does', () => {
    const request = makeRequest('one', {
      start: { windows: 'Respect' },
      history: { ...noHistory, state: 'Drained', drainedAt: at(hour) },
    });
    const { progresses } = schedule(
      startContext(
        makeSnapshot({ node: makeNode(), requests: [request], windows: [givingBack] }),
        at(20 * hour),
      ),
    ).context;
    assert.deepEqual(
      progresses.map(({ barred, restarts }) => [barred, restarts]),
      [[false, undefined]],
    );
  });

  test('near its deadline it goes on, as late as leaves it the time that it takes', () => {
    const start: RequestedStart = {
      windows: 'Respect',
      deadline: at(25 * hour),
      expectedSeconds: hour,
    };
    const paused = (now: number) =>
      looked([pausing], now, { ...draining, start }).progress.paused === true;
    assert.deepEqual(
      [paused(24 * hour - 1), paused(24 * hour), paused(24 * hour + 1)],
      [true, false, false],
    );
    assert.equal(
      looked([pausing], 24 * hour, draining).progress.paused,
      true,
      'without one it does not',
    );
  });
});

test('each request of a node is looked at by itself, and a node that is gone by nobody', () => {
  const requests = [
    makeRequest('one', { start: { windows: 'Respect' } }),
    makeRequest('two', { start: { windows: 'Ignore' } }),
  ];
  const snapshot = makeSnapshot({ node: makeNode(), requests, windows: [makeWindow()] });
  const { progresses, moments } = schedule(startContext(snapshot, at(0))).context;
  assert.deepEqual(
    progresses.map(({ barred }) => barred),
    [true, false],
  );
  assert.equal(moments.length, 1);
  const { node: _, ...gone } = snapshot;
  assert.deepEqual(
    schedule(startContext(gone, at(0))).context.progresses.map(({ barred }) => barred),
    [false, false],
  );
});
