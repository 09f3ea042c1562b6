import type { MachineAdapter } from '../../core/machine/adapter.ts';
import {
  collectionOf,
  instanceOf,
  type Machine,
  type MachineKind,
  type MachineSet,
  readMachine,
  readMachineSet,
} from '../../core/machine/machine.ts';
import type { MachineRequest } from '../../core/machine/request.ts';
import { type EventSource, type Notice, noticesPath, sourcesPath } from '../../core/machine/source.ts';
import { machineMaintenancesPath } from '../../core/machine/writes.ts';
import type { Clock } from '../../support/clock.ts';
import { errorText } from '../../support/error-text.ts';
import type { Log } from '../../support/log.ts';
import { Cache } from '../cache/cache.ts';
import { InformerSet } from '../cache/informer-set.ts';
import type { Namespaces } from '../cache/namespaces.ts';
import type { Api, Watcher } from '../ports.ts';
import { machineKindsHere } from './machine-kinds.ts';

/** What is told of the machines. */
export type MachineChanges = {
  readonly maintenance: (request: MachineRequest) => void;
  /** One in a namespace where it does not count. */
  readonly foreign: (request: MachineRequest) => void;
  readonly machine: (machine: Machine) => void;
  readonly set: (set: MachineSet) => void;
  readonly source: (source: EventSource, change: 'added' | 'changed' | 'removed') => void;
  readonly notice: (notice: Notice) => void;
  /** All that decides has been read. */
  readonly complete: () => void;
};

type Options = {
  readonly api: Api;
  readonly watcher: Watcher;
  readonly clock: Clock;
  readonly log: Log;
  readonly adapter: MachineAdapter;
  readonly namespaces: Namespaces;
  readonly changes: MachineChanges;
};

const maintenancesName = 'machinemaintenances.machinemaintenance.managed.openshift.io';
const sourcesName = 'machineeventsources.drydock.dev';
const noticesName = 'nodenotices.drydock.dev';

/** A machine API may be installed later: looked for again after so many seconds. */
const discoverEvery = 300;

/** The pause after a question that was not answered, in seconds. */
const discoverAgainAfter = 5;

/** Everything that is known of machines and of what is announced about them, kept up to date by watches. */
export class MachineCache {
  readonly requests = new Cache<MachineRequest>(({ machineName }) => machineName);
  readonly machines = new Cache<Machine>(({ name }) => name);
  readonly sets = new Cache<MachineSet>();
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
      lacks: (name, status) => {
        if (status === 404) return 'missing';
        return status === 403 && this.kinds.has(name) ? 'withheld' : undefined;
      },
      complete: () => this.#options.changes.complete(),
    });
  }

  /** Collections that have not been read completely yet. */
  get unsynced(): readonly string[] {
    return this.#discovered ? this.#informers.unsynced : ['machine APIs', ...this.#informers.unsynced];
  }

  /** Whether there are machines can be known: at least one machine API is served and read. */
  get hasMachineApi(): boolean {
    return [...this.kinds].some(([name, { kind }]) => kind === 'Machine' && this.#informers.isKnown(name));
  }

  /** The machine that the cloud calls so. */
  byInstance(instance: string): Machine | undefined {
    return [...this.machines.values()].find(({ providerId }) => instanceOf(providerId) === instance);
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
    this.#options.log.warn('ignoring invalid object', { kind: 'MachineMaintenance', name: metadata.name, error: request });
    return undefined;
  }

  /** Follows every machine kind that the cluster has, also those that come later. */
  async #discover(signal: AbortSignal): Promise<void> {
    const { api, clock, log } = this.#options;
    const followed: Promise<void>[] = [];
    while (!signal.aborted) {
      let pause = discoverEvery;
      try {
        for (const kind of await machineKindsHere(api, signal)) {
          const name = `${kind.plural}.${kind.apiVersion}`;
          if (this.kinds.has(name)) continue;
          this.kinds.set(name, kind);
          followed.push(this.#followMachines(name, kind, signal));
        }
        this.#found();
      } catch (error) {
        if (signal.aborted) break;
        pause = discoverAgainAfter;
        log.warn('failed to discover the machine APIs; retrying', {
          error: errorText(error),
        });
      }
      await clock.sleep(pause * 1000, signal);
    }
    await Promise.all(followed);
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
