import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { resolveAmount } from '@drydock/apimachinery';
import { isDrained } from '../maintenance/decide.ts';
import type { Node } from '../node/node.ts';
import { makeReadyNode } from '../testing/make-plan.ts';
import { PlanWorld } from '../testing/plan-world.ts';
import {
  Dice,
  randomApproval,
  randomPlan,
  randomWindows,
  zoneLabel,
} from '../testing/random-plan.ts';
import { StartLaws } from '../testing/start-laws.ts';
import type { GateValue } from './gates/gate.ts';
import type { Plan } from './plan.ts';
import type { PlanDecision } from './snapshot.ts';
import { outagesOf, unavailableOf } from './unavailability.ts';
import { childNameOf } from './writes.ts';

/**
 * Random plans on random nodes, with kills, cordons, deaths and edits; after each step the laws
 * have to hold.
 */

const stories = Number(process.env['DRYDOCK_TEST_STORIES'] ?? '200');

const ready = [{ type: 'Ready', status: 'True', reason: '', message: '' }];
const gateValues: readonly GateValue[] = [
  { value: 'True', message: '' },
  { value: 'True', message: '' },
  { value: 'False', message: 'it is not calm' },
  { value: 'Unknown', message: 'nobody answers' },
];

class Story {
  readonly world = new PlanWorld();
  readonly starts = new StartLaws();
  readonly #dice: Dice;
  /** Nodes whose kernel is new; by node uid. */
  readonly #patched = new Set<string>();
  #births = 0;

  constructor(seed: number) {
    this.#dice = new Dice(seed);
    this.world.windows = [...randomWindows(this.#dice)];
    this.world.gates.set('calm', { value: 'True', message: '' });
    const many = 2 + this.#dice.below(9);
    for (let at = 0; at < many; at += 1) this.#addNode(`n${at}`);
    const plans = 1 + this.#dice.below(3);
    for (let at = 0; at < plans; at += 1) this.#addPlan(`plan${at}`);
  }

  #addNode(name: string): void {
    const uid = `uid-${name}-${(this.#births += 1)}`;
    const labels = {
      [zoneLabel]: `z${this.#dice.below(3)}`,
      ...(this.#dice.chance(0.2) && { 'node-role.kubernetes.io/control-plane': '' }),
    };
    this.world.nodes.set(name, makeReadyNode(name, { uid, labels, bootId: `${uid}-boot` }));
  }

  #addPlan(name: string): void {
    const plan = randomPlan(this.#dice, name);
    this.world.plans.set(name, plan);
    if (plan.expressions.due !== undefined)
      this.world.expressions.set(name, { due: node => !this.#patched.has(`${name}/${node.uid}`) });
  }

  #outages(): ReturnType<typeof outagesOf> {
    const { world } = this;
    return outagesOf({
      nodes: world.nodes.values(),
      requests: world.children.values(),
      plans: world.plans.values(),
      machines: [],
    });
  }

  /** What of a limit is used, and by whom. */
  #used(plan: Plan): {
    readonly out: number;
    readonly limit: number;
    readonly names: readonly string[];
  } {
    const { world } = this;
    const outages = this.#outages();
    const isMember = ({ labels }: Node): boolean =>
      labels['node-role.kubernetes.io/control-plane'] !== undefined;
    const selected = [...world.nodes.values()]
      .filter(node => plan.controlPlane !== 'Never' || !isMember(node))
      .map(({ name }) => name);
    const { maxUnavailable, maxUnavailableAbsolute = Number.POSITIVE_INFINITY } = plan.concurrency;
    const share =
      maxUnavailable === undefined ? undefined : resolveAmount(maxUnavailable, selected.length);
    const limit = Math.min(share ?? Number.POSITIVE_INFINITY, maxUnavailableAbsolute);
    return { out: unavailableOf(selected, outages).length, limit, names: selected };
  }

  /** As they are now, whatever becomes of them meanwhile. */
  #plans(): readonly Plan[] {
    return [...this.world.plans.values()];
  }

  /** One look at each plan; the laws of a start are checked with it. */
  look(): void {
    for (const { name } of this.#plans()) {
      this.#pass(name, this.#dice.chance(0.3) ? this.#dice.below(3) : Number.POSITIVE_INFINITY);
      this.#laws();
    }
  }

  #pass(name: string, lives: number): void {
    const { world } = this;
    const before = [...world.plans.values()].map(plan => [plan, this.#used(plan)] as const);
    const last = world.plans.get(name);
    const had = new Set((last?.inFlight ?? []).map(({ uid }) => uid));
    const outages = this.#outages();
    world.lives = lives;
    this.#begunWork(name, world.pass(name));
    const plan = world.plans.get(name);
    // A machine that has registered again is the one that was begun with.
    const begun = (plan?.inFlight ?? []).filter(
      ({ uid, heldAs = uid }) => !had.has(heldAs) && !had.has(uid),
    );
    assert.ok(begun.length <= 1, 'at most one start a decision');
    const [one] = begun;
    if (last === undefined || plan === undefined || one === undefined) return;
    this.#startIsAllowed(name, before);
    this.starts.begun(world, last, plan, one, outages);
  }

  /**
   * Work is begun on nodes that are held and empty, of the revision that they were begun with, and
   * not while the plan is halted.
   */
  #begunWork(name: string, decision: PlanDecision | undefined): void {
    const plan = this.world.plans.get(name);
    // One that is deleted ends what it has begun, paused or not.
    const isPaused = plan?.paused === true && !plan.deleting;
    const isStopped = this.world.halted !== undefined || plan?.aborted === true || isPaused;
    const rings = (plan?.hooks ?? [])
      .filter(({ at }) => at === 'OnHalt')
      .map(hook => `create the pod that runs hook ${hook.name}`);
    const pods = (decision?.writes ?? []).filter(
      ({ description: what, cache: store }) =>
        store === 'planPods' && what.startsWith('create') && !rings.includes(what),
    );
    const begins = isPaused
      ? pods.filter(
          ({ description: what }) =>
            what.includes(' hook ') || what.includes('gets the node ready'),
        )
      : pods;
    assert.ok(
      !isStopped || begins.length === 0,
      `${name} is stopped, and makes pods: ${begins.map(({ description: what }) => what).join(', ')}`,
    );
    for (const { description: what, body } of decision?.writes ?? []) {
      if (what !== 'create the pod that works on the node') continue;
      const { nodeName } = (body as { readonly spec: { readonly nodeName: string } }).spec;
      const slot = decision?.inFlight.find(({ node }) => node === nodeName);
      assert.equal(
        slot?.revision,
        decision?.run?.revision,
        `other work than ${nodeName} was begun with`,
      );
      assert.ok(
        this.world.nodes.get(nodeName)?.unschedulable,
        `${nodeName} is worked on and not held`,
      );
      const child = [...this.world.children.values()].find(
        one => one.plan === name && one.nodeName === nodeName,
      );
      const isBelieved =
        child !== undefined && !this.world.changedChildren.has(child.name) && isDrained(child);
      assert.ok(isBelieved, `${nodeName} is worked on, and was drained as somebody else wanted`);
    }
  }

  #startIsAllowed(name: string, before: readonly (readonly [Plan, { out: number }])[]): void {
    const plan = this.world.plans.get(name);
    const most = plan && resolveAmount(plan.concurrency.maxInFlight, this.#used(plan).names.length);
    assert.ok(plan !== undefined && plan.inFlight.length <= (most ?? 0), 'maxInFlight');
    for (const [other, { out }] of before) {
      const after = this.#used(other);
      const isAtRest =
        other.inFlight.length === 0 && (other.paused || other.deleting || other.run === undefined);
      if (after.out <= out || (isAtRest && other.name !== name)) continue;
      assert.ok(
        after.out <= after.limit,
        `${name} breaks the limit of ${other.name}: ${after.out} of ${after.limit}`,
      );
    }
  }

  #laws(): void {
    const { world } = this;
    for (const plan of world.plans.values()) {
      const uids = plan.inFlight.map(({ uid }) => uid);
      assert.equal(new Set(uids).size, uids.length, 'one slot a node');
      const recorded = [...world.slices.values()].filter(({ planUid }) => planUid === plan.uid);
      for (const { verdicts } of recorded) {
        assert.equal(
          new Set(verdicts.map(({ node }) => node)).size,
          verdicts.length,
          'one verdict a node',
        );
        for (const { verdict, rebooted, node } of verdicts) {
          if (verdict === 'Done' && plan.rebooted === 'Required')
            assert.ok(rebooted, `${node} is done and has not booted`);
        }
      }
    }
    for (const child of world.children.values()) {
      const plan = world.plans.get(child.plan ?? '');
      if (
        plan === undefined ||
        child.deleting ||
        childNameOf(plan, world.nodes.get(child.nodeName)?.uid ?? '') !== child.name
      )
        continue;
      const slot = plan.inFlight.some(({ node }) => node === child.nodeName);
      const held = [...world.slices.values()].some(
        one =>
          one.planUid === plan.uid &&
          one.verdicts.some(verdict => verdict.node === child.nodeName && verdict.held),
      );
      assert.ok(
        slot || held || plan.revision !== 'r1',
        `${child.name} holds a node that nobody works on`,
      );
    }
  }

  /** Kubelets, drains and people. `calm`: nobody disturbs any more. */
  live(seconds: number, calm: boolean): void {
    const { world } = this;
    world.seconds += seconds;
    this.#drains(calm);
    this.#kubelets(calm);
    if (!calm) this.#people();
  }

  #drains(calm: boolean): void {
    const { world } = this;
    for (const [name, child] of world.children) {
      const node = world.nodes.get(child.nodeName);
      if (child.deleting) {
        world.children.delete(name);
        const others = [...world.children.values()].some(
          other => other.nodeName === child.nodeName,
        );
        if (node !== undefined && !others) this.#release(node);
        continue;
      }
      if (node === undefined) continue;
      world.setNode(node.name, { unschedulable: true, holdRecord: '{}' });
      const failed = !calm && this.#dice.chance(0.03);
      if (isDrained(child) || child.history.state === 'Failed') continue;
      const state = failed ? 'Failed' : calm || this.#dice.chance(0.4) ? 'Drained' : 'Draining';
      world.children.set(name, {
        ...child,
        history: { ...child.history, state },
        status: { observedGeneration: child.generation },
      });
    }
  }

  #release(node: Node): void {
    const { holdRecord: _record, ...rest } = node;
    this.world.nodes.set(node.name, { ...rest, unschedulable: false });
  }

  #kubelets(calm: boolean): void {
    const { world } = this;
    for (const node of world.nodes.values()) {
      if (node.conditions.length === 0 && (calm || this.#dice.chance(0.3)))
        world.setNode(node.name, { conditions: ready });
    }
    for (const pod of Array.from(world.pods.values())) {
      const node = world.nodes.get(pod.nodeName);
      const plan = world.plans.get(pod.plan);
      if (plan === undefined || pod.phase === 'Succeeded' || pod.phase === 'Failed') continue;
      // Hooks run anywhere.
      const isGone = node === undefined && pod.nodeName !== '';
      if (isGone) continue;
      if (pod.phase === 'Pending') world.setPod(pod.name, { phase: 'Running' });
      else if (calm || this.#dice.chance(0.5)) this.#end(pod.name, plan, node, calm);
    }
  }

  #end(pod: string, plan: Plan, node: Node | undefined, calm: boolean): void {
    const failed = !calm && this.#dice.chance(0.2);
    if (node !== undefined && !pod.endsWith('-ready')) return this.#finish(pod, plan, node, failed);
    const refused = {
      phase: 'Failed',
      exitCode: this.#dice.chance(0.5) ? 3 : 1,
      message: 'no',
    } as const;
    this.world.setPod(pod, failed ? refused : { phase: 'Succeeded' });
  }

  #finish(pod: string, plan: Plan, node: Node, failed: boolean): void {
    const { world } = this;
    const { work } = plan;
    const reboots = work.kind === 'job' && work.rebootsNode;
    if (!failed || this.#dice.chance(0.3)) this.#patched.add(`${plan.name}/${node.uid}`);
    if (reboots && (!failed || this.#dice.chance(0.3))) {
      world.setNode(node.name, { bootId: `${node.uid}-boot-${world.seconds}`, conditions: [] });
      // The pod dies with its node, whatever it has done.
      world.setPod(pod, {
        phase: this.#dice.chance(0.5) ? 'Failed' : 'Succeeded',
        message: 'killed',
      });
    } else world.setPod(pod, { phase: failed ? 'Failed' : 'Succeeded', message: 'exit code 1' });
  }

  #people(): void {
    const { world } = this;
    const node = this.#dice.pick([...world.nodes.values()]);
    const child = this.#dice.pick([...world.children.values()]);
    const plan = this.#dice.pick([...world.plans.values()]);
    if (node !== undefined && this.#dice.chance(0.05) && node.holdRecord === undefined)
      world.setNode(node.name, { unschedulable: !node.unschedulable });
    if (node !== undefined && this.#dice.chance(0.05)) world.setNode(node.name, { conditions: [] });
    if (node !== undefined && this.#dice.chance(0.02)) {
      world.nodes.delete(node.name);
      if (this.#dice.chance(0.7)) this.#addNode(node.name);
    }
    if (child !== undefined && this.#dice.chance(0.02))
      world.children.set(child.name, { ...child, deleting: true });
    if (child !== undefined && this.#dice.chance(0.05)) world.editChild(child.name, true);
    if (this.#dice.chance(0.03))
      world.halted = world.halted === undefined ? 'power is low' : undefined;
    if (this.#dice.chance(0.1))
      world.gates.set('calm', this.#dice.pick(gateValues) ?? { value: 'True', message: '' });
    if (plan === undefined) return;
    if (this.#dice.chance(0.05)) world.edit(plan.name, { paused: !plan.paused });
    if (this.#dice.chance(0.02)) {
      const { undo: _undo, ...forward } = plan;
      world.plans.set(plan.name, {
        ...forward,
        revision: `r${this.#dice.below(3)}`,
        ...(this.#dice.chance(0.3) && { undo: true }),
      });
    }
    if (this.#dice.chance(0.02)) world.edit(plan.name, { retries: new Map([['*', world.now]]) });
    if (this.#dice.chance(0.15)) world.approvals.push(randomApproval(this.#dice, plan, world.now));
    if (this.#dice.chance(0.02)) world.approvals.pop();
    if (this.#dice.chance(0.01)) this.#delete(plan);
  }

  #delete({ name, finalizers }: Plan): void {
    if (finalizers.length > 0) this.world.edit(name, { deleting: true });
    else this.world.plans.delete(name);
  }

  #retryHooks(): void {
    for (const { name, hooks, retries } of this.#plans())
      if (hooks.length > 0)
        this.world.edit(name, { retries: new Map([...retries, ['*', this.world.now]]) });
  }

  /** Everybody is well again and stays so: what can end has to. */
  end(): void {
    const { world } = this;
    world.gates.set('calm', { value: 'True', message: '' });
    world.halted = undefined;
    for (const node of world.nodes.values()) {
      world.setNode(node.name, {
        conditions: ready,
        ...(node.holdRecord === undefined && { unschedulable: false }),
      });
    }
    for (const { name } of this.#plans()) world.edit(name, { paused: false });
    for (let [turn, quiet] = [0, 0]; turn < 600 && quiet < 6; turn += 1) {
      for (const { name } of this.#plans()) this.#pass(name, Number.POSITIVE_INFINITY);
      this.#laws();
      // A hook may have failed before, and be looked at later.
      if (turn < 60 && turn % 20 === 0) this.#retryHooks();
      // Somebody does away with the windows in the end, so that what waits for them can end too.
      if (turn === 60) world.windows = [];
      const isQuiet = this.#plans().every(({ inFlight, preparing, hookRuns, deleting }) => {
        const pods = [...preparing, ...hookRuns];
        return inFlight.length === 0 && !deleting && pods.every(({ state }) => state !== 'Running');
      });
      quiet = isQuiet && turn > (world.windows.length > 0 ? 60 : 20) ? quiet + 1 : 0;
      this.live(10, true);
    }
    for (const plan of this.#plans()) {
      assert.equal(
        plan.inFlight.length,
        0,
        `${plan.name}: in flight in the end: ${JSON.stringify(plan.inFlight)}`,
      );
      assert.ok(
        !plan.deleting,
        `${plan.name} is gone in the end: ${JSON.stringify([plan.finalizers, plan.inFlight])}`,
      );
      // A machine that has registered again stays held by the Maintenance of before when its work
      // has failed.
      const failed = new Set(
        [...world.slices.values()].flatMap(({ verdicts }) =>
          verdicts.flatMap(({ uid, held }) => (held ? uid : [])),
        ),
      );
      const strays = [...world.children.values()].filter(one => {
        const uid = world.nodes.get(one.nodeName)?.uid ?? '';
        return one.plan === plan.name && childNameOf(plan, uid) !== one.name && !failed.has(uid);
      });
      assert.equal(strays.length, 0, `${strays[0]?.name} holds a node of another uid`);
      const decision = world.pass(plan.name);
      const isOver = decision?.phase === 'Complete' || decision?.phase === 'Halted';
      const explained =
        isOver || (decision?.waiting.length ?? 0) + (decision?.inFlight.length ?? 0) > 0;
      assert.ok(explained, `${plan.name}: ${decision?.phase} ${decision?.message}`);
    }
  }
}

describe('stories of plans', () => {
  test(`no limit is ever passed, no slot lost, no verdict given twice, no node held by nobody: ${stories} stories`, t => {
    const since = performance.now();
    let maintenances = 0;
    for (let seed = Number(process.env['DRYDOCK_TEST_STORY'] ?? '1'); seed <= stories; seed += 1) {
      const story = new Story(seed);
      try {
        for (let turn = 0; turn < 60; turn += 1) {
          story.look();
          story.live(5, false);
        }
        story.end();
      } catch (error) {
        throw new Error(`story ${seed}`, { cause: error });
      }
      maintenances += story.starts.count;
    }
    const seconds = (performance.now() - since) / 1000;
    t.diagnostic(
      `${maintenances} maintenances in ${seconds.toFixed(1)} s, ${(maintenances / seconds).toFixed(0)} a second`,
    );
  });
});
