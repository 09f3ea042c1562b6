import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makePlan } from '../../testing/make-plan.ts';
import { NodeLife } from '../../testing/node-life.ts';
import { PlanWorld } from '../../testing/plan-world.ts';
import type { NodeVerdict } from '../in-flight.ts';
import type { Plan } from '../plan.ts';

/**
 * The proof and the soak time of a node: nothing is a verdict before its time is over, and no time
 * counts that nobody has watched.
 */

function bench(over: Partial<Plan> = {}, isDone: () => boolean = () => true) {
  const world = new PlanWorld();
  const life = new NodeLife(world, ['n1', 'n2', 'n3']);
  world.plans.set('kernel', makePlan({ soakSeconds: 60, provenWithinSeconds: 300, ...over }));
  world.expressions.set('kernel', { due: () => true, done: isDone });
  life.look('kernel');
  const verdict = (name = 'n1'): NodeVerdict | undefined =>
    [...world.slices.values()]
      .flatMap(({ verdicts }) => verdicts)
      .findLast(({ node }) => node === name);
  const state = (): string | undefined =>
    world.plans.get('kernel')?.inFlight.find(({ node }) => node === 'n1')?.state;
  return { world, life, verdict, state };
}

describe('the proof', () => {
  test('is asked for until its time is over: a late label, another boot, a tool that boots late are all in time', () => {
    const done = { is: false };
    const { life, verdict, state } = bench({ rebooted: 'Required', soakSeconds: 0 }, () => done.is);
    assert.equal(state(), 'Verifying');
    life.wait('kernel', 100);
    life.boot('n1');
    life.look('kernel');
    assert.equal(state(), 'Verifying', 'booted, and still the old one');
    life.boot('n1');
    life.wait('kernel', 100);
    done.is = true;
    life.wait('kernel', 99);
    assert.deepEqual([verdict()?.verdict, verdict()?.rebooted], ['Done', true]);
  });

  test('ends in a failure with its time', () => {
    const { life, verdict } = bench({}, () => false);
    life.wait('kernel', 299);
    assert.equal(verdict(), undefined);
    life.wait('kernel', 1);
    assert.deepEqual([verdict()?.verdict, verdict()?.held], ['Failed', true]);
    assert.match(
      verdict()?.message ?? '',
      /300 s after its end the node is not done: spec\.done\.expression is false|it is still due/,
    );
  });

  test('waits for what keeps pods from the node since the work, whatever it is called', () => {
    for (const key of [
      'node.cilium.io/agent-not-ready',
      'node.kubernetes.io/network-unavailable',
      'example.com/fabric',
    ]) {
      const { world, life, verdict, state } = bench({
        work: { kind: 'external', annotations: {}, timeoutSeconds: 900 },
        soakSeconds: 0,
      });
      world.finished.add('n1');
      world.setNode('n1', { taints: [{ key, effect: 'NoSchedule' }] });
      life.look('kernel');
      assert.deepEqual([verdict(), state()], [undefined, 'Verifying'], key);
      world.setNode('n1', { taints: [] });
      life.look('kernel');
      assert.equal(verdict()?.verdict, 'Done', key);
    }
  });

  test('does not wait for taints that choose pods and were there before, or for marks of a hold', () => {
    const taints = [{ key: 'dedicated', effect: 'NoSchedule', value: 'gpu' }];
    const { world, life, verdict } = bench({
      work: { kind: 'external', annotations: {}, timeoutSeconds: 900 },
      soakSeconds: 0,
    });
    world.setNode('n2', { taints });
    for (const name of ['n1', 'n2']) world.finished.add(name);
    const mark = { key: 'test/drain', effect: 'NoSchedule' };
    world.setNode('n1', {
      taints: [mark],
      holdRecord: JSON.stringify({ taints: { 'test/drain:NoSchedule': null } }),
    });
    life.look('kernel', 20);
    assert.deepEqual([verdict()?.verdict, verdict('n2')?.verdict], ['Done', 'Done']);
  });
});

describe('the soak time of a node', () => {
  test('begins anew when the node is not Ready, boots, or is not done; also when nobody saw it but the node tells', () => {
    const done = { is: true };
    const breaks: Readonly<Record<string, (bench_: ReturnType<typeof bench>) => void>> = {
      'is down and comes back': ({ life }) => {
        life.down('n1');
        life.look('kernel');
        life.up('n1');
      },
      'boots between two looks': ({ life }) => life.boot('n1'),
      'was NotReady between two looks': ({ life }) => life.up('n1'),
      'is due for a moment': ({ life }) => {
        done.is = false;
        life.look('kernel');
        done.is = true;
      },
      'was watched by another process': ({ world }) => void (world.watch = 'w2'),
    };
    for (const [name, disturb] of Object.entries(breaks)) {
      const one = bench({}, () => done.is);
      one.life.wait('kernel', 50);
      disturb(one);
      one.life.look('kernel');
      one.life.wait('kernel', 59);
      assert.deepEqual([one.state(), one.verdict()], ['Soaking', undefined], name);
      one.life.wait('kernel', 1);
      assert.equal(one.verdict()?.verdict, 'Done', name);
    }
  });

  test('is as long as asked, whatever the clock of the process before showed', () => {
    for (const ahead of [-3600, 3600]) {
      const { world, life, verdict } = bench();
      world.seconds += ahead;
      world.watch = 'w2';
      life.look('kernel');
      life.wait('kernel', 59);
      assert.equal(verdict(), undefined);
      life.wait('kernel', 1);
      assert.equal(verdict()?.verdict, 'Done');
    }
  });

  test('ends in a failure where the node is dead in it', () => {
    const { life, verdict } = bench();
    life.down('n1');
    life.look('kernel');
    life.wait('kernel', 299);
    assert.equal(verdict(), undefined);
    life.wait('kernel', 1);
    assert.deepEqual(
      [verdict()?.verdict, verdict()?.state, verdict()?.held],
      ['Failed', 'Soaking', true],
    );
    assert.match(
      verdict()?.message ?? '',
      /has not stayed so 300 s after that was seen first: it is not Ready/,
    );
  });

  test('ends in a failure where the node boots again and again', () => {
    const { life, verdict } = bench();
    for (let turn = 0; turn < 10 && verdict() === undefined; turn += 1) {
      life.boot('n1');
      life.wait('kernel', 40);
    }
    assert.equal(verdict()?.verdict, 'Failed');
  });

  test('that is broken ends at once with a plan that is aborted or deleted', () => {
    for (const over of [{ aborted: true }, { deleting: true }]) {
      const { world, life, verdict } = bench();
      life.down('n1');
      life.look('kernel');
      world.edit('kernel', over);
      world.pass('kernel');
      world.pass('kernel');
      assert.deepEqual([verdict()?.verdict, verdict()?.held], ['Failed', true]);
    }
  });

  test('that somebody ends by releasing the node is a success only where the node is well', () => {
    for (const [isDown, wanted] of [
      [true, 'Failed'],
      [false, 'Done'],
    ] as const) {
      const { world, life, verdict } = bench();
      if (isDown) life.down('n1');
      life.look('kernel');
      for (const [name, child] of world.children)
        world.children.set(name, { ...child, deleting: true });
      life.look('kernel');
      assert.deepEqual([verdict()?.verdict, verdict()?.held], [wanted, false]);
    }
  });

  test('after the release is watched too, and has an end', () => {
    const { world, life, verdict } = bench({ soakSeconds: 0, soakAfterReleaseSeconds: 60 });
    life.wait('kernel', 30);
    world.setNode('n1', {
      taints: [{ key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule' }],
    });
    life.look('kernel');
    life.wait('kernel', 60);
    assert.equal(verdict(), undefined);
    life.wait('kernel', 240);
    assert.deepEqual(
      [verdict()?.verdict, verdict()?.state, verdict()?.held],
      ['Failed', 'Releasing', false],
    );
  });
});
