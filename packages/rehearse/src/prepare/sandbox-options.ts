import type { JsonObject } from '@drydock/apimachinery';
import { at, part, text } from '@drydock/kube-sim';
import type { ClientLimit } from '@drydock/kube-sim/controllers';
import type { RehearsalForecast } from '../report/forecast.ts';
import type { SimulatedRun } from '../simulate/run.ts';
import type { SandboxOptions } from '../simulate/sandbox.ts';
import { type ClusterSnapshot, ofKind } from '../snapshot/kept.ts';
import {
  controllerRef,
  nameOf,
  namespaceOf,
  uidOf,
  Workloads,
  workloadText,
} from '../snapshot/workloads.ts';
import { type Defaults, PodTimings } from '../timings/learn.ts';
import { learnLimits } from '../timings/limits.ts';
import { prepared, unhealthyPodsIn, unique } from './prepare.ts';
import { defaultFewPods, narrowed, reduce } from './relevant-pods.ts';

/**
 * Limit of pods that a rehearsal creates beyond those of the copy, for all workloads together. A
 * workload may request two thousand million pods, which no cluster ever creates, and which would
 * end the rehearsal.
 */
export const maxMissingPods = 20_000;

/** Field with the wanted number of pods, by kind. */
const countFields: Readonly<Record<string, string>> = {
  Deployment: 'replicas',
  ReplicaSet: 'replicas',
  StatefulSet: 'replicas',
  Job: 'parallelism',
};

type Asked = { readonly object: JsonObject; readonly wanted: number; readonly there: number };

/**
 * Returns the number of pods of each controller, by its UID: those of a ReplicaSet count for its
 * Deployment too.
 */
function podsByController(all: readonly JsonObject[]): ReadonlyMap<string, number> {
  const above = new Map(
    all
      .filter(one => one['kind'] === 'ReplicaSet')
      .map(set => [uidOf(set), text(controllerRef(set), 'uid')]),
  );
  const counts = new Map<string, number>();
  for (const pod of all) {
    const uid = pod['kind'] === 'Pod' ? text(controllerRef(pod), 'uid') : '';
    for (const one of [uid, above.get(uid) ?? ''])
      if (one !== '') counts.set(one, (counts.get(one) ?? 0) + 1);
  }
  return counts;
}

function wantedBy(object: JsonObject, nodes: number): number {
  const { kind } = object;
  if (kind === 'DaemonSet') return nodes;
  const field = typeof kind === 'string' ? countFields[kind] : undefined;
  const count = field === undefined ? 0 : Number(at(object, 'spec', field) ?? 1);
  return Number.isFinite(count) ? count : Number.MAX_SAFE_INTEGER;
}

function limited(
  { object, there }: Asked,
  nodesOf: (object: JsonObject) => readonly string[],
): JsonObject {
  if (object['kind'] === 'DaemonSet') return narrowed(object, nodesOf(object));
  return {
    ...object,
    spec: { ...part(object, 'spec'), [countFields[text(object, 'kind')] ?? 'replicas']: there },
  };
}

function noteOf({ object, wanted, there }: Asked): string {
  const workload = workloadText({
    kind: text(object, 'kind'),
    namespace: namespaceOf(object),
    name: nameOf(object),
  });
  return `${workload} asks for ${wanted} pods and has ${there}: no more are made, for a rehearsal makes ${maxMissingPods} missing pods at most`;
}

/**
 * Returns the objects, with workloads that request too many pods reduced to their present size, and
 * a sentence for each of these. Workloads that miss the fewest pods keep theirs.
 */
export function bounded(all: readonly JsonObject[]): {
  readonly objects: readonly JsonObject[];
  readonly notes: readonly string[];
} {
  const counts = podsByController(all);
  const nodes = all.filter(one => one['kind'] === 'Node').length;
  const wanted = all
    .map(
      (object): Asked => ({
        object,
        wanted: wantedBy(object, nodes),
        there: counts.get(uidOf(object)) ?? 0,
      }),
    )
    .filter(({ wanted, there }) => wanted > there)
    .toSorted((one, other) => one.wanted - one.there - (other.wanted - other.there));
  let left = maxMissingPods;
  const tooLarge = new Map<JsonObject, Asked>();
  for (const one of wanted) {
    const missing = one.wanted - one.there;
    if (missing > left) tooLarge.set(one.object, one);
    // A ReplicaSet's pods are those of its Deployment.
    else if (one.object['kind'] !== 'ReplicaSet' || controllerRef(one.object) === undefined)
      left -= missing;
  }
  if (tooLarge.size === 0) return { objects: all, notes: [] };
  const nodesOf = (set: JsonObject): readonly string[] =>
    all
      .filter(pod => pod['kind'] === 'Pod' && text(controllerRef(pod), 'uid') === uidOf(set))
      .map(pod => text(pod, 'spec', 'nodeName'));
  const objects = all.map(object => {
    const one = tooLarge.get(object);
    return one === undefined ? object : limited(one, nodesOf);
  });
  return { objects, notes: [...tooLarge.values()].map(noteOf) };
}

/** Common options of all rehearsals. */
export type CopyOptions = Pick<SandboxOptions, 'definitions' | 'adapters' | 'operate'> & {
  readonly copy: ClusterSnapshot;
  readonly defaults?: Defaults;
  /** Known rate limit of the controllers' clients, instead of the one that the copy shows. */
  readonly clientLimit?: ClientLimit;
  /** Number of pods above which a copy is reduced to the relevant ones. */
  readonly fewPods?: number;
  /** Whether plans and their records are read, too. */
  readonly readsPlans?: boolean;
};

function ofPlans(leftOut: string): boolean {
  return leftOut.startsWith('maintenanceplan');
}

/** Limit of named objects that could not be loaded. */
const maxNamed = 5;

/** Kinds of plans, which are removed from the copy: the caller adds what is rehearsed. */
const unplayed = new Set(['MaintenancePlan', 'MaintenancePlanRecord', 'MaintenanceApproval']);

/** A prepared copy, with the facts about it for the forecast. */
export class SandboxSnapshot {
  readonly sandboxOptions: SandboxOptions;
  readonly workloads: Workloads;
  readonly #copy: ClusterSnapshot;
  readonly #learned: PodTimings;
  readonly #controlPlane: RehearsalForecast['learned']['controlPlane'];
  readonly #readsPlans: boolean;
  readonly #tooLarge: readonly string[];
  readonly #unloaded = new Set<string>();

  /** Prepares a copy; `targets` are the nodes that may be taken out of service. */
  constructor(
    {
      copy,
      defaults,
      clientLimit,
      fewPods = defaultFewPods,
      readsPlans = false,
      ...rest
    }: CopyOptions,
    targets: ReadonlySet<string>,
  ) {
    const { snapshotTime } = copy;
    this.#copy = copy;
    this.#readsPlans = readsPlans;
    this.workloads = new Workloads(copy.objects);
    this.#learned = new PodTimings(copy.objects, this.workloads, defaults);
    const { limits, from } = learnLimits(copy.objects, clientLimit);
    this.#controlPlane = from;
    const played = unique(copy.objects).filter(one => !unplayed.has(text(one, 'kind')));
    const { objects: affordable, notes } = bounded(reduce(played, targets, fewPods));
    this.#tooLarge = notes;
    const objects = prepared(affordable, snapshotTime);
    const { definitions, adapters, operate } = rest;
    const sick = unhealthyPodsIn(copy.objects, snapshotTime);
    this.sandboxOptions = {
      definitions,
      adapters,
      operate,
      snapshotTime,
      learned: this.#learned,
      limits,
      objects,
      sick,
    };
  }

  /** Records an object that a run could not load. */
  readonly unloaded = (what: string): void => void this.#unloaded.add(what);

  /** Returns the facts about the copy for a forecast of these runs. */
  about(
    runs: readonly SimulatedRun[],
  ): Pick<RehearsalForecast, 'snapshotTime' | 'copied' | 'learned' | 'notes'> {
    const moved = new Set(runs.flatMap(({ levels }) => levels.map(({ workload }) => workload)));
    const learned = { ...this.#learned.from([...moved].sort()), controlPlane: this.#controlPlane };
    return {
      snapshotTime: this.#copy.snapshotTime.toString(),
      copied: this.#counts(),
      learned,
      notes: this.#notes(),
    };
  }

  #counts(): RehearsalForecast['copied'] {
    const count = (kind: string, objects: readonly JsonObject[] = this.#copy.objects): number =>
      ofKind(objects, kind).length;
    const loadedPods = count('Pod', this.sandboxOptions.objects);
    return {
      nodes: count('Node'),
      pods: count('Pod'),
      budgets: count('PodDisruptionBudget'),
      loadedPods,
    };
  }

  #notes(): readonly string[] {
    const named = [...this.#unloaded].sort();
    const rest =
      named.length > maxNamed
        ? [`${named.length - maxNamed} more objects could not be taken over`]
        : [];
    return [
      ...this.#copy.leftOut
        .filter(what => this.#readsPlans || !ofPlans(what))
        .map(what => `not in the copy: ${what}`),
      ...named.slice(0, maxNamed).map(what => `could not be taken over: ${what}`),
      ...rest,
      ...this.#tooLarge.slice(0, maxNamed),
      ...(this.#tooLarge.length > maxNamed
        ? [
            `${this.#tooLarge.length - maxNamed} more workloads ask for more pods than a rehearsal makes`,
          ]
        : []),
    ];
  }
}
