import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { readMaintenancePlan } from '@drydock/apis';
import { type Budget, readBudget } from '@drydock/core/drain';
import type { FiringAlert, QueryResult, Sample } from '../ports.ts';
import { planExpressions } from './expressions.ts';
import type { GateObjectState } from './gate-objects.ts';
import { gateValues } from './gates.ts';

const now = Temporal.Instant.from('2026-11-22T10:00:00Z');

function flying(node: string): JsonObject {
  return {
    node,
    nodeUID: node,
    stage: 'all',
    revision: 'r',
    state: 'Holding',
    attempt: 1,
    startTime: now.toString(),
    stateStartTime: now.toString(),
  };
}

function planOf(gate: JsonObject, inFlight: readonly string[] = []) {
  return readMaintenancePlan({
    metadata: { name: 'p', uid: 'u', resourceVersion: '1' },
    spec: { nodeSelector: {}, work: { none: {} }, gates: [{ name: 'g', ...gate }] },
    status: { inFlight: inFlight.map(flying) },
  });
}

function budget(name: string, status: JsonObject, generation = 1): Budget {
  return readBudget({
    metadata: { namespace: 'shop', name, uid: name, resourceVersion: '1', generation },
    status: {
      observedGeneration: 1,
      expectedPods: 3,
      currentHealthy: 3,
      desiredHealthy: 2,
      ...status,
    },
  });
}

type Seen = {
  readonly budgets?: readonly Budget[];
  readonly sight?: GateObjectState;
  readonly samples?: QueryResult<readonly Sample[]>;
  readonly firing?: QueryResult<readonly FiringAlert[]>;
  readonly inFlight?: readonly string[];
};

const nothing = { problem: 'nobody answers' };

function say(
  gate: JsonObject,
  { budgets = [], sight, samples = nothing, firing = nothing, inFlight = [] }: Seen,
): string {
  const plan = planOf(gate, inFlight);
  const queries = { samplesOf: () => samples, firingOf: () => firing };
  const objects = { sightOf: (): GateObjectState => sight ?? { problem: 'there is none' } };
  const said = gateValues(
    plan,
    planExpressions(plan),
    { budgets: () => budgets, objects, queries },
    now,
  ).get('g');
  return `${said?.value}${said?.message === '' ? '' : `: ${said?.message}`}`;
}

describe('a gate over workloads', () => {
  test('is false when a budget has too few healthy pods, and names it', () => {
    assert.equal(say({ workloads: {} }, {}), 'True');
    assert.equal(say({ workloads: {} }, { budgets: [budget('web', {})] }), 'True');
    const short = budget('web', { currentHealthy: 1 });
    assert.equal(
      say({ workloads: {} }, { budgets: [short] }),
      'False: budget shop/web has 1 healthy pods of 2',
    );
    assert.equal(say({ workloads: { namespaces: ['other'] } }, { budgets: [short] }), 'True');
    assert.equal(
      say({ workloads: { namespaces: ['shop'] } }, { budgets: [short] }),
      'False: budget shop/web has 1 healthy pods of 2',
    );
    assert.equal(
      say(
        { workloads: {} },
        { budgets: [budget('none', { expectedPods: 0, currentHealthy: 0, desiredHealthy: 1 })] },
      ),
      'True',
    );
  });

  test('cannot be told while the disruption controller is behind', () => {
    const stale = budget('web', {}, 2);
    assert.equal(
      say({ workloads: {} }, { budgets: [stale] }),
      'Unknown: the disruption controller has not counted the pods of shop/web',
    );
  });
});

describe('a gate over an object', () => {
  const gate = {
    object: {
      apiVersion: 'ceph.rook.io/v1',
      resource: 'cephclusters',
      name: 'rook',
      expression: "object.status.health == 'OK'",
    },
  };
  const seen = (health: JsonObject): GateObjectState => ({ object: { status: health } });

  test('is what its expression says', () => {
    assert.equal(say(gate, { sight: seen({ health: 'OK' }) }), 'True');
    assert.equal(say(gate, { sight: seen({ health: 'WARN' }) }), 'False: its expression is false');
  });

  test('cannot be told when the object cannot be read, the expression fails, or says something else', () => {
    assert.equal(
      say(gate, { sight: { problem: 'cephclusters rook does not exist' } }),
      'Unknown: cephclusters rook does not exist',
    );
    assert.match(
      say(gate, { sight: seen({}) }),
      /^Unknown: its expression fails: no such key: health/,
    );
    const text = { object: { ...gate.object, expression: 'object.status.health' } };
    assert.equal(
      say(text, { sight: seen({ health: 'OK' }) }),
      'Unknown: its expression is not true or false',
    );
    const hang = {
      object: {
        ...gate.object,
        expression: 'object.l.all(a, object.l.all(b, object.l.all(c, a + b + c >= 0)))',
      },
    };
    const long = Array.from({ length: 1000 }, (_, index) => index);
    assert.match(
      say(hang, { sight: { object: { l: long } } }),
      /^Unknown: its expression fails: /,
      'bounded',
    );
  });

  test('is compiled once, and what cannot be read is told with its place', () => {
    const { problem } = planExpressions(
      planOf({ object: { ...gate.object, expression: 'object.status ==' } }),
    );
    assert.match(problem ?? '', /^spec\.gates\[g\]\.object\.expression: ERROR: /);
  });
});

/** Samples with these values, told apart by a label. */
function samplesOf(...values: readonly number[]): {
  readonly samples: QueryResult<readonly Sample[]>;
} {
  return {
    samples: {
      value: values.map((value, index) => ({
        labels: { __name__: 'errors', job: `j${index + 1}` },
        value,
      })),
    },
  };
}

describe('a gate over the samples of a query', () => {
  const gate = (more: JsonObject = {}): JsonObject => ({
    promql: { query: 'errors', expression: 'value < 0.01', ...more },
  });

  const table: readonly (readonly [
    string,
    JsonObject,
    { readonly samples: QueryResult<readonly Sample[]> },
    string,
  ])[] = [
    ['true of all', {}, samplesOf(0, 0.009, -5), 'True'],
    ['false of one', {}, samplesOf(0, 0.0123456), 'False: errors{job="j2"} is 0.0123'],
    [
      'false of many',
      {},
      samplesOf(1, 2, 3, 4, 5000),
      'False: errors{job="j1"} is 1, errors{job="j2"} is 2, errors{job="j3"} is 3 and 2 more',
    ],
    ['nothing', {}, samplesOf(), 'Unknown: its query has no result, and at least 1 is needed'],
    [
      'too few',
      { minSamples: 3 },
      samplesOf(0, 0),
      'Unknown: its query has 2 samples, and at least 3 are needed',
    ],
    [
      'too few, and bad',
      { minSamples: 3 },
      samplesOf(1, 1),
      'Unknown: its query has 2 samples, and at least 3 are needed',
    ],
    ['enough', { minSamples: 2 }, samplesOf(0, 0), 'True'],
    ['no number', {}, samplesOf(0, Number.NaN), 'Unknown: no number: errors{job="j2"} is NaN'],
    [
      'infinite',
      {},
      samplesOf(Number.NEGATIVE_INFINITY),
      'Unknown: no number: errors{job="j1"} is -Infinity',
    ],
    ['no number beside a bad one', {}, samplesOf(Number.NaN, 1), 'False: errors{job="j2"} is 1'],
    ['no answer', {}, { samples: nothing }, 'Unknown: nobody answers'],
    ['labels', { expression: "labels.job == 'j1'" }, samplesOf(7), 'True'],
    [
      'a label that is not there',
      { expression: "labels.pod == 'x'" },
      samplesOf(7),
      'Unknown: its expression fails for errors{job="j1"}: no such key: pod',
    ],
    [
      'no yes or no',
      { expression: 'value' },
      samplesOf(7),
      'Unknown: its expression is not true or false',
    ],
    [
      'a whole number is a double',
      { expression: 'value / 2.0 == 3.5 && type(value) == double' },
      samplesOf(7),
      'True',
    ],
    ['a scalar', {}, { samples: { value: [{ labels: {}, value: 1 }] } }, 'False: the query is 1'],
  ];
  for (const [what, more, seen, said] of table)
    test(what, () => assert.equal(say(gate(more), seen), said));

  test('is bounded, whatever the expression costs', () => {
    const expensive = Array.from(
      { length: 6 },
      (_, index) => `[0,1,2,3,4,5,6,7,8,9].all(x${index}, `,
    ).join('');
    const expression = `${expensive}value >= 0.0${')'.repeat(6)}`;
    const begun = performance.now();
    assert.match(
      say(gate({ expression }), samplesOf(...Array.from({ length: 1000 }, () => 0))),
      /^Unknown: its expression fails for /,
    );
    assert.ok(performance.now() - begun < 5000);
  });

  test('is compiled with its own variables', () => {
    const problem = (expression: string): string =>
      planExpressions(planOf(gate({ expression }))).problem ?? '';
    assert.equal(problem('value > 1.0'), '');
    assert.match(
      problem('object.status'),
      /^spec\.gates\[g\]\.promql\.expression: ERROR: .*undeclared reference to 'object'/,
    );
  });
});

test('a gate over alerts is false when one fires, and names the first few', () => {
  const gate = { alerts: { matchers: ['severity="critical"'] } };
  const firing = (...names: readonly string[]) =>
    say(gate, { firing: { value: names.map(name => ({ name, about: [] })) } });
  assert.equal(firing(), 'True');
  assert.equal(firing('Slow'), 'False: firing: Slow');
  assert.equal(firing('Slow', 'Full', 'Slow', 'B', 'C'), 'False: firing: B, C, Full and 1 more');
  assert.equal(firing('Slow', 'Full', 'Slow'), 'False: firing: Full, Slow (2)');
  assert.equal(say(gate, {}), 'Unknown: nobody answers');
  assert.equal(
    firing('A\u001b[31m\u009bB\n'),
    'False: firing: A [31m B ',
    'nothing of it acts on a terminal',
  );
  assert.ok(
    firing(...Array.from({ length: 500 }, (_, index) => `${index}`.repeat(200))).length < 400,
  );
});

test('alerts about nodes that the plan has in flight count unless they are excluded, and about no other', () => {
  const about = (...values: readonly string[]): FiringAlert => ({
    name: values.join() || 'Other',
    about: values,
  });
  const value = [
    about('w1'),
    about('w2:9100', 'node-exporter'),
    about('w10'),
    about('w3'),
    about(),
  ];
  const told = (excludeHeldNodes: boolean): string =>
    say(
      { alerts: { matchers: ['a="b"'], excludeHeldNodes } },
      { firing: { value }, inFlight: ['w1', 'w2'] },
    );
  assert.equal(told(true), 'False: firing: Other, w10, w3');
  assert.match(told(false), /w1.* and 2 more/);
  assert.equal(
    say(
      { alerts: { matchers: ['a="b"'], excludeHeldNodes: true } },
      { firing: { value: [about('w1')] }, inFlight: ['w1'] },
    ),
    'True',
  );
});
