import { pathSegment } from '@drydock/apimachinery';
import type { Approval, PlanAdapter, RecordSlice, WorkPod } from '@drydock/core/plan';
import {
  approvalsPath,
  type Plan,
  planAnnotation,
  plansPath,
  recordsPath,
} from '@drydock/core/plan';
import type { Change, Watcher } from '@drydock/kube-client';
import type { Log, PanicHandler } from '@drydock/utils';
import { Cache } from '../cache/cache.ts';
import { InformerSet } from '../cache/informer-set.ts';
import type { NodeWatch } from '../cache/node-cache.ts';
import { type CachedNode, looksTheSame } from '../cache/pod-watches.ts';
import { type Halt, type OwnPod, readHalt, readOwnPod, readWorkPod } from './plan-objects.ts';

export type PlanCacheOptions = {
  readonly watcher: Watcher;
  /** Watch that keeps the nodes: whole nodes once there is a plan. */
  readonly cache: { readonly nodeWatch: NodeWatch };
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly adapter: PlanAdapter;
  /** Namespace of the pods that work on nodes. */
  readonly workNamespace: string;
  /** Lease whose annotation stops all plans. */
  readonly haltLease: { readonly namespace: string; readonly name: string };
  /** `namespace/name` of the pod that this process runs in, if it runs in one. */
  readonly ownPod?: string;
};

/** Callbacks for changes of the plans. */
export type PlanChanges = {
  readonly plan: (change: Change<Plan>) => void;
  /** Callback after everything pending has been read. */
  readonly complete: () => void;
  /** Callback for a change that any plan may wait for. */
  readonly anything: () => void;
};

const kinds = {
  plans: 'maintenanceplans.drydock.dev',
  records: 'maintenanceplanrecords.drydock.dev',
  approvals: 'maintenanceapprovals.drydock.dev',
  nodes: 'nodes as expressions see them',
  pods: 'pods that work on nodes',
  halt: 'the lease of the leader',
  ownPod: 'the pod of the operator',
};

/**
 * A cache of everything that plans read beside the state of the reconciler of the nodes.
 * Collections that cost memory are read only once there is a plan.
 */
export class PlanCache {
  readonly plans = new Cache<Plan>();
  readonly records = new Cache<RecordSlice>(({ planUid }) => planUid);
  readonly approvals = new Cache<Approval>(({ plan }) => plan);
  readonly pods = new Cache<WorkPod>(({ plan }) => plan);
  readonly halts = new Cache<Halt>();
  readonly ownPods = new Cache<OwnPod>();
  readonly #options: PlanCacheOptions;
  readonly #changes: PlanChanges;
  readonly #informers: InformerSet;
  #rest: Promise<unknown> | undefined;
  #begun = false;

  constructor(options: PlanCacheOptions, changes: PlanChanges) {
    this.#options = options;
    this.#changes = changes;
    this.#informers = new InformerSet({
      watcher: options.watcher,
      log: options.log,
      defects: options.defects,
      mayLack: () => true,
      complete: () => changes.complete(),
    });
  }

  /** Namespace of the pods that work on nodes. */
  get workNamespace(): string {
    return this.#options.workNamespace;
  }

  /** True if the plans have been read, or there are none to read here. */
  get arePlansKnown(): boolean {
    return this.#begun && !this.unsynced.includes(kinds.plans);
  }

  /** Collections that have not been read completely yet. */
  get unsynced(): readonly string[] {
    return this.#informers.unsynced;
  }

  /** Collections without read permission. */
  get withheld(): readonly string[] {
    return this.#informers.forbidden;
  }

  /** Collections that plans need and that lack read permission here, for people. */
  get unread(): readonly string[] {
    const needed = [kinds.records, kinds.approvals, kinds.nodes, kinds.pods];
    return this.#rest === undefined
      ? []
      : needed.filter(name => !this.#informers.isKnown(name) && !this.unsynced.includes(name));
  }

  /** Reason why all plans are stopped, if they are. */
  get halted(): string | undefined {
    return [...this.halts.values()].find(({ reason }) => reason !== undefined)?.reason;
  }

  /** Image that this process runs, as its pod names it. */
  get image(): string | undefined {
    return [...this.ownPods.values()].find(({ image }) => image !== undefined)?.image;
  }

  /** Names of the Secrets that its image is pulled with, according to its pod. */
  get pullSecrets(): readonly string[] {
    return [...this.ownPods.values()][0]?.pullSecrets ?? [];
  }

  /** Nodes on which this process may run, according to its pod. */
  get placement(): OwnPod['placement'] | undefined {
    return [...this.ownPods.values()][0]?.placement;
  }

  /** Watches until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { readPlan } = this.#options.adapter;
    this.#begun = true;
    const changed = (change: Change<Plan>): void => this.#planChanged(change, signal);
    await this.#informers.followInto(
      this.plans,
      kinds.plans,
      { path: plansPath },
      readPlan,
      changed,
      signal,
    );
    await this.#rest;
  }

  /** Handles a change of a plan. From the first plan on, everything that plans need is read. */
  #planChanged(change: Change<Plan>, signal: AbortSignal): void {
    this.#rest ??= this.#followRest(signal);
    this.#changes.plan(change);
  }

  async #followRest(signal: AbortSignal): Promise<void> {
    const { adapter, cache, workNamespace, haltLease } = this.#options;
    const { anything } = this.#changes;
    const informers = this.#informers;
    const pods = {
      path: `/api/v1/namespaces/${pathSegment(workNamespace)}/pods`,
      labelSelector: planAnnotation,
    };
    const leases = {
      path: `/apis/coordination.k8s.io/v1/namespaces/${pathSegment(haltLease.namespace)}/leases`,
      fieldSelector: `metadata.name=${haltLease.name}`,
    };
    await Promise.all([
      informers.followInto(
        this.records,
        kinds.records,
        { path: recordsPath },
        adapter.readRecord,
        anything,
        signal,
      ),
      informers.followInto(
        this.approvals,
        kinds.approvals,
        { path: approvalsPath },
        adapter.readApproval,
        anything,
        signal,
      ),
      cache.nodeWatch.followWhole(
        informers,
        kinds.nodes,
        change => this.#nodeChanged(change),
        signal,
      ),
      informers.followInto(this.pods, kinds.pods, pods, readWorkPod, anything, signal),
      informers.followInto(
        this.halts,
        kinds.halt,
        leases,
        readHalt,
        change => this.#haltChanged(change),
        signal,
      ),
      this.#followOwnPod(signal),
    ]);
  }

  async #followOwnPod(signal: AbortSignal): Promise<void> {
    const [namespace = '', name = ''] = this.#options.ownPod?.split('/') ?? [];
    if (name === '') return;
    const own = {
      path: `/api/v1/namespaces/${pathSegment(namespace)}/pods`,
      fieldSelector: `metadata.name=${name}`,
    };
    const changed = (change: Change<OwnPod>): void => {
      if (change.type === 'added') this.#changes.anything();
    };
    await this.#informers.followInto(this.ownPods, kinds.ownPod, own, readOwnPod, changed, signal);
  }

  #nodeChanged(change: Change<CachedNode>): void {
    if (change.type !== 'changed' || !looksTheSame(change.before, change.object))
      this.#changes.anything();
  }

  /** Handles a change of the lease, which is renewed all the time. */
  #haltChanged(change: Change<Halt>): void {
    if (change.type !== 'changed' || change.before.reason !== change.object.reason)
      this.#changes.anything();
  }
}
