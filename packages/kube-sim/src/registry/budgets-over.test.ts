import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matches } from '@drydock/apimachinery';
import { indexes } from '../kinds/kind.ts';
import { type Stored, seeded } from '../object.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { budgetsOver } from './metadata.ts';

const resource = 'poddisruptionbudgets.policy';

function meta(name: string, namespace: string): Stored['metadata'] {
  return {
    name,
    namespace,
    uid: name,
    resourceVersion: '',
    creationTimestamp: '',
  };
}

/** Selectors of all shapes: nothing, everything, labels, expressions, both. */
const selectors = [
  undefined,
  null,
  {},
  { matchLabels: { app: 'web' } },
  { matchLabels: { tier: 'front', app: 'web' } },
  { matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'db'] }] },
  { matchLabels: { app: 'db' }, matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] },
] as const;

test('law: the budgets over a pod are those whose selectors pick it, whatever has changed before', () => {
  const random = seeded(7);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;
  const store = new MemoryStore({ indexes });
  for (let round = 0; round < 400; round += 1) {
    const [name, namespace] = [`b${Math.floor(random() * 12)}`, pick(['shop', 'bank'])];
    if (random() < 0.2) store.remove(resource, namespace, name);
    else
      store.put(resource, { metadata: meta(name, namespace), spec: { selector: pick(selectors) } });
    const labels = pick([
      { app: 'web' },
      { app: 'db' },
      { app: 'web', tier: 'front' },
      { tier: 'front' },
      undefined,
    ]);
    const pod = { metadata: { ...meta('p', namespace), ...(labels && { labels }) } };
    const expected = store
      .list(resource, namespace)
      .filter(({ spec }) =>
        matches(
          (spec as { readonly selector?: Parameters<typeof matches>[0] | null }).selector ??
            undefined,
          labels ?? {},
        ),
      );
    assert.deepEqual(budgetsOver(store, pod), expected);
  }
});
