import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isBefore, secondsBetween } from '@drydock/apimachinery';
import fc from 'fast-check';
import {
  afterOpenSeconds,
  atEndOf,
  calendarOf,
  expectedIn,
  freeSpans,
  freezeAt,
  lastStartOf,
  nextSpans,
  openingsAt,
  openNow,
  openSeconds,
  startOf,
} from './calendar.ts';
import {
  appliesTo,
  cronProblem,
  type MaintenanceWindow,
  minGap,
  minus,
  type Opening,
  type Span,
  union,
} from './spans.ts';

function at(text: string): Temporal.Instant {
  return Temporal.Instant.from(text);
}
function span(from: string, to: string): Span {
  return { from: at(from), to: at(to) };
}
const hour = 3600;

function windowOf(
  openings: readonly Opening[],
  over: Partial<MaintenanceWindow> = {},
): MaintenanceWindow {
  return {
    key: 'w',
    name: 'w',
    uid: 'u',
    resourceVersion: '1',
    generation: 1,
    timeZone: 'Europe/Berlin',
    kinds: ['Maintenance', 'MachineMaintenance'],
    openings,
    freezes: [],
    atEnd: 'Continue',
    missed: 'BeforeDeadline',
    status: {},
    ...over,
  };
}

const nightly = { cron: '0 22 * * *', seconds: 8 * hour };

function texts(spans: readonly Span[]): readonly string[] {
  return spans.map(({ from, to }) => `${from.toString()} ${to.toString()}`);
}

describe('openings on the days when the clocks change', () => {
  const halfPastTwo = calendarOf([windowOf([{ cron: '30 2 * * *', seconds: 2 * hour }])]);

  test('a time that the day does not have begins when the clocks have gone forward', () => {
    assert.deepEqual(
      texts(freeSpans(halfPastTwo, span('2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z'))),
      ['2026-03-29T01:00:00Z 2026-03-29T03:00:00Z', '2026-03-30T00:30:00Z 2026-03-30T02:30:00Z'],
    );
  });

  test('a time that the day has twice begins once, at the first of the two', () => {
    assert.deepEqual(
      texts(freeSpans(halfPastTwo, span('2026-10-24T12:00:00Z', '2026-10-26T12:00:00Z'))),
      ['2026-10-25T00:30:00Z 2026-10-25T02:30:00Z', '2026-10-26T01:30:00Z 2026-10-26T03:30:00Z'],
    );
  });

  test('a duration is real time on both days: eight hours end an hour later or earlier on the clock', () => {
    const calendar = calendarOf([windowOf([nightly])]);
    assert.deepEqual(
      texts(freeSpans(calendar, span('2026-03-28T12:00:00Z', '2026-03-29T12:00:00Z'))),
      ['2026-03-28T21:00:00Z 2026-03-29T05:00:00Z'],
    );
    assert.deepEqual(
      texts(freeSpans(calendar, span('2026-10-24T12:00:00Z', '2026-10-25T12:00:00Z'))),
      ['2026-10-24T20:00:00Z 2026-10-25T04:00:00Z'],
    );
  });
});

describe('several windows', () => {
  test('any that is open will do, and a freeze of one closes all', () => {
    const week = windowOf([{ cron: '0 8 * * 1-5', seconds: 4 * hour }], { timeZone: 'UTC' });
    const once = windowOf([span('2026-06-03T11:00:00Z', '2026-06-03T14:00:00Z')]);
    const quarterEnd = windowOf([], {
      freezes: [{ ...span('2026-06-03T09:00:00Z', '2026-06-03T10:00:00Z'), reason: 'quarter end' }],
    });
    const calendar = calendarOf([week, once, quarterEnd]);
    assert.deepEqual(
      texts(freeSpans(calendar, span('2026-06-03T00:00:00Z', '2026-06-04T00:00:00Z'))),
      ['2026-06-03T08:00:00Z 2026-06-03T09:00:00Z', '2026-06-03T10:00:00Z 2026-06-03T14:00:00Z'],
    );
    assert.equal(freezeAt(calendar, at('2026-06-03T09:30:00Z'))?.reason, 'quarter end');
    assert.equal(freezeAt(calendar, at('2026-06-03T10:00:00Z')), undefined);
  });

  test('freezes alone leave everything else open', () => {
    const calendar = calendarOf([
      windowOf([], { freezes: [span('2026-12-20T00:00:00Z', '2027-01-02T00:00:00Z')] }),
    ]);
    assert.equal(calendar.always, true);
    assert.deepEqual(startOf(calendar, { expectedSeconds: hour }, at('2026-12-24T00:00:00Z')), {
      kind: 'at',
      at: at('2027-01-02T00:00:00Z'),
      because: 'anytime',
      until: at('2027-01-24T00:00:00Z'),
    });
  });

  test('a window that cannot be read is never open, and does not make the others open all the time', () => {
    const broken = windowOf([], { problem: 'cron "x" cannot be read' });
    assert.equal(openNow(calendarOf([broken]), at('2026-06-03T09:00:00Z')), undefined);
    assert.deepEqual(nextSpans(calendarOf([broken]), at('2026-06-03T09:00:00Z'), 3), []);
    const readInPart = windowOf([span('2026-06-03T08:00:00Z', '2026-06-03T10:00:00Z')], {
      problem: 'cron "x" cannot be read',
    });
    assert.equal(openNow(calendarOf([readInPart]), at('2026-06-03T09:00:00Z')), undefined);
  });

  test('the strictest of them says what becomes of a drain at the end, and the longest how long one takes', () => {
    const windows = (['Pause', 'Release', 'Continue'] as const).map(atEnd =>
      windowOf([], { atEnd }),
    );
    assert.deepEqual(
      [windows, windows.slice(2), []].map(some => atEndOf(calendarOf(some))),
      ['Release', 'Continue', 'Continue'],
    );
    const said = calendarOf([
      windowOf([], { expectedSeconds: 100 }),
      windowOf([], { expectedSeconds: 300 }),
      windowOf([]),
    ]);
    assert.equal(expectedIn(said, 1000, 2000), 300);
    assert.deepEqual(
      [
        expectedIn(calendarOf([windowOf([])]), 1000, 2000),
        expectedIn(calendarOf([]), undefined, 2000),
      ],
      [1500, 2000],
    );
  });

  test('are for the nodes, kinds and events that they name', () => {
    const labels = { pool: 'gpu' };
    const window = windowOf([nightly], {
      nodeSelector: { matchLabels: labels },
      kinds: ['MachineMaintenance'],
      eventKinds: ['reboot'],
    });
    assert.equal(
      appliesTo(window, { kind: 'MachineMaintenance', labels, eventKinds: ['reboot', 'stop'] }),
      true,
    );
    assert.equal(
      appliesTo(window, { kind: 'MachineMaintenance', labels, eventKinds: ['stop'] }),
      false,
    );
    assert.equal(appliesTo(window, { kind: 'MachineMaintenance', labels }), false);
    assert.equal(appliesTo(window, { kind: 'Maintenance', labels }), false);
    assert.equal(
      appliesTo(window, { kind: 'MachineMaintenance', labels: {}, eventKinds: ['reboot'] }),
      false,
    );
  });
});

describe('what there is to see of openings', () => {
  const now = at('2026-06-03T12:00:00Z');

  test('the piece of today that is over does not come next', () => {
    const freezes = [span('2026-06-03T09:00:00Z', '2026-06-03T10:00:00Z')];
    const calendar = calendarOf([
      windowOf([span('2026-06-03T08:00:00Z', '2026-06-03T18:00:00Z')], { freezes }),
    ]);
    assert.deepEqual(texts(nextSpans(calendar, now, 2)), [
      '2026-06-03T10:00:00Z 2026-06-03T18:00:00Z',
    ]);
  });

  test('a rule that comes true once a year is found, and a month is enough for the others', () => {
    const yearly = calendarOf([
      windowOf([{ cron: '0 3 1 2 *', seconds: hour }], { timeZone: 'UTC' }),
    ]);
    assert.deepEqual(texts(nextSpans(yearly, now, 2)), [
      '2027-02-01T03:00:00Z 2027-02-01T04:00:00Z',
    ]);
    assert.deepEqual(texts(nextSpans(calendarOf([]), now, 1)), [
      '2026-06-03T12:00:00Z 2026-07-04T12:00:00Z',
    ]);
  });

  test('an opening that ends as the look begins, or begins as it ends, is not among them', () => {
    const rule = calendarOf([
      windowOf([{ cron: '30 8 * * *', seconds: hour }], { timeZone: 'UTC' }),
    ]);
    const once = calendarOf([windowOf([span('2026-06-03T08:30:00Z', '2026-06-03T09:30:00Z')])]);
    const looks: readonly (readonly [string, string, number])[] = [
      ['2026-06-03T07:00:00Z', '2026-06-03T08:30:00Z', 0],
      ['2026-06-03T07:00:00Z', '2026-06-03T08:30:01Z', 1],
      ['2026-06-03T09:00:00Z', '2026-06-03T09:10:00Z', 1],
      ['2026-06-03T09:29:59Z', '2026-06-03T10:00:00Z', 1],
      ['2026-06-03T09:30:00Z', '2026-06-03T10:00:00Z', 0],
    ];
    for (const [from, to, seen] of looks) {
      for (const calendar of [rule, once])
        assert.equal(freeSpans(calendar, span(from, to)).length, seen, `${from} ${to}`);
    }
  });

  test('of a window, 512 starts are looked at in all, and eight of each opening at least', () => {
    const seen = (openings: readonly Opening[]): number =>
      freeSpans(
        calendarOf([windowOf(openings)]),
        span('2026-06-03T00:00:00Z', '2026-07-03T00:00:00Z'),
      ).length;
    const even = { cron: '*/2 * * * *', seconds: 30 };
    const odd = { cron: '1-59/2 * * * *', seconds: 30 };
    assert.deepEqual(
      [seen([even]), seen([even, odd]), seen(Array.from({ length: 100 }, () => even))],
      [512, 512, 8],
    );
  });

  let runs = 0;

  test('is found for an hour that nobody has asked about before, a past one too', () => {
    runs += 1;
    const day = at('2020-01-01T00:00:00Z').add({ hours: 24 * runs });
    const calendar = calendarOf([
      windowOf([{ cron: '*/15 * * * *', seconds: 60 }], { timeZone: 'UTC' }),
    ]);
    const expected = [15, 30].map(minutes => ({
      from: day.add({ minutes }),
      to: day.add({ minutes: minutes + 1 }),
    }));
    assert.deepEqual(
      freeSpans(calendar, { from: day.add({ minutes: 1 }), to: day.add({ minutes: 45 }) }),
      expected,
    );
  });

  test('the reason of a freeze is that of one that lasts, not of one that is over or comes', () => {
    const freezes = [
      { ...span('2026-06-03T01:00:00Z', '2026-06-03T02:00:00Z'), reason: 'first' },
      span('2026-06-03T03:00:00Z', '2026-06-03T05:00:00Z'),
      { ...span('2026-06-03T04:00:00Z', '2026-06-03T05:00:00Z'), reason: 'second' },
      { ...span('2026-06-03T06:00:00Z', '2026-06-03T07:00:00Z'), reason: 'third' },
    ];
    const calendar = calendarOf([windowOf([], { freezes })]);
    const reasons = ['01:59', '02:00', '03:30', '04:00', '05:00', '06:00'].map(
      time => freezeAt(calendar, at(`2026-06-03T${time}:00Z`))?.reason,
    );
    assert.deepEqual(reasons, ['first', undefined, undefined, 'second', undefined, 'third']);
    assert.deepEqual(freezeAt(calendar, at('2026-06-03T03:30:00Z')), {
      until: at('2026-06-03T05:00:00Z'),
    });
  });
});

describe('the start', () => {
  const now = at('2026-06-03T12:00:00Z');
  const calendar = calendarOf([windowOf([nightly], { timeZone: 'UTC' })]);
  const begins = (...args: Parameters<typeof startOf>): string => {
    const start = startOf(...args);
    return start.kind === 'never'
      ? `never, ${start.longestSeconds}`
      : `${start.at.toString()} ${start.because}`;
  };

  test('is the next opening', () =>
    assert.equal(begins(calendar, { expectedSeconds: hour }, now), '2026-06-03T22:00:00Z window'));

  test('is now where the window is open and long enough', () => {
    assert.equal(
      begins(calendar, { expectedSeconds: hour }, at('2026-06-03T23:00:00Z')),
      '2026-06-03T23:00:00Z window',
    );
    assert.equal(
      begins(calendar, { expectedSeconds: hour }, at('2026-06-04T05:00:00Z')),
      '2026-06-04T05:00:00Z window',
    );
  });

  test('waits for the next opening when too little is left of this one', () => {
    assert.equal(
      begins(calendar, { expectedSeconds: hour }, at('2026-06-04T05:00:01Z')),
      '2026-06-04T22:00:00Z window',
    );
  });

  test('never comes when no opening is long enough', () => {
    assert.equal(begins(calendar, { expectedSeconds: 9 * hour }, now), `never, ${8 * hour}`);
  });

  test('comes before the deadline when the opening would be too late', () => {
    const constraints = { expectedSeconds: hour, deadline: at('2026-06-03T20:00:00Z') };
    assert.equal(begins(calendar, constraints, now), '2026-06-03T19:00:00Z deadline');
    assert.equal(
      begins(calendar, constraints, at('2026-06-03T19:30:00Z')),
      '2026-06-03T19:30:00Z deadline',
    );
  });

  test('comes in the opening when that ends in time', () => {
    assert.equal(
      begins(calendar, { expectedSeconds: hour, deadline: at('2026-06-03T23:00:00Z') }, now),
      '2026-06-03T22:00:00Z window',
    );
    assert.equal(
      begins(calendar, { expectedSeconds: hour, deadline: at('2026-06-03T22:59:59Z') }, now),
      '2026-06-03T21:59:59Z deadline',
    );
  });

  test('is not before what was asked for', () => {
    assert.equal(
      begins(calendar, { expectedSeconds: hour, notBefore: at('2026-06-05T00:00:00Z') }, now),
      '2026-06-05T00:00:00Z window',
    );
  });

  test('waits for the opening in spite of the deadline where the window says so', () => {
    const patient = calendarOf([windowOf([nightly], { timeZone: 'UTC', missed: 'Wait' })]);
    assert.equal(
      begins(patient, { expectedSeconds: hour, deadline: at('2026-06-03T20:00:00Z') }, now),
      '2026-06-03T22:00:00Z window',
    );
  });

  test('comes before a freeze that the deadline falls into', () => {
    const freezes = [span('2026-06-03T16:00:00Z', '2026-06-03T21:00:00Z')];
    const frozen = calendarOf([windowOf([nightly], { timeZone: 'UTC', freezes })]);
    assert.equal(
      begins(frozen, { expectedSeconds: hour, deadline: at('2026-06-03T20:00:00Z') }, now),
      '2026-06-03T15:59:59Z deadline',
    );
  });

  test('is not moved by a freeze that is over by then, or comes after it', () => {
    const constraints = { expectedSeconds: hour, deadline: at('2026-06-03T20:00:00Z') };
    for (const freeze of [
      span('2026-06-03T13:00:00Z', '2026-06-03T14:00:00Z'),
      span('2026-06-03T19:30:00Z', '2026-06-03T21:00:00Z'),
    ]) {
      const frozen = calendarOf([windowOf([nightly], { timeZone: 'UTC', freezes: [freeze] })]);
      assert.equal(begins(frozen, constraints, now), '2026-06-03T19:00:00Z deadline');
    }
  });

  test('in the last opening before a deadline needs one that is just long enough', () => {
    const once = calendarOf([windowOf([span('2026-06-03T14:00:00Z', '2026-06-03T15:00:00Z')])]);
    const deadline = at('2026-06-03T20:00:00Z');
    assert.partialDeepStrictEqual(lastStartOf(once, { expectedSeconds: hour, deadline }, now), {
      at: at('2026-06-03T14:00:00Z'),
    });
    assert.equal(lastStartOf(once, { expectedSeconds: hour + 1, deadline }, now), undefined);
  });

  test('does not break a freeze that began already, except where the window says so', () => {
    const freezes = [span('2026-06-03T11:00:00Z', '2026-06-03T21:00:00Z')];
    const constraints = { expectedSeconds: hour, deadline: at('2026-06-03T20:00:00Z') };
    assert.equal(
      begins(calendarOf([windowOf([nightly], { timeZone: 'UTC', freezes })]), constraints, now),
      '2026-06-03T22:00:00Z window',
    );
    const bold = calendarOf([
      windowOf([nightly], { timeZone: 'UTC', freezes, missed: 'EvenInFreeze' }),
    ]);
    assert.equal(begins(bold, constraints, now), '2026-06-03T19:00:00Z deadline');
  });

  test('comes once a year where the rule says so', () => {
    const yearly = calendarOf([
      windowOf([{ cron: '0 3 1 2 *', seconds: hour }], { timeZone: 'UTC' }),
    ]);
    assert.equal(begins(yearly, { expectedSeconds: 60 }, now), '2027-02-01T03:00:00Z window');
  });
});

describe('cron', () => {
  test('says what is wrong with an expression or a zone', () => {
    assert.equal(cronProblem('0 22 * * 1-5', 'UTC'), undefined);
    assert.match(
      cronProblem('x', 'UTC') ?? '',
      /^cron "x" cannot be read: (?!CronPattern|\w*Error)/,
    );
    assert.match(cronProblem('0 0 0 * * *', 'UTC') ?? '', /cannot be read/, 'seconds are not read');
    assert.match(cronProblem('0 0 31 2 *', 'UTC') ?? '', /never comes true/);
    assert.match(cronProblem('0 1 * * *', 'Mars/Olympus') ?? '', /Mars\/Olympus/);
  });

  const rules: readonly (readonly [string, number, string])[] = [
    ['0 1 * * *', 24 * hour, 'once a day'],
    ['0 1,4,5 * * *', hour, 'three times a day, the closest two an hour apart'],
    ['0 1 * * 6,0', 24 * hour, 'on two days of the week'],
    ['0 0 31 2 *', Number.POSITIVE_INFINITY, 'never'],
    ['0 1,3,5,7,9,11,13,15,17,18 * * *', 2 * hour, 'the ninth gap is not looked at any more'],
  ];

  let runs = 0;

  /** The same rule as nobody has written it before, so that nothing is remembered of it. */
  const unheard = (cron: string): string => {
    runs += 1;
    return `${cron}${' '.repeat(runs)}`;
  };

  for (const [cron, seconds, what] of rules) {
    test(`the closest starts of a rule, found and remembered: ${what}`, () => {
      const rule = unheard(cron);
      assert.deepEqual([minGap(rule, 'UTC'), minGap(rule, 'UTC')], [seconds, seconds]);
    });
  }
});

describe('laws', () => {
  const base = at('2026-01-01T00:00:00Z').epochMilliseconds;
  const moment = fc
    .integer({ min: 0, max: 1000 })
    .map(n => Temporal.Instant.fromEpochMilliseconds(base + n * 60_000));
  const anySpan = fc
    .tuple(moment, fc.integer({ min: 0, max: 200 }))
    .map(([from, minutes]) => ({ from, to: from.add({ minutes }) }));
  const spans = fc.array(anySpan, { maxLength: 8 });
  const covers = (all: readonly Span[], when: Temporal.Instant): boolean =>
    all.some(({ from, to }) => !isBefore(when, from) && isBefore(when, to));

  test('a union covers what its spans cover, in order and without overlaps', () => {
    fc.assert(
      fc.property(spans, moment, (all, when) => {
        const merged = union(all);
        assert.equal(covers(merged, when), covers(all, when));
        for (const [index, { from }] of merged.entries())
          if (index > 0) assert.ok(isBefore(merged[index - 1]!.to, from));
        assert.ok(merged.every(({ from, to }) => isBefore(from, to)));
      }),
    );
  });

  test('what is taken away is not covered, everything else is', () => {
    fc.assert(
      fc.property(spans, spans, moment, (all, holes, when) => {
        const left = minus(all, holes);
        assert.equal(covers(left, when), covers(all, when) && !covers(holes, when));
        assert.ok(left.every(({ from, to }) => isBefore(from, to)));
      }),
    );
  });

  test('nothing starts in a freeze or too late to end in its opening, except for a deadline', () => {
    const constraints = fc.record(
      { expectedSeconds: fc.integer({ min: 1, max: 9000 }), deadline: moment },
      { requiredKeys: ['expectedSeconds'] },
    );
    fc.assert(
      fc.property(spans, spans, constraints, moment, (openings, freezes, constraints, now) => {
        const calendar = calendarOf([
          windowOf([span('2025-01-01T00:00:00Z', '2025-01-01T01:00:00Z'), ...openings], {
            freezes,
          }),
        ]);
        const start = startOf(calendar, constraints, now);
        if (start.kind === 'never') return;
        assert.equal(freezeAt(calendar, start.at), undefined);
        assert.ok(!isBefore(start.at, now));
        if (start.because !== 'window') return assert.ok(constraints.deadline !== undefined);
        assert.ok(
          start.until !== undefined &&
            secondsBetween(start.at, start.until) >= constraints.expectedSeconds,
        );
        assert.ok(covers(openings, start.at));
      }),
    );
  });
});

describe('open time', () => {
  const nights = calendarOf([windowOf([nightly], { timeZone: 'UTC' })]);
  const frozen = calendarOf([
    windowOf([nightly], {
      timeZone: 'UTC',
      freezes: [span('2026-11-21T23:00:00Z', '2026-11-22T01:00:00Z')],
    }),
  ]);

  test('is what is open of a stretch of time, without what is frozen', () => {
    const day = span('2026-11-21T05:00:00Z', '2026-11-22T00:00:00Z');
    assert.deepEqual(
      [openSeconds(nights, day), openSeconds(frozen, day), openSeconds(calendarOf([]), day)],
      [3 * hour, 2 * hour, 19 * hour],
    );
    assert.equal(openSeconds(nights, { from: day.to, to: day.from }), 0);
  });

  test('is over after so many seconds of it', () => {
    const from = at('2026-11-21T05:00:00Z');
    for (const [calendar, seconds, wanted] of [
      [nights, 0, '2026-11-21T05:00:00Z'],
      [nights, hour, '2026-11-21T06:00:00Z'],
      [nights, hour + 1, '2026-11-21T22:00:01Z'],
      [frozen, 2 * hour + 1, '2026-11-22T01:00:01Z'],
      [nights, 50 * 8 * hour + hour, '2027-01-10T06:00:00Z'],
      [nights, 500 * 8 * hour, undefined],
      [calendarOf([]), 300 * 86_400, '2027-09-17T05:00:00Z'],
    ] as const)
      assert.equal(afterOpenSeconds(calendar, from, seconds)?.toString(), wanted, String(seconds));
  });

  test('law: between a moment and the one after so many seconds of open time there are so many', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 * 8 * hour }),
        fc.integer({ min: 0, max: 86_400 }),
        (seconds, later) => {
          const from = at('2026-11-21T00:00:00Z').add({ seconds: later });
          const to = afterOpenSeconds(frozen, from, seconds);
          assert.equal(to && openSeconds(frozen, { from, to }), seconds);
        },
      ),
    );
  });

  test('openings that are open now are each by itself, whatever is frozen in them', () => {
    const both = calendarOf([
      windowOf([nightly, { cron: '0 23 * * *', seconds: hour }], {
        timeZone: 'UTC',
        freezes: [span('2026-11-21T23:00:00Z', '2026-11-22T01:00:00Z')],
      }),
      windowOf([], { problem: 'unreadable' }),
    ]);
    const now = (text: string): readonly string[] => texts(openingsAt(both, at(text)));
    assert.deepEqual(now('2026-11-21T23:30:00Z'), [
      '2026-11-21T22:00:00Z 2026-11-22T06:00:00Z',
      '2026-11-21T23:00:00Z 2026-11-22T00:00:00Z',
    ]);
    assert.deepEqual(now('2026-11-22T00:00:00Z'), ['2026-11-21T22:00:00Z 2026-11-22T06:00:00Z']);
    assert.deepEqual(
      [
        now('2026-11-21T22:00:00Z').length,
        now('2026-11-21T21:59:59Z').length,
        now('2026-11-22T06:00:00Z').length,
      ],
      [1, 0, 0],
    );
  });
});
