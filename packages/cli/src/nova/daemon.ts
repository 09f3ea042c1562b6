import { hostname, networkInterfaces } from 'node:os';
import { hypervisorKey, type NodeIdentity } from '@drydock/core/hypervisor';
import { beforeAnnotation } from '@drydock/core/node';
import type { DesiredHostState, HostView } from '@drydock/core/vm';
import type { CachedObject, Collection, Watcher } from '@drydock/kube-client';
import { HypervisorReconciler, type HypervisorReconcilerOptions } from '@drydock/openstack';
import { MigrationLog } from './open.ts';

/** A node with the fields that the daemon of its hypervisor reads. */
type OwnNode = CachedObject &
  NodeIdentity & {
    /** Whether the node is cordoned, or held by Drydock. */
    readonly isHeld: boolean;
  };

/** Returns the names and addresses under which this machine may be a node. */
function ownNames(): ReadonlySet<string> {
  return new Set([
    hostname(),
    hostname().split('.', 1)[0] ?? '',
    ...Object.values(networkInterfaces()).flatMap(addresses =>
      (addresses ?? []).flatMap(({ address, internal }) => (internal ? [] : [address])),
    ),
  ]);
}

type RawNode = {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly unschedulable?: boolean; readonly providerID?: string };
};

/** Reads a Node that has one of these names; returns undefined for others. */
function readOwnNode(raw: unknown, names: ReadonlySet<string>): OwnNode | undefined {
  const { metadata, spec = {} } = raw as RawNode;
  const { name, uid, resourceVersion } = metadata;
  if (!names.has(name)) return undefined;
  const { annotations = {}, labels = {} } = metadata;
  const { providerID: providerId, unschedulable } = spec;
  return {
    key: name,
    name,
    uid,
    resourceVersion,
    annotations,
    labels,
    ...(providerId !== undefined && { providerId }),
    isHeld: unschedulable === true || annotations[beforeAnnotation] !== undefined,
  };
}

/**
 * Follows the node with that name (or, without one, those that this machine may be) until the
 * signal is aborted, through all failures.
 */
function followOwnNode(
  watcher: Watcher,
  nodeName: string | undefined,
  handlers: {
    readonly seen: (node: OwnNode) => void;
    readonly gone: (name: string) => void;
    readonly synced: () => void;
  },
  signal: AbortSignal,
): Promise<void> {
  const names = nodeName === undefined ? ownNames() : new Set([nodeName]);
  const collection: Collection = {
    path: '/api/v1/nodes',
    ...(nodeName !== undefined && { fieldSelector: `metadata.name=${nodeName}` }),
  };
  const changed = ({ type, object }: { readonly type: string; readonly object: OwnNode }): void =>
    type === 'removed' ? handlers.gone(object.name) : handlers.seen(object);
  return watcher.watch(
    collection,
    raw => readOwnNode(raw, names),
    { changed, synced: handlers.synced },
    signal,
  );
}

type Daemon = Pick<HypervisorReconcilerOptions, 'nova' | 'clock' | 'log' | 'limits'> & {
  readonly watcher: Watcher;
  readonly nodeName: string | undefined;
  /** Host of this machine's nova-compute. */
  readonly host: string;
  readonly isHostGiven: boolean;
  readonly policy: DesiredHostState['policy'];
  readonly timeOutMs: number;
};

/**
 * Returns the identity for matching the node with a hypervisor: the node's annotation or label,
 * unless the command line names a host; else the machine's name, never an address.
 */
function identityOf({ labels, annotations }: OwnNode, { host, isHostGiven }: Daemon): NodeIdentity {
  const named = annotations?.[hypervisorKey] ?? labels?.[hypervisorKey];
  return {
    name: host,
    ...(!isHostGiven && named !== undefined && { annotations: { [hypervisorKey]: named } }),
  };
}

/** Follows one node; empties and re-enables the hypervisor that it is. */
class NodeFollower {
  readonly #daemon: Daemon;
  readonly #reconciler: HypervisorReconciler;
  readonly #journal: MigrationLog;
  #node: OwnNode | undefined;
  #isSynced = false;
  #isEmpty = false;
  #cancelTimeOut: () => void = () => {};

  constructor(daemon: Daemon) {
    const { nova, clock, log, limits = {}, host } = daemon;
    this.#daemon = daemon;
    this.#journal = new MigrationLog(text => log.info(text));
    this.#reconciler = new HypervisorReconciler({
      nova,
      clock,
      log,
      limits,
      touched: () => this.#onChange(),
      // A missing node changes nothing: its hypervisor stays as it is.
      held: () =>
        this.#isSynced && this.#node !== undefined
          ? new Set(this.#node.isHeld ? [host] : [])
          : undefined,
      nodes: () => (this.#node === undefined ? [] : [identityOf(this.#node, daemon)]),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { watcher, nodeName, log } = this.#daemon;
    log.info('Watcher created.');
    const handlers = {
      seen: (node: OwnNode) => this.#seen(node),
      gone: (name: string) => this.#gone(name),
      synced: () => this.#synced(),
    };
    await Promise.all([
      this.#reconciler.run(signal),
      followOwnNode(watcher, nodeName, handlers, signal),
    ]);
    this.#cancelTimeOut();
  }

  #seen(node: OwnNode): void {
    const { log } = this.#daemon;
    if (this.#node !== undefined && this.#node.name !== node.name) {
      log.warn(
        'another node goes by a name of this machine; say which one it is with --node-name',
        { node: node.name },
      );
      return;
    }
    const before = this.#node?.isHeld;
    this.#node = node;
    if (before === node.isHeld) return;
    log.info('Event belongs to node.', { node: node.name, held: node.isHeld });
    this.#want(node);
  }

  #want(node: OwnNode): void {
    const { host, policy, clock, log, timeOutMs } = this.#daemon;
    this.#cancelTimeOut();
    this.#isEmpty = false;
    this.#reconciler.want(
      host,
      node.isHeld ? { why: `node ${node.name} is out of service`, policy } : undefined,
    );
    if (!node.isHeld) return;
    this.#cancelTimeOut = clock.after(timeOutMs, () => {
      if (!this.#isEmpty)
        log.warn('Time out waiting for live-migration.', { node: node.name, goingOn: true });
    });
  }

  #gone(name: string): void {
    const { log, host } = this.#daemon;
    if (this.#node?.name !== name) return;
    log.warn('the node is gone; its hypervisor stays as it is', { node: name });
    this.#node = undefined;
    this.#reconciler.want(host, undefined);
  }

  #synced(): void {
    this.#isSynced = true;
    const { log, host } = this.#daemon;
    if (this.#node === undefined)
      log.warn('no node goes by a name of this machine yet; say which one it is with --node-name', {
        host,
      });
  }

  #onChange(): void {
    const { host, log } = this.#daemon;
    const view = this.#reconciler.of(host);
    if (view === 'unknown') return;
    if (view === 'none') log.error(`Cannot find nova-service with hostname: ${host}`);
    else this.#log(view);
  }

  #log(view: HostView): void {
    this.#journal.seen(view);
    if (view.empty && !this.#isEmpty)
      this.#daemon.log.info('All VMs migrated', { node: this.#node?.name });
    this.#isEmpty = view.empty;
  }
}

/**
 * Follows the node of this machine until the signal is aborted; running migrations then continue in
 * Nova, and the next start finds them.
 */
export function followNode(daemon: Daemon, signal: AbortSignal): Promise<void> {
  return new NodeFollower(daemon).run(signal);
}
