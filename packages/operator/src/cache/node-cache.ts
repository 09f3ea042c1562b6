import { pathSegment, sameJson } from '@drydock/apimachinery';
import { type Budget, budgetsOf } from '@drydock/core/drain';
import {
  type Identified,
  likelyNames,
  type MachineIdentity,
  nodeOfMachine,
} from '@drydock/core/machine';
import {
  type OperatorPod,
  type OperatorView,
  operatorPods,
  readOperatorPod,
} from '@drydock/core/maintenance';
import { type Node, readNode } from '@drydock/core/node';
import type { Pod } from '@drydock/core/pod';
import { isControlPlane } from '@drydock/core/quorum';
import type { KindAdapter, MaintenanceRequest } from '@drydock/core/request';
import type { MaintenanceWindow } from '@drydock/core/window';
import type {
  Api,
  CachedObject,
  Change,
  Collection,
  CompleteList,
  Watcher,
} from '@drydock/kube-client';
import type { Clock, Log, PanicHandler } from '@drydock/utils';
import { Cache, type ClusterCacheEvents, IdentityIndex, interned, type Listener } from './cache.ts';
import type { InformerSet } from './informer-set.ts';
import { type CachedNode, readWholeNode } from './pod-watches.ts';
import { operatorPodsName } from './window-freshness.ts';

/** A cache of the nodes by name. Heartbeats change them all the time, their labels hardly ever. */
export class NodeCache extends Cache<CachedNode> {
  /** Reads the needed fields of a Node. */
  readonly read = interned(
    (raw): CachedNode => (this.#isWhole ? readWholeNode(raw) : readNode(raw)),
  );
  readonly #controlPlane = new Set<string>();
  readonly #byIdentity = new IdentityIndex<CachedNode>();
  #labelsVersion = 0;
  #isWhole = false;

  /** Makes the cache read whole nodes from now on. */
  keepWhole(): void {
    this.#isWhole = true;
  }

  /** Number that changes whenever a node is added or removed, or its labels change. */
  get labelsVersion(): number {
    return this.#labelsVersion;
  }

  /** Nodes of the control plane: they are few, and every decision about a plan reads them. */
  get controlPlane(): readonly CachedNode[] {
    return [...this.#controlPlane].flatMap(name => this.get(name) ?? []);
  }

  /** Returns the Node of this Machine, or why there is none. */
  of(machine: MachineIdentity): Identified<CachedNode> {
    const likely = likelyNames(machine).flatMap(name => this.get(name) ?? []);
    return nodeOfMachine(machine, this.#byIdentity.near(machine, likely));
  }

  /** Returns all nodes with this name in the cloud. */
  called(instance: string): readonly CachedNode[] {
    return this.#byIdentity.called(instance);
  }

  protected override stored(before: CachedNode | undefined, after: CachedNode | undefined): void {
    if (!sameJson(before?.labels, after?.labels)) this.#labelsVersion += 1;
    this.#byIdentity.update(before, after);
    if (before !== undefined && after === undefined) this.#controlPlane.delete(before.name);
    if (after === undefined) return;
    if (isControlPlane(after)) this.#controlPlane.add(after.name);
    else this.#controlPlane.delete(after.name);
  }
}

/** Wildcard for every namespace. */
export const everyNamespace = '*';

/**
 * Namespaces whose objects count. In other namespaces a user with rights in that namespace alone
 * could write them, and such an object takes nodes away from the whole cluster.
 */
export type Namespaces = {
  readonly counts: (namespace: string) => boolean;
  /** Remedy for people: what to do about an object that does not count. */
  readonly remedy: string;
};

/** Returns the operator's own namespace and those that an administrator has opened. */
export function namespacesOf(own: string, others: readonly string[]): Namespaces {
  const all = new Set([own, ...others]);
  const remedy =
    all.size === 1
      ? `Not worked on: such objects count in namespace ${own} only. Create it there, or open this namespace with --machine-maintenance-watch-namespaces`
      : `Not worked on: such objects count in namespaces ${[...all].sort().join(', ')} only. Create it in one of them, or open this one as well with --machine-maintenance-watch-namespaces`;
  return { counts: namespace => all.has(everyNamespace) || all.has(namespace), remedy };
}

/**
 * The pod of this process (`namespace/name`), and its node according to the environment of the
 * process.
 */
export type OwnProcess = { readonly pod: string; readonly node?: string | undefined };

/** Parts of the cache that are needed beside the replicas. */
type Known = {
  readonly nodes: { values(): Iterable<Node> };
  readonly requests: { values(): Iterable<MaintenanceRequest> };
};

/** Reports whether a pod that goes to the node of the request would have to leave it again. */
function isComing({ deleting, level }: MaintenanceRequest): boolean {
  return !deleting && level !== 'Announce';
}

/**
 * A cache of the operator's replicas, which could do the work of this process when its own pod
 * leaves. None are followed if the process does not run in a pod.
 */
export class OperatorReplicas {
  readonly #pods = new Cache<OperatorPod>();
  readonly #own: OwnProcess | undefined;
  readonly #informers: InformerSet;
  readonly #known: Known;
  readonly #touched: (nodeName: string) => void;

  constructor(
    own: OwnProcess | undefined,
    informers: InformerSet,
    known: Known,
    touched: (nodeName: string) => void,
  ) {
    this.#own = own;
    this.#informers = informers;
    this.#known = known;
    this.#touched = touched;
  }

  async follow(signal: AbortSignal): Promise<void> {
    if (this.#own === undefined) return;
    const { pod } = this.#own;
    const namespace = pod.slice(0, pod.indexOf('/'));
    const collection = {
      path: `/api/v1/namespaces/${pathSegment(namespace)}/pods`,
      ...operatorPods,
    };
    await this.#informers.followInto(
      this.#pods,
      operatorPodsName,
      collection,
      readOperatorPod,
      () => this.#changed(),
      signal,
    );
  }

  /**
   * Returns the view on possible successors when a pod leaves this node. Nodes are included only
   * for the node of this process.
   */
  view(nodeName: string): OperatorView {
    if (!this.#informers.isKnown(operatorPodsName)) return { nodes: [], wanted: new Set() };
    const pods = [...this.#pods.values()];
    if (this.#home !== nodeName) return { pods, nodes: [], wanted: new Set() };
    const wanted = [...this.#known.requests.values()]
      .filter(isComing)
      .map(request => request.nodeName);
    return { pods, nodes: [...this.#known.nodes.values()], wanted: new Set(wanted) };
  }

  /** Returns the pod of this process if it runs on this node. */
  ownOn(nodeName: string): string | undefined {
    return this.#home === nodeName ? this.#own?.pod : undefined;
  }

  /** Listener for changes that may allow the pod of this process to leave, or forbid it. */
  readonly listener: Listener = {
    node: ({ name }) => (name === this.#home ? undefined : this.#changed()),
    request: () => this.#changed(),
  };

  #changed(): void {
    if (this.#home !== undefined) this.#touched(this.#home);
  }

  /** Name of the node that this process runs on. */
  get #home(): string | undefined {
    if (this.#own === undefined) return undefined;
    const { pod, node } = this.#own;
    return this.#pods.get(pod)?.nodeName ?? node;
  }
}

/**
 * Scope of a cache. everything: nodes, their maintenances and all that affects them. drain: only
 * what a drain needs beside the pods; collections that the user has no permission to read are left
 * out, because the API server checks the budgets anyway.
 */
export type CacheScope = 'everything' | 'drain';

/** Options of a ClusterCache. */
export type ClusterCacheOptions = {
  readonly api: Api;
  readonly watcher: Watcher;
  readonly clock: Clock;
  readonly adapters: readonly KindAdapter[];
  readonly scope?: CacheScope;
  /** Function that reads MaintenanceWindows; they are not watched if left out. */
  readonly readWindow?: ((raw: unknown) => MaintenanceWindow) | undefined;
  /** Namespaces whose objects count, for namespaced kinds; all if left out. */
  readonly namespaces?: Namespaces | undefined;
  /** Pod of this process; missing if it does not run in a pod. */
  readonly self?: OwnProcess | undefined;
  readonly events: ClusterCacheEvents;
  readonly log: Log;
  readonly defects: PanicHandler;
};

/** An object of which only the name counts, for example a DaemonSet. */
export type NamedObject = CachedObject;

/** Reads the metadata of an object. */
export function readNamed(raw: unknown): NamedObject {
  const { metadata } = raw as {
    readonly metadata: {
      readonly namespace?: string;
      readonly name: string;
      readonly uid: string;
      readonly resourceVersion: string;
    };
  };
  return {
    key: `${metadata.namespace ?? ''}/${metadata.name}`,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
  };
}

type Options = {
  readonly log: Log;
  readonly namespaces: Namespaces | undefined;
  /** Callback for an object in a namespace where it does not count. */
  readonly foreign: (request: MaintenanceRequest) => void;
};

/**
 * Returns the reader for the objects of a kind. The reader returns undefined for invalid objects,
 * and for objects in a namespace where they do not count.
 */
export function requestReader(adapter: KindAdapter, { log, namespaces, foreign }: Options) {
  return (raw: unknown): MaintenanceRequest | undefined => {
    const request = adapter.read(raw);
    if (typeof request === 'string') {
      log.warn('ignoring invalid object', {
        kind: adapter.kind,
        name: readNamed(raw).key.split('/').at(-1),
        error: request,
      });
      return undefined;
    }
    if (request.namespace === undefined || namespaces?.counts(request.namespace) !== false)
      return request;
    foreign(request);
    return undefined;
  };
}

type IndexedPod = { readonly edition: number; readonly keys: readonly string[] };

/**
 * An index of the budgets that guard each pod. It is read at every pass of a node, and changes only
 * when a selector does.
 */
export class BudgetIndex {
  readonly #budgets: Cache<Budget>;
  readonly #known = new WeakMap<Pod, IndexedPod>();
  #edition = 0;

  constructor(budgets: Cache<Budget>) {
    this.#budgets = budgets;
  }

  /** Records that a budget was added, removed or changed; `before` is the previous version. */
  changed(before: Budget | undefined, after: Budget): void {
    if (
      before === undefined ||
      this.#budgets.get(after.key) === undefined ||
      !sameJson(before.selector, after.selector)
    )
      this.#edition += 1;
  }

  /** Returns the budgets of these pods, each once. */
  over(pods: readonly Pod[]): readonly Budget[] {
    const keys = new Set(pods.flatMap(pod => this.#keysOf(pod)));
    return [...keys].flatMap(key => this.#budgets.get(key) ?? []);
  }

  #keysOf(pod: Pod): readonly string[] {
    const known = this.#known.get(pod);
    if (known?.edition === this.#edition) return known.keys;
    const keys = budgetsOf(pod, this.#budgets.in(pod.namespace)).map(({ key }) => key);
    this.#known.set(pod, { edition: this.#edition, keys });
    return keys;
  }
}

const collection: Collection = { path: '/api/v1/nodes' };

/**
 * A watch that feeds the nodes into their cache: with the fields that maintenances need, and whole
 * from the first plan on. There is one watch at a time, except while the second one reads what the
 * first one knows: two watches would keep each node twice, and be at different versions.
 */
export class NodeWatch {
  readonly #nodes: NodeCache;
  readonly #changed: (change: Change<CachedNode>) => void;
  readonly #replaced = new AbortController();
  readonly #firstList = Promise.withResolvers<void>();

  /** Creates the watch. `changed` stores the delivered change in the cache. */
  constructor(nodes: NodeCache, changed: (change: Change<CachedNode>) => void) {
    this.#nodes = nodes;
    this.#changed = changed;
  }

  /** Follows the nodes until the signal is aborted, or until `followWhole` has read all nodes. */
  async follow(informers: InformerSet, signal: AbortSignal): Promise<void> {
    const unseen = (list: CompleteList): readonly CachedNode[] => {
      this.#firstList.resolve();
      return this.#nodes.unseen(list);
    };
    const until = AbortSignal.any([signal, this.#replaced.signal]);
    await informers.follow('nodes', collection, this.#nodes.read, this.#changed, until, unseen);
    this.#firstList.resolve();
  }

  /**
   * Follows whole nodes until the signal is aborted; the third argument is called for changes once
   * they are stored. Begins when `follow` has read all nodes, and ends it.
   */
  async followWhole(
    informers: InformerSet,
    name: string,
    onChange: (change: Change<CachedNode>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const changed = (change: Change<CachedNode>): void => {
      this.#changed(change);
      onChange(change);
    };
    const unseen = (list: CompleteList): readonly CachedNode[] => {
      this.#replaced.abort();
      // This watch knows nothing of nodes that the first one knew and whose removal it has not
      // seen.
      return this.#nodes.absent(list);
    };
    this.#nodes.keepWhole();
    informers.expect(name);
    await this.#firstList.promise;
    await informers.follow(name, collection, this.#nodes.read, changed, signal, unseen);
  }
}
