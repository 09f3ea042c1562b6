import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { begun, decided, nodesOf, words } from '../testing/decided.ts';
import { at } from '../testing/make.ts';
import { makeInFlight, makeVerdict } from '../testing/make-plan.ts';
import { makeWindow } from '../testing/make-window.ts';
import type { Plan } from './plan.ts';

/** When nodes begin: how many in an opening of the windows, how fast, and who reserves what. */

describe('how many begin in one opening of the windows', () => {
  const concurrency = (more: Partial<Plan['concurrency']> = {}): Plan['concurrency'] => ({
    maxInFlight: 9,
    perTopology: [],
    foreignCordon: 'Wait',
    startsPerWindow: 2,
    ...more,
  });
  const [mornings, nights] = [
    makeWindow({ openings: [{ cron: '0 7 * * *', seconds: 7200 }] }),
    makeWindow({ name: 'nights', openings: [{ cron: '0 22 * * *', seconds: 7200 }] }),
  ];
  const nodes = nodesOf(9);
  const opened = at(-3600);
  const began = (name: string, startedAt: Temporal.Instant): ReturnType<typeof makeVerdict> => makeVerdict(name, { startedAt });
  const plan = { concurrency: concurrency(), expectedSeconds: 60 };

  test('verdicts and nodes in flight count from the moment that it opened; the next opening is named', () => {
    const verdicts = [began('n1', opened), began('n2', at(-3601))];
    assert.deepEqual(begun({ nodes, verdicts, windows: [mornings] }, plan), ['n3'], 'n2 began before');
    const decision = decided({ nodes, verdicts, windows: [mornings] }, { ...plan, inFlight: [makeInFlight('n3')] });
    assert.equal(words(decision), 'Running Rate Holding');
    assert.match(
      decision.waiting[0]?.who ?? '',
      /^2 nodes have begun since 2026-11-21T07:00:00Z, and concurrency\.startsPerWindow allows 2$/,
    );
    assert.equal(decision.again?.toString(), '2026-11-22T07:00:00Z');
    const both = decided({ nodes, verdicts, windows: [mornings, nights] }, { ...plan, inFlight: [makeInFlight('n3')] });
    assert.equal(both.again?.toString(), '2026-11-21T22:00:00Z');
  });

  test('a node that has begun twice is one; a failure that was set aside has begun', () => {
    const failed = makeVerdict('n1', { verdict: 'Failed', startedAt: at(-600) });
    const retries = new Map([['n1', at(0)]]);
    assert.deepEqual(begun({ nodes, verdicts: [failed], windows: [mornings] }, { ...plan, retries, inFlight: [makeInFlight('n1')] }), [
      'n2',
    ]);
    const full = { ...plan, retries, inFlight: [makeInFlight('n2')] };
    assert.equal(words(decided({ nodes, verdicts: [failed], windows: [mornings] }, full)), 'Running Rate Holding');
  });

  test('a freeze makes no other opening, overlapping openings count each by itself, and without windows it says nothing', () => {
    const verdicts = [began('n1', at(-3000)), began('n2', at(-3000))];
    const frozen = makeWindow({ openings: mornings.openings, freezes: [{ from: at(-2000), to: at(-1000) }] });
    assert.equal(words(decided({ nodes, verdicts, windows: [frozen] }, plan)), 'Running Rate');
    const late = makeWindow({ name: 'late', openings: [{ cron: '50 7 * * *', seconds: 7200 }] });
    const decision = decided({ nodes, verdicts, windows: [mornings, late] }, plan);
    assert.equal(decision.again?.toString(), '2026-11-21T09:00:00Z', 'the later one has room when the earlier one is over');
    for (const windows of [[], [makeWindow({ freezes: [{ from: at(5000), to: at(6000) }] })]])
      assert.deepEqual(begun({ nodes, verdicts, windows }, plan), ['n3']);
    assert.deepEqual(begun({ nodes, verdicts, windows: [mornings] }, { ...plan, windows: 'Ignore' }), ['n3']);
    const others = makeWindow({ openings: mornings.openings, nodeSelector: { matchLabels: { pool: 'blue' } } });
    assert.deepEqual(begun({ nodes, verdicts, windows: [others] }, plan), ['n3']);
  });
});
