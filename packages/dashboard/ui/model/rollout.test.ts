import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlanForecastView, PlanSummary } from '../../src/scene.ts';
import { makePlan } from '../testing/make-plan.ts';
import { chartOf, chartText, forecastTexts, timeWords } from './rollout.ts';

function at(time: string): string {
  return `2026-05-01T${time}:00Z`;
}
const now = Date.parse(at('10:30'));
const when = timeWords(now, 'UTC');

function forecast(over: Partial<PlanForecastView> = {}): PlanForecastView {
  return {
    rehearsedAt: at('10:25'),
    finishes: true,
    end: at('11:00'),
    latestEnd: at('11:30'),
    firstEnd: at('10:50'),
    windows: 1,
    podsMoved: 40,
    podsMovedAgain: 3,
    blocked: [],
    blockedNodes: 0,
    lowest: [{ workload: 'shop/web', ready: 2, replicas: 4 }],
    ...over,
  };
}

/** Ten nodes, from ten o'clock: the chart is 300 wide and 84 high. */
function rollout(over: Partial<PlanSummary> = {}): PlanSummary {
  return makePlan({
    startedAt: at('10:00'),
    stages: [{ name: 'all', phase: 'Running', selected: 10, done: 5 }],
    counts: { due: 5, blocked: 0, inFlight: 0, done: 5, failed: 0, skipped: 0 },
    history: [
      { at: at('10:00'), done: 0 },
      { at: at('10:15'), done: 5 },
    ],
    ...over,
  });
}

test('what was done is steps up to now, and the forecast goes on from there', () => {
  assert.deepEqual(chartOf(rollout({ forecast: forecast() }), now), {
    seen: '0.0,84.0 50.0,84.0 50.0,42.0 100.0,42.0',
    foretold: '100.0,42.0 200.0,0.0',
    likely: '100.0,42.0 200.0,0.0 300.0,0.0',
    firstEnd: (50 / 90) * 300,
    now: 100,
    from: Date.parse(at('10:00')),
    to: Date.parse(at('11:30')),
  });
});

test('a deadline is in the chart, wherever it is', () => {
  assert.equal(chartOf(rollout({ deadline: at('12:00') }), now)?.deadline, 300);
  const passed = chartOf(rollout({ deadline: at('10:15') }), now);
  assert.deepEqual([passed?.deadline, passed?.to], [150, now]);
  assert.equal(chartOf(rollout({ deadline: at('09:00') }), now)?.deadline, 0);
});

test('what happened before anybody looked is told apart', () => {
  const late = chartOf(rollout({ history: [{ at: at('10:15'), done: 5 }] }), now);
  assert.deepEqual([late?.unseen, late?.seen], ['0.0,84.0 150.0,42.0', '150.0,42.0 300.0,42.0']);
});

test('a forecast whose end has passed foretells nothing any more', () => {
  const passed = chartOf(
    rollout({ forecast: forecast({ end: at('10:20'), latestEnd: at('10:25') }) }),
    now,
  );
  assert.deepEqual([passed?.foretold, passed?.likely], [undefined, undefined]);
  const between = chartOf(
    rollout({ forecast: forecast({ end: at('10:20'), latestEnd: at('11:00') }) }),
    now,
  );
  assert.equal(between?.foretold, '150.0,42.0 100.0,0.0');
});

test('there is none of a run that has not begun, nor of one without nodes', () => {
  assert.equal(chartOf(makePlan(), now), undefined);
  assert.equal(chartOf(rollout({ stages: [] }), now), undefined);
  assert.equal(chartOf(rollout({ history: [] }), now), undefined);
});

test('a run that is over is drawn up to its last node, with what was foretold at first', () => {
  const history = [...rollout().history, { at: at('10:45'), done: 10 }];
  const over = rollout({ phase: 'Complete', history, forecast: forecast() });
  const drawn = chartOf(over, Date.parse('2026-05-03T00:00:00Z'));
  assert.deepEqual(
    [drawn?.to, drawn?.firstEnd, drawn?.foretold, drawn?.now],
    [Date.parse(at('10:50')), 300, undefined, undefined],
  );
  assert.deepEqual(forecastTexts(over, when), ['Ended at 10:45; the first forecast was 10:50.']);
});

test('the forecast in sentences', () => {
  assert.deepEqual(forecastTexts(rollout({ forecast: forecast() }), when), [
    'Forecast of 10:25: the plan ends at 11:00, 10 min later than first forecast; 9 of 10 simulated runs end by 11:30.',
    '40 pods moved, 3 of them again; lowest availability: shop/web, 2 of 4 ready.',
  ]);
  const night = forecast({
    end: '2026-05-02T02:00:00Z',
    latestEnd: '2026-05-02T02:10:00Z',
    firstEnd: '2026-05-02T02:00:00Z',
    windows: 2,
  });
  assert.deepEqual(forecastTexts(rollout({ forecast: { ...night, lowest: [] } }), when), [
    'Forecast of 10:25: the plan ends at May 2, 02:00; 9 of 10 simulated runs end by May 2, 02:10.',
    '40 pods moved, 3 of them again, in 2 openings of the windows.',
  ]);
  const { end: _, latestEnd: __, firstEnd: ___, ...never } = forecast({ finishes: false });
  assert.match(
    forecastTexts(rollout({ forecast: never }), when)[0] ?? '',
    /^Forecast of 10:25: the plan does not finish\.$/,
  );
  assert.deepEqual(forecastTexts(rollout(), when), []);
});

test('the chart in words', () => {
  const plan = rollout({ forecast: forecast(), deadline: at('12:00') });
  const drawn = chartOf(plan, now);
  assert.ok(drawn);
  assert.equal(
    chartText(plan, when, drawn),
    'Nodes done from 10:00 to 12:00: 5 of 10, forecast to end at 11:00, deadline 12:00',
  );
});
