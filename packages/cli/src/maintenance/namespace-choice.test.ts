import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chosenOf, namespaceChoice } from './status.ts';

const all = [
  { name: 'cluster' },
  { name: 'ours', namespace: 'drydock-system' },
  { name: 'foreign', namespace: 'tenant-a' },
];
function names(flags: Parameters<typeof namespaceChoice>[0]): readonly [readonly string[], number] {
  const { chosen, elsewhere } = chosenOf(all, namespaceChoice(flags));
  return [chosen.map(({ name }) => name), elsewhere];
}

test("what a tenant writes in a namespace is shown to whoever asks for it: kubectl's flags", () => {
  assert.deepEqual(names({}), [['cluster', 'ours'], 1]);
  assert.deepEqual(names({ namespace: 'tenant-a' }), [['cluster', 'foreign'], 1]);
  assert.deepEqual(names({ allNamespaces: true }), [['cluster', 'ours', 'foreign'], 0]);
  assert.throws(() => namespaceChoice({ namespace: 'a', allNamespaces: true }), {
    name: 'UsageError',
    message: /cannot be combined/,
  });
});
