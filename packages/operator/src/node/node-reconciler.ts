import { earliest, secondsAfter } from '@drydock/apimachinery';
import type { Write } from '@drydock/core';
import { availableDisruptions, type Budget } from '@drydock/core/drain';
import {
  type Decision,
  decide,
  type NodeSnapshot,
  notAllowedText,
  problemWrite,
} from '@drydock/core/maintenance';
import type { Pod } from '@drydock/core/pod';
import type { MaintenanceRequest, Problem } from '@drydock/core/request';
import type { MaintenanceWindow } from '@drydock/core/window';
import type { Clock, PanicHandler } from '@drydock/utils';
import { ClusterCache } from '../cache/cluster-cache.ts';
import type { CacheScope, Namespaces } from '../cache/node-cache.ts';
import { Evictor } from '../evict/evictor.ts';
import { BudgetWaiters, budgetKeysOf, InFlightEvictions } from '../evict/in-flight-evictions.ts';
import type { Overview, Ports } from '../ports.ts';
import { WorkQueue } from '../work-queue.ts';
import { cacheUpdaterOf, UnconfirmedWrites } from '../write/cache-updater.ts';
import { type WriteOutcome, Writer } from '../write/writer.ts';
import { countedByState, NodeStates } from './node-states.ts';
import { LookupCache, runLookups, type SnapshotOptions, snapshots } from './take-snapshot.ts';

type Options = {
  readonly clock: Clock;
  readonly defects: PanicHandler;
  readonly writer: Pick<Writer, 'write'>;
};

/**
 * Writes into the status of these maintenances what keeps them from being worked on at all. Never
 * rejects.
 */
async function tellProblem(
  nodeName: string,
  requests: readonly MaintenanceRequest[],
  problem: Problem,
  { clock, defects, writer }: Options,
): Promise<void> {
  const now = clock.now();
  for (const request of requests) {
    // A kind whose adapter throws here as well does not affect the others.
    const write = defects.guard(
      'Node',
      () => request.key,
      () => problemWrite(request, problem, now),
      undefined,
    );
    if (write !== undefined) await writer.write(write, nodeName);
  }
}

export type NodeReconcilerOptions = Ports &
  SnapshotOptions & {
    /** Decision function for a node; the whole life of its maintenances if left out. */
    readonly decide?: (snapshot: NodeSnapshot, now: Temporal.Instant) => Decision;
    /** Function that reads MaintenanceWindows; there are none if left out. */
    readonly readWindow?: (raw: unknown) => MaintenanceWindow;
    /** Namespaces whose objects count, for namespaced kinds; all if left out. */
    readonly namespaces?: Namespaces;
    /** Scope of the cache; everything if left out. */
    readonly scope?: CacheScope;
    /**
     * Scheduler of the queue: when the pass of a requeued node begins. In simulated time many
     * events happen at the same moment.
     */
    readonly soon?: (begin: () => void) => void;
  };

/** Seconds until a failed lookup is retried. */
const lookUpAgainAfter = 5;

/** Number of nodes that are reconciled at the same time. */
const nodesAtOnce = 64;

/**
 * The reconciler of nodes: an event requeues a node, its snapshot is taken, the core decides, and
 * the decision is carried out.
 */
export class NodeReconciler {
  readonly cache: ClusterCache;
  readonly #options: NodeReconcilerOptions;
  readonly #inFlight = new InFlightEvictions();
  readonly #lookedUp = new LookupCache();
  readonly #budgetWaiters = new BudgetWaiters();
  readonly #nodeStates = new NodeStates();
  readonly #queue: WorkQueue;
  readonly #evictor: Evictor;
  readonly #writer: Writer;
  readonly #uncertainWrites: UnconfirmedWrites;
  readonly #takeSnapshot: (nodeName: string) => NodeSnapshot;
  #acting = false;

  constructor(options: NodeReconcilerOptions) {
    const { clock, adapters, defects } = options;
    this.#options = options;
    this.cache = this.#openCache(options);
    this.#queue = new WorkQueue({
      clock,
      defects,
      controller: 'Node',
      work: nodeName => this.#pass(nodeName),
      rank: nodeName => this.#rank(nodeName),
      atOnce: nodesAtOnce,
      soon: options.soon,
      broken: (nodeName, message) => this.#broken(nodeName, message),
    });
    const answered = (nodeName: string): void => this.#answered(nodeName);
    const gone = (pod: Pod, nodeName: string): void => this.cache.pods.forget(nodeName, pod);
    this.#evictor = new Evictor({ ...options, inFlight: this.#inFlight, gone, answered });
    this.#takeSnapshot = snapshots({
      cache: this.cache,
      nodeStates: this.#nodeStates,
      evictor: this.#evictor,
      inFlight: this.#inFlight,
      lookedUp: this.#lookedUp,
      clock,
      options,
    });
    const cacheUpdater = cacheUpdaterOf(this.cache, adapters);
    this.#uncertainWrites = new UnconfirmedWrites({
      ...options,
      cacheUpdater,
      stores: ['nodes', 'leases'],
    });
    this.#writer = new Writer({ ...options, cacheUpdater });
  }

  #openCache(options: NodeReconcilerOptions): ClusterCache {
    return new ClusterCache({
      ...options,
      events: {
        touched: nodeName => this.#queue.add(nodeName),
        budgetChanged: (budget, change) => this.#budgetChanged(budget, change),
        podChanged: (pod, nodeName, leaving) => this.#podChanged(pod, nodeName, leaving),
        // Nothing waits for it, and the writer never rejects.
        foreign: request =>
          void this.#reportProblem(request.nodeName, [request], {
            reason: 'ForeignNamespace',
            message: options.namespaces?.remedy ?? '',
          }),
      },
    });
  }

  /**
   * Watches and acts until the signal is aborted, and completes what has begun: no write is cut off
   * in the middle.
   */
  async run(signal: AbortSignal): Promise<void> {
    this.#acting = true;
    try {
      await this.cache.run(signal);
    } finally {
      this.#acting = false;
      this.cache.pods.stopAll();
      await this.#queue.close();
    }
  }

  /** Adds a request that is not an object of the API: a user at a keyboard has made it. */
  addRequest(request: MaintenanceRequest): void {
    this.cache.requests.apply({ type: 'added', object: request });
    this.#queue.add(request.nodeName);
  }

  /** Requeues the node for a change that none of the watches delivers. */
  enqueue(nodeName: string): void {
    if (this.cache.concerns(nodeName)) this.#queue.add(nodeName);
  }

  /** Removes such a request: its queued evictions are cancelled. */
  removeRequest(request: MaintenanceRequest): void {
    this.cache.requests.apply({ type: 'removed', object: request });
    this.#queue.add(request.nodeName);
  }

  /** Returns counts for metrics at this moment. */
  overview(): Overview {
    const { cache } = this;
    return {
      maintenances: countedByState(
        [...cache.requests.values()].map(({ adapter, history }) => [
          adapter.kind,
          history.state ?? 'Pending',
        ]),
      ),
      heldNodes: [...cache.nodes.values()].filter(({ holdRecord }) => holdRecord !== undefined)
        .length,
      blockers: [...this.#nodeStates.blockers()].map(([reason, count]) => ({ reason, count })),
      vms: this.#nodeStates.vms(),
      planPhases: [],
      planNodes: [],
      planDeadlines: [],
      evictionsUnderWay: this.#inFlight.size,
      queueDepth: this.#queue.depth,
      unsynced: cache.unsynced,
      withheld: cache.withheld,
    };
  }

  #rank(nodeName: string): number {
    return this.#nodeStates.of(nodeName).remaining;
  }

  get #mayAct(): boolean {
    return this.#acting && this.#options.fence.mayAct();
  }

  /** Runs one pass of a node. Rejects for defects only. */
  async #pass(nodeName: string): Promise<void> {
    if (!this.#mayAct || this.cache.isReading) return;
    const lack = this.cache.lackFor(nodeName);
    if (lack !== undefined) return this.#refuse(nodeName, lack);
    const { clock, meter, decide: decideOn = decide } = this.#options;
    if (!(await this.#uncertainWrites.settle(nodeName))) return this.#wait(nodeName);
    if (!this.#mayAct) return;
    const started = performance.now();
    const decision = decideOn(this.#takeSnapshot(nodeName), clock.now());
    meter.decided((performance.now() - started) / 1000);
    await this.#carryOut(nodeName, decision);
  }

  /**
   * Handles a pass that has thrown: nothing leaves the node any more, and its maintenances report
   * it.
   */
  async #broken(nodeName: string, message: string): Promise<void> {
    this.#evictor.recall(nodeName, new Set());
    await this.#reportProblem(nodeName, this.cache.requests.in(nodeName), {
      reason: 'InternalError',
      message,
    });
  }

  /**
   * Handles a collection that affects the node and lacks read permission: the node stays as it is
   * until the permission is granted, and its maintenances report it.
   */
  async #refuse(nodeName: string, lack: string): Promise<void> {
    this.#evictor.recall(nodeName, new Set());
    await this.#reportProblem(nodeName, this.cache.requests.in(nodeName), {
      reason: 'NotAllowed',
      message: notAllowedText(lack),
    });
  }

  async #reportProblem(
    nodeName: string,
    requests: readonly MaintenanceRequest[],
    problem: Problem,
  ): Promise<void> {
    if (this.#acting)
      await tellProblem(nodeName, requests, problem, { ...this.#options, writer: this.#writer });
  }

  /** Waits while it is not known how the node is held: nothing leaves it meanwhile. */
  #wait(nodeName: string): void {
    this.#evictor.recall(nodeName, new Set());
    this.#queue.addAt(
      nodeName,
      secondsAfter(this.#options.clock.now(), this.#nodeStates.failed(nodeName)),
    );
  }

  async #carryOut(nodeName: string, decision: Decision): Promise<void> {
    this.#nodeStates.note(nodeName, decision.notes, decision.remaining);
    this.#evictor.recall(nodeName, decision.evictable);
    if (decision.requestUnanswered)
      this.cache.lifecycleEvictions.unanswered(this.#options.clock.now());
    this.#keepWatch(nodeName, decision);
    for (const call of decision.calls) this.#evictor.launch(call, nodeName);
    this.#settleWaits(nodeName, decision.waitsFor);
    this.cache.vms.setWaiting(nodeName, decision.waitsForSlots);
    this.#options.hypervisors?.want(nodeName, decision.desiredHost);
    this.#queue.clearAppointment(nodeName);
    if (decision.requeueAt !== undefined) this.#queue.addAt(nodeName, decision.requeueAt);
    if (decision.confirmPods) this.cache.pods.confirm(nodeName);
    if (decision.handOver) this.#options.self?.handOver();
    const [written, found] = await Promise.all([
      Promise.all(decision.writes.map(write => this.#writer.write(write, nodeName))),
      runLookups(
        { ...this.#options, lookedUp: this.#lookedUp, knownWindows: this.cache.knownWindows },
        decision.lookups,
      ),
    ]);
    this.#afterWrites(nodeName, decision.writes, written);
    if (found) this.#queue.add(nodeName);
    else if (decision.lookups.length > 0)
      this.#queue.addAt(nodeName, secondsAfter(this.#options.clock.now(), lookUpAgainAfter));
  }

  /**
   * Watches pods while a request wants them gone; forgets a node that no request wants any more.
   */
  #keepWatch(nodeName: string, { watchPods }: Decision): void {
    if (watchPods) return this.cache.pods.start(nodeName);
    this.cache.pods.stop(nodeName);
    this.#evictor.forgetNode(nodeName);
    if (!this.cache.concerns(nodeName)) this.#nodeStates.forget(nodeName);
  }

  /**
   * Requeues the node after writes: a stored write may allow the next step, a failed one is retried
   * with growing pauses.
   */
  #afterWrites(nodeName: string, writes: readonly Write[], written: readonly WriteOutcome[]): void {
    const { clock } = this.#options;
    for (const [at, write] of writes.entries()) {
      const one = written[at];
      if (write.reportOf !== undefined && one?.result !== 'stored')
        this.#nodeStates.unsaid(nodeName, write.reportOf);
      if (one?.result === 'refused' && one.outcomeUnknown)
        this.#uncertainWrites.add(nodeName, write);
    }
    const refused = written.find(one => one.result === 'refused');
    if (refused !== undefined) this.#nodeStates.refused(nodeName, refused.message);
    const later = earliest(written.map(one => ('until' in one ? one.until : undefined)));
    if (written.some(({ result }) => result === 'conflict')) {
      this.#queue.addAt(nodeName, secondsAfter(clock.now(), this.#nodeStates.failed(nodeName)));
    } else if (later !== undefined) this.#queue.addAt(nodeName, later);
    else {
      this.#nodeStates.succeeded(nodeName);
      if (written.length > 0) this.#queue.add(nodeName);
    }
  }

  #settleWaits(nodeName: string, waitsFor: readonly string[]): void {
    const waited = this.#budgetWaiters.budgetsOf(nodeName);
    this.#budgetWaiters.set(nodeName, waitsFor);
    // The rest of an offer that this node does not use is offered to the next node.
    for (const key of waited) {
      const budget = this.cache.budgets.get(key);
      if (budget !== undefined) this.#offer(budget);
    }
  }

  #offer(budget: Budget): void {
    if (this.#budgetWaiters.nodesOf(budget.key).length === 0) return;
    const free = availableDisruptions(
      budget,
      this.#inFlight.takingFrom(budget.key),
      this.#options.clock.now(),
    );
    if (free === 0) return;
    const nodes = this.#budgetWaiters.offer(budget.key, budget.resourceVersion, free, nodeName =>
      this.#rank(nodeName),
    );
    for (const nodeName of nodes) this.#queue.add(nodeName);
  }

  /**
   * Requeues nodes for a budget: a changed one requeues as many waiting nodes as it allows; an
   * added or removed one may affect every node.
   */
  #budgetChanged(budget: Budget, change: 'added' | 'changed' | 'removed'): void {
    if (!this.#acting) return;
    this.#inFlight.settle(budget, this.#options.clock.now());
    if (change === 'changed') {
      this.#offer(budget);
      return;
    }
    for (const nodeName of this.cache.pods.watched()) this.#queue.add(nodeName);
  }

  /**
   * Settles the budgets after the response to an eviction: the new status may have come before the
   * response.
   */
  #answered(nodeName: string): void {
    const keys = new Set(this.#inFlight.of(nodeName).flatMap(budgetKeysOf));
    for (const key of keys) {
      const budget = this.cache.budgets.get(key);
      if (budget !== undefined) this.#inFlight.settle(budget, this.#options.clock.now());
    }
    this.#queue.add(nodeName);
  }

  #podChanged({ uid, resourceVersion }: Pod, nodeName: string, leaving: boolean): void {
    if (!leaving) return;
    this.#inFlight.podLeft(uid, resourceVersion);
    this.#evictor.forget(uid, nodeName);
  }
}
