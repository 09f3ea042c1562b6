import type { PlanAdapter } from '../../core/plan/adapter.ts';
import { type Plan, planAnnotation, plansPath } from '../../core/plan/plan.ts';
import type { Approval, RecordSlice, WorkPod } from '../../core/plan/snapshot.ts';
import { approvalsPath, recordsPath } from '../../core/plan/writes.ts';
import type { Log } from '../../support/log.ts';
import { Cache } from '../cache/cache.ts';
import { InformerSet } from '../cache/informer-set.ts';
import type { CachedObject, Change, Collection, Watcher } from '../ports.ts';
import { type Halt, type NodeObject, readHalt, readNodeObject, readWorkPod } from './plan-objects.ts';

export type PlanCacheOptions = {
  readonly watcher: Watcher;
  readonly log: Log;
  readonly adapter: PlanAdapter;
  /** Of the pods that work on nodes. */
  readonly workNamespace: string;
  /** The lease whose annotation stops all plans. */
  readonly haltLease: { readonly namespace: string; readonly name: string };
};

/** What is told of the plans. */
export type PlanChanges = {
  readonly plan: (plan: Plan) => void;
  /** Something that any plan may wait for. */
  readonly anything: () => void;
};

const kinds = {
  plans: 'maintenanceplans.drydock.dev',
  records: 'maintenanceplanrecords.drydock.dev',
  approvals: 'maintenanceapprovals.drydock.dev',
  nodes: 'nodes as expressions see them',
  pods: 'pods that work on nodes',
  halt: 'the lease of the leader',
};

/** Everything that plans look at beside what the loop of the nodes knows. What costs memory is read only when there is a plan. */
export class PlanCache {
  readonly plans = new Cache<Plan>(() => '');
  readonly records = new Cache<RecordSlice>(({ planUid }) => planUid);
  readonly approvals = new Cache<Approval>(({ plan }) => plan);
  readonly nodes = new Cache<NodeObject>(() => '');
  readonly pods = new Cache<WorkPod>(({ plan }) => plan);
  readonly halts = new Cache<Halt>(() => '');
  readonly #options: PlanCacheOptions;
  readonly #changes: PlanChanges;
  readonly #informers: InformerSet;
  #signal: AbortSignal | undefined;
  #rest: Promise<unknown> | undefined;

  constructor(options: PlanCacheOptions, changes: PlanChanges) {
    this.#options = options;
    this.#changes = changes;
    this.#informers = new InformerSet({
      watcher: options.watcher,
      log: options.log,
      lacks: (_name, status) => (status === 404 ? 'missing' : status === 403 ? 'withheld' : undefined),
      complete: () => changes.anything(),
    });
  }

  /** Collections that have not been read completely yet. */
  get unsynced(): readonly string[] {
    return this.#informers.unsynced;
  }

  /** What may not be read here although plans need it, for people. */
  get withheld(): readonly string[] {
    const needed = [kinds.records, kinds.approvals, kinds.nodes, kinds.pods];
    return this.#rest === undefined ? [] : needed.filter(name => !this.#informers.isKnown(name) && !this.unsynced.includes(name));
  }

  /** Why all plans are stopped, if they are. */
  get halted(): string | undefined {
    return [...this.halts.values()].find(({ reason }) => reason !== undefined)?.reason;
  }

  /** Watches until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    await this.#follow(
      kinds.plans,
      { path: plansPath },
      raw => this.#read(raw),
      this.plans,
      change => this.#planChanged(change.object),
    );
    await this.#rest;
  }

  #read(raw: unknown): Plan {
    return this.#options.adapter.readPlan(raw);
  }

  /** The first plan is there: from now on all that plans need is read. */
  #planChanged(plan: Plan): void {
    this.#rest ??= this.#followRest();
    this.#changes.plan(plan);
  }

  async #followRest(): Promise<void> {
    const { adapter, workNamespace, haltLease } = this.#options;
    const { anything } = this.#changes;
    const pods = { path: `/api/v1/namespaces/${encodeURIComponent(workNamespace)}/pods`, labelSelector: planAnnotation };
    const leases = {
      path: `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(haltLease.namespace)}/leases`,
      fieldSelector: `metadata.name=${haltLease.name}`,
    };
    await Promise.all([
      this.#follow(kinds.records, { path: recordsPath }, adapter.readRecord, this.records, anything),
      this.#follow(kinds.approvals, { path: approvalsPath }, adapter.readApproval, this.approvals, anything),
      this.#follow(kinds.nodes, { path: '/api/v1/nodes' }, readNodeObject, this.nodes, change => this.#nodeChanged(change)),
      this.#follow(kinds.pods, pods, readWorkPod, this.pods, anything),
      this.#follow(kinds.halt, leases, readHalt, this.halts, change => this.#haltChanged(change)),
    ]);
  }

  #nodeChanged(change: Change<NodeObject>): void {
    if (change.type !== 'changed' || change.before.content !== change.object.content) this.#changes.anything();
  }

  /** The lease is renewed all the time. */
  #haltChanged(change: Change<Halt>): void {
    if (change.type !== 'changed' || change.before.reason !== change.object.reason) this.#changes.anything();
  }

  async #follow<T extends CachedObject>(
    name: string,
    collection: Collection,
    read: (raw: unknown) => T,
    cache: Cache<T>,
    told: (change: Change<T>) => void,
  ): Promise<void> {
    const changed = (change: Change<T>): void => {
      cache.apply(change);
      told(change);
    };
    if (this.#signal !== undefined) await this.#informers.follow(name, collection, read, changed, this.#signal);
  }
}
