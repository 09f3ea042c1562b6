import type { JsonObject } from '@drydock/apimachinery';
import { text } from '@drydock/kube-sim';
import type { ClientLimit } from '@drydock/kube-sim/controllers';
import type { RehearsalForecast } from '../report/forecast.ts';
import type { SimulatedRun } from '../simulate/run.ts';
import type { SandboxOptions } from '../simulate/sandbox.ts';
import { type ClusterSnapshot, ofKind } from '../snapshot/cluster-snapshot.ts';
import { Workloads } from '../snapshot/workloads.ts';
import { type Defaults, PodTimings } from '../timings/learn.ts';
import { learnLimits } from '../timings/limits.ts';
import { bounded } from './bounded.ts';
import { prepared, unhealthyPodsIn, unique } from './prepare.ts';
import { defaultFewPods, reduce } from './reduce.ts';

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
