import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { interned } from './cache.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/**
 * Strings are compared by value everywhere; that equal ones are one object shows in the heap only.
 */
function heapOf(make: () => readonly unknown[]): number {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const kept = make();
  collectGarbage();
  const after = process.memoryUsage().heapUsed;
  assert.ok(kept.length > 0);
  return after - before;
}

const text = JSON.stringify({
  labels: { zone: 'a'.repeat(200) },
  conditions: [{ message: 'b'.repeat(200), none: null, count: 1, well: true }],
});
function parse(raw: unknown): unknown {
  return JSON.parse(String(raw));
}

describe('strings that come again and again', () => {
  test('are kept once', () => {
    const many = (project: (raw: unknown) => unknown) =>
      heapOf(() => Array.from({ length: 5000 }, () => project(text)));
    const [apart, shared] = [many(parse), many(interned(parse))];
    assert.ok(shared < apart / 1.5, `${shared} of ${apart} bytes`);
  });

  test('and nothing else of an object changes', () => {
    const since = Temporal.Instant.from('2026-01-01T00:00:00Z');
    const project = interned(raw => ({
      ...(parse(raw) as object),
      since,
      names: new Set(['a']),
      none: undefined,
    }));
    for (const _ of [1, 2]) {
      const one = project(text);
      assert.deepEqual(one, { ...JSON.parse(text), since, names: new Set(['a']), none: undefined });
      assert.equal(one.since, since);
    }
    assert.deepEqual(['text', 1, null, undefined, ['x', ['x']]].map(interned(value => value)), [
      'text',
      1,
      null,
      undefined,
      ['x', ['x']],
    ]);
  });

  test('what is frozen is left alone', () => {
    const labels = Object.freeze({ zone: 'a' });
    const project = interned(() => ({ name: 'n1', labels, taints: Object.freeze(['t']) }));
    assert.deepEqual(project({}), { name: 'n1', labels: { zone: 'a' }, taints: ['t'] });
    assert.equal(project({}).labels, labels);
  });

  test('however many different ones there are', () => {
    const project = interned(raw => ({ name: String(raw) }));
    for (let index = 0; index < 10_000; index += 1)
      assert.equal(project(index).name, String(index));
    assert.equal(project(0).name, '0');
  });

  test('a name that objects have by themselves is a name like others', () => {
    const odd = '{"__proto__":{"x":"y"},"constructor":"z","toString":["t"]}';
    assert.equal(JSON.stringify(interned(parse)(odd)), odd);
  });
});
