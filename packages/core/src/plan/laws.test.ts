import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isReady } from '../node/node.ts';
import { makeApproval, makePlan, makeReadyNode } from '../testing/make-plan.ts';
import { playDrains } from '../testing/node-life.ts';
import { PlanWorld } from '../testing/plan-world.ts';
import { revisionOfRun } from './contest.ts';
import type { NodeVerdict } from './in-flight.ts';
import type { Plan } from './plan.ts';
import type { PlanDecision } from './snapshot.ts';
import { childNameOf } from './writes.ts';

/**
 * Whatever nodes, people and repairers do: nothing begins behind a stage that is not passed, no
 * failure is forgotten, no name has turns without an end, and no hold is without an owner. What has
 * to hold is told from what is stored and seen, by other means than those that decide.
 */

const many = 5;
const deeds = [
  'delete',
  'renew',
  'canary',
  'select',
  'skip',
  'approve',
  'promote',
  'edit',
  'rerun',
  'undo',
  'retry',
  'break',
  'heal',
  'age',
  'fail',
  'work',
] as const;
type Deed = { readonly what: (typeof deeds)[number]; readonly of: number; readonly turns: number };

const deed: fc.Arbitrary<Deed> = fc.record({
  what: fc.constantFrom(...deeds),
  of: fc.integer({ min: 1, max: many }),
  turns: fc.integer({ min: 0, max: 12 }),
});

const shape = fc.record({
  limit: fc.boolean(),
  soakSeconds: fc.constantFrom(0, 6),
  approveAfter: fc.boolean(),
  isAsked: fc.boolean(),
  maxFailures: fc.constantFrom(0, 1, 9),
  onFailure: fc.constantFrom('Hold' as const, 'Release' as const),
  maxInFlight: fc.integer({ min: 1, max: 3 }),
});
type Shape = Parameters<Parameters<typeof shape.map>[0]>[0];

class Story {
  readonly world = new PlanWorld();
  readonly #shape: Shape;
  /** By uid: nodes that are as the plan wants them. */
  readonly #right = new Set<string>();
  /** By uid: nodes that were deleted with a pod of the work on them. */
  readonly #lost = new Set<string>();
  /** By run: when a canary that was done was last seen to be worse than that. */
  readonly #lackedAt = new Map<string, number>();
  readonly #begunBehind = new Map<string, number>();
  /** By run and name: turns in which a pod has run, since somebody has retried the node. */
  readonly #turns = new Map<string, Set<string>>();
  readonly #deselected = new Set<string>();
  #fails = false;
  #births = 0;
  #approvals = 0;

  constructor(of: Shape) {
    this.#shape = of;
    for (let index = 1; index <= many; index += 1) this.#born(`n${index}`);
    this.world.setNode('n1', { labels: { canary: 'yes' } });
    const { run: _run, ...plan } = makePlan({
      work: {
        kind: 'job',
        podSpec: { containers: [] },
        rebootsNode: false,
        timeoutSeconds: 40,
        attempts: 1,
      },
      expressions: of.isAsked ? { due: 'is it old' } : {},
      provenWithinSeconds: 3,
      stages: [
        {
          name: 'canary',
          soakSeconds: of.soakSeconds,
          approveAfter: of.approveAfter,
          ...(of.limit ? { limit: 1 } : { nodeSelector: { matchLabels: { canary: 'yes' } } }),
        },
      ],
      halt: { maxFailures: of.maxFailures },
      onFailure: of.onFailure,
      concurrency: { maxInFlight: of.maxInFlight, perTopology: [], foreignCordon: 'Wait' },
    });
    this.world.plans.set('kernel', plan);
    const selects = ({ name }: { readonly name: string }): boolean => !this.#deselected.has(name);
    // What is undone is due where it is right.
    const due = ({ uid }: { readonly uid: string }): boolean =>
      this.#right.has(uid) === (this.plan.undo === true);
    this.world.expressions.set('kernel', of.isAsked ? { due, selects } : { selects });
  }

  get plan(): Plan {
    return this.world.plans.get('kernel') as Plan;
  }

  get #run(): string {
    const { run } = this.plan;
    return run === undefined ? '' : `${run.id}/${revisionOfRun(run)}`;
  }

  #verdicts(): readonly NodeVerdict[] {
    const { run } = this.plan;
    return [...this.world.slices.values()].flatMap(one =>
      run !== undefined && one.run === run.id && one.revision === revisionOfRun(run)
        ? one.verdicts
        : [],
    );
  }

  #counts({ node, completedAt }: NodeVerdict): boolean {
    const before = this.plan.retries.get(node) ?? this.plan.retries.get('*');
    return before === undefined || Temporal.Instant.compare(completedAt, before) > 0;
  }

  #failures(): readonly NodeVerdict[] {
    return this.#verdicts().filter(one => one.verdict === 'Failed' && this.#counts(one));
  }

  #born(name: string): void {
    this.#births += 1;
    this.world.nodes.set(
      name,
      makeReadyNode(name, { uid: `uid-${name}-${this.#births}`, bootId: `boot-${this.#births}` }),
    );
  }

  /** Whether something that is done in the canary stage is there, and is not as it was proven. */
  #lacks(): boolean {
    return this.#verdicts().some(({ node: name, uid, stage, verdict }) => {
      const node = this.world.nodes.get(name);
      if (stage !== 'canary' || verdict !== 'Done' || node?.uid !== uid) return false;
      return (
        !isReady(node) ||
        (this.#shape.isAsked && this.#right.has(uid) === (this.plan.undo === true))
      );
    });
  }

  /** The plan looks at the world once; then kubelets, drains and the work go on. */
  turn(): void {
    const { world } = this;
    const before = this.plan;
    const [had, failed, lacks] = [
      new Set(before.inFlight.map(({ uid }) => uid)),
      this.#failures().length,
      this.#lacks(),
    ];
    const decision = world.pass('kernel') as PlanDecision;
    if (lacks) this.#lackedAt.set(this.#run, world.seconds);
    const isSameRun =
      before.run !== undefined && `${before.run.id}/${revisionOfRun(before.run)}` === this.#run;
    const begun = this.plan.inFlight.filter(({ uid }) => !had.has(uid));
    assert.ok(
      begun.length === 0 || !isSameRun || failed <= this.#shape.maxFailures,
      'a node begins past a halt',
    );
    for (const { stage } of begun) if (stage === 'rest') this.#passed();
    if (isSameRun) assert.equal(decision.counts.failed, failed, 'a failure is forgotten');
    if (isSameRun) this.#ended(before.inFlight);
    for (const { ranAttempt, node, uid, revision } of this.plan.inFlight)
      if (ranAttempt !== undefined && revision === this.plan.run?.revision)
        this.#tookTurn(node, uid);
    world.seconds += 1;
    this.#live();
  }

  /**
   * A node begins behind the canaries: somebody has agreed, something was done in them, and it was
   * well for as long as it should be.
   */
  #passed(): void {
    const { soakSeconds, approveAfter } = this.#shape;
    const { run } = this.plan;
    const given = this.world.approvals.filter(
      one => run !== undefined && one.run === run.id && one.revision === revisionOfRun(run),
    );
    const isPromoted = given.some(({ promote }) => promote !== undefined);
    assert.ok(!approveAfter || given.length > 0, 'nobody has agreed');
    const all = this.#verdicts().filter(
      ({ stage, verdict }) => stage === 'canary' && (verdict === 'Done' || verdict === 'Failed'),
    );
    const last = Math.max(...all.map(({ completedAt }) => completedAt.epochMilliseconds));
    const isFirst = (this.#begunBehind.get(this.#run) ?? Number.NEGATIVE_INFINITY) < last;
    this.#begunBehind.set(this.#run, this.world.now.epochMilliseconds);
    if (soakSeconds === 0 || isPromoted || !isFirst) return;
    const isDone = all.some(({ verdict }) => verdict === 'Done');
    assert.ok(isDone || (approveAfter && given.length > 0), 'nothing was done in the stage before');
    const lackedAt = this.#lackedAt.get(this.#run) ?? Number.NEGATIVE_INFINITY;
    assert.ok(
      !isDone || this.world.seconds - lackedAt >= soakSeconds,
      `the canary was not well ${this.world.seconds - lackedAt} s ago`,
    );
  }

  /**
   * What was lost in the middle of its work has failed. Of the work of an earlier edit nothing is
   * recorded.
   */
  #ended(before: Plan['inFlight']): void {
    const flying = new Set(this.plan.inFlight.map(({ uid }) => uid));
    for (const { uid, revision } of before) {
      if (flying.has(uid) || !this.#lost.has(uid) || revision !== this.plan.run?.revision) continue;
      const verdict = this.#verdicts().find(one => one.uid === uid)?.verdict;
      assert.ok(
        verdict === 'Failed' || verdict === 'Done',
        `${uid} is gone, and its verdict is ${verdict}`,
      );
    }
  }

  #tookTurn(node: string, uid: string): void {
    const key = `${this.#run} ${node}`;
    const turns = this.#turns.get(key) ?? new Set();
    this.#turns.set(key, turns.add(uid));
    assert.ok(
      turns.size <= (this.#shape.isAsked ? 2 : 1),
      `${node} has turn ${turns.size} in one run`,
    );
  }

  #live(): void {
    const { world } = this;
    playDrains(world);
    for (const pod of Array.from(world.pods.values())) {
      const node = world.nodes.get(pod.nodeName);
      if (node === undefined) world.pods.delete(pod.name);
      else if (pod.phase === 'Pending') world.setPod(pod.name, { phase: 'Running' });
      else if (pod.phase === 'Running') {
        if (this.#fails) world.setPod(pod.name, { phase: 'Failed', message: 'no' });
        else {
          if (this.plan.undo === true) this.#right.delete(node.uid);
          else this.#right.add(node.uid);
          world.setPod(pod.name, { phase: 'Succeeded' });
        }
      }
    }
  }

  act({ what, of, turns }: Deed): void {
    this.#do(what, `n${of}`);
    for (let turn = 0; turn < turns; turn += 1) this.turn();
  }

  #remove(name: string): void {
    const { world } = this;
    const node = world.nodes.get(name);
    const slot = this.plan.inFlight.find(({ uid }) => uid === node?.uid);
    const isWorkedOn = [...world.pods.values()].some(
      pod => pod.nodeName === name && (pod.phase === 'Running' || pod.phase === 'Succeeded'),
    );
    if (slot !== undefined && isWorkedOn && slot.outcome === undefined && slot.podUid !== undefined)
      this.#lost.add(slot.uid);
    world.nodes.delete(name);
    for (const pod of Array.from(world.pods.values()))
      if (pod.nodeName === name) world.pods.delete(pod.name);
  }

  #do(what: Deed['what'], name: string): void {
    const { world } = this;
    const node = world.nodes.get(name);
    const toggle = (set: Set<string>): unknown =>
      set.has(name) ? set.delete(name) : set.add(name);
    const agree = (more: object): void => {
      const { run } = this.plan;
      if (run === undefined) return;
      const key = `a${(this.#approvals += 1)}`;
      world.approvals.push(
        makeApproval({
          key,
          uid: key,
          createdAt: world.now,
          run: run.id,
          revision: revisionOfRun(run),
          stage: 'canary',
          ...more,
        }),
      );
    };
    const edit = (over: Partial<Plan>): void => world.edit('kernel', over);
    const acts: Readonly<Record<Deed['what'], () => void>> = {
      delete: () => this.#remove(name),
      renew: () => {
        this.#remove(name);
        this.#born(name);
      },
      canary: () =>
        world.setNode(name, {
          labels: node?.labels['canary'] === undefined ? { canary: 'yes' } : {},
        }),
      select: () => void toggle(this.#deselected),
      skip: () => {
        const skips = new Map(this.plan.skips);
        if (!skips.delete(name)) skips.set(name, 'somebody says so');
        edit({ skips });
      },
      approve: () => agree({}),
      promote: () => agree({ promote: 'Stage' }),
      edit: () => edit({ revision: this.plan.revision === 'r1' ? 'r2' : 'r1' }),
      rerun: () => edit({ runId: this.plan.runId === '1' ? '2' : '1' }),
      undo: () => {
        const { undo, ...plan } = this.plan;
        world.plans.set(
          'kernel',
          undo === true ? { ...plan, revision: 'r1' } : { ...plan, undo: true, revision: 'back' },
        );
      },
      retry: () => {
        edit({ retries: new Map([...this.plan.retries, [name, world.now]]) });
        for (const key of this.#turns.keys()) if (key.endsWith(` ${name}`)) this.#turns.delete(key);
      },
      break: () => world.setNode(name, { conditions: [] }),
      heal: () => world.setNode(name, { conditions: makeReadyNode(name).conditions }),
      age: () => void (node && this.#right.delete(node.uid)),
      fail: () => void (this.#fails = true),
      work: () => void (this.#fails = false),
    };
    acts[what]();
  }

  /** Nobody disturbs any more: what is held then is held for somebody. */
  end(): void {
    for (let turn = 0; turn < 200; turn += 1) this.turn();
    const { world, plan } = this;
    const verdicts = this.#verdicts();
    for (const child of world.children.values()) {
      const node = world.nodes.get(child.nodeName);
      const verdict = verdicts.find(({ uid }) => uid === node?.uid);
      // A machine that has registered again stays held by the Maintenance of before when its work
      // has failed.
      const isOfNode =
        node !== undefined &&
        (childNameOf(plan, node.uid) === child.name || verdict?.held === true);
      assert.ok(isOfNode, `${child.name} holds a node that is gone`);
      const isFlying = plan.inFlight.some(({ uid }) => uid === node?.uid);
      const isFailure = verdict?.verdict === 'Failed' && verdict.held && this.#counts(verdict);
      const isOver =
        verdict !== undefined &&
        verdict.verdict !== 'Requeued' &&
        (verdict.verdict !== 'Failed' || this.#counts(verdict));
      const hasTurn =
        !isOver && !plan.skips.has(child.nodeName) && !this.#deselected.has(child.nodeName);
      assert.ok(
        isFlying || isFailure || hasTurn,
        `${child.name} holds ${child.nodeName} for nobody: ${verdict?.verdict}`,
      );
    }
  }
}

test('random nodes, edits, skips, approvals, deletions, labels and repairs', () => {
  fc.assert(
    fc.property(shape, fc.array(deed, { minLength: 1, maxLength: 25 }), (of, acts) => {
      const story = new Story(of);
      for (let turn = 0; turn < 3; turn += 1) story.turn();
      for (const act of acts) story.act(act);
      story.end();
    }),
    { numRuns: Number(process.env['DRYDOCK_TEST_STORIES'] ?? '200') },
  );
});
