import type { JsonObject } from '../../core/json.ts';
import { type ClientLimit, defaultLimits, type RequestLimits } from '../../embedded/controllers/request-limits.ts';
import { at, objects, text } from '../../embedded/object.ts';
import { ofKind } from '../snapshot/cluster-snapshot.ts';
import { controllerRef } from '../snapshot/workloads.ts';

/** How fast the control plane of a copy is: what its pods' times say of the clients of its controllers, and of its API server. */

/** What is known: the limit of the controllers' clients, or that the copy has seen them pass it, and how fast pods came then. */
export type LimitsFrom = {
  readonly source: 'default' | 'given' | 'learned';
  /** Requests a second of each controller; missing where pods came faster than Kubernetes' defaults allow. */
  readonly qps?: number;
  /** Pods that found their nodes in one second, at most; missing where it says nothing. */
  readonly podsPerSecond?: number;
};

type PerSecond = ReadonlyMap<number, number>;

const perSecond = (times: readonly string[]): PerSecond => {
  const counts = new Map<number, number>();
  for (const time of times) {
    const second = Math.floor(Date.parse(time) / 1000);
    if (!Number.isNaN(second)) counts.set(second, (counts.get(second) ?? 0) + 1);
  }
  return counts;
};

/** Longer than this no burst is looked at: what it says, its densest minute says. */
const longestSeconds = 60;

/** More in some whole seconds than a token bucket lets through: the limit is another one. */
const passes = (counts: PerSecond, { qps, burst }: ClientLimit): boolean =>
  [...counts.keys()].some(first => {
    let sum = 0;
    for (let seconds = 1; seconds <= longestSeconds; seconds += 1) {
      sum += counts.get(first + seconds - 1) ?? 0;
      if (sum > burst + qps * seconds) return true;
    }
    return false;
  });

/**
 * The most that came in a second in which as much as that was still to come: a burst that ends within its first second may have had nothing to wait for.
 * Half as many in the second before or after it show that it had.
 */
const fastest = (counts: PerSecond): number | undefined => {
  const [second, count] = [...counts].reduce((most, one) => (one[1] > most[1] ? one : most), [0, 0]);
  const beside = Math.max(counts.get(second - 1) ?? 0, counts.get(second + 1) ?? 0);
  return count > 0 && beside * 2 >= count ? count : undefined;
};

const scheduledAt = (pod: JsonObject): string =>
  text(
    objects(at(pod, 'status', 'conditions')).find(one => one['type'] === 'PodScheduled' && one['status'] === 'True'),
    'lastTransitionTime',
  );

/** Writes that a pod brings about until it has found its node, with what its ReplicaSet, Deployment and budget write meanwhile: counted in audit logs. */
const writesPerPod = 5;

/**
 * The limits to play a copy with: as given; else Kubernetes' defaults, unless its pods came faster than these allow. Then the pace at which they came is that of the
 * API server and its etcd.
 */
export const learnLimits = (
  all: readonly JsonObject[],
  given?: ClientLimit,
): { readonly limits: RequestLimits; readonly from: LimitsFrom } => {
  const pods = ofKind(all, 'Pod');
  const ofSets = pods.filter(pod => controllerRef(pod)?.['kind'] === 'ReplicaSet');
  const scheduled = perSecond(pods.map(scheduledAt));
  const made = perSecond(ofSets.map(pod => text(pod, 'metadata', 'creationTimestamp')));
  const scheduler = passes(scheduled, defaultLimits.scheduler) ? undefined : defaultLimits.scheduler;
  const isFast = passes(made, defaultLimits.controllers);
  const rate = isFast ? fastest(scheduled) : undefined;
  const controllers = given ?? (isFast ? undefined : defaultLimits.controllers);
  return {
    limits: { ...(controllers && { controllers }), ...(scheduler && { scheduler }), ...(rate && { writeMs: 1000 / rate / writesPerPod }) },
    from: {
      source: given ? 'given' : isFast ? 'learned' : 'default',
      ...(controllers && { qps: controllers.qps }),
      ...(rate && { podsPerSecond: rate }),
    },
  };
};
