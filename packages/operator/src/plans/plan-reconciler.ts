import { earliest, type JsonObject, secondsAfter, statusChange } from '@drydock/apimachinery';
import type { Write } from '@drydock/core';
import type { Budget } from '@drydock/core/drain';
import {
  announce,
  decidePlan,
  type Gate,
  type Plan,
  type PlanAdapter,
  type PlanDecision,
  type PlanSettings,
} from '@drydock/core/plan';
import type { KindAdapter } from '@drydock/core/request';
import type { Change } from '@drydock/kube-client';
import { randomLetters } from '@drydock/utils';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { lackText } from '../cache/window-freshness.ts';
import { CpuThrottle } from '../cpu-throttle.ts';
import type { MachineCache } from '../machines/machine-cache.ts';
import type { Monitoring, Ports } from '../ports.ts';
import { WorkQueue } from '../work-queue.ts';
import { type CacheUpdater, UnconfirmedWrites } from '../write/cache-updater.ts';
import { DecisionWriter } from '../write/decision-writer.ts';
import { Writer } from '../write/writer.ts';
import type { PlanExpressions } from './expressions.ts';
import { GateObjects, NodeSelections } from './gate-objects.ts';
import { GateQueries } from './gate-queries.ts';
import { CompiledExpressions, isShort } from './gates.ts';
import { nodesDone, OwnWrites, planCacheUpdater } from './own-writes.ts';
import { PlanCache, type PlanCacheOptions } from './plan-cache.ts';
import {
  Attention,
  overviewOf,
  type PlansOverview,
  StatusThrottle,
  statusWrite,
} from './status-throttle.ts';
import { asksForMachines, type SnapshotInputs, takePlanSnapshot } from './take-plan-snapshot.ts';

/**
 * Returns what keeps the plan from any start: errors in expressions, and objects that the operator
 * has no right to read.
 */
function planProblem(
  plan: Plan,
  expressions: PlanExpressions,
  { unread, image }: Pick<PlanCache, 'unread' | 'image'>,
): string | undefined {
  if (unread.length > 0)
    return `Drydock may not read ${unread.join(', ')}: install the rights of plans (drydock install --with plans)`;
  const { work, rehearse } = plan;
  if (rehearse !== undefined && rehearse.image === undefined && image === undefined) {
    return 'spec.rehearse: the image of the operator is not known, since it runs in no pod: name an image of Drydock in spec.rehearse.image';
  }
  if (work.kind === 'reboot' && work.image === undefined && image === undefined) {
    return 'spec.work.reboot: the image of the operator is not known, since it runs in no pod: name an image of Drydock in spec.work.reboot.image';
  }
  return expressions.problem ?? plan.problem;
}

export type PlanReconcilerOptions = Ports &
  PlanCacheOptions & {
    /**
     * Cache of nodes, maintenances and windows, which the reconciler of the nodes keeps up to date.
     */
    readonly cache: ClusterCache;
    readonly machines: {
      /**
       * Cache of machines and their maintenances, which the reconciler of the machines keeps up to
       * date.
       */
      readonly cache: MachineCache;
      readonly cacheUpdater: CacheUpdater;
      /** Namespace of new MachineMaintenances. */
      readonly namespace: string;
    };
    readonly adapters: readonly KindAdapter[];
    readonly adapter: PlanAdapter;
    /**
     * Callback after the work on the node has changed: a Maintenance that waits for it is requeued.
     */
    readonly touched: (nodeName: string) => void;
    /** Name of the node that this process runs on. */
    readonly ownNode?: string;
    /**
     * Function that returns random letters for the names of pods, different ones each time; a
     * simulation that is replayed passes its own.
     */
    readonly nonce?: () => string;
    /** Sources of metrics and alerts for gates. */
    readonly monitoring?: Monitoring | undefined;
  };

/**
 * Number of plans at a time, until their slots are stored. With one, each sees what the previous
 * one has begun, so that limits hold exactly.
 */
const atOnce = 1;

/**
 * Seconds until windows that the watch has not delivered, or that could not be read, are queried
 * again, unless the watch delivers them before.
 */
const windowsAgain = 1;

/** Seconds until expressions over `now` are evaluated again. */
const nowAgain = 60;

/**
 * The reconciler of plans: an event that a plan may wait for requeues it, its snapshot is taken,
 * the core decides, and the decision is carried out.
 */
export class PlanReconciler {
  readonly plans: PlanCache;
  readonly #options: PlanReconcilerOptions;
  readonly #writer: Writer;
  readonly #queue: WorkQueue;
  readonly #inputs: SnapshotInputs;
  readonly #expressions = new CompiledExpressions();
  readonly #dutyCycle: CpuThrottle;
  readonly #pace = new StatusThrottle();
  readonly #decisions: DecisionWriter;
  readonly #gateObjects: GateObjects;
  readonly #gateQueries: GateQueries;
  readonly #attention: Attention;
  readonly #ownWrites: OwnWrites;

  constructor(options: PlanReconcilerOptions) {
    const { clock, nonce = randomLetters } = options;
    this.#options = options;
    this.#attention = new Attention(clock, () => options.fence.mayAct(), nonce);
    this.#dutyCycle = new CpuThrottle(clock);
    this.plans = new PlanCache(options, {
      plan: change => this.#planChanged(change),
      anything: () => this.enqueueAll(),
      complete: () => this.#complete(),
    });
    this.#gateObjects = new GateObjects(options.watcher, () => this.enqueueAll());
    this.#gateQueries = new GateQueries({
      clock,
      monitoring: options.monitoring,
      defects: options.defects,
      changed: () => this.#gatesChanged(['promql', 'alerts']),
    });
    const cacheUpdater = planCacheUpdater(this.plans, options, change => this.#learned(change));
    this.#writer = new Writer({ ...options, cacheUpdater });
    this.#inputs = this.#newInputs(nonce);
    this.#decisions = new DecisionWriter({
      writer: this.#writer,
      clock,
      uncertainWrites: new UnconfirmedWrites({
        ...options,
        cacheUpdater,
        stores: ['plans', 'requests', 'machineMaintenances', 'planPods'],
      }),
      stored: () => this.enqueueAll(),
      again: (name, at) => this.#queue.addAt(name, at),
    });
    this.#ownWrites = new OwnWrites(this.#decisions, clock, name => this.#queue.add(name));
    this.#queue = this.#newQueue();
  }

  #newInputs(nonce: () => string): SnapshotInputs {
    const { cache, machines, ownNode, adapter } = this.#options;
    return {
      plans: this.plans,
      cache,
      selections: new NodeSelections(cache.nodes),
      machines: machines.cache,
      gateObjects: this.#gateObjects,
      gateQueries: this.#gateQueries,
      expressionsOf: plan => this.#expressionsOf(plan),
      settings: () => this.#settings(),
      drainPolicy: adapter.drainPolicy,
      refusals: plan => this.#decisions.refusals(plan),
      unanswered: plan => this.#ownWrites.unanswered(plan),
      watch: () => this.#attention.mark(),
      nonce,
      ...(ownNode !== undefined && { ownNode }),
      watchedSince: () => this.#attention.since(),
    };
  }

  #newQueue(): WorkQueue {
    return new WorkQueue({
      clock: this.#options.clock,
      defects: this.#options.defects,
      controller: 'MaintenancePlan',
      work: name => this.#pass(name),
      rank: name => this.plans.plans.get(name)?.createdAt.epochMilliseconds ?? 0,
      atOnce,
      soon: begin => this.#dutyCycle.soon(begin),
      broken: (name, message) => this.#reportProblem(name, message),
    });
  }

  /** Watches and acts until the signal is aborted, and completes what it has begun. */
  async run(signal: AbortSignal): Promise<void> {
    this.#attention.begin();
    const anything = (): void => this.enqueueAll();
    const budget = (change: Change<Budget>): void => this.#budgetChanged(change);
    const end = this.#options.cache.subscribe({
      node: anything,
      request: anything,
      window: anything,
      budget,
      complete: anything,
    });
    this.#gateObjects.begin(signal);
    this.#gateQueries.begin(signal);
    try {
      await this.plans.run(signal);
    } finally {
      this.#attention.end();
      end();
      await Promise.all([
        this.#queue.close(),
        this.#gateObjects.ended(),
        this.#gateQueries.ended(),
      ]);
      await this.#ownWrites.ended();
    }
  }

  /** Returns the metrics of plans. */
  overview(): PlansOverview {
    return overviewOf([...this.plans.plans.values()]);
  }

  /**
   * Queues all plans: any event may be one that a plan waits for, because they share one ledger.
   */
  enqueueAll(): void {
    for (const { name } of this.plans.plans.values()) this.#queue.add(name);
  }

  #complete(): void {
    for (const { nodeName } of this.#options.cache.requests.values())
      this.#options.touched(nodeName);
    this.enqueueAll();
  }

  #planChanged(change: Change<Plan>): void {
    this.#learned(change);
    const gates = [...this.plans.plans.values()].flatMap(plan => plan.gates);
    this.#gateObjects.follow(gates.filter(gate => gate.kind === 'object'));
    this.enqueueAll();
  }

  /**
   * Handles a plan that was delivered by the watch, or by a response, which the watch does not
   * deliver again. A plan that begins to run has its gates polled.
   */
  #learned(change: Change<Plan>): void {
    if (change.type === 'removed') {
      this.#pace.forget(change.object.uid);
      this.#inputs.selections.forget(change.object.uid);
      this.#decisions.forget(change.object.name);
    }
    for (const nodeName of nodesDone(change)) this.#options.touched(nodeName);
    this.#gateQueries.follow(this.plans.plans.values());
  }

  /**
   * Handles a change of a budget. Budgets change with every pod; their effect on gates seldom does.
   */
  #budgetChanged(change: Change<Budget>): void {
    if (
      change.type === 'changed' &&
      isShort(change.before) === isShort(change.object) &&
      change.before.fresh === change.object.fresh
    )
      return;
    this.#gatesChanged(['workloads']);
  }

  #gatesChanged(kinds: readonly Gate['kind'][]): void {
    for (const { name, gates } of this.plans.plans.values())
      if (gates.some(({ kind }) => kinds.includes(kind))) this.#queue.add(name);
  }

  #settings(): PlanSettings {
    const { workNamespace, machines } = this.#options;
    const { image, placement, pullSecrets } = this.plans;
    return {
      workNamespace,
      machineNamespace: machines.namespace,
      pullSecrets,
      ...(image !== undefined && { image }),
      ...(placement !== undefined && { placement }),
    };
  }

  #expressionsOf(plan: Plan): PlanExpressions {
    return this.#expressions.of(plan, this.plans.plans.size);
  }

  /** Runs one pass of a plan. Rejects for defects only. */
  async #pass(name: string): Promise<void> {
    const { fence, cache, machines } = this.#options;
    if (!this.#attention.isOn || !fence.mayAct() || this.plans.unsynced.length > 0) return;
    if (cache.unsynced.length > 0) return this.#reportProblem(name, lackText(cache));
    if (this.#ownWrites.postpones(name)) return;
    if (!(await this.#decisions.settled(name)) || !this.#attention.isOn || !fence.mayAct()) return;
    const plan = this.plans.plans.get(name);
    if (plan === undefined) return;
    if (machines.cache.unsynced.length > 0 && asksForMachines(plan, this.#expressionsOf(plan)))
      return;
    // A process that has just started would break quiet times, because it does not know everything
    // yet.
    if (this.#gateQueries.isPending(plan) || this.#gateObjects.isPending(plan)) return;
    if (plan.windows !== 'Ignore') await cache.knownWindows.find(plan);
    if (!this.#attention.isOn || !fence.mayAct()) return;
    if (this.plans.plans.get(name) === plan) await this.#carryOut(plan);
    else this.#queue.add(name);
  }

  async #carryOut(stored: Plan): Promise<void> {
    const { clock, adapter } = this.#options;
    const now = clock.now();
    const expressions = this.#expressionsOf(stored);
    const problem = planProblem(stored, expressions, this.plans);
    const plan = problem === undefined ? stored : { ...stored, problem };
    const decided = this.#dutyCycle.measured(() =>
      decidePlan({ ...takePlanSnapshot(stored, this.#inputs, now), plan }, now),
    );
    const decision = this.#decisions.withTrouble(plan.name, decided);
    this.#queue.clearAppointment(plan.name);
    const lacksWindows = decision.waiting.some(({ reason }) => reason === 'WindowsUnknown');
    const polls = [
      ...(expressions.readsNow ? [nowAgain] : []),
      ...(lacksWindows ? [windowsAgain] : []),
    ];
    const again = earliest([
      decision.requeueAt,
      expressions.pool.restsUntil,
      ...polls.map(each => secondsAfter(now, each)),
    ]);
    if (again !== undefined) this.#queue.addAt(plan.name, again);
    const status =
      decision.own ?? this.#statusWrite(decision, plan, adapter.status(decision, plan, now), now);
    // Slots are stored before anything is done for them.
    const writes = [
      ...(status ? [status] : []),
      ...(decision.own === undefined ? decision.writes : []),
    ];
    const isStored = await this.#decisions.writeShared(
      plan.name,
      plan.name,
      writes,
      this.#ownWrites.unanswered(plan.name),
    );
    if (isStored) this.#ownWrites.begin(plan.name, writes);
  }

  #statusWrite(
    decision: PlanDecision,
    plan: Plan,
    wanted: JsonObject,
    now: Temporal.Instant,
  ): Write | undefined {
    const patch = statusChange(plan.status, wanted);
    if (patch === undefined) return undefined;
    const later = this.#pace.dueAt(plan.uid, patch, now);
    if (later !== undefined) {
      this.#queue.addAt(plan.name, later);
      return undefined;
    }
    const isTransition = wanted['phase'] !== plan.status['phase'];
    const events = isTransition
      ? [announce(plan, decision.warning ? 'Warning' : 'Normal', decision.phase, decision.message)]
      : [];
    return statusWrite(plan, decision.phase, patch, events);
  }

  /** Reports why nothing at all is done about the plan. */
  async #reportProblem(name: string, message: string | undefined): Promise<void> {
    const plan = this.plans.plans.get(name);
    if (message === undefined || plan === undefined || !this.#attention.isOn) return;
    const patch = statusChange(plan.status, { ...plan.status, message });
    if (patch !== undefined)
      await this.#writer.write(statusWrite(plan, 'what keeps it', patch, []), name);
  }
}
