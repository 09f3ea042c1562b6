import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { at } from '../../core/testing/make.ts';
import { makeMachine } from '../../core/testing/make-machine.ts';
import { makePlan } from '../../core/testing/make-plan.ts';
import { planExpressions } from './expressions.ts';
import { readNodeObject } from './plan-objects.ts';

const nodeOf = (labels: object = {}) =>
  readNodeObject({
    metadata: {
      name: 'n1',
      uid: 'u1',
      resourceVersion: '7',
      creationTimestamp: '2026-11-20T08:00:00Z',
      labels,
      managedFields: [{ huge: true }],
    },
    status: {
      images: [{ names: ['a'] }],
      nodeInfo: { kernelVersion: '6.1.0' },
      conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-11-21T08:00:00Z' }],
    },
  });

const now = at(0);

describe('the expressions of a plan', () => {
  test('see the node as the API has it, the plan and the time', () => {
    const due =
      "node.status.nodeInfo.kernelVersion != '6.12.9' && plan.name == 'kernel' && now - timestamp(node.metadata.creationTimestamp) > duration('23h')";
    const rank = 'size(node.metadata.labels)';
    const expressions = planExpressions(makePlan({ expressions: { due, rank, done: 'false', finished: 'true' } }));
    assert.deepEqual([expressions.problem, expressions.readsNow], [undefined, true]);
    assert.equal(expressions.due?.(nodeOf(), now), true);
    assert.equal(expressions.due?.(nodeOf(), at(-86_400)), false);
    assert.deepEqual([expressions.done?.(nodeOf(), now), expressions.finished?.(nodeOf(), now)], [false, true]);
    assert.equal(expressions.rank?.(nodeOf({ a: 'b', c: 'd' }), now), 2);
  });

  test('that fail on a node say so, and are neither true nor false', () => {
    const { due } = planExpressions(makePlan({ expressions: { due: "node.metadata.labels['pool'] == 'x'" } }));
    assert.deepEqual(due?.(nodeOf(), now), { error: 'no such key: pool' });
    assert.equal(due?.(nodeOf({ pool: 'x' }), now), true);
    const number = planExpressions(makePlan({ expressions: { due: '1 + 1', rank: "'first'" } }));
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
    assert.equal(failed(all(at(1))), first, 'what is known is known, and nothing more is evaluated');
    assert.ok(performance.now() - since < 50);
    assert.equal(expressions.pool.restsUntil?.toString(), at(61).toString());
    assert.ok(failed(all(at(61))) < first, 'it goes on where it was');
    const cheap = planExpressions(makePlan({ expressions: { due: 'true' } }));
    assert.deepEqual([cheap.due?.(nodeOf(), now), cheap.pool.refusal], [true, undefined]);
  });

  test('look at the Machine of the node, as it is then; one without a Machine has an empty one', () => {
    const { due, readsMachine } = planExpressions(makePlan({ expressions: { due: "machine.metadata.labels['image'] != 'v2'" } }));
    assert.equal(readsMachine, true);
    const node = nodeOf();
    assert.equal(due?.(node, now, makeMachine({ labels: { image: 'v1' } })), true);
    assert.equal(due?.(node, now, makeMachine({ labels: { image: 'v2' } })), false, 'it is not remembered by the node');
    assert.deepEqual(due?.(node, now), { error: 'no such key: metadata' });
    assert.equal(planExpressions(makePlan({ expressions: { due: 'has(machine.metadata)' } })).due?.(node, now), false);
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

  test('do not see images, managed fields and heartbeats: those change nothing', () => {
    const node = nodeOf();
    assert.doesNotMatch(node.content, /huge|images|lastHeartbeatTime/);
  });
});
