import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { at } from '../../testing/make.ts';
import { makePlan } from '../../testing/make-plan.ts';
import { makeWindow } from '../../testing/make-window.ts';
import { NodeLife } from '../../testing/node-life.ts';
import { PlanWorld } from '../../testing/plan-world.ts';
import type { NodeVerdict } from '../in-flight.ts';
import type { Plan } from '../plan.ts';

/**
 * A node that is being drained for its work: nothing is done on it yet, so that whatever goes wrong
 * gives it back, and says why.
 */

const names = ['n1', 'n2', 'n3'];

function bench(over: Partial<Plan> = {}) {
  const world = new PlanWorld();
  const life = new NodeLife(world, names);
  world.plans.set('kernel', makePlan(over));
  const begin = (): void => {
    world.pass('kernel');
    world.pass('kernel');
    for (const name of world.children.keys()) draining(name);
  };
  const draining = (name: string): void => {
    const child = world.children.get(name);
    if (child === undefined) return;
    const blockers = [
      {
        reason: 'DisruptionBudget',
        pod: { namespace: 'shop', name: 'cart-0' },
        budgets: ['shop/cart'],
        message: 'would break its budget',
      },
    ];
    const status = {
      message: '0 of 1 pods gone, 1 cannot go yet',
      blockers,
      observedGeneration: 1,
    };
    world.children.set(name, {
      ...child,
      history: { ...child.history, state: 'Draining' },
      status,
    });
  };
  const looks = (seconds = 0): void => {
    world.seconds += seconds;
    for (let turn = 0; turn < 6; turn += 1) world.pass('kernel');
  };
  const verdict = (): NodeVerdict | undefined =>
    [...world.slices.values()].flatMap(({ verdicts }) => verdicts).at(-1);
  const ends: string[] = [];
  /** Its Maintenance is deleted, and the verdict recorded. */
  const givenBack = (): void => {
    for (let turn = 0; turn < 6 && slot() !== undefined; turn += 1) {
      world.seconds += 1;
      world.pass('kernel');
      for (const [name, { deleting, nodeName }] of world.children) {
        if (!deleting) continue;
        world.children.delete(name);
        world.setNode(nodeName, { unschedulable: false });
      }
    }
    ends.push(verdict()?.verdict ?? '');
  };
  const slot = () => world.plans.get('kernel')?.inFlight.find(({ node }) => node === 'n1');
  return { world, life, begin, looks, verdict, slot, givenBack, ends };
}

describe('a drain that does not end', () => {
  const blocker = /pod shop\/cart-0 \(budget shop\/cart\): would break its budget/;

  test('names what keeps it in the verdict, since nobody finds that any more when its Maintenance is gone', () => {
    const { begin, looks, slot } = bench({ drainStuck: { afterSeconds: 60, times: 0 } });
    begin();
    looks(60);
    assert.match(
      slot()?.outcome?.message ?? '',
      /^Its drain is stuck, and the node is released: 0 of 1 pods gone/,
    );
    assert.match(slot()?.outcome?.message ?? '', blocker);
  });

  test('that has failed says that the node is released', () => {
    const { world, begin, looks, slot } = bench();
    begin();
    for (const [name, child] of world.children) {
      const history = { ...child.history, state: 'Failed', failure: 'DeadlineExceeded' } as const;
      world.children.set(name, {
        ...child,
        history,
        status: {
          ...child.status,
          message: 'the drain was not complete in time; the node stays held',
        },
      });
    }
    looks();
    const { verdict, held, message = '' } = slot()?.outcome ?? {};
    assert.deepEqual([verdict, held], ['Failed', false]);
    assert.match(
      message,
      /^Its drain has failed, and the node is released: it was not complete within its time limit; pod shop\/cart-0/,
    );
    assert.doesNotMatch(message, /stays held/);
  });

  test('names it while it waits, and the ways out', () => {
    const { world, begin } = bench();
    begin();
    const [waiting] =
      world.pass('kernel')?.waiting.filter(({ reason }) => reason === 'Draining') ?? [];
    assert.match(waiting?.message ?? '', blocker);
    assert.match(
      waiting?.message ?? '',
      /drydock plan skip kernel n1 releases it, and spec\.onFailure\.drainStuck does so/,
    );
  });

  test('that has the last slot is named to whoever waits for one', () => {
    const { world, life, begin } = bench();
    begin();
    const full = (): string | undefined =>
      world.pass('kernel')?.waiting.find(({ reason }) => reason === 'MaxInFlight')?.message;
    assert.equal(
      full(),
      '1 nodes are in flight, and concurrency.maxInFlight allows 1; n1 is still being drained: drydock why n1 tells what keeps it',
    );
    world.edit('kernel', { soakSeconds: 60 });
    life.look('kernel', 4);
    assert.equal(full(), '1 nodes are in flight, and concurrency.maxInFlight allows 1');
  });

  for (const [what, disturb, amends] of [
    [
      'a halt',
      (world: PlanWorld) => (world.halted = 'power is low'),
      (world: PlanWorld) => (world.halted = undefined),
    ],
    [
      'a skip',
      (world: PlanWorld) => world.edit('kernel', { skips: new Map([['n1', '']]) }),
      (world: PlanWorld) => world.edit('kernel', { skips: new Map() }),
    ],
    [
      'another label',
      (world: PlanWorld) =>
        world.expressions.set('kernel', { selects: ({ name }) => name !== 'n1' }),
      (world: PlanWorld) => void world.expressions.delete('kernel'),
    ],
    [
      'the end of its window',
      (world: PlanWorld) => {
        world.windows = [
          makeWindow({
            kinds: ['MaintenancePlan'],
            atEnd: 'Release',
            openings: [{ from: at(-600), to: at(-1) }],
          }),
        ];
      },
      (world: PlanWorld) => void (world.windows = []),
    ],
  ] as const) {
    test(`is given up no earlier because ${what} has given the node back before`, () => {
      const { world, begin, looks, givenBack, ends } = bench({
        drainStuck: { afterSeconds: 60, times: 1 },
      });
      for (const other of ['n2', 'n3']) world.nodes.delete(other);
      for (let turn = 0; turn < 3; turn += 1) {
        begin();
        disturb(world);
        givenBack();
        amends(world);
      }
      for (let turn = 0; turn < 2; turn += 1) {
        begin();
        looks(60);
        givenBack();
      }
      assert.deepEqual(
        ends,
        ['Requeued', 'Requeued', 'Requeued', 'Requeued', 'Failed'],
        'it was stuck twice',
      );
      world.edit('kernel', { retries: new Map([['n1', world.now]]) });
      begin();
      looks(60);
      givenBack();
      assert.equal(ends.at(-1), 'Requeued', 'somebody has set the failure aside');
    });
  }

  test('is given up when somebody has the node skipped', () => {
    const { world, life, begin, slot } = bench();
    begin();
    world.edit('kernel', { skips: new Map([['n1', 'a broken disk']]) });
    world.pass('kernel');
    assert.deepEqual(
      [slot()?.outcome?.verdict, slot()?.outcome?.message],
      ['Requeued', 'Somebody has it skipped (a broken disk) before its work began: it is released'],
    );
    life.look('kernel');
    const plan = world.plans.get('kernel');
    assert.deepEqual(
      [plan?.inFlight.some(({ node }) => node === 'n1'), world.nodes.get('n1')?.unschedulable],
      [false, false],
    );
  });
});

describe('the end of the window', () => {
  const hour = 3600;
  const windows = (atEnd: 'Continue' | 'Pause' | 'Release') => [
    makeWindow({
      kinds: ['MaintenancePlan'],
      atEnd,
      openings: [
        { from: at(-hour), to: at(hour) },
        { from: at(12 * hour), to: at(14 * hour) },
      ],
    }),
  ];

  test('gives a node back that is still drained, before the work begins, and the node comes again in the next opening', () => {
    const { world, life, begin, looks, verdict } = bench({ expectedSeconds: 60 });
    world.windows = windows('Release');
    begin();
    looks(hour);
    life.drain();
    looks();
    assert.deepEqual(
      [verdict()?.verdict, verdict()?.held, world.nodes.get('n1')?.unschedulable],
      ['Requeued', false, false],
    );
    assert.match(
      verdict()?.message ?? '',
      /the window has closed before the work began \(nights\): the next opening begins at 2026-11-21T20:00:00Z/,
    );
    world.seconds += 11 * hour;
    life.look('kernel', 20);
    assert.equal(verdict()?.verdict, 'Done');
  });

  test('pauses the drain, and its work, until the next opening', () => {
    const { world, life, begin, looks, verdict, slot } = bench({ expectedSeconds: 60 });
    world.windows = windows('Pause');
    begin();
    looks(hour);
    life.drain();
    looks();
    assert.deepEqual(
      [slot()?.state, verdict(), world.nodes.get('n1')?.unschedulable],
      ['Holding', undefined, true],
    );
    assert.deepEqual(
      [...world.children.values()].map(({ level }) => level),
      ['Cordon'],
    );
    world.seconds += 11 * hour;
    life.look('kernel', 20);
    assert.equal(verdict()?.verdict, 'Done');
  });

  test('changes nothing where the window says so, or the work has begun, or the plan ignores windows', () => {
    for (const [atEnd, over] of [
      ['Continue', {}],
      ['Release', { windows: 'Ignore' }],
    ] as const) {
      const { world, life, begin, looks, verdict } = bench({ expectedSeconds: 60, ...over });
      world.windows = windows(atEnd);
      begin();
      looks(hour);
      life.look('kernel');
      assert.equal(verdict()?.verdict, 'Done', atEnd);
    }
  });
});
