import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readMaintenancePlan } from '../../apis/maintenance-plan.ts';
import { type Budget, readBudget } from '../../core/drain/budget.ts';
import type { JsonObject } from '../../core/json.ts';
import { planExpressions } from './expressions.ts';
import type { Sight } from './gate-objects.ts';
import { gateValues } from './gates.ts';

const now = Temporal.Instant.from('2026-11-22T10:00:00Z');

const planOf = (gate: JsonObject) =>
  readMaintenancePlan({
    metadata: { name: 'p', uid: 'u', resourceVersion: '1' },
    spec: { nodeSelector: {}, work: { none: {} }, gates: [{ name: 'g', ...gate }] },
  });

const budget = (name: string, status: JsonObject, generation = 1): Budget =>
  readBudget({
    metadata: { namespace: 'shop', name, uid: name, resourceVersion: '1', generation },
    status: { observedGeneration: 1, expectedPods: 3, currentHealthy: 3, desiredHealthy: 2, ...status },
  });

const say = (gate: JsonObject, { budgets = [], sight }: { readonly budgets?: readonly Budget[]; readonly sight?: Sight }): string => {
  const plan = planOf(gate);
  const objects = { sightOf: (): Sight => sight ?? { problem: 'there is none' } };
  const said = gateValues(plan, planExpressions(plan), { budgets: () => budgets, objects }, now).get('g');
  return `${said?.value}${said?.message === '' ? '' : `: ${said?.message}`}`;
};

describe('a gate over workloads', () => {
  test('is false when a budget has too few healthy pods, and names it', () => {
    assert.equal(say({ workloads: {} }, {}), 'True');
    assert.equal(say({ workloads: {} }, { budgets: [budget('web', {})] }), 'True');
    const short = budget('web', { currentHealthy: 1 });
    assert.equal(say({ workloads: {} }, { budgets: [short] }), 'False: budget shop/web has 1 healthy pods of 2');
    assert.equal(say({ workloads: { namespaces: ['other'] } }, { budgets: [short] }), 'True');
    assert.equal(say({ workloads: { namespaces: ['shop'] } }, { budgets: [short] }), 'False: budget shop/web has 1 healthy pods of 2');
    assert.equal(say({ workloads: {} }, { budgets: [budget('none', { expectedPods: 0, currentHealthy: 0, desiredHealthy: 1 })] }), 'True');
  });

  test('cannot be told while the disruption controller is behind', () => {
    const stale = budget('web', {}, 2);
    assert.equal(say({ workloads: {} }, { budgets: [stale] }), 'Unknown: the disruption controller has not counted the pods of shop/web');
  });
});

describe('a gate over an object', () => {
  const gate = {
    object: { apiVersion: 'ceph.rook.io/v1', resource: 'cephclusters', name: 'rook', expression: "object.status.health == 'OK'" },
  };
  const seen = (health: JsonObject): Sight => ({ object: { status: health } });

  test('is what its expression says', () => {
    assert.equal(say(gate, { sight: seen({ health: 'OK' }) }), 'True');
    assert.equal(say(gate, { sight: seen({ health: 'WARN' }) }), 'False: its expression is false');
  });

  test('cannot be told when the object cannot be read, the expression fails, or says something else', () => {
    assert.equal(say(gate, { sight: { problem: 'cephclusters rook does not exist' } }), 'Unknown: cephclusters rook does not exist');
    assert.match(say(gate, { sight: seen({}) }), /^Unknown: its expression fails: no such key: health/);
    const text = { object: { ...gate.object, expression: 'object.status.health' } };
    assert.equal(say(text, { sight: seen({ health: 'OK' }) }), 'Unknown: its expression is not true or false');
    const hang = { object: { ...gate.object, expression: 'object.l.all(a, object.l.all(b, object.l.all(c, a + b + c >= 0)))' } };
    const long = Array.from({ length: 1000 }, (_, index) => index);
    assert.match(say(hang, { sight: { object: { l: long } } }), /^Unknown: its expression fails: /, 'bounded');
  });

  test('is compiled once, and what cannot be read is told with its place', () => {
    const { problem } = planExpressions(planOf({ object: { ...gate.object, expression: 'object.status ==' } }));
    assert.match(problem ?? '', /^spec\.gates\[g\]\.object\.expression: ERROR: /);
  });
});
