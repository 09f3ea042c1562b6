import type { KnownCluster, MachineAdapter, MachineRequest } from '@drydock/core/machine';
import {
  collectionOf,
  type EventSource,
  type Machine,
  type MachineCluster,
  type MachineKind,
  type MachineSet,
  machineMaintenancesPath,
  type Notice,
  noticesPath,
  readMachine,
  readMachineCluster,
  readMachineSet,
  sourcesPath,
} from '@drydock/core/machine';
import type { Api, Watcher } from '@drydock/kube-client';
import type { Clock, Log, PanicHandler } from '@drydock/utils';
import { Cache } from '../cache/cache.ts';
import { InformerSet } from '../cache/informer-set.ts';
import type { Namespaces } from '../cache/namespaces.ts';
import { machineKindsHere } from './machine-kinds.ts';
import { MachineStore } from './machine-store.ts';

/** Callbacks for changes of the machines. */
export type MachineChanges = {
  readonly maintenance: (request: MachineRequest) => void;
  /** Callback for a request in a namespace where it does not count. */
  readonly foreign: (request: MachineRequest) => void;
  readonly machine: (machine: Machine) => void;
  readonly set: (set: MachineSet) => void;
  /** Callback for a Cluster that machines belong to. */
  readonly cluster: () => void;
  readonly source: (source: EventSource, change: 'added' | 'changed' | 'removed') => void;
  readonly notice: (notice: Notice) => void;
  /** Callback after everything that affects decisions has been read. */
  readonly complete: () => void;
};

type Options = {
  readonly api: Api;
  readonly watcher: Watcher;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly adapter: MachineAdapter;
  readonly namespaces: Namespaces;
  readonly changes: MachineChanges;
};

const maintenancesName = 'machinemaintenances.machinemaintenance.managed.openshift.io';
const sourcesName = 'machineeventsources.drydock.dev';
const noticesName = 'nodenotices.drydock.dev';

/**
 * Reports whether the collection is required. Machine kinds are optional, and each affected machine
 * reports their absence; without the others no request is known.
 */
function isNeeded(name: string): boolean {
  return name === maintenancesName || name === sourcesName || name === noticesName;
}

/** Seconds between two discoveries: a machine API may be installed later. */
const discoverEvery = 300;

/** Seconds until the next discovery after a failed one. */
const discoverAgainAfter = 5;

/** A cache of machines and of the announcements about them, kept up to date by watches. */
export class MachineCache {
  readonly requests = new Cache<MachineRequest>(({ machineName }) => machineName);
  readonly machines = new MachineStore();
  readonly sets = new Cache<MachineSet>();
  readonly #clusters = new Cache<MachineCluster>();
  readonly sources = new Cache<EventSource>();
  readonly notices = new Cache<Notice>();
  readonly kinds = new Map<string, MachineKind>();
  readonly #options: Options;
  readonly #informers: InformerSet;
  #discovered = false;

  constructor(options: Options) {
    this.#options = options;
    this.#informers = new InformerSet({
      watcher: options.watcher,
      log: options.log,
      defects: options.defects,
      mayLack: () => true,
      complete: () => this.#options.changes.complete(),
    });
  }

  /**
   * Collections that have not been read completely yet, or that are required and lack read
   * permission.
   */
  get unsynced(): readonly string[] {
    const { unsynced } = this.#informers;
    return [
      ...(this.#discovered ? [] : ['machine APIs']),
      ...unsynced,
      ...this.withheld.filter(isNeeded),
    ];
  }

  /** Collections without read permission here. */
  get withheld(): readonly string[] {
    return this.#informers.forbidden;
  }

  /**
   * True if it can be known whether there are machines: at least one machine API is served and
   * read.
   */
  get hasMachineApi(): boolean {
    return [...this.kinds].some(
      ([name, { kind }]) => kind === 'Machine' && this.#informers.isKnown(name),
    );
  }

  /**
   * Returns the Cluster of a Machine; undefined if the Machine has none, or Clusters are not
   * served: then they cannot be paused.
   */
  clusterOf({ namespace, clusterName }: Machine): KnownCluster | undefined {
    const served = [...this.kinds].find(([, { kind }]) => kind === 'Cluster');
    if (clusterName === undefined || served === undefined) return undefined;
    if (!this.#informers.isKnown(served[0])) return 'withheld';
    return this.#clusters.get(`${namespace}/${clusterName}`) ?? 'missing';
  }

  /** Watches until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { adapter, changes } = this.#options;
    await Promise.all([
      this.#informers.followInto(
        this.requests,
        maintenancesName,
        { path: machineMaintenancesPath },
        raw => this.#read(raw),
        change => changes.maintenance(change.object),
        signal,
      ),
      this.#informers.followInto(
        this.sources,
        sourcesName,
        { path: sourcesPath },
        adapter.readSource,
        change => changes.source(change.object, change.type),
        signal,
      ),
      this.#informers.followInto(
        this.notices,
        noticesName,
        { path: noticesPath },
        adapter.readNotice,
        change => change.type !== 'removed' && changes.notice(change.object),
        signal,
      ),
      this.#discover(signal),
    ]);
  }

  #read(raw: unknown): MachineRequest | undefined {
    const { adapter, namespaces, changes } = this.#options;
    const request = adapter.readMaintenance(raw);
    if (typeof request !== 'string') {
      if (namespaces.counts(request.namespace)) return request;
      changes.foreign(request);
      return undefined;
    }
    const { metadata } = raw as { readonly metadata: { readonly name: string } };
    this.#options.log.warn('ignoring invalid object', {
      kind: 'MachineMaintenance',
      name: metadata.name,
      error: request,
    });
    return undefined;
  }

  /** Follows every machine kind of the cluster, including kinds that are installed later. */
  async #discover(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const followed: Promise<void>[] = [];
    while (!signal.aborted) {
      const kinds = await this.#kindsHere(signal);
      if (signal.aborted) break;
      for (const kind of kinds ?? []) {
        const name = `${kind.plural}.${kind.apiVersion}`;
        if (this.kinds.has(name)) continue;
        this.kinds.set(name, kind);
        followed.push(this.#followMachines(name, kind, signal));
      }
      if (kinds !== undefined) this.#found();
      await clock.sleep((kinds === undefined ? discoverAgainAfter : discoverEvery) * 1000, signal);
    }
    await Promise.all(followed);
  }

  /** Returns the machine kinds that are served; undefined if discovery fails. */
  async #kindsHere(signal: AbortSignal): Promise<readonly MachineKind[] | undefined> {
    try {
      return await machineKindsHere(this.#options.api, signal);
    } catch (error) {
      // The loop goes on in any case: without it no machine is known.
      const text = this.#options.defects.textOf('Watch', 'machine APIs', error);
      if (!signal.aborted)
        this.#options.log.warn('failed to discover the machine APIs; retrying', { error: text });
      return undefined;
    }
  }

  #found(): void {
    if (this.#discovered) return;
    this.#discovered = true;
    if (this.unsynced.length === 0) this.#options.changes.complete();
  }

  #followMachines(name: string, kind: MachineKind, signal: AbortSignal): Promise<void> {
    const { changes } = this.#options;
    const collection = { path: collectionOf(kind) };
    const { machines, sets } = this;
    if (kind.kind === 'Cluster') {
      const read = (raw: unknown): MachineCluster => readMachineCluster(raw, kind);
      return this.#informers.followInto(
        this.#clusters,
        name,
        collection,
        read,
        () => changes.cluster(),
        signal,
      );
    }
    return kind.kind === 'Machine'
      ? this.#informers.followInto(
          machines,
          name,
          collection,
          raw => readMachine(raw, kind),
          change => changes.machine(change.object),
          signal,
        )
      : this.#informers.followInto(
          sets,
          name,
          collection,
          raw => readMachineSet(raw, kind),
          change => changes.set(change.object),
          signal,
        );
  }
}
