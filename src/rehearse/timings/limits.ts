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
  /** Pods that were made and became ready in a second, as long as they came faster than that; missing where it says nothing. */
  readonly podsPerSecond?: number;
};

type PerSecond = ReadonlyMap<number, number>;

const perSecond = (times: readonly number[]): PerSecond => {
  const counts = new Map<number, number>();
  for (const time of times) {
    const second = Math.floor(time);
    if (!Number.isNaN(second)) counts.set(second, (counts.get(second) ?? 0) + 1);
  }
  return counts;
};

/** Longer than this no burst is looked at: what it says, its densest minute says. */
const maxSeconds = 60;

/** More in some whole seconds than a token bucket lets through: the limit is another one. */
const passes = (counts: PerSecond, { qps, burst }: ClientLimit): boolean =>
  [...counts.keys()].some(first => {
    let sum = 0;
    for (let seconds = 1; seconds <= maxSeconds; seconds += 1) {
      sum += counts.get(first + seconds - 1) ?? 0;
      if (sum > burst + qps * seconds) return true;
    }
    return false;
  });

const conditionAt = (pod: JsonObject, type: string): number =>
  Date.parse(
    text(
      objects(at(pod, 'status', 'conditions')).find(one => one['type'] === type && one['status'] === 'True'),
      'lastTransitionTime',
    ),
  ) / 1000;

const createdAt = (pod: JsonObject): number => Date.parse(text(pod, 'metadata', 'creationTimestamp')) / 1000;

type PodTimes = { readonly created: number; readonly scheduled: number; readonly ready: number };

const timesOf = (pod: JsonObject): PodTimes => ({
  created: createdAt(pod),
  scheduled: conditionAt(pod, 'PodScheduled'),
  ready: conditionAt(pod, 'Ready'),
});

/** Longer than this after their creation pods are ready for the second time. */
const maxStart = 120;

/** Those that were created one after the other with no second between them in which none was. */
const bursts = (pods: readonly PodTimes[]): readonly (readonly PodTimes[])[] => {
  const all: PodTimes[][] = [];
  for (const pod of pods.toSorted((one, other) => one.created - other.created)) {
    const last = all.at(-1);
    const before = last?.at(-1);
    if (last === undefined || before === undefined || pod.created - before.created > 1) all.push([pod]);
    else last.push(pod);
  }
  return all;
};

/** Where in its second a share of the sorted seconds ends, as if all of a second came evenly. */
const quantile = (sorted: readonly number[], share: number): number => {
  const index = Math.max(0, Math.ceil(sorted.length * share) - 1);
  const second = sorted[index] ?? 0;
  const within = sorted.filter(one => one === second).length;
  return second + (index + 1 - sorted.indexOf(second)) / within;
};

/** Pods that differ in how long they start say more of themselves than of the control plane. */
const maxSlowSeconds = 10;

const middle = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length / 2)] ?? 0;

const numbers = (all: readonly number[]): readonly number[] => all.toSorted((one, other) => one - other);

/** Nine in ten of the pods of the largest burst, by the time from its first pod until they were ready, without the time that one pod takes to start. */
const podsPerSecond = (pods: readonly PodTimes[], limit: ClientLimit): number | undefined => {
  const fast = bursts(pods).filter(burst => passes(perSecond(burst.map(({ created }) => created)), limit));
  const largest = fast.reduce<readonly PodTimes[]>((most, one) => (one.length > most.length ? one : most), []);
  const starts = numbers(largest.map(({ scheduled, ready }) => ready - scheduled));
  if (largest.length === 0 || middle(starts) > maxSlowSeconds) return undefined;
  const from = Math.min(...largest.map(({ created }) => created)) + 0.5;
  const share = 0.9;
  const seconds = quantile(numbers(largest.map(({ ready }) => ready)), share) - from - ((starts[0] ?? 0) + 0.5);
  return (share * largest.length) / Math.max(1, seconds);
};

/**
 * Writes that a pod brings about until it is ready, with those of its ReplicaSet, Deployment and budget: pod, binding, two events, status, and of the others as many as
 * come when there are more than are done at once; counted in audit logs.
 */
const writesPerPod = 7;

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
  const scheduled = perSecond(pods.map(pod => conditionAt(pod, 'PodScheduled')));
  const scheduler = passes(scheduled, defaultLimits.scheduler) ? undefined : defaultLimits.scheduler;
  const isFast = passes(perSecond(ofSets.map(createdAt)), defaultLimits.controllers);
  const times = ofSets.map(timesOf).filter(({ created, ready }) => ready - created < maxStart);
  const rate = isFast ? podsPerSecond(times, defaultLimits.controllers) : undefined;
  const controllers = given ?? (isFast ? undefined : defaultLimits.controllers);
  return {
    limits: {
      ...(controllers && { controllers }),
      ...(scheduler && { scheduler }),
      ...(rate !== undefined && { writeMs: 1000 / rate / writesPerPod }),
    },
    from: {
      source: given ? 'given' : isFast ? 'learned' : 'default',
      ...(controllers && { qps: controllers.qps }),
      ...(rate !== undefined && { podsPerSecond: Math.round(rate) }),
    },
  };
};
