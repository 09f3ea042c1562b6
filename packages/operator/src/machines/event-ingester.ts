import { pathSegment, sameJson, statusChange, timeText } from '@drydock/apimachinery';
import type { Write } from '@drydock/core';
import {
  type AnnouncedTarget,
  announce,
  type EventSource,
  independentAnnotation,
  instanceOf,
  isCalled,
  isPending,
  type Machine,
  type MachineAdapter,
  type MachineEvent,
  type MachineRequest,
  machineMaintenanceApi,
  mergeEvents,
  ownWrite,
  type ScanResult,
  sorted,
  sourceSubject,
  sourcesPath,
} from '@drydock/core/machine';
import type { Recorder } from '@drydock/kube-client';
import type { Clock } from '@drydock/utils';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { WriteOutcome, Writer } from '../write/writer.ts';
import type { MachineCache } from './machine-cache.ts';

/** Events that a source has observed for one machine. */
export type MachineObservation = {
  readonly target: AnnouncedTarget;
  readonly events: readonly MachineEvent[];
  /** Name of the source, as its events contain it. */
  readonly source: string;
  /** True if these are all events of the source: an earlier event that is missing now is over. */
  readonly complete: boolean;
  /** Source whose settings decide the response to the events; defaults if left out. */
  readonly response?: EventSource;
};

type Options = {
  readonly machines: MachineCache;
  readonly cache: ClusterCache;
  readonly writer: Writer;
  readonly adapter: MachineAdapter;
  readonly clock: Clock;
  /** Namespace of new MachineMaintenances. */
  readonly namespace: string;
};

/**
 * Number of tries after a conflict on an object, and the first pause between them in milliseconds.
 */
const tries = 6;
const pauseMs = 100;

/** An ingester that turns announced events into MachineMaintenances, and keeps these up to date. */
export class EventIngester {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * Returns the machine or node with this name in the cloud, in any of its forms; undefined if this
   * cluster has none, or several.
   */
  targetOf(called: string): AnnouncedTarget | undefined {
    const { machines, cache } = this.#options;
    const [node, ...otherNodes] = cache.nodes.called(called);
    if (node !== undefined) return otherNodes.length > 0 ? undefined : this.targetOfNode(node.name);
    const [machine, ...others] = machines.machines.called(called);
    return machine === undefined || others.length > 0 ? undefined : this.#targetOfMachine(machine);
  }

  /** Returns the machine of a node, or the node itself if no Machine is proven to be the node's. */
  targetOfNode(nodeName: string): AnnouncedTarget | undefined {
    const { machines, cache } = this.#options;
    const node = cache.nodes.get(nodeName);
    if (node === undefined) return undefined;
    const instance = instanceOf(node.providerId) ?? nodeName;
    const machine = machines.machines.of(node);
    return 'found' in machine
      ? { name: machine.found.name, instance, machine: machine.found, nodeName }
      : { name: nodeName, instance, nodeName };
  }

  /**
   * Returns the target with this name: the name of a node, of the only Machine of that name, or a
   * name in the cloud.
   */
  targetNamed(name: string): AnnouncedTarget | undefined {
    const { machines, cache } = this.#options;
    if (cache.nodes.get(name) !== undefined) return this.targetOfNode(name);
    const [machine, ...others] = machines.machines.in(name);
    if (machine === undefined || others.length > 0) return this.targetOf(name);
    return this.#targetOfMachine(machine);
  }

  /**
   * Returns the target with the node that the Machine is; otherwise with the node that it names,
   * unless this cluster has another node of that name.
   */
  #targetOfMachine(machine: Machine): AnnouncedTarget {
    const { nodes } = this.#options.cache;
    const node = nodes.of(machine);
    const { name, nodeName } = machine;
    const instance = instanceOf(machine.providerId) ?? name;
    const named =
      nodeName !== undefined && nodes.get(nodeName) === undefined ? nodeName : undefined;
    const own = 'found' in node ? node.found.name : named;
    return { name, instance, machine, ...(own !== undefined && { nodeName: own }) };
  }

  /**
   * Stores the observation. Resolves with undefined if everything is stored, otherwise with the
   * problem. An aborted signal ends the tries.
   */
  async take(look: MachineObservation, signal?: AbortSignal): Promise<string | undefined> {
    let problem: string | undefined;
    for (let attempt = 0; attempt < tries; attempt += 1) {
      // After a conflict: the watch delivers the other writer's version.
      if (attempt > 0) await this.#options.clock.sleep(pauseMs * 2 ** (attempt - 1), signal);
      if (signal?.aborted === true) return problem ?? 'the operator is stopping';
      const write = this.#writeFor(look);
      if (write === undefined) return undefined;
      const written = await this.#options.writer.write(
        write,
        look.target.nodeName ?? look.target.name,
      );
      if (written.result === 'stored') return undefined;
      problem = textOf(written);
    }
    return problem;
  }

  #writeFor(look: MachineObservation): Write | undefined {
    const { adapter, clock } = this.#options;
    const known = this.#requestOf(look.target);
    const events = sorted(mergeEvents(known?.events ?? [], look.events, look, clock.now()));
    if (known === undefined)
      return events.some(isPending) || events.some(isWord)
        ? this.#creation(look, events)
        : undefined;
    if (known.deleting) return undefined;
    const spec = adapter.eventsSpec(events);
    if (sameJson(spec, adapter.eventsSpec(known.events))) return undefined;
    const metadata = known.independent
      ? { metadata: { annotations: { [independentAnnotation]: 'true' } } }
      : {};
    return ownWrite(
      known,
      'record the announcements',
      { spec, ...metadata },
      announcementEvents(known, events),
    );
  }

  #requestOf(target: AnnouncedTarget): MachineRequest | undefined {
    const { name, instance, machine, nodeName } = target;
    const providerId = this.#providerIdOf(target);
    const isNamed = (request: MachineRequest): boolean =>
      request.instance === instance ||
      (providerId !== undefined && isCalled(providerId, request.instance));
    // A node without a providerID at the time of an announcement was identified by its name.
    const isNode = (request: MachineRequest): boolean =>
      machine === undefined && request.nodeOnly && request.instance === nodeName;
    const isNameless = (request: MachineRequest): boolean =>
      machine !== undefined &&
      request.machineNamespace === machine.namespace &&
      request.instance === '';
    return this.#options.machines.requests
      .in(name)
      .find(request => isNamed(request) || isNode(request) || isNameless(request));
  }

  #providerIdOf({ name, machine, nodeName }: AnnouncedTarget): string | undefined {
    const { machines, cache } = this.#options;
    const node = nodeName === undefined ? undefined : cache.nodes.get(nodeName);
    return (
      node?.providerId ??
      machines.machines.in(name).find(({ namespace }) => namespace === machine?.namespace)
        ?.providerId
    );
  }

  /**
   * Returns the name that the replaced operator uses; it contains the namespace if another machine
   * of that name has taken it.
   */
  #nameFor({ name, machine }: AnnouncedTarget): string {
    const { machines, namespace } = this.#options;
    const usual = `mm-${name}`;
    return machines.requests.get(`${namespace}/${usual}`) === undefined
      ? usual
      : `mm-${machine?.namespace ?? 'node'}-${name}`;
  }

  #creation({ target, response }: MachineObservation, events: readonly MachineEvent[]): Write {
    const { namespace, adapter } = this.#options;
    const place = { namespace, name: this.#nameFor(target) };
    return {
      description: `announce ${events.map(({ kind }) => kind).join(', ')}`,
      method: 'POST',
      path: `/apis/${machineMaintenanceApi}/namespaces/${pathSegment(namespace)}/machinemaintenances`,
      body: adapter.newMaintenance(target, place, events, response),
      cache: 'machineMaintenances',
      events: [],
    };
  }
}

/**
 * Reports whether the event is kept even when it is over: its sender gives the time at which it was
 * written, and a copy of the announcement may arrive later.
 */
function isWord({ announcedAt }: MachineEvent): boolean {
  return announcedAt !== undefined;
}

function textOf(written: Exclude<WriteOutcome, { result: 'stored' }>): string {
  return 'message' in written
    ? written.message
    : written.result === 'conflict'
      ? 'another writer keeps changing the object'
      : 'the API server refused the last write';
}

function wordsOf({ provider, code, kind, state, deadline }: MachineEvent): string {
  return `${provider} says: ${code ?? kind} ${state.toLowerCase()}${deadline ? `, deadline ${deadline.toString({ smallestUnit: 'second' })}` : ''}`;
}

function announcementEvents(
  request: MachineRequest,
  events: readonly MachineEvent[],
): Write['events'] {
  const before = new Map(
    request.events.map(event => [`${event.provider} ${event.id}`, wordsOf(event)]),
  );
  const news = events.filter(
    event => before.get(`${event.provider} ${event.id}`) !== wordsOf(event),
  );
  return news.map(event => announce(request, 'Normal', 'EventChanged', wordsOf(event)));
}

/** Reports the result of a scan: in the status of its source, and problems as events as well. */

type Complaint = { readonly reason: string; readonly message: string };

function few(names: readonly string[]): string {
  return `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;
}

function complaints({ trouble, unknown, withoutProviderId }: ScanResult): readonly Complaint[] {
  const strangers = `The cloud does not know ${few(unknown)}: check the account and the region, or whether these machines are gone`;
  const silent = `These Machines have no spec.providerID, so the cloud cannot be asked about them: ${few(withoutProviderId)}`;
  return [
    ...(trouble ? [trouble] : []),
    ...(unknown.length > 0 ? [{ reason: 'InstanceUnknown', message: strangers }] : []),
    ...(withoutProviderId.length > 0 ? [{ reason: 'NoProviderID', message: silent }] : []),
  ];
}

/**
 * Reports a scan. Never rejects: a status that could not be written is written after the next scan.
 */
export async function reportScan(
  source: EventSource,
  result: ScanResult,
  {
    adapter,
    writer,
    recorder,
  }: { readonly adapter: MachineAdapter; readonly writer: Writer; readonly recorder: Recorder },
): Promise<void> {
  const patch = statusChange(source.status, adapter.sourceStatus(source, result));
  if (patch !== undefined) {
    const write = {
      description: `report the scan of ${timeText(result.at)}`,
      method: 'PATCH',
      style: 'merge',
      path: `${sourcesPath}/${pathSegment(source.name)}/status`,
      body: { status: patch },
      cache: 'machineEventSources',
      events: [],
    } as const;
    await writer.write(write, source.name);
  }
  for (const { reason, message } of complaints(result)) {
    recorder.record({
      type: 'Warning',
      reason,
      message,
      component: 'drydock',
      about: sourceSubject(source),
    });
  }
}
