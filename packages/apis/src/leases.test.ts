import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownLease, sharedLease } from './leases.ts';

test('every name that a node can have gives the name of a Lease, and different ones give different ones', () => {
  const names = [1, 63, 247, 248, 249, 252, 253].map(length => 'n'.repeat(length));
  const dotted = `${'a'.repeat(231)}.${'b'.repeat(21)}`;
  const leases = [...names, `${'n'.repeat(252)}m`, dotted].map(
    name => sharedLease('leases')(name).name,
  );
  assert.equal(new Set(leases).size, leases.length);
  for (const lease of leases) {
    assert.ok(lease.length <= 253, `${lease.length}`);
    assert.match(lease, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  }
  assert.equal(
    leases[3],
    `node-${'n'.repeat(248)}`,
    'as medik8s names it, as long as that is a name',
  );
  assert.equal(ownLease('own')('n'.repeat(253)).name, 'n'.repeat(253));
});
