import {
  type JsonObject,
  joinLimited,
  pathSegment,
  secondsAfter,
  statusChange,
  timeText,
  truncate,
} from '@drydock/apimachinery';
import type { Write } from '@drydock/core';
import type { MachineAdapter, MachineEvent } from '@drydock/core/machine';
import { type MaintenanceWindow, windowsPath } from '@drydock/core/window';
import type { Clock, PanicHandler } from '@drydock/utils';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { WorkQueue } from '../work-queue.ts';
import type { Writer } from '../write/writer.ts';
import { EventIngester } from './event-ingester.ts';
import {
  type EventScanner,
  EventSourceReconciler,
  type SignalReader,
} from './event-source-reconciler.ts';
import { MachineReconciler, type MachinesOptions } from './machine-reconciler.ts';

type Options = {
  readonly cache: ClusterCache;
  readonly writer: Writer;
  readonly clock: Clock;
  readonly defects: PanicHandler;
  readonly windowStatus: MachineAdapter['windowStatus'];
};

/** Seconds until a status that could not be written is retried. */
const againAfter = 5;

/**
 * A reconciler that reports for every window whether it is open, and when it will be. No decision
 * uses that: it is for people.
 */
class WindowReconciler {
  readonly #options: Options;
  readonly #queue: WorkQueue;

  constructor(options: Options) {
    this.#options = options;
    this.#queue = new WorkQueue({
      ...options,
      controller: 'MaintenanceWindow',
      work: name => this.#work(name),
      rank: () => 0,
      atOnce: 1,
      broken: (name, message) => this.#broken(name, message),
    });
  }

  changed({ name }: MaintenanceWindow): void {
    this.#queue.add(name);
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }

  async #work(name: string): Promise<void> {
    const { cache, writer, clock, windowStatus } = this.#options;
    const window = cache.windows.get(name);
    if (window === undefined) return;
    const now = clock.now();
    const { status, until } = windowStatus(window, now);
    this.#queue.clearAppointment(name);
    if (until !== undefined) this.#queue.addAt(name, secondsAfter(until, 0.01));
    const patch = statusChange(window.status, status);
    if (patch === undefined) return;
    const { result } = await writer.write(statusWrite(name, patch), name);
    if (result !== 'stored') this.#queue.addAt(name, secondsAfter(clock.now(), againAfter));
  }

  /** Reports a window whose times cannot be computed: nothing begins in it. */
  async #broken(name: string, message: string): Promise<void> {
    const { cache, writer, clock } = this.#options;
    const window = cache.windows.get(name);
    if (window === undefined) return;
    const condition = {
      type: 'Valid',
      status: 'Unknown',
      reason: 'InternalError',
      message,
      lastTransitionTime: timeText(clock.now()),
    };
    await writer.write(statusWrite(name, { open: false, conditions: [condition] }), name);
  }
}

function statusWrite(name: string, status: JsonObject): Write {
  return {
    description: 'report the window',
    method: 'PATCH',
    style: 'merge',
    path: `${windowsPath}/${pathSegment(name)}/status`,
    body: { status },
    cache: 'windows',
    events: [],
  };
}

/** Result for events that a client has sent. */
export type IngestResult =
  | 'stored'
  /** Number of stored events; the others are about nothing that this cluster has. */
  | { readonly stored: number; readonly refused: string }
  | { readonly later: string }
  | { readonly refused: string };

/** Limits for the response: characters of a received name, and number of names. */
const [longestName, mostNames] = [253, 5];

function strangersText(names: readonly string[]): string {
  return `no node or machine of this cluster is called ${joinLimited(
    [...new Set(names)].map(name => truncate(name, longestName)),
    mostNames,
  )}`;
}

export type MachineManagerOptions = MachinesOptions & {
  /** Namespace of new MachineMaintenances. */
  readonly namespace: string;
  readonly scanner: EventScanner;
  readonly signals: SignalReader;
};

/**
 * A manager of everything about machines beside the reconciler of the nodes: announcements, their
 * maintenances, and windows.
 */
export class MachineManager {
  readonly #ingester: EventIngester;
  readonly #machines: MachineReconciler;
  readonly #sources: EventSourceReconciler;
  readonly #windows: WindowReconciler;
  readonly #options: MachineManagerOptions;

  constructor(options: MachineManagerOptions) {
    this.#options = options;
    const { clock, defects, cache, adapter } = options;
    this.#machines = new MachineReconciler(options, {
      source: (source, change) => this.#sources.sourceChanged(source, change),
      notice: notice => this.#sources.noticed(notice),
      complete: () => this.#sources.enqueueAll(),
    });
    const { machines, writer } = this.#machines;
    this.#ingester = new EventIngester({ ...options, machines, writer });
    this.#sources = new EventSourceReconciler({
      ...options,
      machines,
      writer,
      ingester: this.#ingester,
    });
    this.#windows = new WindowReconciler({
      cache,
      writer,
      clock,
      defects,
      windowStatus: adapter.windowStatus,
    });
  }

  /** Returns the cache of machines for plans, and the updater for their writes. */
  get forPlans(): Pick<MachineReconciler, 'cacheUpdater'> & {
    readonly cache: MachineReconciler['machines'];
    readonly namespace: string;
  } {
    const { machines: cache, cacheUpdater } = this.#machines;
    return { cache, cacheUpdater, namespace: this.#options.namespace };
  }

  /** Collections that have not been read yet. */
  get unsynced(): readonly string[] {
    return this.#machines.machines.unsynced;
  }

  /** Collections without read permission. */
  get withheld(): readonly string[] {
    return this.#machines.machines.withheld;
  }

  /** Signal of the manager: when it is aborted, ingestion ends as well. */
  #signal: AbortSignal | undefined;

  /** Returns kind and phase of every machine maintenance. */
  states(): readonly (readonly [kind: string, state: string])[] {
    return [...this.#machines.machines.requests.values()].map(
      ({ history }) => ['MachineMaintenance', history.phase ?? 'Pending'] as const,
    );
  }

  /**
   * Ingests events that a client has sent about machines, under any of their names. Each event is
   * judged separately: an account has machines of several clusters, and senders cannot distinguish
   * them. Stored events stay stored if the rest has to be sent again.
   */
  async receive(events: readonly MachineEvent[]): Promise<IngestResult> {
    if (this.unsynced.length > 0 || this.#options.cache.unsynced.length > 0)
      return { later: 'the cluster has not been read yet' };
    const strangers: string[] = [];
    let later: string | undefined;
    for (const event of events) {
      const name = event.resource ?? event.instance ?? '';
      const target = this.#ingester.targetNamed(name);
      if (target === undefined) strangers.push(name);
      else
        later =
          (await this.#ingester.take(
            { target, events: [event], source: event.source, complete: false },
            this.#signal,
          )) ?? later;
    }
    if (later !== undefined) return { later };
    if (strangers.length === 0) return 'stored';
    const stored = events.length - strangers.length;
    return { ...(stored > 0 && { stored }), refused: strangersText(strangers) };
  }

  /**
   * Runs until the signal is aborted, and completes what it has begun. The reconciler of the nodes
   * has to run as well.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { cache } = this.#options;
    this.#signal = signal;
    const end = cache.subscribe({
      node: node => this.#sources.nodeChanged(node),
      window: window => this.#windows.changed(window),
      complete: () => {
        this.#machines.enqueueAll();
        this.#sources.enqueueAll();
      },
    });
    try {
      await this.#machines.run(signal);
    } finally {
      end();
      await Promise.all([this.#sources.close(), this.#windows.close()]);
    }
  }
}
