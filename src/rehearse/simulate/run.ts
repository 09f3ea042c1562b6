import type { JsonObject } from '../../core/json.ts';
import { writesOn } from '../../embedded/controllers/writes.ts';
import { text } from '../../embedded/object.ts';
import type { RegistryContext } from '../../embedded/registry/context.ts';
import { operatorPod } from '../prepare/operator-pod.ts';
import type { Workloads } from '../snapshot/workloads.ts';
import { type AvailabilityDip, type PodDeparture, PodRecord } from './record.ts';
import { type Sandbox, type SandboxOptions, setSandbox } from './sandbox.ts';
import { type UnschedulablePod, unreadyIn, unschedulablePodsIn } from './unschedulable-pod.ts';
import { type MaintenanceTrace, WaitRecorder } from './waits.ts';

/** A maintenance that is to be rehearsed. */
export type PlannedMaintenance = { readonly node: string; readonly name: string; readonly object: JsonObject };

/** What is rehearsed: all at once and held, or so many at a time, each released as soon as it is drained. */
export type Order = { readonly plannedMaintenances: readonly PlannedMaintenance[]; readonly parallel?: number; readonly horizonMs: number };

type NodeOutcome = 'drained' | 'failed' | 'stuck' | 'not reached';

export type NodeRun = { readonly outcome: NodeOutcome; readonly trace: MaintenanceTrace };

/** One run, of one seed. Times in milliseconds since the maintenances were asked for. */
export type SimulatedRun = {
  readonly seed: number;
  readonly nodes: readonly NodeRun[];
  readonly leaves: readonly PodDeparture[];
  readonly levels: readonly AvailabilityDip[];
  /** Pods without a node at the end. */
  readonly lacks: readonly UnschedulablePod[];
  /** Of budgets that something still waits for: pods that they count and that run without being ready. */
  readonly unready: Readonly<Record<string, readonly string[]>>;
  /** Pods that were made, deleted or moved before anybody asked for anything. */
  readonly stir: number;
  readonly madeUpMs: number;
};

export type RunProgress = { readonly drained: number; readonly of: number; readonly gone: number; readonly madeUpMs: number };

/** The API refuses the planned maintenance, in its words. */
export class PlannedMaintenanceError extends Error {
  override readonly name = 'PlannedMaintenanceError';
}

/** How long the copy is left alone before anything is asked for: whatever stirs then was not at rest. */
const settleMs = 2000;

/** When nothing has happened to the pods of a node for so long, nothing will: longer than any pause of the operator, and any start or stop. */
export const quietMs = 35 * 60_000;

/** As long as things happen the clock is turned by a second; later by more. */
export const stepMs = 1000;
export const idleStepMs = 30_000;

/** At the end the operator has so long to let go of what it has begun. */
const endMs = 5000;

type Play = {
  readonly sandbox: Sandbox;
  readonly order: Order;
  readonly pods: PodRecord;
  readonly ahead: PlannedMaintenance[];
  /** By node. */
  readonly active: Map<string, number>;
  readonly over: Map<string, NodeOutcome>;
  readonly traces: Map<string, MaintenanceTrace>;
};

const resourceOf = (registry: RegistryContext, { object }: PlannedMaintenance): string => {
  const [name, apiVersion] = [text(object, 'kind'), text(object, 'apiVersion')];
  const kind = registry.kinds.named(apiVersion.split('/')[0] ?? '', name);
  if (kind === undefined) throw new PlannedMaintenanceError(`${name} of ${apiVersion} is no maintenance`);
  return kind.resource;
};

const begin = (play: Play, plannedMaintenance: PlannedMaintenance): void => {
  const { registry } = play.sandbox.cluster;
  const resource = resourceOf(registry, plannedMaintenance);
  play.active.set(plannedMaintenance.node, play.pods.nowMs);
  if (registry.store.get(resource, '', plannedMaintenance.name) !== undefined) return;
  const written = writesOn(registry).create(resource, plannedMaintenance.object);
  if (written.kind === 'refused') throw new PlannedMaintenanceError(written.message);
};

const beginNext = (play: Play): void => {
  const most = play.order.parallel ?? Number.POSITIVE_INFINITY;
  while (play.active.size < most) {
    const next = play.ahead.shift();
    if (next === undefined) return;
    begin(play, next);
  }
};

const giveBack = (play: Play, trace: MaintenanceTrace, resource: string): void => {
  writesOn(play.sandbox.cluster.registry).remove(resource, '', trace.name);
};

/** What the operator has written of a maintenance moves the order on. */
const told = (play: Play, trace: MaintenanceTrace, resource: string, gone: boolean): void => {
  const { node } = trace;
  if (!play.active.has(node)) return;
  play.traces.set(node, trace);
  const isTurn = play.order.parallel !== undefined;
  if (gone && isTurn) {
    play.active.delete(node);
    beginNext(play);
    return;
  }
  const end = trace.drainedMs !== undefined ? 'drained' : trace.failedMs !== undefined ? 'failed' : undefined;
  if (end === undefined || play.over.has(node)) return;
  play.over.set(node, end);
  if (isTurn) giveBack(play, trace, resource);
};

/** It waits for a time that is told, and that will come. */
const isDue = ({ order, pods }: Play, trace: MaintenanceTrace | undefined): boolean =>
  trace?.startsAtMs !== undefined && trace.startsAtMs > pods.nowMs - quietMs && trace.startsAtMs < order.horizonMs;

/** Nodes to which nothing has happened for so long that nothing will; of an order in turns they are released, and the next ones begin. */
const giveUp = (play: Play): void => {
  const { pods, active, over, traces, order } = play;
  for (const [node, sinceMs] of active) {
    const trace = traces.get(node);
    const lastMs = Math.max(sinceMs, pods.changedMs.get(node) ?? 0, trace?.beganMs ?? 0);
    if (over.has(node) || pods.nowMs - lastMs < quietMs || isDue(play, trace)) continue;
    over.set(node, 'stuck');
    if (order.parallel === undefined || trace === undefined) continue;
    const plannedMaintenance = order.plannedMaintenances.find(one => one.node === node);
    if (plannedMaintenance !== undefined) giveBack(play, trace, resourceOf(play.sandbox.cluster.registry, plannedMaintenance));
  }
};

const untilOver = async (play: Play, waits: WaitRecorder, tell: (progress: RunProgress) => void): Promise<void> => {
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
    tell({ drained: over.size, of: order.plannedMaintenances.length, gone, madeUpMs: pods.nowMs });
  }
};

const nodeRun = (play: Play, { node, name }: PlannedMaintenance): NodeRun => {
  const trace = play.traces.get(node) ?? { node, name, state: 'Pending', message: '', waits: new Map() };
  return { outcome: play.over.get(node) ?? (play.active.has(node) ? 'stuck' : 'not reached'), trace };
};

/** Of budgets that something still waits for: pods that they count and that run without being ready. */
const unreadyOf = (sandbox: Sandbox, traces: Iterable<MaintenanceTrace>): SimulatedRun['unready'] => {
  const open = [...traces].flatMap(({ waits }) => [...waits.values()].filter(({ toMs }) => toMs === undefined));
  const budgets = new Set(open.flatMap(({ budgets = [] }) => budgets));
  return Object.fromEntries([...budgets].map(key => [key, unreadyIn(sandbox.cluster.registry.store, key)]));
};

/** Counts what happens to pods before anybody asks for anything. */
const settle = async ({ cluster, clock }: Sandbox): Promise<number> => {
  let stir = 0;
  const unsubscribe = cluster.registry.store.subscribe(({ type }) => {
    if (type !== 'changed') stir += 1;
  }, 'pods');
  await clock.advance(settleMs);
  unsubscribe();
  return stir;
};

const perform = async (
  sandboxOptions: SandboxOptions,
  sandbox: Sandbox,
  order: Order,
  workloads: Workloads,
  tell: (progress: RunProgress) => void,
): Promise<Play> => {
  const { registry } = sandbox.cluster;
  const targets = new Set(order.plannedMaintenances.map(({ node }) => node));
  const pods = new PodRecord(registry.store, workloads, sandbox.clock, node => targets.has(node));
  const play: Play = { sandbox, order, pods, ahead: [...order.plannedMaintenances], active: new Map(), over: new Map(), traces: new Map() };
  const waits = new WaitRecorder(registry, sandboxOptions.adapters, (trace, resource, gone) => told(play, trace, resource, gone));
  beginNext(play);
  for (const trace of waits.traces.values()) told(play, trace, '', false);
  await untilOver(play, waits, tell);
  waits.end();
  pods.end();
  return play;
};

/** What the pods and maintenances of a play have come to. */
type Played = {
  readonly pods: PodRecord;
  /** Of maintenances, whatever their keys. */
  readonly traces: ReadonlyMap<string, MaintenanceTrace>;
};

/**
 * Lets the operator work on the copy while something is played, and ends both. The answer: what has been played, and what every run says of it; `nodes` says how each node
 * went.
 */
export const runInSandbox = async <P extends Played>(
  sandboxOptions: SandboxOptions,
  { seed, workloads, unloaded }: Pick<RunOptions, 'seed' | 'workloads' | 'unloaded'>,
  play: (sandbox: Sandbox) => Promise<P>,
  nodes: (played: P) => readonly NodeRun[],
): Promise<{ readonly played: P; readonly run: SimulatedRun }> => {
  const sandbox = setSandbox(sandboxOptions, seed, unloaded);
  const stop = new AbortController();
  const own = operatorPod(sandboxOptions.objects);
  const running = sandboxOptions.operate({ ports: sandbox.ports, clock: sandbox.clock, ...(own && { own }) }, stop.signal);
  try {
    const stir = await settle(sandbox);
    const played = await play(sandbox);
    const { pods, traces } = played;
    const lacks = unschedulablePodsIn(sandbox.cluster.registry.store, workloads);
    const unready = unreadyOf(sandbox, traces.values());
    const common = { seed, leaves: pods.leaves, levels: pods.levels(), lacks, unready, stir, madeUpMs: pods.nowMs };
    return { played, run: { ...common, nodes: nodes(played) } };
  } finally {
    stop.abort();
    await sandbox.clock.advance(endMs);
    await running;
    sandbox.end();
  }
};

/** Plays the order once, in simulated time. Throws a PlannedMaintenanceError when the API refuses a maintenance. */
export const simulate = async (sandboxOptions: SandboxOptions, order: Order, options: RunOptions): Promise<SimulatedRun> => {
  const { workloads, tell } = options;
  const { run } = await runInSandbox(
    sandboxOptions,
    options,
    sandbox => perform(sandboxOptions, sandbox, order, workloads, tell),
    played => order.plannedMaintenances.map(plannedMaintenance => nodeRun(played, plannedMaintenance)),
  );
  return run;
};

export type RunOptions<Told = RunProgress> = {
  readonly seed: number;
  readonly workloads: Workloads;
  readonly tell: (progress: Told) => void;
  /** Told of objects that could not be taken over. */
  readonly unloaded: (what: string) => void;
};
