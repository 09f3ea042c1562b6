import assert from 'node:assert/strict';
import { revisionOfRun } from '../plan/contest.ts';
import type { InFlight } from '../plan/in-flight.ts';
import type { Plan } from '../plan/plan.ts';
import { isNamedFor, preparePurpose } from '../plan/writes.ts';
import type { MaintenanceWindow } from '../window/spans.ts';
import type { PlanWorld } from './plan-world.ts';
import { zoneLabel } from './random-plan.ts';

/**
 * What has to hold whenever a node is begun with, by a log of its own: nothing is asked of the code
 * that decides.
 */

type Logged = {
  readonly run: string;
  readonly stage: string;
  readonly node: string;
  readonly seconds: number;
};

/** The beginning of the opening that is open at this moment. */
function openingAt({ openings }: MaintenanceWindow, epochSeconds: number): readonly number[] {
  return openings.flatMap(opening => {
    if ('cron' in opening) return [];
    const [from, to] = [opening.from.epochMilliseconds / 1000, opening.to.epochMilliseconds / 1000];
    return from <= epochSeconds && epochSeconds < to ? from : [];
  });
}

/** Who goes back to an earlier revision begins another run of it. */
function runOf({ uid, run }: Plan): string {
  return `${uid}/${run?.id}/${run && revisionOfRun(run)}`;
}

export class StartLaws {
  readonly #log: Logged[] = [];

  /** Nodes that were begun with. */
  get count(): number {
    return this.#log.length;
  }

  /** A plan has just begun with a node; `before` and `outages` are of the moment before. */
  begun(
    world: PlanWorld,
    before: Plan,
    plan: Plan,
    one: InFlight,
    outages: ReadonlyMap<string, unknown>,
  ): void {
    const { node, stage } = one;
    const seconds = Math.floor(world.now.epochMilliseconds / 1000);
    this.#asideOf(world, before, one);
    this.#approved(world, plan, stage);
    this.#starved(world, before, plan, node, outages);
    this.#paced(world, plan, seconds);
    this.#log.push({ run: runOf(plan), stage, node, seconds });
    this.#inWindow(world, plan, node, seconds);
  }

  /**
   * No gate is anything but true, the node is ready where it has to be, and hooks have run before.
   */
  #asideOf(
    world: PlanWorld,
    { gates, prepare, preparing, name, hooks, hookRuns }: Plan,
    { node, uid, stage }: InFlight,
  ): void {
    for (const hook of hooks) {
      const of = { BeforeRun: 'run', BeforeStage: `stage ${stage}` }[hook.at as string];
      const run = hookRuns.find(one => one.name === hook.name && one.scope === of);
      const isOver =
        run?.state === 'Succeeded' || (run?.state === 'Failed' && hook.onFailure === 'Continue');
      assert.ok(
        of === undefined || isOver,
        `${name} begins with ${node} before hook ${hook.name} has ended: ${run?.state}`,
      );
    }
    for (const gate of gates)
      assert.equal(
        world.gates.get(gate.name)?.value,
        'True',
        `${name} begins with ${node} past gate ${gate.name}`,
      );
    const one = preparing.find(each => each.uid === uid);
    if (prepare !== undefined)
      assert.equal(one?.state, 'Prepared', `${name} begins with ${node}, which was not got ready`);
  }

  /** Nothing begins without an approval that holds, or held when the first node began under it. */
  #approved(world: PlanWorld, plan: Plan, stage: string): void {
    const {
      name,
      uid,
      run,
      needsApproval,
      stages,
      controlPlane,
      approvalExpiresAfter = Number.POSITIVE_INFINITY,
    } = plan;
    const verdicts = [...world.slices.values()]
      .filter(
        one =>
          run !== undefined &&
          one.planUid === uid &&
          one.run === run.id &&
          one.revision === revisionOfRun(run),
      )
      .flatMap(one => one.verdicts);
    const isBehind = (one: string): boolean =>
      one === 'rest' || (one === 'control-plane' && controlPlane === 'Last');
    const isCanaryDone = verdicts.some(one => one.stage === 'canary' && one.verdict === 'Done');
    const flying = plan.inFlight.filter(({ revision }) => revision === run?.revision);
    const isGiven = (asked: string | undefined): boolean => {
      const begun = [...verdicts, ...flying].filter(
        one => asked === undefined || isBehind(one.stage),
      );
      const logged = this.#log.filter(
        one => one.run === runOf(plan) && (asked === undefined || isBehind(one.stage)),
      );
      const first = Math.min(
        ...begun.map(({ startedAt }) => startedAt.epochMilliseconds),
        ...logged.map(({ seconds }) => seconds * 1000),
      );
      return world.approvals.some(
        one =>
          one.plan === name &&
          run !== undefined &&
          one.run === run.id &&
          one.revision === revisionOfRun(run) &&
          (one.promote === 'Full' || one.stage === asked) &&
          first < one.createdAt.epochMilliseconds + approvalExpiresAfter * 1000,
      );
    };
    assert.ok(
      !needsApproval || isGiven(undefined),
      `${name} begins a run that nobody has agreed to`,
    );
    const isAsked = stages.some(({ approveAfter }) => approveAfter) && isBehind(stage);
    assert.ok(
      !isAsked || isGiven('canary'),
      `${name} goes on behind a stage, and nobody has agreed`,
    );
    const soaks = stages.some(({ soakSeconds }) => soakSeconds > 0) && isBehind(stage);
    assert.ok(
      !soaks || isCanaryDone || isGiven('canary'),
      `${name} goes on behind a stage that has done nothing`,
    );
  }

  /** Nobody begins before a node that has waited for too long, is well, and is still waiting. */
  #starved(
    world: PlanWorld,
    before: Plan,
    plan: Plan,
    begun: string,
    outages: ReadonlyMap<string, unknown>,
  ): void {
    const { starvedAfterSeconds: most, first } = plan;
    if (
      most === undefined ||
      before.inFlight.length === 0 ||
      world.windows.length > 0 ||
      first.includes(begun) ||
      outages.has(begun)
    )
      return;
    const still = new Set([begun, ...plan.passedOver.map(({ node }) => node)]);
    const isReady = (node: string): boolean =>
      before.prepare === undefined ||
      before.preparing.some(
        one =>
          one.node === node &&
          one.state === 'Prepared' &&
          isNamedFor(one.pod, preparePurpose(before, one.uid)),
      );
    const starved = before.passedOver.filter(
      ({ node, since }) =>
        isReady(node) &&
        still.has(node) &&
        !outages.has(node) &&
        world.now.epochMilliseconds - since.epochMilliseconds >= most * 1000,
    );
    // Another run begins, in which nobody has waited yet.
    if (starved.length === 0 || runOf(before) !== runOf(plan)) return;
    const since = Math.min(...starved.map(one => one.since.epochMilliseconds));
    const isFirst = starved.some(
      one => one.node === begun && one.since.epochMilliseconds === since,
    );
    assert.ok(
      isFirst,
      `${begun} begins before ${starved.map(({ node }) => node).join(', ')}, which have waited for too long`,
    );
  }

  /**
   * Evenly over what is left: a start is at least as far from the last one as it would be if every
   * node were still to begin.
   */
  #paced(world: PlanWorld, plan: Plan, seconds: number): void {
    const { pace, expectedSeconds = 0 } = plan;
    const last = this.#log.findLast(one => one.run === runOf(plan))?.seconds;
    if (pace?.mode !== 'Spread' || last === undefined || world.windows.length > 0) return;
    const left = Math.floor(pace.deadline.epochMilliseconds / 1000) - expectedSeconds - last;
    assert.ok(
      seconds - last >= left / world.nodes.size,
      `${seconds - last} s after the last start, and ${left} s are left`,
    );
  }

  #inWindow(world: PlanWorld, plan: Plan, node: string, seconds: number): void {
    const labels = world.nodes.get(node)?.labels ?? {};
    const own = world.windows.filter(
      ({ nodeSelector }) =>
        (nodeSelector?.matchLabels?.[zoneLabel] ?? labels[zoneLabel]) === labels[zoneLabel],
    );
    if (own.length === 0) return;
    const open = own.flatMap(window => openingAt(window, seconds));
    assert.ok(open.length > 0, `${node} begins outside of its windows`);
    const { startsPerWindow = Number.POSITIVE_INFINITY } = plan.concurrency;
    for (const from of open) {
      const begun = new Set(
        this.#log
          .filter(one => one.run === runOf(plan) && one.seconds >= from)
          .map(one => one.node),
      );
      assert.ok(
        begun.size <= startsPerWindow,
        `${begun.size} nodes begin in one opening, and ${startsPerWindow} may`,
      );
    }
  }
}
