import { isBefore, pathSegment, secondsAfter } from '@drydock/apimachinery';
import type { MachineAdapter } from '@drydock/core/machine';
import {
  type EventSource,
  instanceOf,
  isAgentsOwn,
  isEc2Instance,
  isPending,
  type MachineEvent,
  type Notice,
  noticesPath,
  type ScanResult,
  type SourceObservation,
} from '@drydock/core/machine';
import type { Node } from '@drydock/core/node';
import type { Recorder } from '@drydock/kube-client';
import type { Clock, Log, PanicHandler } from '@drydock/utils';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import { WorkQueue } from '../work-queue.ts';
import type { Writer } from '../write/writer.ts';
import { type EventIngester, reportScan } from './event-ingester.ts';
import type { MachineCache } from './machine-cache.ts';

/**
 * A scanner that queries a cloud about these machines: providerID by instance. Rejects for an
 * aborted signal only: a failure is returned as `trouble`.
 */
export interface EventScanner {
  scan(
    source: EventSource,
    machines: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): Promise<SourceObservation>;
}

/**
 * Function that returns the events that a node itself announces, by the configuration of the
 * source.
 */
export type SignalReader = (node: Node, source: EventSource) => readonly MachineEvent[];

type Options = {
  readonly machines: MachineCache;
  readonly cache: ClusterCache;
  readonly writer: Writer;
  readonly recorder: Recorder;
  readonly ingester: EventIngester;
  readonly adapter: MachineAdapter;
  readonly scanner: EventScanner;
  readonly signals: SignalReader;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
};

/** Seconds between two scans of a source near a deadline, and during an event. */
const soon = 300;

/** Longest pause in seconds after a failed scan of a source. */
const afterTrouble = 300;

/**
 * A reconciler that follows every source of announcements and passes its events to the ingester.
 */
export class EventSourceReconciler {
  readonly #options: Options;
  readonly #queue: WorkQueue;
  /** Sources (by key and generation) that have been scanned since this process began to act. */
  readonly #due = new Map<string, Temporal.Instant>();
  readonly #stop = new AbortController();

  constructor(options: Options) {
    this.#options = options;
    this.#queue = new WorkQueue({
      ...options,
      controller: 'MachineEventSource',
      work: key => this.#work(key),
      rank: key => (key.startsWith('notice/') ? 0 : 1),
      atOnce: 4,
      broken: (key, message) => this.#broken(key, message),
    });
  }

  /** Handles a source that was added, changed or removed: it is scanned at once. */
  sourceChanged(source: EventSource, change: 'added' | 'changed' | 'removed'): void {
    this.#queue.clearAppointment(`scan/${source.name}`);
    if (change === 'removed') {
      this.#due.delete(source.name);
      return;
    }
    this.#queue.add(`scan/${source.name}`);
    if (source.signals.length > 0 || source.presets.length > 0) this.enqueueAll();
  }

  noticed(notice: Notice): void {
    this.#queue.add(`notice/${notice.key}`);
  }

  nodeChanged(node: Node): void {
    if (this.#signalSources().length > 0) this.#queue.add(`node/${node.name}`);
    if (this.#options.machines.notices.get(node.name) !== undefined)
      this.#queue.add(`notice/${node.name}`);
  }

  /** Queues all nodes and notices, after a start and after a change of the configured signals. */
  enqueueAll(): void {
    // Without a source for node signals, nodes are not read.
    if (this.#signalSources().length > 0)
      for (const { name } of this.#options.cache.nodes.values()) this.#queue.add(`node/${name}`);
    for (const { key } of this.#options.machines.notices.values()) this.#queue.add(`notice/${key}`);
    for (const { name } of this.#options.machines.sources.values()) this.#queue.add(`scan/${name}`);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#queue.close();
  }

  #signalSources(): readonly EventSource[] {
    return [...this.#options.machines.sources.values()].filter(
      ({ signals, presets }) => signals.length > 0 || presets.length > 0,
    );
  }

  async #work(key: string): Promise<void> {
    const { machines, cache } = this.#options;
    if (machines.unsynced.length > 0 || cache.unsynced.length > 0) return;
    const slash = key.indexOf('/');
    const [what, name] = [key.slice(0, slash), key.slice(slash + 1)];
    if (what === 'scan') await this.#scan(name);
    else if (what === 'node') await this.#lookAtNode(name);
    else await this.#takeNotice(name);
  }

  /** Reports a scan that has thrown as a failed scan. */
  async #broken(key: string, message: string): Promise<void> {
    const source = key.startsWith('scan/')
      ? this.#options.machines.sources.get(key.slice('scan/'.length))
      : undefined;
    if (source === undefined) return;
    const trouble = { reason: 'Failed', message } as const;
    await reportScan(
      source,
      { at: this.#options.clock.now(), unknown: [], withoutProviderId: [], trouble },
      this.#options,
    );
  }

  async #lookAtNode(name: string): Promise<void> {
    const { cache, ingester, signals } = this.#options;
    const node = cache.nodes.get(name);
    const target = node && ingester.targetOfNode(name);
    if (node === undefined || target === undefined) return;
    for (const source of this.#signalSources()) {
      await this.#take(
        {
          target,
          events: signals(node, source),
          source: source.name,
          complete: true,
          response: source,
        },
        `node/${name}`,
      );
    }
  }

  /**
   * Ingests a notice. An agent reports about its own node only: a notice about another machine is
   * not believed.
   */
  async #takeNotice(name: string): Promise<void> {
    const { machines, cache, ingester, recorder } = this.#options;
    const notice = machines.notices.get(name);
    if (notice !== undefined && cache.nodes.get(name) === undefined)
      return this.#forgetNotice(notice);
    const target = ingester.targetOfNode(name);
    if (notice === undefined || target === undefined) return;
    const providerId = cache.nodes.get(name)?.providerId;
    if (!isAgentsOwn(notice, providerId)) {
      const about = {
        apiVersion: 'drydock.dev/v1alpha1',
        kind: 'NodeNotice',
        name,
        uid: notice.uid,
        resourceVersion: notice.resourceVersion,
      };
      const message = `Ignored: the notice names machine ${notice.instance}, but node ${name} is machine ${instanceOf(providerId)}`;
      recorder.record({
        type: 'Warning',
        reason: 'NotOwnNode',
        message,
        component: 'drydock',
        about,
      });
      return;
    }
    const source = `agent/${notice.provider}`;
    const events = notice.events.map(event => ({ ...event, source }));
    await this.#take({ target, events, source, complete: !notice.incomplete }, `notice/${name}`);
  }

  /** Deletes the notice of a node that is gone: a new node of that name has an agent of its own. */
  async #forgetNotice({ key, uid }: Notice): Promise<void> {
    const { writer, clock } = this.#options;
    const { result } = await writer.write(
      {
        description: 'forget the notice of a node that is gone',
        method: 'DELETE',
        path: `${noticesPath}/${pathSegment(key)}`,
        body: { preconditions: { uid } },
        cache: 'nodeNotices',
        events: [],
      },
      key,
    );
    if (result !== 'stored') this.#queue.addAt(`notice/${key}`, secondsAfter(clock.now(), 5));
  }

  async #take(look: Parameters<EventIngester['take']>[0], key: string): Promise<void> {
    const { ingester, log, clock } = this.#options;
    const problem = await ingester.take(look, this.#stop.signal);
    if (problem === undefined) return;
    log.warn('failed to store announcements; retrying', {
      machine: look.target.name,
      error: problem,
    });
    this.#queue.addAt(key, secondsAfter(clock.now(), 5));
  }

  async #scan(name: string): Promise<void> {
    const { machines, clock } = this.#options;
    const source = machines.sources.get(name);
    if (source === undefined) return;
    if (source.aws === undefined) return this.#follows(source);
    const due = this.#due.get(name);
    const isNew = source.status['observedGeneration'] !== source.generation;
    if (due !== undefined && !isNew && isBefore(clock.now(), due)) {
      this.#queue.addAt(`scan/${name}`, due);
      return;
    }
    const { result, nextAt } = await this.#scanSource(source);
    this.#due.set(name, nextAt);
    this.#queue.addAt(`scan/${name}`, nextAt);
    await reportScan(source, result, this.#options);
  }

  /**
   * Reports on a source of node signals. Nodes are read as they change: there is no scan, and no
   * failure.
   */
  async #follows(source: EventSource): Promise<void> {
    if (source.status['observedGeneration'] === source.generation) return;
    await reportScan(
      source,
      { at: this.#options.clock.now(), unknown: [], withoutProviderId: [] },
      this.#options,
    );
  }

  /**
   * Returns the instances of EC2, by the providerIDs of Machines and nodes, each once. A providerID
   * of AWS in another form (nodes of Fargate) is no instance, and is not queried.
   */
  #instances(): {
    readonly instances: ReadonlyMap<string, string>;
    readonly without: readonly string[];
  } {
    const { machines, cache } = this.#options;
    const all = [...machines.machines.values()];
    const ids = [...all, ...cache.nodes.values()].flatMap(({ providerId }) =>
      providerId !== undefined && isEc2Instance(providerId) ? [providerId] : [],
    );
    const without = all
      .filter(({ providerId, deleting }) => providerId === undefined && !deleting)
      .map(({ namespace, name }) => `${namespace}/${name}`);
    const named = ids.toSorted().flatMap(id => {
      const instance = instanceOf(id);
      return instance === undefined ? [] : [[instance, id] as const];
    });
    return { instances: new Map(named), without: without.sort() };
  }

  async #scanSource(
    source: EventSource,
  ): Promise<{ readonly result: ScanResult; readonly nextAt: Temporal.Instant }> {
    const { scanner, ingester, log, clock } = this.#options;
    const { instances, without } = this.#instances();
    const seen = await scanner.scan(source, instances, this.#stop.signal);
    for (const instance of this.#concerned(seen)) {
      const target = ingester.targetOf(instances.get(instance) ?? instance);
      if (target === undefined) continue;
      const events = seen.events.filter(event => event.instance === instance);
      await this.#take(
        { target, events, source: source.name, complete: true, response: source },
        `scan/${source.name}`,
      );
    }
    const now = clock.now();
    const trouble = seen.trouble && { trouble: seen.trouble };
    if (trouble !== undefined)
      log.warn('failed to read an event source', { source: source.name, ...seen.trouble });
    const nextAt = secondsAfter(
      now,
      this.#pauseAfter(seen, source.aws?.intervalSeconds ?? soon, now),
    );
    const machines = seen.looked.size;
    const pending = seen.events.filter(isPending).length;
    return {
      nextAt,
      result: {
        at: now,
        nextAt,
        machines,
        pending,
        unknown: seen.unknown,
        withoutProviderId: without,
        ...trouble,
      },
    };
  }

  /** Returns the machines that have, or had, an event. The others cost nothing. */
  #concerned({ looked, events, source }: SourceObservation): ReadonlySet<string> {
    const before = [...this.#options.machines.requests.values()].filter(request =>
      request.events.some(event => event.source === source),
    );
    return new Set(
      [
        ...events.flatMap(({ instance }) => instance ?? []),
        ...before.map(({ instance }) => instance),
      ].filter(instance => looked.has(instance)),
    );
  }

  #pauseAfter(
    { events, trouble }: SourceObservation,
    interval: number,
    now: Temporal.Instant,
  ): number {
    if (trouble !== undefined) return Math.min(interval, afterTrouble);
    const near = events.some(
      event =>
        isPending(event) &&
        (event.state === 'Active' ||
          (event.deadline !== undefined &&
            isBefore(event.deadline, secondsAfter(now, 2 * interval)))),
    );
    return near ? Math.min(interval, soon) : interval;
  }
}
