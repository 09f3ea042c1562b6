import type { JsonObject } from '@drydock/apimachinery';
import { statusChange } from '@drydock/apimachinery';
import type { Write } from '@drydock/core';
import type {
  MachineAdapter,
  MachineDecision,
  MachineLimits,
  MachineSnapshot,
} from '@drydock/core/machine';
import {
  announce,
  deadlineOf,
  decideMachine,
  isOver,
  type Machine,
  type MachineRequest,
  nodeNameOf,
  pathOfRequest,
  readMachine,
  readMachineSet,
} from '@drydock/core/machine';
import type { KindAdapter } from '@drydock/core/request';
import type { Listener } from '../cache/cache.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { Namespaces } from '../cache/node-cache.ts';
import { lackText } from '../cache/window-freshness.ts';
import type { Ports } from '../ports.ts';
import { WorkQueue } from '../work-queue.ts';
import {
  type CacheUpdater,
  cacheUpdaterOf,
  isAbout,
  isRemoved,
  isStillThere,
  objectPath,
  UnconfirmedWrites,
} from '../write/cache-updater.ts';
import { DecisionWriter } from '../write/decision-writer.ts';
import { Writer } from '../write/writer.ts';
import { isUnseenGone, snapshotOf, subjectOf } from './gather.ts';
import { MachineCache, type MachineChanges } from './machine-cache.ts';

/** A decision, and the snapshot that it is based on. */
type Decided = { readonly snapshot: MachineSnapshot; readonly decision: MachineDecision };

export type MachinesOptions = Ports & {
  /**
   * Cache of nodes, their maintenances and the windows, which the reconciler of the nodes keeps up
   * to date.
   */
  readonly cache: ClusterCache;
  readonly adapters: readonly KindAdapter[];
  readonly adapter: MachineAdapter;
  /** Namespaces whose MachineMaintenances count. */
  readonly namespaces: Namespaces;
  readonly limits: MachineLimits;
  /**
   * Seconds before the cloud's earliest start at which the drain of a node begins, unless a window
   * determines it.
   */
  readonly drainLeadSeconds: number;
  /** Callback for changes that plans may wait for. */
  readonly changed?: () => void;
};

/**
 * Number of maintenances at a time. With one, each sees what the previous one has begun, so that
 * limits hold exactly. Each is a few calls.
 */
const atOnce = 1;

/** Stores whose contents affect the next decisions. */
const decidedBy = ['machineMaintenances', 'requests', 'machines', 'machineSets'] as const;

/**
 * The reconciler of machine maintenances: an event requeues one, its snapshot is taken, the core
 * decides, and the decision is carried out.
 */
export class MachineReconciler {
  readonly machines: MachineCache;
  readonly writer: Writer;
  /** Updater for other writers of machine maintenances. */
  readonly cacheUpdater: CacheUpdater;
  readonly #options: MachinesOptions;
  readonly #queue: WorkQueue;
  readonly #decisions: DecisionWriter;
  #acting = false;

  constructor(
    options: MachinesOptions,
    handlers: Pick<MachineChanges, 'source' | 'notice' | 'complete'>,
  ) {
    const { clock, defects } = options;
    this.#options = options;
    this.machines = new MachineCache({
      ...options,
      changes: {
        ...handlers,
        maintenance: request => this.#changed(request),
        // Nothing waits for it, and the writer never rejects.
        foreign: request =>
          void this.#reportProblem(request, 'ForeignNamespace', options.namespaces.remedy),
        machine: machine => this.#machineChanged(machine),
        set: () => this.#touch(request => isUnderWay(request) || isPaused(request)),
        cluster: () => this.#touch(request => isUnderWay(request) || isPaused(request)),
        complete: () => {
          this.enqueueAll();
          options.changed?.();
          handlers.complete();
        },
      },
    });
    this.cacheUpdater = this.#cacheUpdater();
    this.writer = new Writer({ ...options, cacheUpdater: this.cacheUpdater });
    this.#decisions = new DecisionWriter({
      writer: this.writer,
      clock,
      uncertainWrites: new UnconfirmedWrites({
        ...options,
        cacheUpdater: this.cacheUpdater,
        stores: decidedBy,
      }),
      stored: key => this.#queue.add(key),
      again: (key, at) => this.#queue.addAt(key, at),
    });
    this.#queue = new WorkQueue({
      clock,
      defects,
      controller: 'MachineMaintenance',
      work: key => this.#pass(key),
      rank: key => this.#rank(key),
      atOnce,
      broken: (key, message) => this.#broken(key, message),
    });
  }

  /** Watches and acts until the signal is aborted, and completes what it has begun. */
  async run(signal: AbortSignal): Promise<void> {
    this.#acting = true;
    const listener: Listener = {
      node: ({ name }) =>
        this.#touch(request => isUnderWay(request) || this.#nodeOf(request) === name),
      request: ({ name }) => this.#childChanged(name),
      window: () => this.#touch(() => true),
    };
    const end = this.#options.cache.subscribe(listener);
    try {
      await this.machines.run(signal);
    } finally {
      this.#acting = false;
      end();
      await this.#queue.close();
    }
  }

  /** Queues all maintenances, after a change that may affect each. */
  enqueueAll(): void {
    this.#touch(() => true);
  }

  #nodeOf(request: MachineRequest): string | undefined {
    const { machine, node } = subjectOf(request, this.machines, this.#options.cache);
    return node?.name ?? nodeNameOf(request, machine);
  }

  #touch(concerns: (request: MachineRequest) => boolean): void {
    for (const request of this.machines.requests.values())
      if (concerns(request)) this.#queue.add(request.key);
  }

  /** Queues the request of this Maintenance, which is named after the request. */
  #childChanged(name: string): void {
    this.#touch(
      request => name === request.status['maintenanceName'] || name.endsWith(`-${request.uid}`),
    );
  }

  #machineChanged({ name }: Machine): void {
    this.#touch(request => request.machineName === name || isUnderWay(request));
    this.#options.changed?.();
  }

  /**
   * Queues the request, and the ones that wait for their turn: a maintenance that begins or ends
   * may let others begin.
   */
  #changed(request: MachineRequest): void {
    this.#queue.add(request.key);
    this.#options.changed?.();
    this.#touch(
      ({ history, status }) => history.phase === 'Scheduled' && status['waitingFor'] === 'Turn',
    );
  }

  #rank(key: string): number {
    const request = this.machines.requests.get(key);
    const deadline = request && (request.deadline ?? deadlineOf(request.events));
    return deadline?.epochMilliseconds ?? Number.MAX_SAFE_INTEGER;
  }

  /** Runs one pass of a machine maintenance. Rejects for defects only. */
  async #pass(key: string): Promise<void> {
    const { fence, cache } = this.#options;
    if (!this.#acting || !fence.mayAct()) return;
    if (cache.unsynced.length > 0 || this.machines.unsynced.length > 0) return this.#refuse(key);
    if (!(await this.#decisions.settled(key)) || !this.#acting || !fence.mayAct()) return;
    const request = this.machines.requests.get(key);
    if (request !== undefined) await this.#carryOut(request);
  }

  /**
   * Handles a request while required collections are unknown: it waits, and reports it if a right
   * is missing.
   */
  async #refuse(key: string): Promise<void> {
    const request = this.machines.requests.get(key);
    const text = lackText(this.machines) ?? lackText(this.#options.cache);
    if (request !== undefined && text !== undefined)
      await this.#reportProblem(request, 'NotAllowed', text);
  }

  /** Handles a pass that has thrown: the request waits and reports it. */
  async #broken(key: string, message: string): Promise<void> {
    const request = this.machines.requests.get(key);
    if (request !== undefined) await this.#reportProblem(request, 'InternalError', message);
  }

  /** Reports why nothing at all is done about the request. */
  async #reportProblem(request: MachineRequest, reason: string, message: string): Promise<void> {
    if (!this.#acting) return;
    const patch = statusChange(request.status, {
      phase: 'Pending',
      ...request.status,
      waitingFor: reason,
      message,
    });
    if (patch !== undefined)
      await this.writer.write(
        statusWrite(request, reason, patch),
        request.nodeName ?? request.machineName,
      );
  }

  async #carryOut(request: MachineRequest): Promise<void> {
    const now = this.#options.clock.now();
    const { snapshot, decision } = await this.#decide(request, now);
    const verdict = this.#decisions.withTrouble(request.key, decision);
    this.#queue.clearAppointment(request.key);
    if (verdict.requeueAt !== undefined) this.#queue.addAt(request.key, verdict.requeueAt);
    const status =
      verdict.own ??
      this.#statusWrite(
        verdict,
        request,
        this.#options.adapter.maintenanceStatus(verdict, snapshot, now),
      );
    // The start is stored before anything is done.
    const writes = [...(status ? [status] : []), ...(verdict.writes ?? [])];
    await this.#decisions.write(request.key, snapshot.node?.name ?? request.machineName, writes);
  }

  /**
   * Decides. Objects that no watch has delivered are queried before anything is done without them:
   * windows, and the node that the machine names. By the time of the response the watches have
   * delivered more, and that counts: the decision is repeated.
   */
  async #decide(
    request: MachineRequest,
    now: Temporal.Instant,
    nodeIsGone?: true,
  ): Promise<Decided> {
    const { api, log, cache, limits, drainLeadSeconds, adapter } = this.#options;
    const taken = snapshotOf(request, this.machines, cache, {
      limits,
      drainLeadSeconds,
      drainPolicy: adapter.drainPolicy,
    });
    const snapshot = { ...taken, ...(nodeIsGone && { nodeIsGone }) };
    const { asksForWindows, unseenNode, ...decision } = decideMachine(snapshot, now);
    if (asksForWindows && (await cache.knownWindows.find(request)))
      return this.#decide(request, now, nodeIsGone);
    if (unseenNode !== undefined && (await isUnseenGone(api, unseenNode, log)))
      return this.#decide(request, now, true);
    return { snapshot, decision };
  }

  #statusWrite(
    verdict: MachineDecision,
    request: MachineRequest,
    wanted: ReturnType<MachineAdapter['maintenanceStatus']>,
  ): Write | undefined {
    if (verdict.message === '') return undefined;
    const patch = statusChange(request.status, wanted);
    if (patch === undefined) return undefined;
    const isTransition =
      wanted['phase'] !== request.status['phase'] ||
      wanted['waitingFor'] !== request.status['waitingFor'];
    const events = isTransition
      ? [announce(request, verdict.warning ? 'Warning' : 'Normal', verdict.reason, verdict.message)]
      : [];
    return { ...statusWrite(request, verdict.phase, patch), events };
  }

  /** Returns the updater that makes the server's responses to our writes visible at once. */
  #cacheUpdater(): CacheUpdater {
    const { cache, adapters, adapter } = this.#options;
    const ofNodes = cacheUpdaterOf(cache, adapters);
    return {
      observe: (write, body) => {
        if (body === undefined) return this.#forget(write, ofNodes);
        // The watch delivers final removals.
        if (write.method === 'DELETE' && !isStillThere(body)) return;
        if (write.cache === 'nodeNotices') this.machines.notices.observe(adapter.readNotice(body));
        else if (write.cache === 'machineMaintenances')
          this.#learnRequest(adapter.readMaintenance(body));
        else if (write.cache === 'machines' || write.cache === 'machineSets')
          this.#learnMachine(body);
        else ofNodes.observe(write, body);
      },
    };
  }

  /**
   * Forgets a removed object while the watch lags behind: it would be written again and again, and
   * the watch may never deliver the removal.
   */
  #forget(write: Write, ofNodes: CacheUpdater): void {
    const { requests, machines } = this.machines;
    const path = objectPath(write.path);
    const request = [...requests.values()].find(one => pathOfRequest(one) === path);
    const machine = [...machines.values()].find(one => one.path === path);
    if (request !== undefined && isAbout(write, request)) requests.forget(request.key, request.uid);
    if (machine !== undefined && isAbout(write, machine)) machines.forget(machine.key, machine.uid);
    ofNodes.observe(write, undefined);
  }

  #learnRequest(request: MachineRequest | string): void {
    if (typeof request === 'string' || !this.#options.namespaces.counts(request.namespace)) return;
    if (isRemoved(request)) this.machines.requests.forget(request.key, request.uid);
    else this.machines.requests.observe(request);
  }

  #learnMachine(body: unknown): void {
    const { apiVersion, kind } = body as { readonly apiVersion: string; readonly kind: string };
    const known = [...this.machines.kinds.values()].find(
      one => one.apiVersion === apiVersion && one.kind === kind,
    );
    if (known === undefined) return;
    if (known.kind === 'Machine') this.machines.machines.observe(readMachine(body, known));
    else this.machines.sets.observe(readMachineSet(body, known));
  }
}

function statusWrite(request: MachineRequest, what: string, patch: JsonObject): Write {
  return {
    description: `report ${what}`,
    method: 'PATCH',
    style: 'merge',
    path: `${pathOfRequest(request)}/status`,
    body: { metadata: { resourceVersion: request.resourceVersion }, status: patch },
    cache: 'machineMaintenances',
    events: [],
  };
}

/**
 * Reports whether the maintenance is in progress: it may wait for machines, nodes and sets of any
 * name.
 */
function isUnderWay({ history }: MachineRequest): boolean {
  return history.startedAt !== undefined && !isOver(history.phase);
}

/** Reports whether it waits for a machine, a set or a Cluster that is paused. */
function isPaused({ status }: MachineRequest): boolean {
  return status['waitingFor'] === 'MachinePaused' || status['waitingFor'] === 'PauseUnknown';
}
