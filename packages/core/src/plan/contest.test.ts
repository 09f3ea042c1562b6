import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decided } from '../testing/decided.ts';
import { at } from '../testing/make.ts';
import {
  makePlan,
  makePlanNode,
  makeReadyNode,
  makeVerdict,
  soakedRun,
} from '../testing/make-plan.ts';
import { NodeLife } from '../testing/node-life.ts';
import { PlanWorld } from '../testing/plan-world.ts';
import { doneSince } from './contest.ts';
import type { NodeVerdict } from './in-flight.ts';
import type { Plan } from './plan.ts';
import type { PlanDecision, RecordSlice } from './snapshot.ts';

/**
 * Plans with opposite aims: what one has done is due again as soon as the other is done with it.
 */

const names = ['n1', 'n2', 'n3'];

/** Each plan wants its name in a label of its nodes, and its work writes that. */
class Rivals {
  readonly world = new PlanWorld();
  readonly #life = new NodeLife(this.world, names);
  /** Nodes and the plans that have worked on them, in order. */
  readonly worked: string[] = [];

  constructor(plans: Readonly<Record<string, Partial<Plan>>>) {
    for (const [name, over] of Object.entries(plans)) {
      const work = {
        kind: 'job',
        podSpec: { containers: [] },
        rebootsNode: false,
        timeoutSeconds: 100,
        attempts: 1,
      } as const;
      const { run: _run, ...fresh } = makePlan({
        name,
        key: name,
        uid: `uid-${name}`,
        work,
        expressions: { due: 'is it another' },
      });
      this.world.plans.set(name, { ...fresh, ...over });
      this.world.expressions.set(name, { due: ({ labels }) => labels['v'] !== name });
    }
  }

  live(turns = 60): void {
    const { world } = this;
    for (let turn = 0; turn < turns; turn += 1) {
      for (const name of world.plans.keys()) this.#life.look(name, 1);
      world.seconds += 1;
      for (const { name, phase, nodeName, ownerUid = '' } of Array.from(world.pods.values())) {
        if (phase !== 'Pending') continue;
        const v = ownerUid.replace('uid-', '');
        this.worked.push(`${nodeName} ${v}`);
        world.setNode(nodeName, { labels: { v } });
        world.setPod(name, { phase: 'Succeeded' });
      }
    }
  }

  look(name: string): PlanDecision {
    return this.world.pass(name) as PlanDecision;
  }
}

function text(plan: string): RegExp {
  return new RegExp(
    `^3 nodes that were done are due again, and plan ${plan} was done with them since \\(n1, n2, n3\\): if the plans have opposite aims, change one of them, or drydock plan skip `,
  );
}

describe('two plans with opposite aims', () => {
  test('take each node once a run, and the one whose work was undone names the other', () => {
    const rivals = new Rivals({ blue: {}, red: { paused: true } });
    rivals.live();
    rivals.world.edit('red', { paused: false });
    rivals.live();
    const [blue, red] = [rivals.look('blue'), rivals.look('red')];
    assert.deepEqual(
      [blue.phase, red.phase, rivals.worked.length, red.contested],
      ['Complete', 'Complete', 6, undefined],
    );
    assert.match(blue.contested ?? '', text('red'));
    assert.match(
      blue.message,
      /^3 done, 0 failed, 0 due of 3 nodes; 3 are due again \(plan red was done with 3 of them since\)/,
    );
    rivals.live();
    assert.equal(rivals.worked.length, 6, 'it does not go on for ever');
  });

  test('name each other in turn, if somebody runs them in turn', () => {
    const rivals = new Rivals({ blue: {}, red: {} });
    rivals.live();
    for (const [turn, plan, other] of [
      ['2', 'blue', 'red'],
      ['3', 'red', 'blue'],
    ] as const) {
      const had = rivals.worked.length;
      rivals.world.edit(plan, { runId: turn });
      rivals.live();
      assert.ok(rivals.worked.length - had <= 3);
      assert.match(rivals.look(other).contested ?? '', text(plan));
      assert.equal(rivals.look(plan).contested, undefined);
    }
  });

  test('end one after the other where they are at it at once', () => {
    const concurrency = { maxInFlight: 3, perTopology: [], foreignCordon: 'Wait' } as const;
    const rivals = new Rivals({
      blue: { concurrency, soakSeconds: 5 },
      red: { concurrency, soakSeconds: 5 },
    });
    rivals.live(200);
    const all = ['blue', 'red'].map(name => rivals.look(name));
    assert.deepEqual(
      all.map(({ phase, counts }) => [phase, counts.done, counts.failed]),
      [
        ['Complete', 3, 0],
        ['Complete', 3, 0],
      ],
    );
    assert.equal(rivals.worked.length, 6);
    assert.equal(all.filter(({ contested }) => contested !== undefined).length, 1);
  });
});

function slice(verdicts: readonly NodeVerdict[]): RecordSlice {
  return {
    key: 's',
    name: 's',
    uid: 's',
    resourceVersion: '1',
    planUid: 'u',
    run: '1',
    revision: 'r1',
    slice: 0,
    verdicts,
  };
}

describe('who was done with a node since', () => {
  const undone = makePlanNode(makeReadyNode('n1'), { done: false });
  const since = (
    theirs: readonly NodeVerdict[],
    node = undone,
    own = makeVerdict('n1', { completedAt: at(-300) }),
  ): unknown =>
    Object.fromEntries(
      doneSince([slice([own])], new Map([['n1', node]]), [
        { name: 'red', slices: [slice(theirs)] },
      ]),
    );

  test('is told of nodes that were done and are not any more, by verdicts alone', () => {
    const later = makeVerdict('n1', { completedAt: at(-299) });
    assert.deepEqual(since([later]), { 'uid-n1': 'red' });
    assert.deepEqual(
      since([makeVerdict('n1', { completedAt: at(-301) })]),
      {},
      'it was done before',
    );
    assert.deepEqual(
      since([{ ...later, verdict: 'Failed' }]),
      {},
      'what came of that nobody knows',
    );
    assert.deepEqual(since([{ ...later, uid: 'another' }]), {});
    assert.deepEqual(since([later], makePlanNode(makeReadyNode('n1'))), {}, 'it is done');
    assert.deepEqual(
      since([later], makePlanNode(makeReadyNode('n1', { uid: 'another' }), { done: false })),
      {},
    );
    assert.deepEqual(
      since([later], undone, makeVerdict('n1', { verdict: 'Failed' })),
      {},
      'it was not done',
    );
  });

  test('is named where the soak time of a stage is broken by that', () => {
    const stages = [{ name: 'canary', limit: 1, soakSeconds: 100, approveAfter: false }];
    const nodes = [undone, makePlanNode(makeReadyNode('n2'))];
    const verdicts = [makeVerdict('n1', { stage: 'canary', completedAt: at(-900) })];
    const broken = decided(
      { nodes, verdicts, doneSince: new Map([['uid-n1', 'red']]) },
      { stages, run: soakedRun('canary', 50), expressions: { due: 'is it old' } },
    );
    assert.match(
      broken.waiting[0]?.message ?? '',
      /^node n1 was done and is not any more \(plan red was done with it meanwhile\) since /,
    );
  });
});
