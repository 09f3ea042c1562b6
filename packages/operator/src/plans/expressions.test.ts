import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import type { Plan } from '@drydock/core/plan';
import { at, makeMachine, makePlan } from '@drydock/core/testing';
import { planExpressions, planProblems } from './expressions.ts';

function nodeOf(labels: JsonObject = {}): JsonObject {
  return {
    metadata: {
      name: 'n1',
      uid: 'u1',
      resourceVersion: '7',
      creationTimestamp: '2026-11-20T08:00:00Z',
      labels,
    },
    status: {
      nodeInfo: { kernelVersion: '6.1.0' },
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  };
}

const now = at(0);

describe('the expressions of a plan', () => {
  test('see the node as the API has it, the plan and the time', () => {
    const due =
      "node.status.nodeInfo.kernelVersion != '6.12.9' && plan.name == 'kernel' && now - timestamp(node.metadata.creationTimestamp) > duration('23h')";
    const rank = 'size(node.metadata.labels)';
    const expressions = planExpressions(
      makePlan({ expressions: { due, rank, done: 'false', finished: 'true' } }),
    );
    assert.deepEqual([expressions.problem, expressions.readsNow], [undefined, true]);
    assert.equal(expressions.due?.(nodeOf(), now), true);
    assert.equal(expressions.due?.(nodeOf(), at(-86_400)), false);
    assert.deepEqual(
      [expressions.done?.(nodeOf(), now), expressions.finished?.(nodeOf(), now)],
      [false, true],
    );
    assert.equal(expressions.rank?.(nodeOf({ a: 'b', c: 'd' }), now), 2);
  });

  test('that fail on a node say so, and are neither true nor false', () => {
    const { due } = planExpressions(
      makePlan({ expressions: { due: "node.metadata.labels['pool'] == 'x'" } }),
    );
    assert.deepEqual(due?.(nodeOf(), now), { error: 'no such key: pool' });
    assert.equal(due?.(nodeOf({ pool: 'x' }), now), true);
    const number = planExpressions(
      makePlan({ expressions: { due: 'dyn(1 + 1)', rank: "dyn('first')" } }),
    );
    assert.deepEqual(number.due?.(nodeOf(), now), { error: 'the expression is not true or false' });
    assert.equal(number.rank?.(nodeOf(), now), Number.MAX_SAFE_INTEGER);
  });

  test('that cost too much for all nodes together fail on the rest of them, for a minute', () => {
    const numbers = JSON.stringify(Array.from({ length: 60 }, (_, index) => index));
    const due = `${numbers}.all(a, ${numbers}.all(b, ${numbers}.all(c, a + b + c >= 0)))`;
    const expressions = planExpressions(makePlan({ expressions: { due } }));
    const nodes = Array.from({ length: 20 }, () => nodeOf());
    const all = (time: Temporal.Instant): readonly unknown[] => {
      expressions.pool.begin(time);
      return nodes.map(node => expressions.due?.(node, time));
    };
    const failed = (said: readonly unknown[]): number =>
      said.filter(one => JSON.stringify(one).includes('cost more than 5000000 steps')).length;
    const first = failed(all(at(0)));
    assert.ok(first > 0 && first < 20, `${first} of 20`);
    const since = performance.now();
    assert.equal(
      failed(all(at(1))),
      first,
      'what is known is known, and nothing more is evaluated',
    );
    assert.ok(performance.now() - since < 50);
    assert.equal(expressions.pool.restsUntil?.toString(), at(61).toString());
    assert.ok(failed(all(at(61))) < first, 'it goes on where it was');
    const cheap = planExpressions(makePlan({ expressions: { due: 'true' } }));
    assert.deepEqual([cheap.due?.(nodeOf(), now), cheap.pool.refusal], [true, undefined]);
  });

  test('look at the Machine of the node, as it is then; one without a Machine has an empty one', () => {
    const { due, readsMachine } = planExpressions(
      makePlan({ expressions: { due: "machine.metadata.labels['image'] != 'v2'" } }),
    );
    assert.equal(readsMachine, true);
    const node = nodeOf();
    assert.equal(due?.(node, now, makeMachine({ labels: { image: 'v1' } })), true);
    assert.equal(
      due?.(node, now, makeMachine({ labels: { image: 'v2' } })),
      false,
      'it is not remembered by the node',
    );
    assert.deepEqual(due?.(node, now), { error: 'no such key: metadata' });
    assert.equal(
      planExpressions(makePlan({ expressions: { due: 'has(machine.metadata)' } })).due?.(node, now),
      false,
    );
    assert.equal(planExpressions(makePlan({ expressions: { due: 'true' } })).readsMachine, false);
  });

  test('that cannot be read are told with their place; what a hostile author writes comes to an end', () => {
    assert.match(
      planExpressions(makePlan({ expressions: { done: 'host.x' } })).problem ?? '',
      /^spec\.done\.expression: ERROR: <input>:1:1: undeclared reference to 'host'/,
    );
    const nested = '[1,2,3,4,5,6,7,8,9,10]';
    const source = `${nested}.all(a, ${nested}.all(b, ${nested}.all(c, ${nested}.all(d, ${nested}.all(e, ${nested}.all(f, ${nested}.all(g, a > 0)))))))`;
    const { due } = planExpressions(makePlan({ expressions: { due: source } }));
    const since = process.cpuUsage();
    assert.equal(typeof due?.(nodeOf(), now), 'object');
    assert.ok(process.cpuUsage(since).user < 5_000_000);
  });

  test('that result in something else than is asked for are told with their place, as far as the text shows it', () => {
    const problemOf = (expressions: Parameters<typeof makePlan>[0]): string =>
      planProblems(makePlan(expressions)).join('\n');
    for (const [due, type] of [
      ['1', 'int'],
      ['1.0 + 2.0', 'double'],
      ["'a' + node.metadata.name", 'string'],
      ['node.status.conditions.filter(c, true)', 'list'],
      ["true ? {'a': 1} : {'b': 2}", 'map'],
      ['1u', 'uint'],
      ['size(node.metadata.labels)', 'int'],
      ['null', 'null'],
      ["duration('1h')", 'duration'],
    ] as const) {
      assert.match(
        problemOf({ expressions: { due } }),
        new RegExp(
          `^spec\\.due\\.expression: ERROR: <input>:1:\\d+: must evaluate to true or false, and evaluates to ${type}\n`,
        ),
      );
    }
    for (const rank of [
      'true',
      "'a'",
      'node.metadata.name == plan.name',
      '[1].exists(a, a > 0)',
      'has(node.spec.a)',
    ])
      assert.match(
        problemOf({ expressions: { rank } }),
        /^spec\.order\.expression: .* must evaluate to a number, and evaluates to (bool|string)\n/,
      );
    assert.match(
      problemOf({ expressions: { done: '1' }, undo: true }),
      /^spec\.rollback\.done\.expression: /,
    );
    for (const due of [
      'node.spec.unschedulable',
      'true ? node.spec.a : node.spec.b',
      'dyn(1)',
      'node.?spec.?a.orValue(true)',
      'now > now',
      'bool(node.metadata.name)',
    ])
      assert.equal(problemOf({ expressions: { due, rank: '1' } }), '', due);
    for (const rank of [
      '1',
      '1.5',
      '1u',
      'size([])',
      'node.metadata.generation',
      '-int(plan.runID)',
      '2 * node.spec.a',
    ])
      assert.equal(problemOf({ expressions: { rank } }), '', rank);
  });

  test('that name what no node, machine or plan has are told with their place; what a newer Kubernetes may have is not', () => {
    const problemOf = (due: string): string =>
      planProblems(makePlan({ expressions: { due } })).join('\n');
    for (const [due, field] of [
      ["node.nodeInfo.kernelVersion == 'a'", 'nodeInfo'],
      ["node.metadata.label['a'] == 'b'", 'label'],
      ["plan.revision == 'a'", 'revision'],
      ["machine.spec.providerId == 'a'", 'providerId'],
      ['has(node.status.conditions) && node.state == 1', 'state'],
    ] as const)
      assert.match(
        problemOf(due),
        new RegExp(`^spec\\.due\\.expression: ERROR: <input>:1:\\d+: undefined field '${field}'\n`),
      );
    for (const due of [
      "node.status.nodeInfo.swap.capacity == 1 && node.spec.taints.exists(t, t.key == 'a') && node.metadata.labels.pool == 'b'",
      "machine.metadata.labels['a'] == machine.status.phase && plan.runID == plan.name && node.metadata.finalizers == []",
      'dyn(node).whatever',
    ])
      assert.equal(problemOf(due), '', due);
  });

  test('are all asked, and gates with them: each problem has its own place', () => {
    const common = { at: [], onFalse: 'Wait', forSeconds: 0 } as const;
    const query = {
      ...common,
      kind: 'promql',
      source: 'default',
      query: 'up',
      minSamples: 1,
    } as const;
    const gates: Plan['gates'] = [
      { ...query, name: 'fine', expression: 'value < 1.0' },
      { ...query, name: 'typed', expression: 'value + 1.0' },
      {
        ...common,
        kind: 'object',
        name: 'named',
        apiVersion: 'v1',
        resource: 'pods',
        object: 'a',
        expression: 'value == 1',
      },
    ];
    const plan = makePlan({ expressions: { due: 'node.', done: 'host' }, gates });
    const places = planProblems(plan).map(problem => problem.split(': ')[0]);
    assert.deepEqual(places, [
      'spec.due.expression',
      'spec.done.expression',
      'spec.gates[typed].promql.expression',
      'spec.gates[named].object.expression',
    ]);
    assert.equal(planExpressions(plan).problem, planProblems(plan)[0]);
  });

  test('of a plan that is not valid prove nothing: a node in flight is not done because an expression of another part is wrong', () => {
    for (const expressions of [
      { due: 'true', rank: 'host' },
      { done: 'true', rank: 'host' },
    ])
      assert.deepEqual(
        Object.keys(planExpressions(makePlan({ expressions })).done?.(nodeOf(), now) ?? {}),
        ['error'],
      );
    assert.equal(
      planExpressions(makePlan({ expressions: { rank: 'host' } })).done,
      undefined,
      'it is proven by its being done once',
    );
  });
});
