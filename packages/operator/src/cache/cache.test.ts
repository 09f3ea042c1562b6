import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cache } from './cache.ts';

type Thing = {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly group: string;
};

function thing(key: string, version: number, over: Partial<Thing> = {}): Thing {
  return {
    key,
    uid: `uid-${key}`,
    resourceVersion: String(version),
    group: 'g',
    ...over,
  };
}

function cacheOf(...things: readonly Thing[]): Cache<Thing> {
  const cache = new Cache<Thing>(({ group }) => group);
  for (const object of things) cache.apply({ type: 'added', object });
  return cache;
}

function versionOf(cache: Cache<Thing>, key: string): string | undefined {
  return cache.get(key)?.resourceVersion;
}

test('what is newer counts, whether the watch tells it or an answer to a write', () => {
  const cache = cacheOf(thing('a', 9));
  cache.observe(thing('a', 11));
  assert.equal(versionOf(cache, 'a'), '11');
  cache.apply({ type: 'changed', object: thing('a', 10), before: thing('a', 9) });
  assert.equal(versionOf(cache, 'a'), '11', 'the watch comes limping behind');
  cache.observe(thing('a', 10));
  assert.equal(versionOf(cache, 'a'), '11', 'an answer that was overtaken');
  cache.apply({ type: 'changed', object: thing('a', 100), before: thing('a', 11) });
  assert.equal(versionOf(cache, 'a'), '100', 'versions are numbers, not texts');
});

test('versions that are no numbers: the last word counts', () => {
  const cache = cacheOf(thing('a', 0, { resourceVersion: 'zz' }));
  cache.apply({
    type: 'changed',
    object: thing('a', 0, { resourceVersion: 'aa' }),
    before: thing('a', 0),
  });
  assert.equal(versionOf(cache, 'a'), 'aa');
});

test('a successor of the same name replaces what was there, however its version compares', () => {
  const cache = cacheOf(thing('a', 50));
  cache.apply({ type: 'added', object: thing('a', 7, { uid: 'second' }) });
  assert.equal(cache.get('a')?.uid, 'second');
});

test('an answer about an object that is gone by now does not bring it back', () => {
  const cache = cacheOf(thing('a', 1));
  cache.apply({ type: 'removed', object: thing('a', 2) });
  cache.observe(thing('a', 3));
  assert.equal(cache.get('a'), undefined);
  cache.observe(thing('a', 4, { uid: 'second' }));
  assert.equal(cache.get('a')?.uid, 'second', 'its successor is another object');
});

test('nor does a watch that is behind and tells of what came before the end', () => {
  const cache = cacheOf(thing('a', 1));
  cache.forget('a');
  cache.apply({ type: 'changed', object: thing('a', 2), before: thing('a', 1) });
  assert.equal(cache.get('a'), undefined);
  cache.apply({ type: 'added', object: thing('a', 4, { uid: 'second' }) });
  assert.equal(cache.get('a')?.uid, 'second', 'its successor is another object');
});

test('the end of a predecessor does not take its successor away', () => {
  const cache = cacheOf(thing('a', 1, { uid: 'second' }));
  cache.apply({ type: 'removed', object: thing('a', 2, { uid: 'first' }) });
  assert.equal(cache.get('a')?.uid, 'second');
});

test('what is late about a predecessor does not touch its successor, whether it is a deletion, an answer or a watch', () => {
  const cache = cacheOf(thing('a', 9, { uid: 'second' }));
  cache.forget('a', 'first');
  cache.observe(thing('a', 5, { uid: 'first' }));
  cache.observe(thing('a', 6, { uid: 'zeroth' }));
  cache.apply({
    type: 'changed',
    object: thing('a', 7, { uid: 'zeroth' }),
    before: thing('a', 6, { uid: 'zeroth' }),
  });
  assert.equal(cache.get('a')?.uid, 'second');
  cache.forget('a', 'second');
  assert.equal(cache.get('a'), undefined);
});

test('what we have deleted ourselves is forgotten at once and stays so', () => {
  const cache = cacheOf(thing('a', 1), thing('b', 1));
  cache.forget('a');
  cache.forget('nobody');
  cache.observe(thing('a', 5));
  assert.deepEqual(
    [...cache.values()].map(({ key }) => key),
    ['b'],
  );
  assert.equal(cache.size, 1);
});

test('the memory of what is gone is bounded, the youngest stay in it', () => {
  const cache = cacheOf();
  for (let n = 0; n <= 1000; n += 1) cache.apply({ type: 'removed', object: thing(`t${n}`, 1) });
  cache.observe(thing('t0', 2));
  cache.observe(thing('t1000', 2));
  assert.equal(versionOf(cache, 't0'), '2');
  assert.equal(cache.get('t1000'), undefined);
});

test('the index follows an object that moves to another group, and has no empty groups', () => {
  const cache = cacheOf(thing('a', 1), thing('b', 1));
  cache.apply({ type: 'changed', object: thing('a', 2, { group: 'h' }), before: thing('a', 1) });
  assert.deepEqual(
    [cache.in('g').map(({ key }) => key), cache.in('h').map(({ key }) => key)],
    [['b'], ['a']],
  );
  cache.apply({ type: 'removed', object: thing('b', 3) });
  assert.deepEqual([...cache.groups()], ['h']);
  assert.deepEqual(cache.in('g'), []);
});

test('a change answers what stood there before', () => {
  const cache = cacheOf(thing('a', 1));
  assert.equal(
    cache.apply({ type: 'changed', object: thing('a', 2), before: thing('a', 0) })?.resourceVersion,
    '1',
  );
  assert.equal(cache.apply({ type: 'removed', object: thing('a', 3) })?.resourceVersion, '2');
  assert.equal(cache.apply({ type: 'added', object: thing('b', 3) }), undefined);
});

test('a thousand objects that are gone are remembered, the oldest is forgotten first', () => {
  const cache = cacheOf(thing('a', 1));
  cache.forget('a');
  for (let n = 1; n < 1000; n += 1) cache.forget(`x${n}`, `uid-x${n}`);
  cache.observe(thing('a', 2));
  assert.equal(cache.size, 0, 'an answer that comes late');
  cache.forget('y', 'uid-y');
  cache.observe(thing('a', 2));
  assert.equal(cache.size, 1);
});

test('what we have made, and is gone while the watch was behind, is not in a newer list: the watch never tells of its end', () => {
  const cache = cacheOf(thing('told', 5));
  cache.observe(thing('made', 7));
  cache.observe(thing('told', 8));
  const keysOf = (version: number, ...keys: readonly string[]): readonly string[] =>
    cache.unseen({ keys: new Set(keys), version: String(version) }).map(({ key }) => key);
  assert.deepEqual(keysOf(6), [], 'the list is older than it');
  assert.deepEqual(keysOf(9, 'made'), []);
  assert.deepEqual(keysOf(9), ['made'], 'of the other one the watch has told, and will tell');
  assert.deepEqual(keysOf(7), ['made'], 'the answer to its deletion has the version of its end');
  cache.observe(thing('made', 10));
  assert.deepEqual([keysOf(9), keysOf(11)], [[], ['made']], 'written again since');
  cache.apply({ type: 'added', object: thing('made', 10) });
  assert.deepEqual(keysOf(11), [], 'the watch knows it by now');
  cache.observe(thing('again', 12));
  cache.observe(thing('again', 14, { uid: 'another' }));
  cache.forget('again');
  assert.deepEqual(keysOf(20), []);
});
