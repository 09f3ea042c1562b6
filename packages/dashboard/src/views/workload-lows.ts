import type { Pod } from '@drydock/core/pod';
import type { WorkloadView } from '../scene.ts';
import { podPhase, workloadOf } from './views.ts';

/** Limit of shown workloads; no user reads a longer list. */
const maxShown = 5;
/** Limit of remembered lows; beyond it, the least severe are dropped. */
const maxKept = 100;

/** Current pods of a workload. */
type Count = {
  readonly kind: string;
  ready: number;
  wanted: number;
  leaving: number;
  isWhole: boolean;
};

/** Kinds of owners without a fixed number of pods. */
const uncounted: ReadonlySet<string> = new Set(['Pod', 'Job', 'Node', 'DaemonSet']);

type Low = WorkloadView['lowest'];

function share({ ready, replicas }: Pick<Low, 'ready' | 'replicas'>): number {
  return ready / replicas;
}

function byShare(
  [oneKey, one]: readonly [string, Low],
  [otherKey, other]: readonly [string, Low],
): number {
  return share(one) - share(other) || other.replicas - one.replicas || (oneKey < otherKey ? -1 : 1);
}

/**
 * Lowest number of ready pods of each workload since the start: from pods alone, because workloads
 * are not read for a page. A workload counts once all of its pods were ready; one that recovers
 * with fewer pods was scaled down, and its low is dropped.
 */
export class LowestAvailability {
  readonly #counts = new Map<string, Count>();
  readonly #lows = new Map<string, Low>();
  readonly #touched = new Set<string>();

  /** Replaces a pod; undefined means none. */
  changed(before: Pod | undefined, now: Pod | undefined): void {
    if (before !== undefined) this.#add(before, -1);
    if (now !== undefined) this.#add(now, 1);
  }

  /** Evaluates the changes since the last call, as of this time. */
  judge(at: string): void {
    for (const key of this.#touched) this.#judge(key, at);
    this.#touched.clear();
    if (this.#lows.size <= maxKept) return;
    for (const [key] of [...this.#lows].sort(byShare).slice(maxKept)) this.#lows.delete(key);
  }

  /** Returns the worst lows, with the current state of each. */
  worst(): readonly WorkloadView[] {
    return [...this.#lows]
      .sort(byShare)
      .slice(0, maxShown)
      .map(([key, lowest]) => {
        const { kind = '', ready = 0, wanted = 0 } = this.#counts.get(key) ?? {};
        return { key, kind, ready, replicas: wanted, lowest };
      });
  }

  #add(pod: Pod, by: 1 | -1): void {
    const phase = podPhase(pod);
    const { kind, workload } = workloadOf(pod);
    if (phase === 'done' || pod.mirror || uncounted.has(kind)) return;
    const count = this.#counts.get(workload) ?? {
      kind,
      ready: 0,
      wanted: 0,
      leaving: 0,
      isWhole: false,
    };
    this.#counts.set(workload, count);
    if (phase === 'leaving') count.leaving += by;
    else count.wanted += by;
    if (phase === 'running') count.ready += by;
    this.#touched.add(workload);
  }

  #judge(key: string, at: string): void {
    const count = this.#counts.get(key);
    if (count === undefined) return;
    const { ready, wanted, leaving } = count;
    if (wanted + leaving === 0) {
      this.#counts.delete(key);
      this.#lows.delete(key);
      return;
    }
    const low = this.#lows.get(key);
    // A terminating pod counts as wanted until its successor is created.
    const replicas = Math.max(wanted, ready + leaving);
    if (ready === replicas) {
      count.isWhole = true;
      if (low !== undefined && replicas < low.replicas) this.#lows.delete(key);
    } else if (count.isWhole && (low === undefined || share({ ready, replicas }) < share(low)))
      this.#lows.set(key, { ready, replicas, at });
  }
}
