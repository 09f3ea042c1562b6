import type { JsonObject } from '@drydock/apimachinery';
import { text } from '@drydock/kube-sim';
import { writesOn } from '@drydock/kube-sim/controllers';
import type { RegistryContext } from '@drydock/kube-sim/registry';
import { operatorPod } from '../prepare/operator-pod.ts';
import type { Workloads } from '../snapshot/workloads.ts';
import { type AvailabilityDip, type PodDeparture, PodRecord } from './record.ts';
import { type Sandbox, type SandboxOptions, setSandbox } from './sandbox.ts';
import { type UnschedulablePod, unreadyIn, unschedulablePodsIn } from './unschedulable-pod.ts';
import { type MaintenanceTrace, WaitRecorder } from './waits.ts';

/** A maintenance to rehearse. */
export type PlannedMaintenance = {
  readonly node: string;
  readonly name: string;
  readonly object: JsonObject;
};

/**
 * Subject of a rehearsal: all maintenances at once and held, or a limited number at a time, each
 * released as soon as it is drained.
 */
export type Order = {
  readonly plannedMaintenances: readonly PlannedMaintenance[];
  readonly parallel?: number;
  readonly horizonMs: number;
};

type NodeOutcome = 'drained' | 'failed' | 'stuck' | 'not reached';

export type NodeRun = { readonly outcome: NodeOutcome; readonly trace: MaintenanceTrace };

/** One run, of one seed. Times in milliseconds since the maintenances were created. */
export type SimulatedRun = {
  readonly seed: number;
  readonly nodes: readonly NodeRun[];
  readonly leaves: readonly PodDeparture[];
  readonly levels: readonly AvailabilityDip[];
  /** Pods without a node at the end. */
  readonly lacks: readonly UnschedulablePod[];
  /**
   * Running pods that are not ready, by the key of the budget that covers them, for budgets with an
   * open wait.
   */
  readonly unready: Readonly<Record<string, readonly string[]>>;
  /** Number of pods that were created, deleted or moved before the first maintenance. */
  readonly stir: number;
  readonly madeUpMs: number;
};

export type RunProgress = {
  readonly drained: number;
  readonly of: number;
  readonly gone: number;
  readonly madeUpMs: number;
};

/** A planned maintenance that the API refuses, in the API's words. */
export class PlannedMaintenanceError extends Error {
  override readonly name = 'PlannedMaintenanceError';
}

/** Milliseconds for which the copy is left alone first: pods that change then were not at rest. */
const settleMs = 2000;

/**
 * Milliseconds without a change of a node's pods after which none is expected: longer than any
 * pause of the operator, and any start or stop.
 */
export const quietMs = 35 * 60_000;

/** Steps of the clock in milliseconds: a second while anything changes, more afterwards. */
export const stepMs = 1000;
export const idleStepMs = 30_000;

/** Milliseconds for the operator to finish its calls at the end. */
const endMs = 5000;

type Play = {
  readonly sandbox: Sandbox;
  readonly order: Order;
  readonly pods: PodRecord;
  readonly ahead: PlannedMaintenance[];
  /** Start of active maintenances, by node. */
  readonly active: Map<string, number>;
  readonly over: Map<string, NodeOutcome>;
  readonly traces: Map<string, MaintenanceTrace>;
};

function resourceOf(registry: RegistryContext, { object }: PlannedMaintenance): string {
  const [name, apiVersion] = [text(object, 'kind'), text(object, 'apiVersion')];
  const kind = registry.kinds.named(apiVersion.split('/')[0] ?? '', name);
  if (kind === undefined)
    throw new PlannedMaintenanceError(`${name} of ${apiVersion} is no maintenance`);
  return kind.resource;
}

function begin(play: Play, plannedMaintenance: PlannedMaintenance): void {
  const { registry } = play.sandbox.cluster;
  const resource = resourceOf(registry, plannedMaintenance);
  play.active.set(plannedMaintenance.node, play.pods.nowMs);
  if (registry.store.get(resource, '', plannedMaintenance.name) !== undefined) return;
  const written = writesOn(registry).create(resource, plannedMaintenance.object);
  if (written.kind === 'refused') throw new PlannedMaintenanceError(written.message);
}

function beginNext(play: Play): void {
  const most = play.order.parallel ?? Number.POSITIVE_INFINITY;
  while (play.active.size < most) {
    const next = play.ahead.shift();
    if (next === undefined) return;
    begin(play, next);
  }
}

function giveBack(play: Play, trace: MaintenanceTrace, resource: string): void {
  writesOn(play.sandbox.cluster.registry).remove(resource, '', trace.name);
}

/** Continues the order after the operator has written a maintenance's status. */
function noteTrace(play: Play, trace: MaintenanceTrace, resource: string, gone: boolean): void {
  const { node } = trace;
  if (!play.active.has(node)) return;
  play.traces.set(node, trace);
  const isTurn = play.order.parallel !== undefined;
  if (gone && isTurn) {
    play.active.delete(node);
    beginNext(play);
    return;
  }
  const end =
    trace.drainedMs !== undefined ? 'drained' : trace.failedMs !== undefined ? 'failed' : undefined;
  if (end === undefined || play.over.has(node)) return;
  play.over.set(node, end);
  if (isTurn) giveBack(play, trace, resource);
}

/** Returns whether a maintenance waits for a known time that will come. */
function isDue({ order, pods }: Play, trace: MaintenanceTrace | undefined): boolean {
  return (
    trace?.startsAtMs !== undefined &&
    trace.startsAtMs > pods.nowMs - quietMs &&
    trace.startsAtMs < order.horizonMs
  );
}

/**
 * Gives up nodes without changes for too long; with a limited number at a time, they are released,
 * and the next ones start.
 */
function giveUp(play: Play): void {
  const { pods, active, over, traces, order } = play;
  for (const [node, sinceMs] of active) {
    const trace = traces.get(node);
    const lastMs = Math.max(sinceMs, pods.changedMs.get(node) ?? 0, trace?.beganMs ?? 0);
    if (over.has(node) || pods.nowMs - lastMs < quietMs || isDue(play, trace)) continue;
    over.set(node, 'stuck');
    if (order.parallel === undefined || trace === undefined) continue;
    const plannedMaintenance = order.plannedMaintenances.find(one => one.node === node);
    if (plannedMaintenance !== undefined)
      giveBack(play, trace, resourceOf(play.sandbox.cluster.registry, plannedMaintenance));
  }
}

async function untilOver(
  play: Play,
  waits: WaitRecorder,
  onProgress: (progress: RunProgress) => void,
): Promise<void> {
  const { sandbox, order, pods, over } = play;
  let seen = -1;
  let idle = 0;
  while (over.size < order.plannedMaintenances.length && pods.nowMs < order.horizonMs) {
    await sandbox.clock.advance(idle < 30 ? stepMs : idleStepMs);
    waits.look();
    const gone = pods.departures;
    idle = gone === seen ? idle + 1 : 0;
    seen = gone;
    giveUp(play);
    onProgress({
      drained: over.size,
      of: order.plannedMaintenances.length,
      gone,
      madeUpMs: pods.nowMs,
    });
  }
}

function nodeRun(play: Play, { node, name }: PlannedMaintenance): NodeRun {
  const trace = play.traces.get(node) ?? {
    node,
    name,
    state: 'Pending',
    message: '',
    waits: new Map(),
  };
  return {
    outcome: play.over.get(node) ?? (play.active.has(node) ? 'stuck' : 'not reached'),
    trace,
  };
}

/** Returns running pods that are not ready, by budget, for budgets with an open wait. */
function unreadyOf(sandbox: Sandbox, traces: Iterable<MaintenanceTrace>): SimulatedRun['unready'] {
  const open = [...traces].flatMap(({ waits }) =>
    [...waits.values()].filter(({ toMs }) => toMs === undefined),
  );
  const budgets = new Set(open.flatMap(({ budgets = [] }) => budgets));
  return Object.fromEntries(
    [...budgets].map(key => [key, unreadyIn(sandbox.cluster.registry.store, key)]),
  );
}

/** Counts changes of pods before the first maintenance. */
async function settle({ cluster, clock }: Sandbox): Promise<number> {
  let stir = 0;
  const unsubscribe = cluster.registry.store.subscribe(({ type }) => {
    if (type !== 'changed') stir += 1;
  }, 'pods');
  await clock.advance(settleMs);
  unsubscribe();
  return stir;
}

async function perform(
  sandboxOptions: SandboxOptions,
  sandbox: Sandbox,
  order: Order,
  workloads: Workloads,
  onProgress: (progress: RunProgress) => void,
): Promise<Play> {
  const { registry } = sandbox.cluster;
  const targets = new Set(order.plannedMaintenances.map(({ node }) => node));
  const pods = new PodRecord(registry.store, workloads, sandbox.clock, node => targets.has(node));
  const play: Play = {
    sandbox,
    order,
    pods,
    ahead: [...order.plannedMaintenances],
    active: new Map(),
    over: new Map(),
    traces: new Map(),
  };
  const waits = new WaitRecorder(registry, sandboxOptions.adapters, (trace, resource, gone) =>
    noteTrace(play, trace, resource, gone),
  );
  beginNext(play);
  for (const trace of waits.traces.values()) noteTrace(play, trace, '', false);
  await untilOver(play, waits, onProgress);
  waits.end();
  pods.end();
  return play;
}

/** State of pods and maintenances after a simulation. */
type Played = {
  readonly pods: PodRecord;
  /** Traces of maintenances, whatever their keys. */
  readonly traces: ReadonlyMap<string, MaintenanceTrace>;
};

/**
 * Runs the operator on the copy during a simulation, and ends both. Returns the simulation, and the
 * common results of a run; `nodes` returns the outcome of each node.
 */
export async function runInSandbox<P extends Played>(
  sandboxOptions: SandboxOptions,
  { seed, workloads, unloaded }: Pick<RunOptions, 'seed' | 'workloads' | 'unloaded'>,
  play: (sandbox: Sandbox) => Promise<P>,
  nodes: (played: P) => readonly NodeRun[],
): Promise<{ readonly played: P; readonly run: SimulatedRun }> {
  const sandbox = setSandbox(sandboxOptions, seed, unloaded);
  const stop = new AbortController();
  const own = operatorPod(sandboxOptions.objects);
  const running = sandboxOptions.operate(
    { ports: sandbox.ports, clock: sandbox.clock, ...(own && { own }) },
    stop.signal,
  );
  try {
    const stir = await settle(sandbox);
    const played = await play(sandbox);
    const { pods, traces } = played;
    const lacks = unschedulablePodsIn(sandbox.cluster.registry.store, workloads);
    const unready = unreadyOf(sandbox, traces.values());
    const common = {
      seed,
      leaves: pods.leaves,
      levels: pods.levels(),
      lacks,
      unready,
      stir,
      madeUpMs: pods.nowMs,
    };
    return { played, run: { ...common, nodes: nodes(played) } };
  } finally {
    stop.abort();
    await sandbox.clock.advance(endMs);
    await running;
    sandbox.end();
  }
}

/**
 * Simulates the order once, in simulated time. Throws a PlannedMaintenanceError when the API
 * refuses a maintenance.
 */
export async function simulate(
  sandboxOptions: SandboxOptions,
  order: Order,
  options: RunOptions,
): Promise<SimulatedRun> {
  const { workloads, onProgress } = options;
  const { run } = await runInSandbox(
    sandboxOptions,
    options,
    sandbox => perform(sandboxOptions, sandbox, order, workloads, onProgress),
    played =>
      order.plannedMaintenances.map(plannedMaintenance => nodeRun(played, plannedMaintenance)),
  );
  return run;
}

export type RunOptions<Told = RunProgress> = {
  readonly seed: number;
  readonly workloads: Workloads;
  readonly onProgress: (progress: Told) => void;
  /** Callback for objects that could not be loaded. */
  readonly unloaded: (what: string) => void;
};
