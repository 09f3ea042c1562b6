import { secondsAfter } from '@drydock/apimachinery';
import type { ComputeService } from '@drydock/core/hypervisor';
import {
  type HypervisorIdentity,
  type Match,
  type Matcher,
  matchHosts,
  type NodeIdentity,
} from '@drydock/core/hypervisor';
import type { Clock } from '@drydock/utils';
import type { NovaFailure } from './failure.ts';
import type { Nova } from './nova.ts';

/** Seconds for which the list of hypervisors is cached; their services are read in each round. */
const hypervisorsForSeconds = 300;

/** Hypervisors, and the nodes that they are. */
export class HypervisorDiscovery {
  readonly #nova: Nova;
  readonly #clock: Clock;
  readonly #present: () => readonly NodeIdentity[];
  readonly #matcher: Matcher;
  #matches: ReadonlyMap<string, Match> = new Map();
  #matched: ReadonlySet<string> = new Set();
  #services: ReadonlyMap<string, ComputeService> = new Map();
  #hypervisors: readonly HypervisorIdentity[] = [];
  #goodUntil: Temporal.Instant | undefined;

  constructor(options: {
    readonly nova: Nova;
    readonly clock: Clock;
    readonly nodes: () => readonly NodeIdentity[];
    /** Matcher of nodes; by names and labels when left out. */
    readonly matcher?: Matcher;
  }) {
    this.#nova = options.nova;
    this.#clock = options.clock;
    this.#present = options.nodes;
    this.#matcher = options.matcher ?? matchHosts;
  }

  /**
   * Reads services and hypervisors, and matches the nodes with them. Returns the failure, if any;
   * the last state stays then.
   */
  async refresh(signal: AbortSignal): Promise<NovaFailure | undefined> {
    const services = await this.#nova.services(signal);
    if (services.failure !== undefined) return services.failure;
    const failure = await this.#readHypervisors(signal);
    if (failure !== undefined) return failure;
    this.#services = new Map(services.value.map(service => [service.host, service]));
    this.#match();
    return undefined;
  }

  /** Returns whether the node has been matched, with a hypervisor or with none. */
  knows(nodeName: string): boolean {
    return this.#matched.has(nodeName);
  }

  /** Returns the nodes that have been matched. */
  nodes(): Iterable<string> {
    return this.#matched;
  }

  /**
   * Returns the hypervisor that the node is, or why that is ambiguous; undefined when it is none.
   */
  matchOf(nodeName: string): Match | undefined {
    return this.#matches.get(nodeName);
  }

  /** Returns nodes that are hypervisors, with their compute services. */
  hypervisors(): readonly { readonly node: string; readonly service: ComputeService }[] {
    return [...this.#matches].flatMap(([node, match]) => {
      const service = 'host' in match ? this.#services.get(match.host) : undefined;
      return service === undefined ? [] : [{ node, service }];
    });
  }

  async #readHypervisors(signal: AbortSignal): Promise<NovaFailure | undefined> {
    if (
      this.#goodUntil !== undefined &&
      Temporal.Instant.compare(this.#clock.now(), this.#goodUntil) < 0
    )
      return undefined;
    const { value, failure } = await this.#nova.hypervisors(signal);
    if (value === undefined) return failure;
    this.#hypervisors = value;
    this.#goodUntil = secondsAfter(this.#clock.now(), hypervisorsForSeconds);
    return undefined;
  }

  #match(): void {
    const named = new Set(this.#hypervisors.map(({ host }) => host));
    const bare = [...this.#services.keys()]
      .filter(host => !named.has(host))
      .map(host => ({ host }));
    const present = this.#present();
    this.#matches = this.#matcher(present, [
      ...this.#hypervisors.filter(({ host }) => this.#services.has(host)),
      ...bare,
    ]);
    this.#matched = new Set(present.map(({ name }) => name));
  }
}
