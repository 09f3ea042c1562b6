import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makePlan } from '../../testing/make-plan.ts';
import { NodeLife } from '../../testing/node-life.ts';
import { PlanWorld } from '../../testing/plan-world.ts';
import type { NodeVerdict } from '../in-flight.ts';
import type { Plan, Work } from '../plan.ts';

/**
 * The pod of the work from its beginning to its end: it never outlives its right to run, and proves
 * nothing that it has not done.
 */

function job(over: Partial<Extract<Work, { kind: 'job' }>> = {}): Work {
  return {
    kind: 'job',
    podSpec: { containers: [{ name: 'up', image: 'i' }] },
    rebootsNode: false,
    timeoutSeconds: 100,
    attempts: 1,
    ...over,
  };
}

function bench(over: Partial<Plan> = {}, names: readonly string[] = ['n1', 'n2', 'n3']) {
  const world = new PlanWorld();
  const life = new NodeLife(world, names);
  world.plans.set('kernel', makePlan({ work: job(), ...over }));
  life.look('kernel');
  const verdict = (node = 'n1'): NodeVerdict | undefined =>
    [...world.slices.values()]
      .flatMap(({ verdicts }) => verdicts)
      .findLast(one => one.node === node);
  const slot = (node = 'n1') => world.plans.get('kernel')?.inFlight.find(one => one.node === node);
  const isHeld = (node = 'n1'): boolean => world.nodes.get(node)?.unschedulable === true;
  const hasHold = (node = 'n1'): boolean =>
    [...world.children.values()].some(({ nodeName }) => nodeName === node);
  const words = (): string => verdict()?.message ?? '';
  return { world, life, verdict, slot, isHeld, hasHold, words };
}

describe('a pod of the work that has not begun', () => {
  test('has a limit of its own: its node is given back without it, and told why', () => {
    const { world, life, verdict, isHeld, words } = bench();
    world.setPod(life.podOn('n1').name, {
      message: 'container up: ImagePullBackOff: no such image',
    });
    life.wait('kernel', 100);
    assert.deepEqual(
      [verdict(), isHeld(), life.podOn('n1').deleting],
      [undefined, true, true],
      'not before its pod is gone',
    );
    life.endDeleted();
    life.look('kernel');
    assert.deepEqual(
      [verdict()?.verdict, verdict()?.held, isHeld(), life.podsOn('n1').length],
      ['Failed', false, false, 0],
    );
    assert.match(
      words(),
      /^The work could not begin: no container of pod \S+ has run \(container up: ImagePullBackOff: no such image\)/,
    );
  });

  test('has its limit, however long the work may take', () => {
    const { life, slot } = bench({ work: job({ timeoutSeconds: 7200 }) });
    life.wait('kernel', 599);
    assert.equal(slot()?.outcome, undefined);
    life.wait('kernel', 1);
    assert.equal(slot()?.outcome?.verdict, 'Failed');
  });

  test('makes way for that of the next attempt, which begins when it is gone', () => {
    const { life, slot } = bench({ work: job({ attempts: 2 }) });
    const first = life.podOn('n1').name;
    life.wait('kernel', 100);
    assert.deepEqual(
      [slot()?.attempt, life.podOn('n1').name, life.podOn('n1').deleting],
      [2, first, true],
      'one pod at most',
    );
    life.endDeleted();
    life.look('kernel');
    assert.notEqual(life.podOn('n1').name, first);
  });

  test('and is turned away, evicted or lost is made anew, ever more slowly, and costs no attempt of the work', () => {
    const { world, life, slot, verdict } = bench();
    const made: string[] = [];
    for (let second = 0; second < 100; second += 1) {
      const name = slot()?.pod;
      if (name !== undefined && world.pods.get(name)?.phase === 'Pending') {
        made.push(`${second}`);
        world.setPod(name, {
          phase: 'Failed',
          ran: false,
          killed: second % 20 === 0,
          message: 'OutOfpods: no room',
        });
      }
      life.wait('kernel', 1);
    }
    assert.deepEqual(made, ['0', '10', '30', '70']);
    assert.deepEqual(
      [verdict()?.verdict, verdict()?.held, verdict()?.attempts, life.podsOn('n1')],
      ['Failed', false, 1, []],
    );
    assert.match(
      verdict()?.message ?? '',
      /^The work could not begin: pod \S+ has ended before a container of it ran \(OutOfpods: no room\)/,
    );
  });

  test('and was turned away once is made anew, and does the work', () => {
    const { world, life, slot, verdict } = bench();
    world.setPod(life.podOn('n1').name, {
      phase: 'Failed',
      ran: false,
      message: 'Evicted: no memory',
    });
    life.wait('kernel', 10);
    world.setPod(slot()?.pod ?? '', { phase: 'Succeeded' });
    life.look('kernel');
    assert.deepEqual([verdict()?.verdict, verdict()?.attempts], ['Done', 1]);
  });

  test('that has run all the same, before it was gone, leaves its node held', () => {
    const { world, life, verdict, isHeld, words } = bench();
    life.wait('kernel', 100);
    world.setPod(life.podOn('n1').name, { phase: 'Running' });
    life.look('kernel');
    life.endDeleted();
    life.look('kernel');
    assert.deepEqual([verdict()?.verdict, verdict()?.held, isHeld()], ['Failed', true, true]);
    assert.match(words(), /has run all the same/);
  });

  test('that begins while it is deleted is not deleted: that was decided about one that had not', () => {
    const { world, life } = bench();
    const { name } = life.podOn('n1');
    world.edit('kernel', { aborted: true });
    const [plan] = [...world.plans.values()];
    assert.ok(plan);
    world.lives = 1;
    world.pass('kernel');
    world.lives = Number.POSITIVE_INFINITY;
    world.setPod(name, { phase: 'Running' });
    life.look('kernel');
    assert.equal(world.plans.get('kernel')?.inFlight[0]?.outcome?.held, true);
  });

  test('goes when the plan is aborted, deleted or halted, or its node skipped, and its node is given back behind it', () => {
    const stops: readonly (readonly [string, (world: PlanWorld) => void, string | undefined])[] = [
      ['aborted', world => world.edit('kernel', { aborted: true }), 'Skipped'],
      ['deleted', world => world.edit('kernel', { deleting: true }), 'Skipped'],
      ['halted', world => void (world.halted = 'power is low'), 'Requeued'],
      [
        'skipped',
        world => world.edit('kernel', { skips: new Map([['n1', 'broken']]) }),
        'Requeued',
      ],
      ['edited', world => world.edit('kernel', { revision: 'r2' }), undefined],
    ];
    for (const [name, stop, wanted] of stops) {
      const { world, life, verdict, isHeld } = bench({}, ['n1']);
      stop(world);
      life.look('kernel');
      assert.deepEqual([isHeld(), life.podOn('n1').deleting], [true, true], name);
      life.endDeleted();
      world.edit('kernel', { paused: true });
      life.look('kernel');
      assert.deepEqual(
        [isHeld(), life.podsOn('n1').length, verdict()?.verdict],
        [false, 0, wanted],
        name,
      );
    }
  });
});

describe('a pod of the work that runs', () => {
  const running = (over: Partial<Plan> = {}) => {
    const one = bench(over);
    one.world.setPod(one.life.podOn('n1').name, { phase: 'Running' });
    one.life.look('kernel');
    return one;
  };

  test('and hangs is gone before its node is given back', () => {
    const { life, verdict, isHeld } = running({ onFailure: 'Release' });
    life.wait('kernel', 100);
    assert.deepEqual([isHeld(), life.podOn('n1').deleting, verdict()], [true, true, undefined]);
    life.wait('kernel', 300);
    assert.equal(isHeld(), true, 'it has its grace period');
    life.endDeleted();
    life.look('kernel');
    assert.deepEqual([isHeld(), verdict()?.verdict, verdict()?.held], [false, 'Failed', false]);
  });

  test('and hangs is ended on a node that stays held; the verdict counts at once, and its turn comes when it is gone', () => {
    const { world, life, verdict, slot, isHeld } = running();
    life.wait('kernel', 100);
    assert.deepEqual([verdict()?.held, isHeld(), life.podOn('n1').deleting], [true, true, true]);
    assert.ok(slot()?.pod, 'whoever releases the node waits for it');
    world.edit('kernel', { retries: new Map([['n1', world.now]]) });
    life.look('kernel');
    assert.equal(life.podsOn('n1').length, 1, 'no other one beside it');
    life.endDeleted();
    life.look('kernel', 12);
    assert.equal(life.podOn('n1').deleting, false);
  });

  test('never ends on a node that is down: it stays held, and the plan goes on', () => {
    const { life, verdict, slot, isHeld } = running();
    life.down('n1');
    life.wait('kernel', 100);
    assert.deepEqual([verdict()?.held, isHeld(), slot()], [true, true, undefined]);
    assert.ok(slot('n2'));
  });

  test('never ended on a node that was down has to end before its node is given back, whoever sets the failure aside, and is waited for by the plan', () => {
    const ends = {
      aborted: { aborted: true },
      deleted: { deleting: true },
      skipped: { skips: new Map([['n1', 'broken']]) },
    };
    for (const [asked, over] of Object.entries(ends)) {
      const { world, life, slot, isHeld } = running();
      life.down('n1');
      life.wait('kernel', 100);
      assert.equal(slot(), undefined);
      life.up('n1');
      world.edit('kernel', { ...over, retries: new Map([['n1', world.now]]) });
      life.look('kernel');
      assert.deepEqual([isHeld(), life.podOn('n1').deleting], [true, true], asked);
      const words = world.pass('kernel')?.waiting.find(({ node }) => node === 'n1');
      assert.match(
        `${words?.reason}: ${words?.message}`,
        /^Releasing: pod \S+ of the work has to end before the node is released$/,
        asked,
      );
      assert.ok(world.plans.has('kernel'), `${asked}: the plan is there for as long as it waits`);
      life.endDeleted();
      life.look('kernel');
      assert.equal(isHeld(), false, asked);
    }
  });

  test('never ends, and its node was to be given back: it stays held then', () => {
    const { life, verdict, isHeld, words } = running({ onFailure: 'Release' });
    life.wait('kernel', 100);
    life.down('n1');
    life.wait('kernel', 600);
    assert.deepEqual([verdict()?.verdict, verdict()?.held, isHeld()], ['Failed', true, true]);
    assert.match(words(), /was to be deleted, and has not ended: the node stays held/);
  });

  test('and is evicted has worked on its node, also where its end says nothing of its containers', () => {
    const { world, life, verdict } = running();
    world.setPod(life.podOn('n1').name, {
      phase: 'Failed',
      ran: false,
      message: 'Evicted: no memory',
    });
    life.look('kernel');
    assert.deepEqual([verdict()?.verdict, verdict()?.held], ['Failed', true]);
    assert.equal(verdict()?.message, 'The work has failed: Evicted: no memory');
  });

  test('and is deleted proves nothing, however well it ends', () => {
    const { world, life, slot, verdict } = running();
    world.setPod(life.podOn('n1').name, { deleting: true });
    life.look('kernel');
    assert.equal(slot()?.state, 'Working', 'until it has ended');
    world.setPod(life.podOn('n1').name, { phase: 'Succeeded' });
    life.look('kernel');
    assert.deepEqual([verdict()?.verdict, verdict()?.held], ['Failed', true]);
    assert.match(verdict()?.message ?? '', /somebody has deleted its pod, which was told to stop/);
  });

  test('is ended by its kubelet, where nobody else is there: that is its limit', () => {
    const { world, life, verdict } = running({ work: job({ attempts: 2 }) });
    world.seconds += 100;
    world.setPod(life.podOn('n1').name, {
      phase: 'Failed',
      exceeded: true,
      message: 'DeadlineExceeded',
    });
    life.look('kernel');
    assert.deepEqual([verdict()?.verdict, verdict()?.attempts], ['Failed', 1]);
  });

  test('of a node that is gone goes, and no pod of another of its name runs beside it', () => {
    const { world, life, verdict, slot } = running();
    const { name } = life.podOn('n1');
    const node = world.nodes.get('n1');
    assert.ok(node);
    world.nodes.set('n1', { ...node, uid: 'uid-n1-again', bootId: 'other', unschedulable: false });
    life.look('kernel');
    assert.deepEqual(
      [life.podOn('n1').name, life.podOn('n1').deleting, verdict()],
      [name, true, undefined],
    );
    life.endDeleted();
    life.look('kernel', 16);
    assert.equal(verdict()?.verdict === undefined, false);
    assert.notEqual(slot()?.pod, name);
  });

  test('of a node whose Node object is deleted keeps the hold: its kubelet may register it again before the pod has ended', () => {
    const ways: Readonly<Record<string, (one: ReturnType<typeof bench>) => void>> = {
      'pulls its image': () => {},
      runs: ({ world, life }) => world.setPod(life.podOn('n1').name, { phase: 'Running' }),
      'runs, and its failure is recorded': ({ world, life }) => {
        world.setPod(life.podOn('n1').name, { phase: 'Running' });
        life.wait('kernel', 100);
      },
    };
    for (const [what, begin] of Object.entries(ways)) {
      const one = bench();
      const { world, life, isHeld } = one;
      begin(one);
      life.look('kernel');
      const node = world.nodes.get('n1');
      assert.ok(node);
      world.nodes.delete('n1');
      life.look('kernel');
      assert.equal(life.podOn('n1').deleting, true, what);
      const { holdRecord: _record, ...free } = node;
      world.nodes.set('n1', { ...free, uid: 'uid-n1-again', unschedulable: false });
      life.drain();
      life.look('kernel');
      assert.deepEqual([isHeld(), life.podsOn('n1').length], [true, 1], what);
    }
  });

  test('of a node that stays gone has ended when pod GC has deleted it: its hold goes, and the slot is free', () => {
    const { world, life, verdict, slot, hasHold } = running();
    world.nodes.delete('n1');
    life.look('kernel');
    assert.deepEqual([slot()?.state, verdict(), hasHold()], ['Releasing', undefined, true]);
    life.endDeleted();
    life.look('kernel');
    assert.deepEqual([slot(), verdict()?.verdict, hasHold()], [undefined, 'Failed', false]);
  });

  test('of a node that stays gone, and that nothing ends, keeps its slot for no longer than pods have to end', () => {
    const { world, life, verdict, slot } = running();
    world.nodes.delete('n1');
    life.look('kernel');
    life.wait('kernel', 599);
    assert.deepEqual([slot()?.state, verdict()], ['Releasing', undefined]);
    life.wait('kernel', 1);
    assert.deepEqual([slot(), verdict()?.verdict, verdict()?.held], [undefined, 'Failed', false]);
  });
});

describe('a boot', () => {
  const reboots = {
    work: job({ rebootsNode: true, timeoutSeconds: 1000, attempts: 2 }),
    rebooted: 'Required',
  } as const;

  test('before the pod has run proves nothing: the attempt goes on', () => {
    const { world, life, slot, verdict } = bench(reboots);
    const { name } = life.podOn('n1');
    life.boot('n1');
    life.wait('kernel', 5);
    assert.deepEqual(
      [slot()?.state, life.podOn('n1').name, life.podOn('n1').deleting],
      ['Working', name, false],
    );
    world.setPod(name, { phase: 'Running' });
    life.wait('kernel', 5);
    assert.equal(slot()?.state, 'Working');
    world.setPod(name, { phase: 'Succeeded' });
    life.wait('kernel', 5);
    assert.equal(slot()?.state, 'Rebooting', 'its own boot has not come yet');
    life.boot('n1');
    life.wait('kernel', 5);
    assert.deepEqual([verdict()?.verdict, verdict()?.rebooted], ['Done', true]);
  });

  test('is told before its pod has run, where its kubelet had no time to say so: it proves the work', () => {
    // The pod began two seconds before the node went down, and ended well with it: told to stop.
    // Its node is Ready again ten seconds later.
    const began = -12;
    for (const [kind, ranAt, state] of [
      ['job', began, 'free'],
      ['job', 1, 'Rebooting'],
      ['reboot', began, 'free'],
      ['reboot', 1, 'free'],
    ] as const) {
      const work =
        kind === 'job'
          ? reboots.work
          : ({ kind: 'reboot', image: 'drydock', timeoutSeconds: 1000 } as const);
      const { world, life, slot } = bench({ ...reboots, work });
      world.seconds += 20;
      life.boot('n1');
      const ready = world.now;
      life.wait('kernel', 2);
      assert.equal(slot()?.state, 'Working', 'as far as is told, the pod has not run');
      world.setPod(life.podOn('n1').name, {
        phase: 'Succeeded',
        ranAt: ready.add({ seconds: ranAt }),
      });
      life.wait('kernel', 2);
      assert.equal(
        slot()?.state ?? 'free',
        state,
        `${kind}, begun ${ranAt} s after the node was Ready`,
      );
    }
  });

  test('that nobody saw, since the operator was away, is told from the work by the times of the node', () => {
    for (const [began, state] of [
      [3, 'Rebooting'],
      [-3, 'free'],
    ] as const) {
      const { world, life, slot } = bench(reboots);
      world.seconds += 10;
      life.boot('n1');
      const { name } = life.podOn('n1');
      world.setPod(name, { phase: 'Running', ranAt: world.now.add({ seconds: began }) });
      life.wait('kernel', 10);
      assert.equal(
        slot()?.state,
        'Working',
        'what is told of a running pod may be older than the boot',
      );
      world.setPod(name, { phase: 'Succeeded' });
      life.look('kernel');
      assert.equal(
        slot()?.state ?? 'free',
        state,
        `begun ${began} s after the node was Ready again`,
      );
    }
  });

  test('that the pod has died in is its own, also when its end is told later than the boot', () => {
    const { world, life, verdict } = bench(reboots);
    life.boot('n1');
    life.wait('kernel', 2);
    world.setPod(life.podOn('n1').name, {
      phase: 'Failed',
      killed: true,
      message: 'exit code 255',
    });
    life.wait('kernel', 2);
    assert.deepEqual([verdict()?.verdict, verdict()?.rebooted], ['Done', true]);
  });

  test('proves the work, whatever became of the pod, when it has run', () => {
    const { world, life, verdict } = bench(reboots);
    const { name } = life.podOn('n1');
    world.setPod(name, { phase: 'Running' });
    life.look('kernel');
    world.pods.delete(name);
    life.boot('n1');
    life.look('kernel');
    assert.equal(verdict()?.verdict, 'Done');
  });
});
