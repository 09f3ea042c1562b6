import assert from 'node:assert/strict';
import { test } from 'node:test';
import { everyNamespace, namespacesOf } from './node-cache.ts';

test('objects count in the own namespace and in those that were opened, or everywhere', () => {
  const counted = (others: readonly string[]) =>
    ['drydock-system', 'shop', 'x'].filter(namespacesOf('drydock-system', others).counts);
  assert.deepEqual(
    [counted([]), counted(['shop'])],
    [['drydock-system'], ['drydock-system', 'shop']],
  );
  assert.deepEqual(counted([everyNamespace]), ['drydock-system', 'shop', 'x']);
});

test('what to do about one that does not count names the namespaces where it would', () => {
  assert.match(namespacesOf('b', []).remedy, /count in namespace b only\. Create it there/);
  assert.match(namespacesOf('b', ['b']).remedy, /count in namespace b only/);
  assert.match(
    namespacesOf('b', ['c', 'a']).remedy,
    /count in namespaces a, b, c only\. Create it in one of them/,
  );
});
