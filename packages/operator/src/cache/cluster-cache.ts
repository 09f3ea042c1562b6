import { type Attachment, type Budget, readAttachment, readBudget } from '@drydock/core/drain';
import { isLeased, type Lease, readLease } from '@drydock/core/lease';
import { isControlPlane } from '@drydock/core/quorum';
import {
  type KindAdapter,
  leaseKey,
  leaseNames,
  type MaintenanceRequest,
} from '@drydock/core/request';
import { type MaintenanceWindow, windowsPath } from '@drydock/core/window';
import type { Change, CompleteList } from '@drydock/kube-client';
import type { Log } from '@drydock/utils';
import { Cache, type ClusterCacheEvents, type Listener } from './cache.ts';
import { InformerSet } from './informer-set.ts';
import {
  fingerprint,
  isOwnedNode,
  LifecycleEvictions,
  quorumFingerprint,
} from './lifecycle-evictions.ts';
import {
  BudgetIndex,
  type CacheScope,
  type ClusterCacheOptions,
  type NamedObject,
  type Namespaces,
  NodeCache,
  NodeWatch,
  OperatorReplicas,
  readNamed,
  requestReader,
} from './node-cache.ts';
import { type CachedNode, PodWatches } from './pod-watches.ts';
import { Vms } from './vms.ts';
import {
  isNeeded,
  isOptional,
  lackOf,
  leasesIn,
  WindowFreshness,
  windowsName,
} from './window-freshness.ts';

/**
 * A cache of the cluster, kept up to date by watches. It only watches and notifies; it never
 * decides.
 */
export class ClusterCache {
  readonly nodes = new NodeCache();
  readonly nodeWatch = new NodeWatch(this.nodes, change => this.#nodeChanged(change));
  readonly requests = new Cache<MaintenanceRequest>(({ nodeName }) => nodeName);
  readonly budgets = new Cache<Budget>(({ namespace }) => namespace);
  readonly budgetIndex = new BudgetIndex(this.budgets);
  readonly leases = new Cache<Lease>();
  readonly daemonSets = new Cache<NamedObject>();
  readonly attachments = new Cache<Attachment>(({ nodeName }) => nodeName);
  readonly pods: PodWatches;
  readonly windows = new Cache<MaintenanceWindow>();
  readonly knownWindows: WindowFreshness;
  readonly vms: Vms;
  readonly lifecycleEvictions: LifecycleEvictions;
  readonly operatorReplicas: OperatorReplicas;

  readonly #informers: InformerSet;
  readonly #readWindow: ((raw: unknown) => MaintenanceWindow) | undefined;
  readonly #listeners = new Set<Listener>();
  readonly #adapters: readonly KindAdapter[];
  readonly #events: ClusterCacheEvents;
  readonly #log: Log;
  readonly #scope: CacheScope;
  readonly #namespaces: Namespaces | undefined;
  #daemonSetNames: ReadonlySet<string> | undefined;

  constructor(options: ClusterCacheOptions) {
    this.#adapters = options.adapters;
    this.#scope = options.scope ?? 'everything';
    this.#events = options.events;
    this.#log = options.log;
    this.#readWindow = options.readWindow;
    this.#namespaces = options.namespaces;
    this.pods = new PodWatches(options);
    this.knownWindows = new WindowFreshness(options, this.windows);
    this.#informers = new InformerSet({
      watcher: options.watcher,
      log: options.log,
      defects: options.defects,
      mayLack: name =>
        name === windowsName ||
        isOptional(name) ||
        this.#adapters.some(adapter => adapter.name === name),
      complete: () => this.#touchAll(),
    });
    const touched = (nodeName: string | undefined): void => {
      if (nodeName !== undefined && !this.isReading && this.concerns(nodeName))
        this.#events.touched(nodeName);
    };
    // An Eviction names its pod, not its node.
    const pod = (uid: string): void => touched(this.pods.nodeOf(uid));
    this.lifecycleEvictions = new LifecycleEvictions(options, this.#informers, {
      pod,
      node: touched,
    });
    this.vms = new Vms(options, this.#informers, touched);
    this.operatorReplicas = new OperatorReplicas(options.self, this.#informers, this, touched);
    if (options.self) this.subscribe(this.operatorReplicas.listener);
  }

  /**
   * Notifies the listener of every node, maintenance and window that changes. Returns the function
   * that ends the subscription.
   */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Watches until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#followForDrains(signal),
      ...(this.#scope === 'everything' ? [this.#followForMaintenances(signal)] : []),
    ]);
  }

  async #followForDrains(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#informers.follow(
        'poddisruptionbudgets',
        { path: '/apis/policy/v1/poddisruptionbudgets' },
        readBudget,
        change => this.#budgetChanged(change),
        signal,
      ),
      this.#informers.follow(
        'daemonsets',
        { path: '/apis/apps/v1/daemonsets', metadataOnly: true },
        readNamed,
        change => this.#daemonSetChanged(change),
        signal,
      ),
      this.vms.follow(signal),
      this.lifecycleEvictions.followEvictions(signal),
    ]);
  }

  async #followForMaintenances(signal: AbortSignal): Promise<void> {
    const leaseNamespaces = new Set(
      leaseNames(this.#adapters, 'x').map(({ namespace }) => namespace),
    );
    await Promise.all([
      this.nodeWatch.follow(this.#informers, signal),
      ...this.#adapters.map(adapter => this.#followRequests(adapter, signal)),
      this.lifecycleEvictions.followRequests(signal),
      this.#followWindows(signal),
      this.operatorReplicas.follow(signal),
      ...[...leaseNamespaces].map(namespace =>
        this.#informers.follow(
          leasesIn(namespace),
          { path: `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases` },
          readLease,
          change => this.#leaseChanged(change),
          signal,
        ),
      ),
      this.#informers.follow(
        'volumeattachments',
        { path: '/apis/storage.k8s.io/v1/volumeattachments' },
        readAttachment,
        change => this.#attachmentChanged(change),
        signal,
      ),
    ]);
  }

  /**
   * Collections that have not been read completely yet, or that are required and lack read
   * permission. While there are any, no decision about the cluster as a whole is made; `lackFor`
   * returns the collection that a single node lacks.
   */
  get unsynced(): readonly string[] {
    const { unsynced } = this.#informers;
    return this.#scope === 'drain' ? unsynced : [...unsynced, ...this.withheld.filter(isNeeded)];
  }

  /** True while a collection has not been read completely: no decision about any node is made. */
  get isReading(): boolean {
    return this.#informers.unsynced.length > 0;
  }

  /** Collections without read permission here. */
  get withheld(): readonly string[] {
    return this.#informers.forbidden;
  }

  /**
   * Returns the collection that affects this node and lacks read permission; undefined if nothing
   * is missing for it.
   */
  lackFor(nodeName: string): string | undefined {
    const { forbidden: withheld } = this.#informers;
    if (withheld.length === 0 || this.#scope === 'drain') return undefined;
    const [requests, node, isLeased] = [
      this.requests.in(nodeName),
      this.nodes.get(nodeName),
      this.#isLeased(nodeName),
    ];
    return lackOf({ withheld, adapters: this.#adapters, nodeName, requests, node, isLeased });
  }

  /** Returns the VolumeAttachments of the node; undefined as long as they are not known. */
  attachmentsOf(nodeName: string): readonly Attachment[] | undefined {
    return this.#informers.isKnown('volumeattachments') ? this.attachments.in(nodeName) : undefined;
  }

  /** Names of kinds that this cluster does not serve (yet). */
  get missingKinds(): ReadonlySet<string> {
    return this.#informers.missing;
  }

  /**
   * Reports whether there is something to decide about this node: a request wants it, or some state
   * of ours is left on it or about it.
   */
  concerns(nodeName: string): boolean {
    if (
      this.requests.in(nodeName).length > 0 ||
      isOwnedNode(this.nodes.get(nodeName)) ||
      this.#isLeased(nodeName)
    )
      return true;
    return this.lifecycleEvictions.requestsOf(nodeName).size > 0;
  }

  #isLeased(nodeName: string): boolean {
    return isLeased(leaseNames(this.#adapters, nodeName), this.leases);
  }

  /** `namespace/name` of all DaemonSets; undefined as long as they are not known. */
  get daemonSetNames(): ReadonlySet<string> | undefined {
    if (!this.#informers.isKnown('daemonsets')) return undefined;
    this.#daemonSetNames ??= new Set([...this.daemonSets.values()].map(({ key }) => key));
    return this.#daemonSetNames;
  }

  #touchAll(): void {
    this.#notify(listener => listener.complete?.());
    const names = new Set([
      ...this.nodes.keys(),
      ...this.requests.groups(),
      ...this.lifecycleEvictions.requestedNodes(),
    ]);
    for (const nodeName of names) if (this.concerns(nodeName)) this.#events.touched(nodeName);
  }

  async #followRequests(adapter: KindAdapter, signal: AbortSignal): Promise<void> {
    const { foreign } = this.#events;
    const project = requestReader(adapter, {
      log: this.#log,
      namespaces: this.#namespaces,
      foreign,
    });
    const changed = (change: Change<MaintenanceRequest>): void => {
      const before = this.requests.apply(change);
      this.#notify(listener => listener.request?.(change.object));
      if (before !== undefined && before.nodeName !== change.object.nodeName)
        this.#events.touched(before.nodeName);
      this.#events.touched(change.object.nodeName);
    };
    const unseen = (list: CompleteList) =>
      this.requests.unseen(list).filter(request => request.adapter === adapter);
    await this.#informers.follow(
      adapter.name,
      { path: adapter.path },
      project,
      changed,
      signal,
      unseen,
    );
  }

  async #followWindows(signal: AbortSignal): Promise<void> {
    if (this.#readWindow === undefined) return;
    const changed = (change: Change<MaintenanceWindow>): void => {
      this.windows.apply(change);
      this.#notify(listener => listener.window?.(change.object));
      // Its status is ours and contains nothing new for us.
      if (change.type === 'changed' && change.before.generation === change.object.generation)
        return;
      if (!this.isReading) this.#touchAll();
    };
    await this.#informers.follow(
      windowsName,
      { path: windowsPath },
      this.#readWindow,
      changed,
      signal,
    );
  }

  #notify(call: (listener: Listener) => void): void {
    for (const listener of this.#listeners) call(listener);
  }

  /** Applies the response to a write of ours. */
  observeRequest(request: MaintenanceRequest): void {
    this.requests.observe(request);
    this.#notify(listener => listener.request?.(request));
  }

  /** Forgets a request that is gone: the watch may never deliver its removal. */
  forgetRequest(request: MaintenanceRequest): void {
    this.requests.forget(request.key, request.uid);
    this.#notify(listener => listener.request?.(request));
    this.#events.touched(request.nodeName);
  }

  #nodeChanged(change: Change<CachedNode>): void {
    const before = this.nodes.apply(change);
    const { name } = change.object;
    if (
      this.#listeners.size > 0 &&
      (change.type !== 'changed' ||
        before === undefined ||
        fingerprint(before) !== fingerprint(change.object))
    ) {
      this.#notify(listener => listener.node?.(change.object));
    }
    if (
      quorumFingerprint(before) !==
      quorumFingerprint(change.type === 'removed' ? undefined : change.object)
    )
      this.#touchMembers(name);
    if (!isOwnedNode(before) && !isOwnedNode(change.object) && this.requests.in(name).length === 0)
      return;
    if (
      change.type !== 'removed' &&
      before !== undefined &&
      fingerprint(before) === fingerprint(change.object)
    )
      return;
    this.#events.touched(name);
  }

  /**
   * Applies the response to a write of ours. The watch will deliver it again, and then it is not a
   * change.
   */
  observeNode(node: CachedNode): void {
    const before = this.nodes.get(node.name);
    this.nodes.observe(node);
    if (quorumFingerprint(before) !== quorumFingerprint(this.nodes.get(node.name)))
      this.#touchMembers(node.name);
  }

  /** Notifies the other nodes of the quorum, which may have waited for a change of this node. */
  #touchMembers(except: string): void {
    for (const nodeName of this.requests.groups()) {
      const node = this.nodes.get(nodeName);
      if (nodeName !== except && node !== undefined && isControlPlane(node))
        this.#events.touched(nodeName);
    }
  }

  #budgetChanged(change: Change<Budget>): void {
    this.budgetIndex.changed(this.budgets.apply(change), change.object);
    this.#events.budgetChanged(change.object, change.type);
    this.#notify(listener => listener.budget?.(change));
  }

  #leaseChanged(change: Change<Lease>): void {
    this.leases.apply(change);
    const isConcerned = (nodeName: string): boolean =>
      leaseNames(this.#adapters, nodeName).some(name => leaseKey(name) === change.object.key);
    for (const nodeName of this.requests.groups())
      if (isConcerned(nodeName)) this.#events.touched(nodeName);
  }

  #daemonSetChanged(change: Change<NamedObject>): void {
    this.daemonSets.apply(change);
    if (change.type === 'changed') return;
    this.#daemonSetNames = undefined;
    if (!this.isReading) for (const nodeName of this.pods.watched()) this.#events.touched(nodeName);
  }

  #attachmentChanged(change: Change<Attachment>): void {
    this.attachments.apply(change);
    if (this.concerns(change.object.nodeName)) this.#events.touched(change.object.nodeName);
  }
}
