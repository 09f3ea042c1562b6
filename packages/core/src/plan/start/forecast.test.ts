import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decided, nodesOf } from '../../testing/decided.ts';
import { at } from '../../testing/make.ts';
import { makeInFlight, makeVerdict, soakedRun } from '../../testing/make-plan.ts';
import { makeWindow } from '../../testing/make-window.ts';
import type { Plan } from '../plan.ts';

/**
 * When a plan is expected to be over, and whether that is in time. Time 0 is eight in the morning,
 * UTC.
 */

function many(
  maxInFlight: number,
  more: Partial<Plan['concurrency']> = {},
): Pick<Plan, 'concurrency'> {
  return {
    concurrency: { maxInFlight, perTopology: [], foreignCordon: 'Wait', ...more },
  };
}

const paused = { paused: true };
const hour = { ...paused, expectedSeconds: 3600 };

/** Seconds from now to the expected end. */
function endOf(...[over, plan]: Parameters<typeof decided>): number | undefined {
  const { end } = decided(over, plan).forecast;
  return end && (end.epochMilliseconds - at(0).epochMilliseconds) / 1000;
}

describe('the expected end', () => {
  test('goes by what is said, else by the mean of what was seen, else by a guess', () => {
    const verdicts = [
      makeVerdict('n1', { startedAt: at(-500), completedAt: at(-400) }),
      makeVerdict('n2', { startedAt: at(-500), completedAt: at(-200) }),
    ];
    assert.equal(endOf({ nodes: nodesOf(4) }, hour), 4 * 3600);
    assert.equal(endOf({ nodes: nodesOf(4), verdicts }, paused), 2 * 200);
    assert.equal(endOf({ nodes: nodesOf(4) }, paused), 4 * 600);
    assert.equal(endOf({ nodes: nodesOf(2), verdicts }, paused), undefined, 'nothing is left');
  });

  test('as many at once as limits allow; what is in flight has begun already', () => {
    for (const [open, atOnce, wanted] of [
      [4, 2, 7200],
      [5, 2, 10_800],
      [3, 9, 3600],
    ] as const)
      assert.equal(
        endOf({ nodes: nodesOf(open) }, { ...hour, ...many(atOnce) }),
        wanted,
        `${open} of ${atOnce}`,
      );
    assert.equal(
      endOf({ nodes: nodesOf(4) }, { ...hour, ...many(4, { maxUnavailableAbsolute: 2 }) }),
      7200,
    );
    assert.equal(endOf({ nodes: nodesOf(4) }, { ...hour, ...many(0) }), undefined);
    const inFlight = [makeInFlight('n1', { startedAt: at(-3000) })];
    assert.equal(endOf({ nodes: nodesOf(1) }, { ...hour, inFlight }), 600);
    assert.equal(endOf({ nodes: nodesOf(3) }, { ...hour, inFlight, ...many(2) }), 600 + 3600);
    assert.equal(
      endOf(
        { nodes: nodesOf(2) },
        { ...hour, inFlight: [makeInFlight('n1', { startedAt: at(-9000) })] },
      ),
      3600,
      'late already',
    );
  });

  test('the slots that are free first take the nodes that are left, whatever the order of those in flight', () => {
    const inFlight = [
      makeInFlight('n1', { startedAt: at(-600) }),
      makeInFlight('n2', { startedAt: at(-3000) }),
    ];
    assert.equal(endOf({ nodes: nodesOf(4) }, { ...hour, inFlight, ...many(3) }), 600 + 3600);
    assert.equal(endOf({ nodes: nodesOf(3) }, { ...hour, inFlight, ...many(3) }), 3600);
    assert.equal(
      endOf({ nodes: nodesOf(3) }, { ...hour, inFlight, ...many(1) }),
      3000 + 3600,
      'the limit was lowered: both end first',
    );
    assert.equal(
      endOf({ nodes: nodesOf(2) }, { ...hour, inFlight, ...many(0) }),
      3000,
      'nothing is left to begin',
    );
  });

  test('goes by what is proven alone: a failure says nothing of how long a node takes', () => {
    const failed = makeVerdict('n2', { verdict: 'Failed', startedAt: at(-90_000) });
    const verdicts = [makeVerdict('n1', { startedAt: at(-500), completedAt: at(-400) }), failed];
    assert.equal(endOf({ nodes: nodesOf(3), verdicts }, paused), 100);
  });

  test('starts of the opening that is open now count against it', () => {
    const windows = [makeWindow({ openings: [{ cron: '0 7 * * *', seconds: 7200 }] })];
    const plan = { ...paused, expectedSeconds: 600, ...many(9, { startsPerWindow: 2 }) };
    const of = (seconds: number) => ({
      nodes: nodesOf(3),
      windows,
      verdicts: [makeVerdict('n1', { startedAt: at(seconds) })],
    });
    assert.equal(endOf(of(-600), plan), 23 * 3600 + 600, 'one of two has begun in it');
    assert.equal(endOf(of(-7200), plan), 600, 'it began before');
    assert.equal(endOf({ ...of(-600), nodes: nodesOf(2) }, plan), 600);
    const nights = [makeWindow({ openings: [{ cron: '0 22 * * *', seconds: 7200 }] })];
    assert.equal(endOf({ ...of(-600), windows: nights }, plan), 14 * 3600 + 600);
    assert.equal(
      endOf(
        { ...of(-600), windows: [makeWindow({ freezes: [{ from: at(9000), to: at(9001) }] })] },
        plan,
      ),
      600,
    );
    const never = [makeWindow({ openings: [{ from: at(1000), to: at(2000) }] })];
    assert.equal(endOf({ ...of(-600), nodes: nodesOf(9), windows: never }, plan), undefined);
  });

  test('counts open time only, the starts that one opening allows, and quiet times', () => {
    const windows = [makeWindow({ openings: [{ cron: '0 9 * * *', seconds: 7200 }] })];
    const of = { nodes: nodesOf(3), windows };
    assert.equal(endOf(of, hour), 86_400 + 2 * 3600);
    assert.equal(endOf(of, { ...hour, windows: 'Ignore' }), 3 * 3600);
    assert.equal(endOf(of, { ...hour, ...many(9, { startsPerWindow: 1 }) }), 2 * 86_400 + 2 * 3600);
    const stages = [{ name: 'canary', limit: 1, soakSeconds: 1000, approveAfter: false }];
    assert.equal(endOf({ nodes: nodesOf(3) }, { ...hour, stages }), 3 * 3600 + 1000);
    const verdicts = [makeVerdict('n1', { stage: 'canary', completedAt: at(-300) })];
    assert.equal(
      endOf({ nodes: nodesOf(3), verdicts }, { ...hour, stages, run: soakedRun('canary', 300) }),
      2 * 3600 + 700,
    );
    assert.equal(
      endOf({ nodes: nodesOf(1) }, { ...hour, stages }),
      3600,
      'nobody waits behind the last stage',
    );
  });

  test('quiet times count behind nodes whose machines were replaced, or are being, though those nodes are gone', () => {
    const stages = [{ name: 'canary', limit: 1, soakSeconds: 1000, approveAfter: false }];
    const plan = {
      ...hour,
      stages,
      work: { kind: 'replace', strategy: 'Replace', timeoutSeconds: 100 },
    } as const;
    const nodes = nodesOf(3).slice(1);
    const verdicts = [makeVerdict('n1', { stage: 'canary', completedAt: at(-300) })];
    assert.equal(
      endOf({ nodes, verdicts }, { ...plan, run: soakedRun('canary', 300) }),
      2 * 3600 + 700,
    );
    assert.equal(
      endOf(
        { nodes, verdicts: [makeVerdict('n1', { stage: 'canary', completedAt: at(-1001) })] },
        { ...plan, run: soakedRun('canary', 1001) },
      ),
      2 * 3600,
    );
    const inFlight = [makeInFlight('n1', { stage: 'canary', startedAt: at(-600) })];
    assert.equal(endOf({ nodes }, { ...plan, inFlight }), 3000 + 2 * 3600 + 1000);
    assert.equal(
      endOf({ nodes }, { ...hour, stages, inFlight }),
      3000 + 2 * 3600 + 1000,
      'nobody replaces it: it is gone by itself',
    );
  });

  test('is in time or not; a plan that is over was; one without a deadline says nothing', () => {
    const isMet = (
      seconds: number,
      ...[over, plan]: Parameters<typeof decided>
    ): boolean | undefined =>
      decided(over, { ...plan, pace: { deadline: at(seconds), mode: 'AsSoonAsPossible' } }).forecast
        .deadline?.isMet;
    assert.equal(decided({}, hour).forecast.deadline, undefined);
    assert.deepEqual(
      [
        isMet(3 * 3600, {}, hour),
        isMet(3 * 3600 - 1, {}, hour),
        isMet(3 * 3600, {}, { ...hour, ...many(0) }),
      ],
      [true, false, false],
    );
    const verdicts = ['n1', 'n2', 'n3'].map(name => makeVerdict(name, { completedAt: at(-300) }));
    assert.deepEqual(
      [isMet(-299, { verdicts }), isMet(-301, { verdicts }), isMet(-1, { nodes: [] })],
      [true, false, true],
    );
    const { forecast, requeueAt } = decided(
      {},
      { ...hour, pace: { deadline: at(90_000), mode: 'Spread' } },
    );
    assert.equal(
      forecast.end?.toString(),
      at(90_000).toString(),
      'what is spread ends when it has to',
    );
    const soon = { ...hour, pace: { deadline: at(90_000), mode: 'AsSoonAsPossible' } } as const;
    const late = { ...hour, pace: { deadline: at(60), mode: 'Spread' } } as const;
    assert.deepEqual([endOf({}, soon), endOf({}, late)], [3 * 3600, 3 * 3600]);
    assert.equal(
      endOf(
        { nodes: [] },
        { ...hour, pace: { deadline: at(90_000), mode: 'Spread' }, inFlight: [makeInFlight('n1')] },
      ),
      3540,
    );
    assert.equal(requeueAt?.toString(), at(300).toString());
    assert.match(
      forecast.deadline?.message ?? '',
      /^3 nodes are due and 0 in flight, 1 at once take 3600 s each; the deadline is 2026-11-22T09:00:00Z$/,
    );
  });
});
