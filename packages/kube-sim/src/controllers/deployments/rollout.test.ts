import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import fc from 'fast-check';
import type { Stored } from '../../object.ts';
import { limitsOf, newReplicas, oldReplicas, type Share } from './rollout.ts';

function object(name: string, spec: JsonObject): Stored {
  return {
    metadata: { name, uid: name, resourceVersion: '1', creationTimestamp: '2026-11-21T08:00:00Z' },
    spec,
  };
}
function limits(replicas: number, rollingUpdate: JsonObject = {}): ReturnType<typeof limitsOf> {
  return limitsOf(object('web', { replicas, strategy: { rollingUpdate } }));
}
function share(name: string, wanted: number, available = wanted): Share {
  return { set: object(name, {}), wanted, available };
}

test('limits: a quarter of each unless said otherwise, surge rounded up and unavailable down, and never no room at all', () => {
  assert.deepEqual(limits(10), { maxSurge: 3, maxUnavailable: 2 });
  assert.deepEqual(limits(1), { maxSurge: 1, maxUnavailable: 0 });
  assert.deepEqual(limits(4, { maxSurge: 0, maxUnavailable: 0 }), {
    maxSurge: 0,
    maxUnavailable: 1,
  });
  assert.deepEqual(limits(4, { maxSurge: '50%', maxUnavailable: 9 }), {
    maxSurge: 2,
    maxUnavailable: 4,
  });
});

test('the new set grows into the surge, the old ones lose what is not available first', () => {
  const { maxSurge, maxUnavailable } = limits(10);
  assert.equal(newReplicas(10, { maxSurge, maxUnavailable }, 0, 10), 3);
  assert.equal(newReplicas(10, { maxSurge, maxUnavailable }, 3, 13), 3);
  const left = oldReplicas(10, { maxSurge, maxUnavailable }, share('new', 3, 0), [
    share('sick', 4, 1),
    share('old', 6),
  ]);
  assert.deepEqual(
    [...left.values()],
    [2, 6],
    'two of the three that are not available: the rest is needed',
  );
});

test('law: a rollout never goes below its minimum of available pods, nor above its surge, and ends', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 30 }),
      fc.integer({ min: 0, max: 8 }),
      fc.integer({ min: 0, max: 8 }),
      (replicas, surge, gone) => {
        const bounds = limits(replicas, { maxSurge: surge, maxUnavailable: gone });
        let fresh = 0;
        let old = replicas;
        for (let round = 0; round < 200 && (fresh < replicas || old > 0); round += 1) {
          fresh = newReplicas(replicas, bounds, fresh, fresh + old);
          assert.ok(fresh + old <= replicas + bounds.maxSurge);
          // All that was asked for is available by the next round.
          old =
            [
              ...oldReplicas(replicas, bounds, share('new', fresh), [share('old', old)]).values(),
            ][0] ?? 0;
          assert.ok(fresh + old >= replicas - bounds.maxUnavailable);
        }
        assert.deepEqual([fresh, old], [replicas, 0]);
      },
    ),
  );
});
