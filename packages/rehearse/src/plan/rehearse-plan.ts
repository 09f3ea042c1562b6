import { type JsonObject, matches } from '@drydock/apimachinery';
import { maxFirstNodes } from '@drydock/core/plan';
import { at, items, part, strings, text } from '@drydock/kube-sim';
import { type CopyOptions, SandboxSnapshot } from '../prepare/sandbox-options.ts';
import {
  forecastOf,
  type Quantiles,
  type RehearsalForecast,
  spreadOf,
} from '../report/forecast.ts';
import type { NodeRun } from '../simulate/run.ts';
import { type ClusterSnapshot, ofKind } from '../snapshot/kept.ts';
import { controllerRef } from '../snapshot/workloads.ts';
import { playablePlan, type SimulatedPlan, type WorkTimes } from './node-work.ts';
import type { PlanWait } from './plan-progress.ts';
import { notesOf, runSoFar, withoutHolds } from './run-so-far.ts';
import {
  type PlanRun,
  type PlanRunProgress,
  type PlanSimulation,
  simulatePlan,
} from './simulate-plan.ts';

/**
 * Candidates for the first nodes of a plan with `order.by: Cost`, so that fewer pods are moved more
 * than once.
 */

const zoneLabel = 'topology.kubernetes.io/zone';

const staying = new Set(['DaemonSet', 'Node']);

function moves(pod: JsonObject): boolean {
  return (
    !staying.has(text(controllerRef(pod), 'kind')) &&
    !['Succeeded', 'Failed'].includes(text(pod, 'status', 'phase'))
  );
}

function orderOf(plan: JsonObject): readonly string[] {
  return items(at(plan, 'spec', 'order', 'by')).map(String);
}

/** Returns whether the plan orders by cost. */
function isByCost(plan: JsonObject): boolean {
  return orderOf(plan).includes('Cost');
}

/**
 * Returns the nodes with the fewest pods to move: pods of a run's first node land on nodes whose
 * turn is still to come; those of later ones land mostly on nodes that are empty by then. As many
 * of each zone where zones come before the cost.
 */
function minPodsFirst(
  plan: JsonObject,
  copy: ClusterSnapshot,
  nodes: ReadonlySet<string>,
): readonly string[] {
  const pods = Map.groupBy(ofKind(copy.objects, 'Pod').filter(moves), pod =>
    text(pod, 'spec', 'nodeName'),
  );
  const countOf = (node: string): number => pods.get(node)?.length ?? 0;
  const by = orderOf(plan);
  const isZoned = by.includes('Zone') && by.indexOf('Zone') < by.indexOf('Cost');
  const zoneOf = new Map(
    ofKind(copy.objects, 'Node').map(node => [
      text(node, 'metadata', 'name'),
      strings(at(node, 'metadata', 'labels'))[zoneLabel] ?? '',
    ]),
  );
  const zones = Map.groupBy(nodes, node => (isZoned ? (zoneOf.get(node) ?? '') : ''));
  const ofEach = Math.max(1, Math.floor(maxFirstNodes / Math.max(1, zones.size)));
  return [...zones.values()]
    .flatMap(inside =>
      inside
        .toSorted((one, other) => countOf(one) - countOf(other) || (one < other ? -1 : 1))
        .slice(0, ofEach),
    )
    .slice(0, maxFirstNodes);
}

/** Limit of nodes in flight, as spec.concurrency.maxInFlight; the plan's own when left out. */
export type PlanSetting = { readonly maxInFlight?: number | string };

export type PlanRehearsalOptions = CopyOptions & {
  /** The MaintenancePlan, as stored or as it is to be created. */
  readonly plan: JsonObject;
  /** Settings, each simulated on its own. */
  readonly settings: readonly PlanSetting[];
  readonly times: WorkTimes;
  readonly seeds: number;
  readonly horizonMs: number;
  readonly onProgress?: (setting: PlanSetting, run: number, progress: PlanRunProgress) => void;
};

/**
 * Forecast of a plan. `nodes` are those that it starts; their ends are the times of their verdicts.
 */
export type PlanForecast = RehearsalForecast & {
  readonly plan: {
    readonly name: string;
    readonly setting: PlanSetting;
    readonly times: WorkTimes;
    readonly reboots: boolean;
    /** Final phases, with the number of runs. */
    readonly phases: Readonly<Record<string, number>>;
    /** Time of completion, in the runs that complete. */
    readonly complete?: Quantiles;
    /** Nodes that fail in the typical run, and why. */
    readonly failures: readonly { readonly node: string; readonly message: string }[];
    /** Waits at the end of the typical run. */
    readonly waiting: readonly PlanWait[];
    /** Number of due nodes that the typical run never starts. */
    readonly left: number;
    /**
     * Number of openings of its windows in which the typical run starts nodes; 1 without windows.
     */
    readonly openings: number;
    /** Nodes that should be first, with `order.by: Cost`. */
    readonly firstNodes: readonly string[];
    readonly message: string;
  };
};

/** Returns the nodes of a copy that a plan selects. */
export function nodesOfPlan(plan: JsonObject, copy: ClusterSnapshot): ReadonlySet<string> {
  const selector = part(plan, 'spec', 'nodeSelector');
  const nodes = ofKind(copy.objects, 'Node').filter(node =>
    matches(selector, strings(at(node, 'metadata', 'labels'))),
  );
  return new Set(nodes.map(node => text(node, 'metadata', 'name')));
}

function withSetting(plan: SimulatedPlan, { maxInFlight }: PlanSetting): SimulatedPlan {
  if (maxInFlight === undefined) return plan;
  const concurrency = { ...part(plan.object, 'spec', 'concurrency'), maxInFlight };
  return {
    ...plan,
    object: { ...plan.object, spec: { ...part(plan.object, 'spec'), concurrency } },
  };
}

function untouched(node: string): NodeRun {
  return {
    outcome: 'not reached',
    trace: { node, name: node, state: 'Pending', message: '', waits: new Map() },
  };
}

/** Returns every run with the same nodes in the same order. */
function aligned(runs: readonly PlanRun[]): readonly PlanRun[] {
  const names = [...new Set(runs.flatMap(({ nodes }) => nodes.map(({ trace }) => trace.node)))];
  return runs.map(run => {
    const byName = new Map(run.nodes.map(one => [one.trace.node, one]));
    return { ...run, nodes: names.map(name => byName.get(name) ?? untouched(name)) };
  });
}

function planPart(
  plan: SimulatedPlan,
  runs: readonly PlanRun[],
  seed: number,
): Omit<PlanForecast['plan'], 'setting' | 'times' | 'firstNodes'> {
  const phases: Record<string, number> = {};
  for (const { phase } of runs) phases[phase] = (phases[phase] ?? 0) + 1;
  const typical = runs.find(run => run.seed === seed) ?? runs[0];
  const complete = spreadOf(runs.flatMap(({ completeMs }) => completeMs ?? []));
  return {
    name: plan.name,
    reboots: plan.reboots,
    phases,
    ...(complete && { complete }),
    failures: (typical?.nodes ?? []).flatMap(({ outcome, trace }) =>
      outcome === 'failed' ? [{ node: trace.node, message: trace.message }] : [],
    ),
    waiting: typical?.waiting ?? [],
    left: typical?.left ?? 0,
    openings: typical?.openings ?? 1,
    message: typical?.message ?? '',
  };
}

/** The common part of all settings. */
type Rehearsal = {
  readonly copy: SandboxSnapshot;
  readonly orderOf: (setting: PlanSetting, firstNodes: readonly string[]) => PlanSimulation;
  readonly onProgress: NonNullable<PlanRehearsalOptions['onProgress']>;
};

async function played(
  { copy, orderOf, onProgress }: Rehearsal,
  setting: PlanSetting,
  firstNodes: readonly string[],
  seed: number,
): Promise<PlanRun> {
  const { sandboxOptions, workloads, unloaded } = copy;
  const report = (progress: PlanRunProgress): void => onProgress(setting, seed, progress);
  return simulatePlan(sandboxOptions, orderOf(setting, firstNodes), {
    seed,
    workloads,
    unloaded,
    onProgress: report,
  });
}

function movedAgain({ leaves }: PlanRun): number {
  return leaves.filter(({ again }) => again).length;
}

/**
 * Returns the better of two orders: the one that moves fewer pods more than once, by one run of
 * each; if equal, that of the names.
 */
async function cheaper(
  rehearsal: Rehearsal,
  setting: PlanSetting,
  candidates: readonly string[],
): Promise<readonly string[]> {
  if (candidates.length === 0) return [];
  const [plain, other] = [
    await played(rehearsal, setting, [], 1),
    await played(rehearsal, setting, candidates, 1),
  ];
  return movedAgain(other) < movedAgain(plain) ? candidates : [];
}

/**
 * Simulates a plan on a copy of a cluster, with the operator itself, in simulated time: once for
 * each setting and seed. Contacts and changes nothing outside this process. A plan with a current
 * run continues from there. Throws a PlannedMaintenanceError when the API would refuse the plan, or
 * when it cannot be simulated.
 */
export async function rehearsePlan(
  options: PlanRehearsalOptions,
): Promise<readonly PlanForecast[]> {
  const { plan, settings, times, seeds, horizonMs, onProgress = () => {}, ...rest } = options;
  const playable = playablePlan(plan);
  const soFar = runSoFar(plan, rest.copy);
  const targets = nodesOfPlan(plan, rest.copy);
  const copy = new SandboxSnapshot(
    { ...rest, copy: withoutHolds(rest.copy, playable.name, soFar), readsPlans: true },
    targets,
  );
  const orderOf = (setting: PlanSetting, firstNodes: readonly string[]): PlanSimulation => ({
    plan: withSetting(playable, setting),
    times,
    horizonMs,
    soFar,
    firstNodes,
  });
  const rehearsal = { copy, orderOf, onProgress };
  const candidates = isByCost(plan) ? minPodsFirst(plan, rest.copy, targets) : [];
  const forecasts: PlanForecast[] = [];
  for (const setting of settings) {
    const firstNodes = await cheaper(rehearsal, setting, candidates);
    const runs: PlanRun[] = [];
    for (let seed = 1; seed <= seeds; seed += 1)
      runs.push(await played(rehearsal, setting, firstNodes, seed));
    const about = copy.about(runs);
    const forecast = forecastOf(aligned(runs), {
      ...about,
      notes: [...playable.notes, ...notesOf(soFar), ...about.notes],
    });
    const isComplete = runs.every(({ phase, left }) => phase === 'Complete' && left === 0);
    const part = { ...planPart(playable, runs, forecast.typical.seed), setting, times, firstNodes };
    forecasts.push({ ...forecast, finishes: forecast.finishes && isComplete, plan: part });
  }
  return forecasts;
}
