import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { makePlan } from '../testing/make-plan.ts';
import { NodeLife } from '../testing/node-life.ts';
import { PlanWorld } from '../testing/plan-world.ts';
import { contestText } from './contest.ts';
import type { NodeVerdict } from './in-flight.ts';
import type { Plan } from './plan.ts';
import { viewOf } from './view.ts';

/**
 * Plans that want different things of the same nodes, at random paces, with failures and boots:
 * their pods never work beside each other or in another's soak time, it comes to an end, and who
 * was done with a node last is named, and nobody else.
 */

const soakSeconds = 12;
const names = ['n1', 'n2', 'n3'];
const planNames = ['blue', 'green', 'red'];

type Step = {
  readonly what: 'look' | 'run' | 'succeed' | 'fail' | 'boot';
  readonly plan: string;
  readonly node: string;
  readonly seconds: number;
};

class Rivals {
  readonly world = new PlanWorld();
  readonly life = new NodeLife(this.world, names);
  /** What is on each node. */
  readonly #has = new Map<string, string>();
  readonly #plans: readonly string[];

  constructor(many: number, maxInFlight: number) {
    this.#plans = planNames.slice(0, many);
    for (const name of this.#plans) {
      const concurrency = { maxInFlight, perTopology: [], foreignCordon: 'TakeFirst' } as const;
      const work = {
        kind: 'job',
        podSpec: { containers: [] },
        timeoutSeconds: 60,
        attempts: 1,
        rebootsNode: false,
      } as const;
      const made = makePlan({
        work,
        concurrency,
        soakSeconds,
        provenWithinSeconds: 60,
        onFailure: 'Release',
      });
      this.world.plans.set(name, {
        ...made,
        name,
        uid: `uid-${name}`,
        expressions: { ...made.expressions, due: 'wanted' },
      });
      this.world.expressions.set(name, {
        due: node => this.#has.get(node.name) !== name,
        done: node => this.#has.get(node.name) === name,
      });
    }
  }

  #verdicts(): readonly (NodeVerdict & { readonly plan: string })[] {
    return [...this.world.slices.values()].flatMap(({ planUid, verdicts }) =>
      verdicts.map(verdict => ({ ...verdict, plan: planUid.replace('uid-', '') })),
    );
  }

  look(plan: string): void {
    const before = new Set(this.world.pods.keys());
    this.world.pass(plan);
    this.life.drain();
    for (const name of names) {
      const running = this.life
        .podsOn(name)
        .filter(({ phase }) => phase === 'Pending' || phase === 'Running');
      assert.ok(running.length <= 1, `${name} is worked on by two`);
      if (!running.some(({ name: pod }) => !before.has(pod))) continue;
      const soaking = this.#flying().find(
        ({ of, node, state }) => of !== plan && node === name && state === 'Soaking',
      );
      assert.equal(
        soaking,
        undefined,
        `${plan} works on ${name} in the soak time of ${soaking?.of}`,
      );
    }
  }

  #flying() {
    return [...this.world.plans.values()].flatMap(({ name, inFlight }) =>
      inFlight.map(slot => ({ ...slot, of: name })),
    );
  }

  play({ what, plan, node, seconds }: Step): void {
    const pod = this.life
      .podsOn(node)
      .find(({ phase }) => phase === 'Pending' || phase === 'Running');
    this.world.seconds += seconds;
    switch (what) {
      case 'look':
        return this.look(plan);
      case 'run':
        if (pod?.phase === 'Pending')
          this.world.setPod(pod.name, { phase: 'Running', ranAt: this.world.now });
        return;
      case 'succeed':
        if (pod?.phase !== 'Running') return;
        this.#has.set(node, pod.plan);
        this.world.setPod(pod.name, { phase: 'Succeeded' });
        return;
      case 'fail':
        if (pod?.phase === 'Running')
          this.world.setPod(pod.name, { phase: 'Failed', message: 'exit code 1' });
        return;
      case 'boot':
        this.life.boot(node);
    }
  }

  /** Everything works from now on. */
  end(): void {
    for (let turn = 0; turn < 160; turn += 1) {
      for (const plan of this.#plans) this.look(plan);
      for (const node of names) {
        this.play({ what: 'run', plan: '', node, seconds: 0 });
        this.play({ what: 'succeed', plan: '', node, seconds: 1 });
      }
    }
    for (const plan of this.#plans) {
      const decision = this.world.pass(plan);
      assert.ok(
        decision?.phase === 'Complete' || decision?.phase === 'Halted',
        `${plan} comes to an end: ${decision?.phase} ${decision?.message}`,
      );
      assert.equal(this.world.plans.get(plan)?.inFlight.length, 0);
    }
    assert.equal(this.world.children.size, 0, 'nothing is held in the end');
  }

  /** Who is named, of which nodes, by the plan; and who should be. */
  named(name: string): { readonly said: string; readonly wanted: ReadonlyMap<string, string> } {
    const plan = this.world.plans.get(name) as Plan;
    const all = this.#verdicts().filter(({ verdict }) => verdict === 'Done');
    const wanted = new Map<string, string>();
    for (const node of names) {
      const own = all.findLast(one => one.plan === name && one.node === node);
      if (own === undefined || this.#has.get(node) === name) continue;
      const later = all
        .filter(
          one =>
            one.plan !== name &&
            one.node === node &&
            one.completedAt.epochMilliseconds >= own.completedAt.epochMilliseconds,
        )
        .toSorted((a, b) => b.completedAt.epochMilliseconds - a.completedAt.epochMilliseconds)[0];
      if (later !== undefined) wanted.set(node, later.plan);
    }
    const snapshot = this.world.snapshotOf(plan);
    return { said: contestText(viewOf(snapshot, this.world.now).dueAgain, snapshot) ?? '', wanted };
  }

  get plans(): readonly string[] {
    return this.#plans;
  }
}

const steps = fc.array(
  fc.record({
    what: fc.constantFrom<Step['what'][]>(
      'look',
      'look',
      'look',
      'look',
      'run',
      'run',
      'succeed',
      'succeed',
      'fail',
      'boot',
    ),
    plan: fc.constantFrom(...planNames),
    node: fc.constantFrom(...names),
    seconds: fc.integer({ min: 0, max: 9 }),
  }),
  { minLength: 20, maxLength: 120 },
);

test('plans with different aims work one after the other, come to an end, and name who was done with a node since', () => {
  let contests = 0;
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 3 }),
      fc.integer({ min: 1, max: 3 }),
      steps,
      (many, maxInFlight, story) => {
        const rivals = new Rivals(many, maxInFlight);
        for (const step of story)
          if (step.what !== 'look' || rivals.plans.includes(step.plan)) rivals.play(step);
        rivals.end();
        for (const name of rivals.plans) {
          const { said, wanted } = rivals.named(name);
          contests += wanted.size;
          for (const other of rivals.plans) {
            const nodes = [...wanted].flatMap(([node, by]) => (by === other ? node : []));
            assert.equal(
              said.includes(`plan ${other} was done with them since`),
              nodes.length > 0,
              `${name}: ${said || 'nobody is named'}`,
            );
          }
        }
      },
    ),
    { numRuns: Number(process.env['DRYDOCK_TEST_STORIES'] ?? '100') },
  );
  assert.ok(contests > 100, `plans were in each other's way: ${contests}`);
});
