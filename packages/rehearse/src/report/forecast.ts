import { stayIn } from '@drydock/core/maintenance';
import { part, text } from '@drydock/kube-sim';
import type { AvailabilityDip, PodDeparture } from '../simulate/record.ts';
import type { NodeRun, Order, PlannedMaintenance, SimulatedRun } from '../simulate/run.ts';
import type { UnschedulablePod } from '../simulate/unschedulable-pod.ts';
import type { ObservedWait } from '../simulate/waits.ts';
import type { TimingsFrom } from '../timings/learn.ts';
import type { LimitsFrom } from '../timings/limits.ts';

/**
 * Milliseconds after the creation of the maintenances: upper limits for half of the runs, and for
 * nine in ten.
 */
export type Quantiles = { readonly medianMs: number; readonly p90Ms: number };

export type NodeForecast = {
  readonly node: string;
  /** Number of runs that drained the node. */
  readonly drainedIn: number;
  /** Outcome of the other runs. */
  readonly otherwise?: 'failed' | 'stuck' | 'not reached';
  /** Time of the drain's end, in the runs that reach it. */
  readonly end?: Quantiles;
  /** Time of the drain's start. */
  readonly beginsMs?: number;
  readonly pods: number;
};

/** A cause that keeps a node from being drained. */
export type ForecastBlocker = {
  readonly node: string;
  readonly reason: string;
  readonly what?: string;
  readonly budgets?: readonly string[];
  readonly message: string;
  readonly remedy?: string;
  /** Unscheduled pods whose readiness it waits for. */
  readonly lacks?: readonly UnschedulablePod[];
  /** Running pods that do not become ready, and whose readiness it waits for. */
  readonly unready?: readonly string[];
  /** Number of runs. */
  readonly runs: number;
};

/** A wait that delayed nodes and passed. */
export type Delay = {
  readonly reason: string;
  /** Budget, or other subject of the wait. */
  readonly about: string;
  readonly message: string;
  readonly pods: number;
  readonly nodes: readonly string[];
  readonly longestMs: number;
};

export type RehearsalForecast = {
  readonly snapshotTime: string;
  readonly copied: {
    readonly nodes: number;
    readonly pods: number;
    readonly budgets: number;
    readonly loadedPods: number;
  };
  readonly runs: number;
  readonly learned: TimingsFrom & { readonly controlPlane: LimitsFrom };
  /** Whether every node is drained, in every run. */
  readonly finishes: boolean;
  /** Time at which the last node is drained, in the runs that drain all. */
  readonly end?: Quantiles;
  /** Nodes in the order of their drains; those not drained come last. */
  readonly nodes: readonly NodeForecast[];
  readonly blockers: readonly ForecastBlocker[];
  /**
   * Further blockers if the policy refused no pods, from one more run; missing where it refuses
   * none.
   */
  readonly behind?: readonly ForecastBlocker[];
  readonly delays: readonly Delay[];
  /** Number of moved pods, and of those moved more than once, in the typical run. */
  readonly moves: { readonly gone: number; readonly again: number };
  readonly levels: readonly AvailabilityDip[];
  /** Pods without a node at the end, in any run. */
  readonly lacks: readonly UnschedulablePod[];
  /** Typical run: the one whose end is the median. */
  readonly typical: { readonly seed: number; readonly leaves: readonly PodDeparture[] };
  /** Sentences about data that the copy lacks, and objects that could not be loaded. */
  readonly notes: readonly string[];
};

/** Shortest reported delay, in milliseconds. */
const leastDelayMs = 1000;

function sorted(all: readonly number[]): readonly number[] {
  return all.toSorted((one, other) => one - other);
}

/** Returns a quantile by nearest rank. */
function rank(all: readonly number[], share: number): number {
  return sorted(all)[Math.max(0, Math.ceil(all.length * share) - 1)] ?? 0;
}

/**
 * Returns the quantiles for half of the values, and for nine in ten; undefined where there are
 * none.
 */
export function spreadOf(all: readonly number[]): Quantiles | undefined {
  return all.length === 0 ? undefined : { medianMs: rank(all, 0.5), p90Ms: rank(all, 0.9) };
}

function drainedMs({ outcome, trace }: NodeRun): readonly number[] {
  return outcome === 'drained' && trace.drainedMs !== undefined ? [trace.drainedMs] : [];
}

function endOf({ nodes }: SimulatedRun): number | undefined {
  const ends = nodes.flatMap(drainedMs);
  return ends.length === nodes.length ? Math.max(0, ...ends) : undefined;
}

/** Returns the median run; runs that drain all come before those that do not. */
function typicalOf(runs: readonly SimulatedRun[]): SimulatedRun | undefined {
  return runs.toSorted(
    (one, other) => (endOf(one) ?? Number.MAX_VALUE) - (endOf(other) ?? Number.MAX_VALUE),
  )[Math.ceil(runs.length / 2) - 1];
}

/** Returns every node's part of every run, in one pass: there may be ten thousand nodes. */
function nodesOf(runs: readonly SimulatedRun[], typical: SimulatedRun): readonly NodeForecast[] {
  const pods = Map.groupBy(typical.leaves, ({ node }) => node);
  const nodes = typical.nodes.map(({ outcome, trace }, index): NodeForecast => {
    const all = runs.flatMap(run => run.nodes[index] ?? []);
    const end = spreadOf(all.flatMap(drainedMs));
    const otherwise = all.find(one => one.outcome !== 'drained')?.outcome ?? outcome;
    return {
      node: trace.node,
      drainedIn: all.filter(one => one.outcome === 'drained').length,
      ...(otherwise !== 'drained' && { otherwise }),
      ...(end && { end }),
      ...(trace.beganMs !== undefined && { beginsMs: trace.beganMs }),
      pods: pods.get(trace.node)?.length ?? 0,
    };
  });
  const at = ({ end }: NodeForecast): number => end?.medianMs ?? Number.MAX_VALUE;
  return nodes.toSorted((one, other) => at(one) - at(other));
}

function enriched(
  { trace: { node } }: NodeRun,
  { reason, what, budgets = [], message, remedy }: ObservedWait,
  run: SimulatedRun,
): Omit<ForecastBlocker, 'runs'> {
  const lacks = run.lacks.filter(unschedulablePod =>
    unschedulablePod.budgets.some(key => budgets.includes(key)),
  );
  const unready = budgets.flatMap(key => run.unready[key] ?? []);
  return {
    node,
    reason,
    message,
    ...(what !== undefined && { what }),
    ...(budgets.length > 0 && { budgets }),
    ...(remedy !== undefined && { remedy }),
    ...(lacks.length > 0 && { lacks }),
    ...(unready.length > 0 && { unready }),
  };
}

/** Returns every blocker of a node, in any of the runs. */
function blockersOf(runs: readonly SimulatedRun[]): readonly ForecastBlocker[] {
  const found = new Map<
    string,
    { readonly blocker: Omit<ForecastBlocker, 'runs'>; runs: number }
  >();
  for (const run of runs) {
    for (const node of run.nodes.filter(({ outcome }) => outcome !== 'drained')) {
      for (const [id, wait] of node.trace.waits) {
        if (wait.toMs !== undefined && node.outcome !== 'failed') continue;
        const key = `${node.trace.node} ${id}`;
        const known = found.get(key);
        if (known === undefined) found.set(key, { blocker: enriched(node, wait, run), runs: 1 });
        else known.runs += 1;
      }
    }
  }
  return [...found.values()].map(({ blocker, runs }) => ({ ...blocker, runs }));
}

function delaysOf(run: SimulatedRun): readonly Delay[] {
  const found = new Map<
    string,
    { readonly delay: Delay; readonly nodes: Set<string>; pods: number; longestMs: number }
  >();
  for (const { trace } of run.nodes) {
    for (const { reason, what, budgets, message, fromMs, toMs } of trace.waits.values()) {
      if (toMs === undefined || toMs - fromMs < leastDelayMs) continue;
      const about = budgets?.join(', ') ?? (what === undefined ? trace.node : reason);
      const key = `${reason} ${about}`;
      const fresh = {
        delay: { reason, about, message, pods: 0, nodes: [], longestMs: 0 },
        nodes: new Set<string>(),
        pods: 0,
        longestMs: 0,
      };
      const known = found.get(key) ?? fresh;
      found.set(key, known);
      known.nodes.add(trace.node);
      if (what !== undefined) known.pods += 1;
      known.longestMs = Math.max(known.longestMs, toMs - fromMs);
    }
  }
  return [...found.values()]
    .map(({ delay, nodes, pods, longestMs }) => ({
      ...delay,
      pods,
      nodes: [...nodes].sort(),
      longestMs,
    }))
    .toSorted((one, other) => other.longestMs - one.longestMs);
}

/** Returns the worst levels of all runs. */
function levelsOf(runs: readonly SimulatedRun[]): readonly AvailabilityDip[] {
  const worst = new Map<string, AvailabilityDip>();
  for (const level of runs.flatMap(({ levels }) => levels)) {
    const known = worst.get(level.workload);
    if (known === undefined || level.lowest < known.lowest) worst.set(level.workload, level);
  }
  return [...worst.values()].toSorted(
    (one, other) =>
      one.lowest / one.desired - other.lowest / other.desired ||
      (one.workload < other.workload ? -1 : 1),
  );
}

/** Returns unscheduled pods of one run, because created pods have different names in every run. */
function unschedulablePodsOf(runs: readonly SimulatedRun[]): readonly UnschedulablePod[] {
  return runs.find(({ lacks }) => lacks.length > 0)?.lacks ?? [];
}

type About = Pick<RehearsalForecast, 'snapshotTime' | 'copied' | 'learned' | 'notes' | 'behind'>;

function stirNote(runs: readonly SimulatedRun[]): readonly string[] {
  const stir = Math.max(...runs.map(run => run.stir));
  if (stir === 0) return [];
  return [
    `${stir} pods came or went in the copy before anything was asked for: workloads were in motion, or are simulated differently here`,
  ];
}

/** Returns notes about the operator's own pod, which stays on its node, in the typical run. */
function stayNotes({ nodes }: SimulatedRun): readonly string[] {
  return nodes.flatMap(({ trace: { node, message } }) => {
    const stay = stayIn(message);
    return stay === undefined ? [] : [`${node}: ${stay}`];
  });
}

/** Returns the forecast of all runs, of which there must be at least one. */
export function forecastOf(runs: readonly SimulatedRun[], about: About): RehearsalForecast {
  const typical = typicalOf(runs);
  if (typical === undefined) throw new Error('nothing was rehearsed');
  const ends = runs.flatMap(run => endOf(run) ?? []);
  const end = spreadOf(ends);
  return {
    ...about,
    runs: runs.length,
    finishes: ends.length === runs.length,
    ...(end && { end }),
    nodes: nodesOf(runs, typical),
    blockers: blockersOf(runs),
    delays: delaysOf(typical),
    moves: {
      gone: typical.leaves.length,
      again: typical.leaves.filter(({ again }) => again).length,
    },
    levels: levelsOf(runs),
    lacks: unschedulablePodsOf(runs),
    typical: { seed: typical.seed, leaves: typical.leaves },
    notes: [...about.notes, ...stirNote(runs), ...stayNotes(typical)],
  };
}

/**
 * Causes of pods that the policy refuses to evict, because of which the operator evicts no other
 * pod of their node.
 */
const refusals = new Set(['LocalData', 'Unmanaged']);

function idOf({ node, reason, what = '' }: ForecastBlocker): string {
  return `${node} ${reason} ${what}`;
}

/**
 * Returns the same maintenance with a policy that refuses no pods. Kinds of other operators refuse
 * none.
 */
function widened(plannedMaintenance: PlannedMaintenance): PlannedMaintenance {
  const { object } = plannedMaintenance;
  if (!text(object, 'apiVersion').startsWith('drydock.dev/')) return plannedMaintenance;
  const drain = { ...part(object, 'spec', 'drain'), force: true, deleteEmptyDirData: true };
  return { ...plannedMaintenance, object: { ...object, spec: { ...part(object, 'spec'), drain } } };
}

/**
 * Returns further blockers on nodes where the policy refuses pods, by one more run in which it does
 * not; undefined where it refuses none. A node with a refused pod does not show later blockers.
 */
export async function hiddenBlockers(
  runs: readonly SimulatedRun[],
  order: Order,
  playOnce: (wider: Order) => Promise<SimulatedRun>,
): Promise<readonly ForecastBlocker[] | undefined> {
  const known = blockersOf(runs);
  const stopped = new Set(
    known.filter(({ reason }) => refusals.has(reason)).map(({ node }) => node),
  );
  if (stopped.size === 0) return undefined;
  const run = await playOnce({
    ...order,
    plannedMaintenances: order.plannedMaintenances.map(plannedMaintenance =>
      stopped.has(plannedMaintenance.node) ? widened(plannedMaintenance) : plannedMaintenance,
    ),
  });
  const ids = new Set(known.map(idOf));
  return blockersOf([run]).filter(one => stopped.has(one.node) && !ids.has(idOf(one)));
}
