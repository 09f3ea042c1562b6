import { secondsAfter } from '@drydock/apimachinery';
import {
  type ComputeService,
  decideHost,
  defaultLimits,
  type HostCall,
  type HostSnapshot,
  type HypervisorIdentity,
  inFlightMigrations,
  isMarked,
  type Marker,
  type Match,
  type Matcher,
  type MigrationLimits,
  matchHosts,
  type NodeIdentity,
} from '@drydock/core/hypervisor';
import type { DesiredHostState, HostView, Hypervisors } from '@drydock/core/vm';
import type { Fence } from '@drydock/kube-client';
import { Backoff, type Clock, type Log, PanicHandler } from '@drydock/utils';
import { executeCalls, type NovaMeter } from './execute-calls.ts';
import { HostState, type HostTask, isSameView } from './host-state.ts';
import type { NovaFailure, NovaResult } from './identity.ts';
import type { Nova } from './nova.ts';

/** Seconds for which the list of hypervisors is cached; their services are read in each round. */
const hypervisorsForSeconds = 300;

/** Hypervisors, and the nodes that they are. */
class HypervisorDiscovery {
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

export type HypervisorReconcilerOptions = {
  readonly nova: Nova;
  readonly clock: Clock;
  readonly log: Log;
  /** Handler of defects; they are only logged when this is left out. */
  readonly defects?: PanicHandler;
  readonly meter?: NovaMeter;
  readonly limits?: Partial<MigrationLimits>;
  /** Matcher of nodes with hypervisors; by names and labels when left out. */
  readonly matcher?: Matcher;
  /** Marker of services that Drydock has disabled; `drydock: ` when left out. */
  readonly marker?: Marker;
  /** Whether a user runs this by hand: earlier failures are retried at once. */
  readonly isAnew?: boolean;
  /** Callback for a node whose view has changed. */
  readonly touched: (nodeName: string) => void;
  /** Returns the nodes that are held now; undefined while unknown, when nothing may be enabled. */
  readonly held: () => ReadonlySet<string> | undefined;
  readonly nodes: () => readonly NodeIdentity[];
  /** Fence that allows this process to act; always open when left out. */
  readonly fence?: Fence;
  /** Random source, uniform in [0, 1). */
  readonly random?: () => number;
};

/**
 * Milliseconds between checks without work: nodes may have been added, or a service was left
 * disabled.
 */
const idleMs = 30_000;
/** Milliseconds until the retry of a failed read. */
const troubleMs = 5000;

const nothingKnown: HostView = { vms: [], empty: false };

/** Empties the hypervisors that nodes are, and re-enables them. */
export class HypervisorReconciler implements Hypervisors {
  readonly #options: HypervisorReconcilerOptions;
  readonly #defects: PanicHandler;
  readonly #limits: MigrationLimits;
  readonly #desired = new Map<string, DesiredHostState>();
  /** States by host. */
  readonly #hostStates = new Map<string, HostState>();
  readonly #notified = new Map<string, HostView | 'none'>();
  readonly #discovery: HypervisorDiscovery;
  #problem: string | undefined;
  #nudge = new AbortController();

  constructor(options: HypervisorReconcilerOptions) {
    this.#options = options;
    this.#defects = options.defects ?? new PanicHandler({ log: options.log });
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#discovery = new HypervisorDiscovery(options);
  }

  of(nodeName: string): HostView | 'unknown' | 'none' {
    if (!this.#discovery.knows(nodeName)) {
      this.#wake();
      return 'unknown';
    }
    const match = this.#discovery.matchOf(nodeName);
    if (match === undefined) return 'none';
    if ('problem' in match) return { ...nothingKnown, problem: match.problem };
    const hostState = this.#hostStates.get(match.host);
    const problem = this.#problem ?? hostState?.problem;
    const view = hostState?.view ?? nothingKnown;
    return problem === undefined ? view : { ...view, problem };
  }

  want(nodeName: string, desired: DesiredHostState | undefined): void {
    const before = this.#desired.get(nodeName);
    if (before === undefined && desired === undefined) return;
    if (desired === undefined) this.#desired.delete(nodeName);
    else this.#desired.set(nodeName, desired);
    const isSamePolicy =
      before !== undefined && JSON.stringify(before.policy) === JSON.stringify(desired?.policy);
    if (isSamePolicy) return;
    const match = this.#discovery.matchOf(nodeName);
    const hostState =
      match !== undefined && 'host' in match ? this.#hostStates.get(match.host) : undefined;
    hostState?.desiredChanged();
    this.#wake();
  }

  /**
   * Runs until the signal is aborted; then resolves. Running migrations continue in Nova, and the
   * next start finds them there.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, random = Math.random } = this.#options;
    const backoff = new Backoff({ firstMs: 1000, longestMs: 30_000, random });
    const stop = (): void => this.#wake();
    signal.addEventListener('abort', stop);
    while (!signal.aborted) {
      this.#nudge = new AbortController();
      const problem = await this.#round(signal).catch((error: unknown) =>
        this.#unexpected(error, signal),
      );
      if (signal.aborted) break;
      if (problem !== undefined && this.#problem !== problem)
        log.warn('failed to reach Nova; retrying', { error: problem });
      if (problem === undefined && this.#problem !== undefined) log.info('Nova responds again');
      this.#problem = problem;
      if (problem === undefined) backoff.reset();
      this.#notify();
      if (problem === undefined) await clock.sleep(this.#pauseMs(), this.#nudge.signal);
      else await clock.sleep(backoff.next(), signal);
    }
    signal.removeEventListener('abort', stop);
  }

  #unexpected(error: unknown, signal: AbortSignal): string | undefined {
    // Refusals of Nova are returned as values: this is a defect of Drydock.
    return signal.aborted ? undefined : this.#defects.report('Process', 'hypervisors', error);
  }

  #wake(): void {
    this.#nudge.abort();
  }

  #pauseMs(): number {
    const now = this.#options.clock.now().epochMilliseconds;
    return Math.max(
      Math.min(idleMs, ...this.#hostStates.values().map(({ dueMs }) => dueMs - now)),
      0,
    );
  }

  /** Reads everything that is due, and acts on it. Returns the failure, if any. */
  async #round(signal: AbortSignal): Promise<string | undefined> {
    const failure = await this.#discovery.refresh(signal);
    if (failure !== undefined) return failure.message;
    const tasks = this.#tasks();
    this.#close(tasks);
    const now = this.#options.clock.now().epochMilliseconds;
    const due = tasks.filter(({ host }) => this.#hostState(host).dueMs <= now);
    const looks = await Promise.all(due.map(task => this.#look(task, signal)));
    await this.#act(due, looks, signal);
    return undefined;
  }

  /** Returns hosts that are to be emptied, and those that Drydock has disabled. */
  #tasks(): readonly HostTask[] {
    const { marker = 'drydock: ' } = this.#options;
    const tasks: HostTask[] = [];
    for (const { node, service } of this.#discovery.hypervisors()) {
      if (!(this.#desired.has(node) || isMarked(marker, service.disabledReason))) continue;
      tasks.push({ node, host: service.host, service, ...this.#wanted(node) });
    }
    return tasks.sort((one, other) => (one.host < other.host ? -1 : 1));
  }

  /** Returns the current desired state. */
  #wanted(node: string): Pick<HostTask, 'desired' | 'isReleased'> {
    const desired = this.#desired.get(node);
    return {
      desired,
      isReleased: desired === undefined && this.#options.held()?.has(node) === false,
    };
  }

  #hostState(host: string): HostState {
    const known = this.#hostStates.get(host);
    if (known !== undefined) return known;
    const hostState = new HostState(this.#options.nova.now());
    this.#hostStates.set(host, hostState);
    return hostState;
  }

  /** Drops the state of hosts without a task. */
  #close(tasks: readonly HostTask[]): void {
    const open = new Set(tasks.map(({ host }) => host));
    for (const host of this.#hostStates.keys()) if (!open.has(host)) this.#hostStates.delete(host);
  }

  #look(task: HostTask, signal: AbortSignal): Promise<NovaResult<HostSnapshot>> {
    const { nova, marker = 'drydock: ', isAnew = false } = this.#options;
    return this.#hostState(task.host).look(
      nova,
      task,
      { marker, limits: this.#limits, isAnew },
      signal,
    );
  }

  /**
   * Decides in the order of the hosts' names, so that the common limit holds exactly; then sends
   * the calls of all.
   */
  async #act(
    tasks: readonly HostTask[],
    looks: readonly NovaResult<HostSnapshot>[],
    signal: AbortSignal,
  ): Promise<void> {
    const { nova } = this.#options;
    const now = nova.now();
    let free =
      this.#limits.total -
      looks.reduce(
        (sum, { value }) => sum + (value === undefined ? 0 : inFlightMigrations(value, now).all),
        0,
      );
    free -= this.#flightsElsewhere(tasks);
    const acting: Promise<void>[] = [];
    for (const [index, task] of tasks.entries()) {
      const hostState = this.#hostState(task.host);
      const look = looks[index];
      if (look?.failure !== undefined) hostState.failed(look.failure.message, this.#in(troubleMs));
      if (look === undefined || look.failure !== undefined) continue;
      const { value } = look;
      // Reading takes time: a server of a node that was released meanwhile is not moved.
      const decision = decideHost({ ...value, ...this.#wanted(task.node), free }, nova.now());
      const asked = decision.calls.filter(
        ({ kind }) => kind === 'live-migrate' || kind === 'cold-migrate',
      ).length;
      free -= asked;
      hostState.decided(
        decision,
        inFlightMigrations(value, now).all + asked,
        this.#in(decision.againMs ?? 0),
      );
      acting.push(this.#perform(decision.calls, hostState, task, signal));
    }
    await Promise.all(acting);
  }

  /** Returns the running migrations off hosts that are not read in this round. */
  #flightsElsewhere(tasks: readonly HostTask[]): number {
    const looked = new Set(tasks.map(({ host }) => host));
    return this.#hostStates
      .entries()
      .reduce((sum, [host, { flights }]) => sum + (looked.has(host) ? 0 : flights), 0);
  }

  async #perform(
    calls: readonly HostCall[],
    hostState: HostState,
    task: HostTask,
    signal: AbortSignal,
  ): Promise<void> {
    const { nova, log, meter, fence } = this.#options;
    const problem = await executeCalls({ nova, log, meter, fence }, calls, hostState, task, signal);
    if (problem !== undefined) hostState.failed(problem, this.#in(troubleMs));
  }

  #in(milliseconds: number): number {
    return this.#options.clock.now().epochMilliseconds + Math.ceil(milliseconds);
  }

  /** Reports the nodes whose view has changed. */
  #notify(): void {
    for (const node of this.#discovery.nodes()) {
      const view = this.of(node);
      const before = this.#notified.get(node);
      if (view === 'unknown' || (before !== undefined && isSameView(before, view))) continue;
      this.#notified.set(node, view);
      this.#options.touched(node);
    }
    for (const node of this.#notified.keys())
      if (!this.#discovery.knows(node)) this.#notified.delete(node);
  }
}
