import { sameJson } from '../../core/json.ts';
import type { AnnouncedTarget, MachineAdapter } from '../../core/machine/adapter.ts';
import { afterLook, sorted } from '../../core/machine/announced.ts';
import { isPending, type MachineEvent } from '../../core/machine/event.ts';
import { instanceOf } from '../../core/machine/machine.ts';
import type { MachineRequest } from '../../core/machine/request.ts';
import type { EventSource } from '../../core/machine/source.ts';
import { announce, independentAnnotation, machineMaintenanceApi, ownWrite } from '../../core/machine/writes.ts';
import type { Write } from '../../core/maintenance/decision.ts';
import type { Clock } from '../../support/clock.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { WriteOutcome, Writer } from '../write/writer.ts';
import type { MachineCache } from './machine-cache.ts';

/** What somebody has seen of one machine. */
export type MachineObservation = {
  readonly target: AnnouncedTarget;
  readonly events: readonly MachineEvent[];
  /** Name of the source, as its events have it. */
  readonly source: string;
  /** These are all that the source has: what it told before and does not tell now is over. */
  readonly complete: boolean;
  /** How the events are answered; by default when left out. */
  readonly response?: EventSource;
};

type Options = {
  readonly machines: MachineCache;
  readonly cache: ClusterCache;
  readonly writer: Writer;
  readonly adapter: MachineAdapter;
  readonly clock: Clock;
  /** Where new MachineMaintenances are made. */
  readonly namespace: string;
};

/** A race for an object is run again this many times, after these many milliseconds. */
const tries = 6;
const pauseMs = 100;

/** Turns what is announced into MachineMaintenances, and keeps these up to date. */
export class EventIngester {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /** The machine or node that the cloud calls so; undefined for one that this cluster does not have. */
  targetOf(instance: string): AnnouncedTarget | undefined {
    const { machines, cache } = this.#options;
    const machine = machines.byInstance(instance);
    if (machine !== undefined)
      return { name: machine.name, instance, machine, ...(machine.nodeName !== undefined && { nodeName: machine.nodeName }) };
    const node = [...cache.nodes.values()].find(({ providerId }) => instanceOf(providerId) === instance);
    return node && { name: node.name, instance, nodeName: node.name };
  }

  /** The machine of a node, or the node itself where it has none. */
  targetOfNode(nodeName: string): AnnouncedTarget | undefined {
    const { machines, cache } = this.#options;
    const machine = [...machines.machines.values()].find(one => one.nodeName === nodeName);
    const node = cache.nodes.get(nodeName);
    const instance = instanceOf(machine?.providerId ?? node?.providerId) ?? nodeName;
    if (machine !== undefined) return { name: machine.name, instance, machine, nodeName };
    return node && { name: nodeName, instance, nodeName };
  }

  /** Whatever somebody calls a machine: the name of a node, of a Machine, or what the cloud calls it. */
  targetNamed(name: string): AnnouncedTarget | undefined {
    const { machines, cache } = this.#options;
    if (cache.nodes.get(name) !== undefined) return this.targetOfNode(name);
    const [machine, ...others] = machines.machines.in(name);
    if (machine === undefined || others.length > 0) return this.targetOf(name);
    const { nodeName, providerId } = machine;
    return { name, instance: instanceOf(providerId) ?? name, machine, ...(nodeName !== undefined && { nodeName }) };
  }

  /** Answers undefined when everything is stored, else what went wrong. */
  async take(look: MachineObservation): Promise<string | undefined> {
    let problem: string | undefined;
    for (let attempt = 0; attempt < tries; attempt += 1) {
      const write = this.#writeFor(look);
      if (write === undefined) return undefined;
      const written = await this.#options.writer.write(write, look.target.nodeName ?? look.target.name);
      if (written.result === 'stored') return undefined;
      problem = textOf(written);
      // A race: the watch tells what the other has made of the object.
      await this.#options.clock.sleep(pauseMs * 2 ** attempt);
    }
    return problem;
  }

  #writeFor(look: MachineObservation): Write | undefined {
    const { adapter, clock } = this.#options;
    const known = this.#requestOf(look.target);
    const events = sorted(afterLook(known?.events ?? [], look.events, look, clock.now()));
    if (known === undefined) return events.some(isPending) ? this.#creation(look, events) : undefined;
    if (known.deleting) return undefined;
    const spec = adapter.eventsSpec(events);
    if (sameJson(spec, adapter.eventsSpec(known.events))) return undefined;
    const metadata = known.independent ? { metadata: { annotations: { [independentAnnotation]: 'true' } } } : {};
    return ownWrite(known, 'record the announcements', { spec, ...metadata }, told(known, events));
  }

  #requestOf({ name, instance, machine }: AnnouncedTarget): MachineRequest | undefined {
    const named = this.#options.machines.requests.in(name);
    return named.find(
      request =>
        request.instance === instance ||
        (machine !== undefined && request.machineNamespace === machine.namespace && request.instance === ''),
    );
  }

  /** The name of the replaced operator; with the namespace in it where another machine of that name has taken it. */
  #nameFor({ name, machine }: AnnouncedTarget): string {
    const { machines, namespace } = this.#options;
    const usual = `mm-${name}`;
    return machines.requests.get(`${namespace}/${usual}`) === undefined ? usual : `mm-${machine?.namespace ?? 'node'}-${name}`;
  }

  #creation({ target, response }: MachineObservation, events: readonly MachineEvent[]): Write {
    const { namespace, adapter } = this.#options;
    const place = { namespace, name: this.#nameFor(target) };
    return {
      what: `announce ${events.map(({ kind }) => kind).join(', ')}`,
      method: 'POST',
      path: `/apis/${machineMaintenanceApi}/namespaces/${encodeURIComponent(namespace)}/machinemaintenances`,
      body: adapter.newMaintenance(target, place, events, response),
      store: 'machineMaintenances',
      announce: [],
    };
  }
}

const textOf = (written: Exclude<WriteOutcome, { result: 'stored' }>): string =>
  'message' in written
    ? written.message
    : written.result === 'conflict'
      ? 'another writer keeps changing the object'
      : 'the API server refused the last write';

const wordsOf = ({ provider, code, kind, state, deadline }: MachineEvent): string =>
  `${provider} says: ${code ?? kind} ${state.toLowerCase()}${deadline ? `, deadline ${deadline.toString({ smallestUnit: 'second' })}` : ''}`;

const told = (request: MachineRequest, events: readonly MachineEvent[]): Write['announce'] => {
  const before = new Map(request.events.map(event => [`${event.provider} ${event.id}`, wordsOf(event)]));
  const news = events.filter(event => before.get(`${event.provider} ${event.id}`) !== wordsOf(event));
  return news.map(event => announce(request, 'Normal', 'EventChanged', wordsOf(event)));
};
