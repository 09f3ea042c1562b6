import { statusMessage } from '@drydock/apimachinery';
import {
  collectionOf,
  type EventSource,
  type Identified,
  type KnownCluster,
  type Machine,
  type MachineAdapter,
  type MachineCluster,
  type MachineKind,
  type MachineRequest,
  type MachineSet,
  machineMaintenancesPath,
  machineOfNode,
  type Notice,
  noticesPath,
  type ProvidedNode,
  readMachine,
  readMachineCluster,
  readMachineSet,
  sourcesPath,
} from '@drydock/core/machine';
import type { Api, Watcher } from '@drydock/kube-client';
import type { Clock, Log, PanicHandler } from '@drydock/utils';
import { Cache, IdentityIndex, SecondaryIndex } from '../cache/cache.ts';
import { InformerSet } from '../cache/informer-set.ts';
import type { Namespaces } from '../cache/node-cache.ts';

/** Discovers which machine APIs this cluster serves, in which versions. */

type Wanted = Pick<MachineKind, 'api' | 'kind' | 'plural'>;

const openShift = { api: 'openshift' } as const;
const capi = { api: 'capi' } as const;

/** Machine kinds by group; the supported versions, the newest first. */
const groups: readonly {
  readonly group: string;
  readonly versions: readonly string[];
  readonly kinds: readonly Wanted[];
}[] = [
  {
    group: 'machine.openshift.io',
    versions: ['v1beta1'],
    kinds: [
      { ...openShift, kind: 'Machine', plural: 'machines' },
      { ...openShift, kind: 'MachineSet', plural: 'machinesets' },
    ],
  },
  {
    group: 'machine.openshift.io',
    versions: ['v1'],
    kinds: [{ ...openShift, kind: 'ControlPlaneMachineSet', plural: 'controlplanemachinesets' }],
  },
  {
    group: 'cluster.x-k8s.io',
    versions: ['v1beta2', 'v1beta1'],
    kinds: [
      { ...capi, kind: 'Machine', plural: 'machines' },
      { ...capi, kind: 'MachineSet', plural: 'machinesets' },
      { ...capi, kind: 'MachineDeployment', plural: 'machinedeployments' },
      { ...capi, kind: 'Cluster', plural: 'clusters' },
    ],
  },
  {
    group: 'controlplane.cluster.x-k8s.io',
    versions: ['v1beta2', 'v1beta1'],
    kinds: [{ ...capi, kind: 'KubeadmControlPlane', plural: 'kubeadmcontrolplanes' }],
  },
];

/** Returns the resources of one version; none if it is not served. Throws if discovery fails. */
async function resourcesOf(
  api: Api,
  version: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const response = await api.call({ method: 'GET', path: `/apis/${version}` }, signal);
  if (response.status === 404) return new Set();
  if (response.status !== 200)
    throw new Error(`failed to discover what ${version} serves: ${statusMessage(response)}`);
  const { resources = [] } = response.body as {
    readonly resources?: readonly { readonly name: string }[];
  };
  return new Set(resources.map(({ name }) => name));
}

/**
 * Returns the machine kinds that are served here, each in the newest supported version. Throws if
 * the API server cannot be reached.
 */
export async function machineKindsHere(
  api: Api,
  signal: AbortSignal,
): Promise<readonly MachineKind[]> {
  const found: MachineKind[] = [];
  for (const { group, versions, kinds } of groups) {
    for (const version of versions) {
      const apiVersion = `${group}/${version}`;
      const resources = await resourcesOf(api, apiVersion, signal);
      const served = kinds
        .filter(({ plural }) => resources.has(plural))
        .map(kind => ({ ...kind, apiVersion }));
      found.push(...served);
      if (served.length > 0) break;
    }
  }
  return found;
}

/** A cache of the Machines by name, by identity, and by the node that they name. */
export class MachineStore extends Cache<Machine> {
  readonly #byIdentity = new IdentityIndex<Machine>();
  readonly #byNodeName = new SecondaryIndex<Machine>(({ nodeName }) => nodeName);

  constructor() {
    super(({ name }) => name);
  }

  /** Returns the Machine of this Node, or why there is none. */
  of(node: ProvidedNode): Identified<Machine> {
    return machineOfNode(node, this.#byIdentity.near(node, this.#byNodeName.in(node.name)));
  }

  /** Returns all Machines with this name in the cloud. */
  called(instance: string): readonly Machine[] {
    return this.#byIdentity.called(instance);
  }

  protected override stored(before: Machine | undefined, after: Machine | undefined): void {
    this.#byIdentity.update(before, after);
    this.#byNodeName.update(before, after);
  }
}

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
