import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Distribution, type Interval } from './censored.ts';

function phases(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => (index + 0.5) / count);
}

/** As told by two clocks of whole seconds, begun so far into a second. */
function whole(seconds: number, phase: number): Interval {
  const told = Math.floor(phase + seconds);
  return { low: told - 1, high: told + 1, edge: 1 };
}

/** Its beginning is known to the millisecond. */
function half(seconds: number, phase: number): Interval {
  const told = Math.floor(phase + seconds) - phase;
  return { low: told - 0.001, high: told + 1, edge: 0.001 };
}

function near(distribution: Distribution, part: number, seconds: number, off: number): void {
  const is = distribution.at(part);
  assert.ok(Math.abs(is - seconds) <= off, `${part}: ${is.toFixed(3)} s, not ${seconds} s`);
}

test('times told in whole seconds are found out by how often each is told', () => {
  for (const seconds of [0.25, 1.06, 1.5, 5.125]) {
    const seen = new Distribution(phases(16).map(phase => whole(seconds, phase)));
    const mean = phases(100).reduce((sum, part) => sum + seen.at(part) / 100, 0);
    assert.ok(Math.abs(mean - seconds) < 0.1, `${mean} s for ${seconds} s`);
  }
  near(new Distribution(phases(16).map(phase => whole(1.06, phase))), 0.5, 1.06, 0.1);
});

test('one that took longer says nothing of the others', () => {
  const seen = new Distribution([...phases(11).map(phase => half(0.55, phase)), half(3.5, 0.2)]);
  near(seen, 0.5, 0.55, 0.1);
  near(seen, 0.05, 0.55, 0.2);
  near(seen, 0.96, 3.5, 0.6);
});

test('few leave it open, many do not', () => {
  const spread = (count: number): number => {
    const seen = new Distribution(phases(count).map(phase => whole(2, phase)));
    return seen.at(0.9) - seen.at(0.1);
  };
  assert.ok(spread(3) > 2 * spread(12), `${spread(3)} s and ${spread(12)} s`);
});

test('what a group leaves open is told by the wider one, and nothing else is', () => {
  const cluster = new Distribution([...phases(9).map(phase => half(0.55, phase)), half(3.5, 0.2)]);
  const atOnce = phases(12).map(() => half(0.6, 0.3));
  near(new Distribution(atOnce), 0.5, 0.35, 0.05);
  near(new Distribution(atOnce, cluster), 0.5, 0.55, 0.1);
  const other = Array.from({ length: 5 }, () => half(8.4, 0.3));
  near(new Distribution(other, cluster), 0.5, 8.2, 0.1);
  near(new Distribution([half(0.6, 0.3), half(20.4, 0.3)], cluster), 0.9, 20.2, 0.5);
});

test('long times and thousands of them', () => {
  const seen = new Distribution(
    phases(20_000).map(part => half(60 + 600 * part, (part * 7919) % 1)),
  );
  for (const part of [0.1, 0.5, 0.9]) near(seen, part, 60 + 600 * part, 12);
  assert.ok(seen.at(0) >= 59 && seen.at(1) <= 662);
});
