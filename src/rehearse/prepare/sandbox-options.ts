import type { JsonObject } from '../../core/json.ts';
import type { ClientLimit } from '../../embedded/controllers/request-limits.ts';
import { text } from '../../embedded/object.ts';
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

/** What a rehearsal is made of, whatever is rehearsed. */
export type CopyOptions = Pick<SandboxOptions, 'definitions' | 'adapters' | 'operate'> & {
  readonly copy: ClusterSnapshot;
  readonly defaults?: Defaults;
  /** What the clients of the cluster's controllers are known to be allowed, instead of what the copy shows. */
  readonly clientLimit?: ClientLimit;
  /** A copy with more pods than this is played without those that have no say. */
  readonly fewPods?: number;
  /** Plans and their records are looked at, too. */
  readonly readsPlans?: boolean;
};

const ofPlans = (leftOut: string): boolean => leftOut.startsWith('maintenanceplan');

/** Of what could not be taken over, so many are named. */
const maxNamed = 5;

/** Plans of the copy do nothing in a rehearsal: what is rehearsed comes from who rehearses it. */
const unplayed = new Set(['MaintenancePlan', 'MaintenancePlanRecord', 'MaintenanceApproval']);

/** A copy that is ready to be played, and what its forecast says of it. */
export class SandboxSnapshot {
  readonly sandboxOptions: SandboxOptions;
  readonly workloads: Workloads;
  readonly #copy: ClusterSnapshot;
  readonly #learned: PodTimings;
  readonly #controlPlane: RehearsalForecast['learned']['controlPlane'];
  readonly #readsPlans: boolean;
  readonly #tooLarge: readonly string[];
  readonly #unloaded = new Set<string>();

  /** `targets`: the nodes that may be taken out of service. */
  constructor(
    { copy, defaults, clientLimit, fewPods = defaultFewPods, readsPlans = false, ...rest }: CopyOptions,
    targets: ReadonlySet<string>,
  ) {
    const { takenAt } = copy;
    this.#copy = copy;
    this.#readsPlans = readsPlans;
    this.workloads = new Workloads(copy.objects);
    this.#learned = new PodTimings(copy.objects, this.workloads, defaults);
    const { limits, from } = learnLimits(copy.objects, clientLimit);
    this.#controlPlane = from;
    const played = unique(copy.objects).filter(one => !unplayed.has(text(one, 'kind')));
    const { objects: affordable, notes } = bounded(reduce(played, targets, fewPods));
    this.#tooLarge = notes;
    const objects = prepared(affordable, takenAt);
    const { definitions, adapters, operate } = rest;
    const sick = unhealthyPodsIn(copy.objects, takenAt);
    this.sandboxOptions = { definitions, adapters, operate, takenAt, learned: this.#learned, limits, objects, sick };
  }

  /** To be told of what a run could not take over. */
  readonly unloaded = (what: string): void => void this.#unloaded.add(what);

  /** What a forecast of these runs says of the copy. */
  about(runs: readonly SimulatedRun[]): Pick<RehearsalForecast, 'takenAt' | 'copied' | 'learned' | 'notes'> {
    const moved = new Set(runs.flatMap(({ levels }) => levels.map(({ workload }) => workload)));
    const learned = { ...this.#learned.from([...moved].sort()), controlPlane: this.#controlPlane };
    return { takenAt: this.#copy.takenAt.toString(), copied: this.#counts(), learned, notes: this.#notes() };
  }

  #counts(): RehearsalForecast['copied'] {
    const count = (kind: string, objects: readonly JsonObject[] = this.#copy.objects): number => ofKind(objects, kind).length;
    const loadedPods = count('Pod', this.sandboxOptions.objects);
    return { nodes: count('Node'), pods: count('Pod'), budgets: count('PodDisruptionBudget'), loadedPods };
  }

  #notes(): readonly string[] {
    const named = [...this.#unloaded].sort();
    const rest = named.length > maxNamed ? [`${named.length - maxNamed} more objects could not be taken over`] : [];
    return [
      ...this.#copy.leftOut.filter(what => this.#readsPlans || !ofPlans(what)).map(what => `not in the copy: ${what}`),
      ...named.slice(0, maxNamed).map(what => `could not be taken over: ${what}`),
      ...rest,
      ...this.#tooLarge.slice(0, maxNamed),
      ...(this.#tooLarge.length > maxNamed
        ? [`${this.#tooLarge.length - maxNamed} more workloads ask for more pods than a rehearsal makes`]
        : []),
    ];
  }
}
