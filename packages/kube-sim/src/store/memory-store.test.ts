import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { indexes } from '../kinds/kind.ts';
import type { Stored } from '../object.ts';
import { MemoryStore } from './memory-store.ts';
import type { StoreChange } from './store.ts';

function object(name: string, namespace = 'a', more: object = {}): Stored {
  return {
    metadata: {
      name,
      namespace,
      uid: `${namespace}/${name}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      resourceVersion: '',
    },
    ...more,
  };
}
function names(objects: readonly Stored[] | undefined): readonly string[] | undefined {
  return objects?.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`);
}

test('every write has a version of its own, over all resources, and its object says so', () => {
  const store = new MemoryStore({ indexes });
  const begin = store.version;
  assert.equal(store.put('pods', object('x')).metadata.resourceVersion, String(begin + 1));
  assert.equal(store.put('nodes', object('n', '')).metadata.resourceVersion, String(begin + 2));
  assert.equal(store.remove('pods', 'a', 'x')?.metadata.resourceVersion, String(begin + 3));
  assert.equal(store.remove('pods', 'a', 'x'), undefined);
  assert.equal(store.version, begin + 3);
});

test('lists are in the order of etcd: the end of a namespace comes after its dashes', () => {
  const store = new MemoryStore({ indexes });
  for (const namespace of ['a', 'a-b', 'a0', 'Z'])
    for (const name of ['z', 'b', 'b-1']) store.put('pods', object(name, namespace));
  assert.deepEqual(
    names(store.list('pods')),
    ['Z', 'a-b', 'a', 'a0'].flatMap(namespace =>
      ['b', 'b-1', 'z'].map(name => `${namespace}/${name}`),
    ),
  );
  assert.deepEqual(names(store.list('pods', 'a0')), ['a0/b', 'a0/b-1', 'a0/z']);
});

test('an index follows its objects', () => {
  const store = new MemoryStore({ indexes });
  store.put('pods', object('x', 'a', { spec: { nodeName: 'n1' } }));
  store.put('pods', object('y', 'a', { spec: { nodeName: 'n1' } }));
  store.put('pods', object('x', 'a', { spec: { nodeName: 'n2' } }));
  assert.deepEqual(names(store.indexed('pods', 'spec.nodeName', 'n1')), ['a/y']);
  assert.deepEqual(names(store.indexed('pods', 'spec.nodeName', 'n2')), ['a/x']);
  store.remove('pods', 'a', 'y');
  assert.deepEqual(names(store.indexed('pods', 'spec.nodeName', 'n1')), []);
  assert.throws(() => store.indexed('pods', 'spec.unknown', 'n1'));
});

test('what a listener writes is told when everyone has heard of what it was told of', () => {
  const store = new MemoryStore({ indexes });
  const heard: string[] = [];
  store.subscribe(change => {
    heard.push(`one ${change.object.metadata.name}`);
    if (change.object.metadata.name === 'x') store.put('pods', object('y'));
  }, 'pods');
  store.subscribe(change => heard.push(`two ${change.object.metadata.name}`), 'pods');
  store.put('pods', object('x'));
  assert.deepEqual(heard, ['one x', 'two x', 'one y', 'two y']);
});

test('stored objects cannot be changed', () => {
  const store = new MemoryStore({ indexes });
  const stored = store.put('pods', object('x', 'a', { spec: { containers: [{ name: 'm' }] } }));
  assert.throws(
    () => ((stored['spec'] as { containers: { name: string }[] }).containers[0]!.name = 'other'),
    TypeError,
  );
});

test('what is compacted is forgotten, for lists and for watches', () => {
  const store = new MemoryStore({ indexes });
  store.put('pods', object('x'));
  const version = store.version;
  store.put('pods', object('y'));
  store.compact(version + 1);
  assert.equal(store.listAt('pods', version), undefined);
  assert.equal(store.changesAfter('pods', version), undefined);
  assert.deepEqual(store.changesAfter('pods', version + 1), []);
  // A resource that nobody has written to before knows it as well.
  assert.equal(store.changesAfter('nodes', version), undefined);
});

test('the history forgets by itself, the oldest first', () => {
  const store = new MemoryStore({ indexes, historyLimit: 10 });
  const begin = store.version;
  for (let index = 0; index < 100; index += 1) store.put('pods', object(`p${index}`));
  assert.equal(store.changesAfter('pods', begin), undefined);
  assert.equal(store.changesAfter('pods', store.version - 10)?.length, 10);
});

test('law: a list at a past version is what the list was then, and its changes lead to what it is now', () => {
  const step = fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    namespace: fc.constantFrom('m', 'm-n'),
    remove: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), steps => {
      const store = new MemoryStore({ indexes });
      const seen: { version: number; list: readonly Stored[] }[] = [
        { version: store.version, list: [] },
      ];
      for (const { name, namespace, remove } of steps) {
        if (remove) store.remove('pods', namespace, name);
        else store.put('pods', object(name, namespace));
        seen.push({ version: store.version, list: store.list('pods') });
      }
      for (const { version, list } of seen) {
        assert.deepEqual(store.listAt('pods', version), list);
        const state = new Map(list.map(one => [names([one])?.[0] ?? '', one]));
        for (const change of store.changesAfter('pods', version) ?? []) apply(state, change);
        assert.deepEqual(new Set(state.values()), new Set(store.list('pods')));
      }
    }),
  );
});

function apply(state: Map<string, Stored>, change: StoreChange): void {
  const key = names([change.object])?.[0] ?? '';
  if (change.type === 'removed') state.delete(key);
  else state.set(key, change.object);
}
