import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { planAdapter } from '@drydock/apis';
import { RunHistories } from './plan-watch.ts';

function planAt(status: JsonObject, uid = 'u1') {
  return planAdapter.readPlan({
    metadata: {
      name: 'kernel',
      uid,
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2026-05-01T10:00:00Z',
    },
    spec: { nodeSelector: {}, work: { none: {} } },
    status,
  });
}

function going(done: number, id = '1', uid = 'u1') {
  return planAt(
    { run: { id, revision: 'r', startTime: '2026-05-01T10:00:00Z' }, nodes: { done } },
    uid,
  );
}

test('a point for each change of what is done, by run and by plan', () => {
  const histories = new RunHistories();
  assert.deepEqual(histories.follow(planAt({}), 't0'), []);
  histories.follow(going(0), 't1');
  histories.follow(going(0), 't2');
  histories.follow(going(7, '1', 'u2'), 't2');
  assert.deepEqual(histories.follow(going(2), 't3'), [
    { at: 't1', done: 0 },
    { at: 't3', done: 2 },
  ]);
  assert.deepEqual(
    histories.follow(going(0, '2'), 't4'),
    [{ at: 't4', done: 0 }],
    'another run begins anew',
  );
  histories.forget(going(0, '2'));
  assert.deepEqual(histories.follow(going(0, '2'), 't5'), [{ at: 't5', done: 0 }]);
});

test('of a long run the first and the latest point are kept, and never too many', () => {
  const histories = new RunHistories();
  for (let done = 0; done <= 5000; done += 1) {
    const points = histories.follow(going(done), `t${done}`);
    assert.ok(points.length <= 80, `${points.length} points`);
    assert.deepEqual([points[0]?.done, points.at(-1)?.done], [0, done]);
  }
});
