import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Write } from '@drydock/core';
import { VirtualClock } from '@drydock/utils';
import type { WriteTurn } from '../write/decision-writer.ts';
import { OwnWrites } from './own-writes.ts';

function about(of: string | undefined, method: Write['method'] = 'POST'): Write {
  return {
    description: 'make the pod',
    method,
    path: '/api/v1/namespaces/drydock-plans/pods',
    body: {},
    cache: 'planPods',
    events: [],
    ...(of !== undefined && { of }),
  };
}

/** Writes that have their answers when the test says so; so many are under way at once. */
function bench(atOnce = 8) {
  const clock = new VirtualClock();
  const [looks, begun] = [[] as string[], [] as string[]];
  const answers = new Map<string, PromiseWithResolvers<void>>();
  const writeOwn = async (
    _plan: string,
    _node: string,
    writes: readonly Write[],
    turn?: WriteTurn,
  ): Promise<void> => {
    const left = writes.values();
    const work = async (): Promise<void> => {
      for (const { of = '' } of left) {
        if (turn?.begins(of) !== true) continue;
        begun.push(of);
        const answer = Promise.withResolvers<void>();
        answers.set(of, answer);
        await answer.promise;
        turn.ended(of);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  };
  const writes = new OwnWrites({ writeOwn }, clock, plan => void looks.push(plan));
  const answer = async (of: string): Promise<void> => {
    answers.get(of)?.resolve();
    await clock.advance(0);
  };
  return { clock, looks, begun, writes, answer };
}

test('writes about nodes keep their own plan alone, until all of them have their answers', async () => {
  const { looks, writes, answer } = bench();
  writes.begin('none', [about(undefined)]);
  writes.begin('kernel', [about('n1')]);
  assert.deepEqual(
    [writes.postpones('none'), writes.postpones('kernel'), writes.postpones('other')],
    [false, true, false],
  );
  await answer('n1');
  await writes.ended();
  assert.deepEqual(
    [looks, writes.postpones('kernel'), writes.unanswered('kernel').size],
    [['kernel'], false, 0],
  );
});

test('what has no answer after a second keeps its own node alone: it is not written about again, and what has not begun is decided anew', async () => {
  const { clock, looks, begun, writes, answer } = bench(1);
  writes.begin('kernel', [about('n1'), about('n2')]);
  await clock.advance(999);
  assert.equal(writes.postpones('kernel'), true);
  await clock.advance(1);
  assert.deepEqual(
    [writes.postpones('kernel'), [...writes.unanswered('kernel')], looks],
    [false, ['n1'], ['kernel']],
  );
  writes.begin('kernel', [about('n1'), about('n2')]);
  assert.deepEqual(begun, ['n1', 'n2']);
  assert.equal(writes.postpones('kernel'), true, 'those of the present look are waited for');
  await answer('n1');
  assert.deepEqual(
    [[...writes.unanswered('kernel')], looks, begun],
    [['n2'], ['kernel', 'kernel'], ['n1', 'n2']],
  );
  await answer('n2');
  await writes.ended();
  assert.equal(looks.length, 3, 'somebody has asked meanwhile');
});

test('what is not about a node is waited for; the rest goes on when it has its answer', async () => {
  const { clock, writes, answer } = bench();
  writes.begin('kernel', [about('n1'), about('/api/v1/namespaces/drydock-plans/pods/ready')]);
  await clock.advance(5_000);
  assert.equal(writes.postpones('kernel'), true);
  await answer('/api/v1/namespaces/drydock-plans/pods/ready');
  assert.deepEqual([writes.postpones('kernel'), [...writes.unanswered('kernel')]], [false, ['n1']]);
});

test('behind many writes without an answer nothing new is made; what takes away still is', async () => {
  const { clock, begun, writes } = bench(99);
  const many = Array.from({ length: 16 }, (_, index) => `n${index}`);
  writes.begin(
    'kernel',
    many.map(of => about(of)),
  );
  await clock.advance(1_000);
  writes.begin('kernel', [about('m1'), about('m2', 'DELETE')]);
  assert.deepEqual(begun, [...many, 'm2']);
});

test('a defect of theirs is thrown once, where the queue tells it', async () => {
  const looks: string[] = [];
  const writes = new OwnWrites(
    { writeOwn: () => Promise.reject(new Error('a defect')) },
    new VirtualClock(),
    plan => void looks.push(plan),
  );
  writes.begin('kernel', [about('n1')]);
  await writes.ended();
  assert.deepEqual(looks, ['kernel']);
  assert.throws(() => writes.postpones('kernel'), /a defect/);
  assert.equal(writes.postpones('kernel'), false);
});
