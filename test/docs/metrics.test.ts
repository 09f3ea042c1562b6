import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { controllers } from '@drydock/utils';

/** docs/metrics.md names the values of labels that come from a list in the code. */

const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'metrics.md'), 'utf8');

test('it names every controller that defects are counted for, and no other', () => {
  const said = /^\*\*`drydock_reconcile_panics_total`\*\*.*?defects\./ms.exec(text)?.[0] ?? '';
  const named = [...said.matchAll(/`([A-Z]\w+)`/g)].map(([, name = '']) => name);
  assert.deepEqual(named.sort(), [...controllers].sort());
});
