import type { JsonObject } from '@drydock/apimachinery';
import { readTime } from '@drydock/apimachinery';
import type { Node } from '../node/node.ts';
import { doneSince, isUnderWayNow, sortRecords } from '../plan/contest.ts';
import { decidePlan } from '../plan/decide.ts';
import type { GateValue } from '../plan/gates/gate.ts';
import type { InFlight, NodeVerdict } from '../plan/in-flight.ts';
import type { Plan } from '../plan/plan.ts';
import type {
  Approval,
  CelResult,
  OtherPlan,
  PlanDecision,
  PlanNode,
  PlanSnapshot,
  RecordSlice,
  WorkPod,
} from '../plan/snapshot.ts';
import { outagesOf } from '../plan/unavailability.ts';
import { viewOf } from '../plan/view.ts';
import { planAnnotation } from '../plan-annotation.ts';
import { membersOf } from '../quorum/quorum.ts';
import type { MaintenanceRequest } from '../request/request.ts';
import type { MaintenanceWindow } from '../window/spans.ts';
import type { Write } from '../write.ts';
import { at, makeRequest } from './make.ts';

/**
 * A cluster in memory that plans work on: what they decide is stored as the API stores it, and the
 * test plays kubelets and drains.
 */

const longAgo = at(-9000);

/** What the API keeps of a time: whole seconds. */
function whole(time: Temporal.Instant): Temporal.Instant {
  return Temporal.Instant.fromEpochMilliseconds(Math.floor(time.epochMilliseconds / 1000) * 1000);
}

function stored(one: InFlight): InFlight {
  return {
    ...one,
    startedAt: whole(one.startedAt),
    since: whole(one.since),
    ...(one.soakSince && { soakSince: whole(one.soakSince) }),
    ...(one.soakBrokenAt && { soakBrokenAt: whole(one.soakBrokenAt) }),
  };
}

type Expressions = {
  readonly due?: (node: Node) => CelResult;
  readonly done?: (node: Node) => CelResult;
  readonly selects?: (node: Node) => boolean;
};

export class PlanWorld {
  readonly nodes = new Map<string, Node>();
  readonly plans = new Map<string, Plan>();
  readonly children = new Map<string, MaintenanceRequest>();
  readonly pods = new Map<string, WorkPod>();
  readonly changedChildren = new Set<string>();
  readonly slices = new Map<string, RecordSlice>();
  readonly expressions = new Map<string, Expressions>();
  approvals: Approval[] = [];
  windows: MaintenanceWindow[] = [];
  readonly gates = new Map<string, GateValue>();
  halted: string | undefined;
  ownNode: string | undefined;
  seconds = 0;
  /** Another one with each process, and whenever nobody has watched for a while. */
  watch = 'w1';
  /** Effects until the process is killed; Infinity: it is not. */
  lives = Number.POSITIVE_INFINITY;
  /**
   * A pod that is deleted ends when its kubelet has ended it: the test says when. One that has
   * ended goes at once.
   */
  hasKubelets = false;
  /** Nodes on which somebody else has finished the work. */
  readonly finished = new Set<string>();
  /** What has been refused last, by node. */
  readonly refusals = new Map<string, string>();
  #version = 100;

  get now(): Temporal.Instant {
    return at(this.seconds);
  }

  snapshotOf(plan: Plan, others: Iterable<Plan> = this.plans.values()): PlanSnapshot {
    const run = plan.run ?? { id: plan.runId, revision: plan.revision };
    const slicesOf = ({ uid }: Plan): readonly RecordSlice[] =>
      [...this.slices.values()].filter(one => one.planUid === uid);
    const nodes = this.#nodesOf(plan);
    const records = sortRecords(slicesOf(plan), run);
    const rivals = [...this.plans.values()].flatMap(one =>
      one.name === plan.name ? [] : { name: one.name, slices: slicesOf(one) },
    );
    return {
      plan,
      nodes,
      outages: outagesOf({
        nodes: this.nodes.values(),
        requests: this.children.values(),
        plans: this.plans.values(),
        machines: [],
      }),
      children: this.children,
      changedChildren: this.changedChildren,
      replacements: new Map(),
      pods: this.pods,
      ...records,
      doneSince: doneSince(records.slices, nodes, rivals),
      gates: this.gates,
      approvals: this.approvals,
      others: [...others]
        .filter(other => other.name !== plan.name && isUnderWayNow(other, this.now))
        .map(other => this.#other(other)),
      members: membersOf([...this.nodes.values()]),
      windows: this.windows,
      settings: { workNamespace: 'drydock-plans', machineNamespace: 'drydock-system' },
      refusals: this.refusals,
      unanswered: new Set(),
      watch: this.watch,
      nonce: `x${(this.#version += 1)}`,
      ...(this.halted !== undefined && { halted: this.halted }),
      ...(this.ownNode !== undefined && { ownNode: this.ownNode }),
    };
  }

  #nodesOf(plan: Plan): PlanSnapshot['nodes'] {
    const { due, done, selects = () => true } = this.expressions.get(plan.name) ?? {};
    const nodes = new Map<string, PlanNode>();
    for (const node of this.nodes.values()) {
      const isDue = due?.(node) ?? true;
      const isDone = done?.(node) ?? (due === undefined ? true : isDue === false);
      nodes.set(node.name, {
        node,
        createdAt: longAgo,
        selected: selects(node),
        due: isDue,
        done: isDone,
        finished: this.finished.has(node.name),
        rank: 0,
      });
    }
    return nodes;
  }

  #other(plan: Plan): OtherPlan {
    const { maxUnavailable } = viewOf(this.snapshotOf(plan, []), this.now).counts;
    return {
      name: plan.name,
      selected: new Set(this.nodes.keys()),
      inFlight: plan.inFlight,
      ...(maxUnavailable !== undefined && { maxUnavailable }),
    };
  }

  /**
   * One look at a plan, with all that follows from it; undefined when the process was killed in the
   * middle.
   */
  pass(name: string): PlanDecision | undefined {
    const plan = this.plans.get(name);
    if (plan === undefined) return undefined;
    const decision = decidePlan(this.snapshotOf(plan), this.now);
    if (decision.own !== undefined)
      return this.#effect(() => this.#own(plan, decision.own as Write)) ? decision : undefined;
    if (!this.#effect(() => this.#store(plan, decision))) return undefined;
    for (const write of decision.writes)
      if (!this.#effect(() => this.#write(write))) return undefined;
    return decision;
  }

  /** What the status keeps of a decision. */
  #store(
    plan: Plan,
    { inFlight, run, passedOver, preparing, hooks, gates, gateHalt }: PlanDecision,
  ): void {
    const { gateHalt: _gateHalt, ...rest } = plan;
    this.plans.set(plan.name, rest);
    this.edit(plan.name, {
      inFlight: inFlight.map(stored),
      passedOver,
      preparing: preparing.map(one => ({ ...one, since: whole(one.since) })),
      hookRuns: hooks.map(one => ({ ...one, since: whole(one.since) })),
      gateStates: new Map(gates.map(one => [one.name, { ...one, since: whole(one.since) }])),
      ...(gateHalt && { gateHalt: { ...gateHalt, at: whole(gateHalt.at) } }),
      ...(run && { run: { ...run, startedAt: whole(run.startedAt) } }),
    });
  }

  edit(name: string, over: Partial<Plan>): void {
    const plan = this.plans.get(name);
    if (plan !== undefined)
      this.plans.set(name, { ...plan, ...over, resourceVersion: String((this.#version += 1)) });
  }

  /**
   * Somebody has changed the drain of a Maintenance, or it is put back. What its status says is
   * about the spec of before.
   */
  editChild(name: string, isChanged: boolean): void {
    const child = this.children.get(name);
    if (child === undefined) return;
    this.children.set(name, { ...child, generation: child.generation + 1 });
    if (isChanged) this.changedChildren.add(name);
    else this.changedChildren.delete(name);
  }

  setNode(name: string, over: Partial<Node>): void {
    const node = this.nodes.get(name);
    if (node !== undefined) this.nodes.set(name, { ...node, ...over });
  }

  setPod(name: string, over: Partial<WorkPod>): void {
    const pod = this.pods.get(name);
    if (pod === undefined) return;
    const ran = over.phase !== undefined && over.phase !== 'Pending' ? { ran: true } : {};
    this.pods.set(name, { ...pod, ...ran, ...over, resourceVersion: String((this.#version += 1)) });
  }

  #effect(work: () => void): boolean {
    if (this.lives <= 0) return false;
    this.lives -= 1;
    work();
    return true;
  }

  #own(plan: Plan, { body }: Write): void {
    const { finalizers } = body['metadata'] as { readonly finalizers: readonly string[] };
    if (plan.deleting && finalizers.length === 0) this.plans.delete(plan.name);
    else this.edit(plan.name, { finalizers });
  }

  #write(write: Write): void {
    if (write.cache === 'requests') return this.#child(write);
    if (write.cache === 'planPods') return this.#pod(write);
    if (write.cache === 'planRecords') this.#record(write);
  }

  #child({ method, path, body }: Write): void {
    if (method === 'DELETE' || method === 'PATCH') {
      const child = this.children.get(path.split('/').at(-1) ?? '');
      if (child !== undefined && method === 'DELETE')
        this.children.set(child.name, { ...child, deleting: true });
      else if (child !== undefined) this.#patchChild(child, body);
      return;
    }
    const { name, annotations } = body['metadata'] as {
      readonly name: string;
      readonly annotations: Readonly<Record<string, string>>;
    };
    const { nodeName } = body['spec'] as { readonly nodeName: string };
    if (this.children.has(name)) return;
    const plan = annotations[planAnnotation];
    this.children.set(
      name,
      makeRequest(name, {
        nodeName,
        uid: `uid-${name}-${(this.#version += 1)}`,
        ...(plan !== undefined && { plan }),
      }),
    );
  }

  #pod({ method, path, body }: Write): void {
    if (method === 'DELETE') return this.#deletePod(path.split('/').at(-1) ?? '', body);
    const { name, annotations, ownerReferences } = body['metadata'] as {
      readonly name: string;
      readonly annotations: Readonly<Record<string, string>>;
      readonly ownerReferences: readonly { readonly uid: string }[];
    };
    const { nodeName = '' } = body['spec'] as { readonly nodeName?: string };
    if (this.pods.has(name)) return;
    const uid = `uid-${name}-${(this.#version += 1)}`;
    const common = {
      key: `drydock-plans/${name}`,
      name,
      namespace: 'drydock-plans',
      uid,
      resourceVersion: '1',
      nodeName,
    };
    this.pods.set(name, {
      ...common,
      plan: annotations[planAnnotation] ?? '',
      ownerUid: ownerReferences[0]?.uid ?? '',
      isMirror: false,
      deleting: false,
      phase: 'Pending',
      ran: false,
      killed: false,
      message: '',
    });
  }

  /** Either how far it goes, or its drain, which is put back. */
  #patchChild(child: MaintenanceRequest, body: JsonObject): void {
    const { level, drain } = body['spec'] as {
      readonly level?: MaintenanceRequest['level'];
      readonly drain?: unknown;
    };
    if (drain !== undefined || level === undefined) return this.editChild(child.name, false);
    this.children.set(child.name, { ...child, level, generation: child.generation + 1 });
  }

  #deletePod(name: string, { preconditions }: JsonObject): void {
    const pod = this.pods.get(name);
    const { resourceVersion } = preconditions as { readonly resourceVersion?: string };
    if (
      pod === undefined ||
      (resourceVersion !== undefined && resourceVersion !== pod.resourceVersion)
    )
      return;
    if (this.hasKubelets && pod.phase !== 'Succeeded' && pod.phase !== 'Failed')
      this.setPod(name, { deleting: true });
    else this.pods.delete(name);
  }

  #record({ method, path, body }: Write): void {
    if (method === 'DELETE') {
      this.slices.delete(path.split('/').at(-1) ?? '');
      return;
    }
    const { verdicts: raw, ...spec } = body['spec'] as {
      readonly verdicts: JsonObject;
    } & JsonObject;
    const verdicts = Object.entries(raw).map(([node, one]) => read(node, one as JsonObject));
    if (method === 'POST') {
      const { name } = body['metadata'] as { readonly name: string };
      if (this.slices.has(name)) return;
      const { planUID, runID, revision, slice } = spec as unknown as {
        planUID: string;
        runID: string;
        revision: string;
        slice: number;
      };
      const common = {
        key: name,
        name,
        uid: `uid-${name}`,
        resourceVersion: '1',
        planUid: planUID,
        run: runID,
      };
      this.slices.set(name, { ...common, revision, slice, verdicts });
      return;
    }
    const name = path.split('/').at(-1) ?? '';
    const before = this.slices.get(name);
    if (before === undefined) return;
    const kept = before.verdicts.filter(({ node }) => !verdicts.some(one => one.node === node));
    this.slices.set(name, { ...before, verdicts: [...kept, ...verdicts] });
  }
}

function read(node: string, one: JsonObject): NodeVerdict {
  const { nodeUID, startTime, completionTime, ...rest } = one;
  const [startedAt, completedAt] = [
    readTime(startTime) ?? at(0),
    readTime(completionTime) ?? at(0),
  ];
  return {
    ...(rest as unknown as NodeVerdict),
    node,
    uid: nodeUID as string,
    startedAt,
    completedAt,
  };
}
