import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decided, nodesOf } from '../testing/decided.ts';
import { at } from '../testing/make.ts';
import { makeInFlight, makeVerdict } from '../testing/make-plan.ts';
import { makeWindow } from '../testing/make-window.ts';
import type { Plan } from './plan.ts';

/** When a plan is expected to be over, and whether that is in time. Time 0 is eight in the morning, UTC. */

const many = (maxInFlight: number, more: Partial<Plan['concurrency']> = {}): Pick<Plan, 'concurrency'> => ({
  concurrency: { maxInFlight, perTopology: [], foreignCordon: 'Wait', ...more },
});

const paused = { paused: true };
const hour = { ...paused, expectedSeconds: 3600 };

/** Seconds from now to the expected end. */
const endOf = (...[over, plan]: Parameters<typeof decided>): number | undefined => {
  const { end } = decided(over, plan).forecast;
  return end && (end.epochMilliseconds - at(0).epochMilliseconds) / 1000;
};

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
      assert.equal(endOf({ nodes: nodesOf(open) }, { ...hour, ...many(atOnce) }), wanted, `${open} of ${atOnce}`);
    assert.equal(endOf({ nodes: nodesOf(4) }, { ...hour, ...many(4, { maxUnavailableAbsolute: 2 }) }), 7200);
    assert.equal(endOf({ nodes: nodesOf(4) }, { ...hour, ...many(0) }), undefined);
    const inFlight = [makeInFlight('n1', { startedAt: at(-3000) })];
    assert.equal(endOf({ nodes: nodesOf(1) }, { ...hour, inFlight }), 600);
    assert.equal(endOf({ nodes: nodesOf(3) }, { ...hour, inFlight, ...many(2) }), 600 + 3600);
    assert.equal(endOf({ nodes: nodesOf(2) }, { ...hour, inFlight: [makeInFlight('n1', { startedAt: at(-9000) })] }), 3600, 'late already');
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
    assert.equal(endOf({ nodes: nodesOf(3), verdicts }, { ...hour, stages }), 2 * 3600 + 700);
    assert.equal(endOf({ nodes: nodesOf(1) }, { ...hour, stages }), 3600, 'nobody waits behind the last stage');
  });

  test('is in time or not; a plan that is over was; one without a deadline says nothing', () => {
    const isMet = (seconds: number, ...[over, plan]: Parameters<typeof decided>): boolean | undefined =>
      decided(over, { ...plan, pace: { deadline: at(seconds), mode: 'AsSoonAsPossible' } }).forecast.deadline?.isMet;
    assert.equal(decided({}, hour).forecast.deadline, undefined);
    assert.deepEqual(
      [isMet(3 * 3600, {}, hour), isMet(3 * 3600 - 1, {}, hour), isMet(3 * 3600, {}, { ...hour, ...many(0) })],
      [true, false, false],
    );
    const verdicts = ['n1', 'n2', 'n3'].map(name => makeVerdict(name, { completedAt: at(-300) }));
    assert.deepEqual([isMet(-299, { verdicts }), isMet(-301, { verdicts }), isMet(-1, { nodes: [] })], [true, false, true]);
    const { forecast, again } = decided({}, { ...hour, pace: { deadline: at(90_000), mode: 'Spread' } });
    assert.equal(forecast.end?.toString(), at(90_000).toString(), 'what is spread ends when it has to');
    assert.equal(again?.toString(), at(300).toString());
    assert.match(
      forecast.deadline?.message ?? '',
      /^3 nodes are due and 0 in flight, 1 at once take 3600 s each; the deadline is 2026-11-22T09:00:00Z$/,
    );
  });
});
