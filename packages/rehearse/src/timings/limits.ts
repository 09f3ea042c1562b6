import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, text } from '@drydock/kube-sim';
import { type ClientLimit, defaultLimits, type RequestLimits } from '@drydock/kube-sim/controllers';
import { ofKind } from '../snapshot/kept.ts';
import { controllerRef } from '../snapshot/workloads.ts';

/**
 * Speed of a copy's control plane, estimated from its pods' times: limits of the controllers'
 * clients, and of the API server.
 */

/**
 * Source of the limits, with the rate of the controllers' clients, or the observed pace of pods
 * that came faster.
 */
export type LimitsFrom = {
  readonly source: 'default' | 'given' | 'learned';
  /**
   * Requests a second of each controller; missing where pods came faster than Kubernetes' defaults
   * allow.
   */
  readonly qps?: number;
  /**
   * Pods a second that were created and became ready when they came faster than that; missing when
   * unknown.
   */
  readonly podsPerSecond?: number;
};

type PerSecond = ReadonlyMap<number, number>;

function perSecond(times: readonly number[]): PerSecond {
  const counts = new Map<number, number>();
  for (const time of times) {
    const second = Math.floor(time);
    if (!Number.isNaN(second)) counts.set(second, (counts.get(second) ?? 0) + 1);
  }
  return counts;
}

/** Longest window of a burst in seconds: its densest minute has all the information. */
const maxSeconds = 60;

/**
 * Returns whether more pods came in some whole seconds than a token bucket allows: then the limit
 * is another one.
 */
function passes(counts: PerSecond, { qps, burst }: ClientLimit): boolean {
  return [...counts.keys()].some(first => {
    let sum = 0;
    for (let seconds = 1; seconds <= maxSeconds; seconds += 1) {
      sum += counts.get(first + seconds - 1) ?? 0;
      if (sum > burst + qps * seconds) return true;
    }
    return false;
  });
}

function conditionAt(pod: JsonObject, type: string): number {
  return (
    Date.parse(
      text(
        objects(at(pod, 'status', 'conditions')).find(
          one => one['type'] === type && one['status'] === 'True',
        ),
        'lastTransitionTime',
      ),
    ) / 1000
  );
}

function createdAt(pod: JsonObject): number {
  return Date.parse(text(pod, 'metadata', 'creationTimestamp')) / 1000;
}

type PodTimes = { readonly created: number; readonly scheduled: number; readonly ready: number };

function timesOf(pod: JsonObject): PodTimes {
  return {
    created: createdAt(pod),
    scheduled: conditionAt(pod, 'PodScheduled'),
    ready: conditionAt(pod, 'Ready'),
  };
}

/** Seconds after its creation beyond which a pod's readiness is not its first. */
const maxStart = 120;

/** Groups pods whose creations follow each other without an empty second in between. */
function bursts(pods: readonly PodTimes[]): readonly (readonly PodTimes[])[] {
  const all: PodTimes[][] = [];
  for (const pod of pods.toSorted((one, other) => one.created - other.created)) {
    const last = all.at(-1);
    const before = last?.at(-1);
    if (last === undefined || before === undefined || pod.created - before.created > 1)
      all.push([pod]);
    else last.push(pod);
  }
  return all;
}

/**
 * Returns where in its second a share of the sorted seconds ends, as if all of a second came
 * evenly.
 */
function quantile(sorted: readonly number[], share: number): number {
  const index = Math.max(0, Math.ceil(sorted.length * share) - 1);
  const second = sorted[index] ?? 0;
  const within = sorted.filter(one => one === second).length;
  return second + (index + 1 - sorted.indexOf(second)) / within;
}

/**
 * Limit in seconds of the median start time: slower starts depend on the pods rather than on the
 * control plane.
 */
const maxSlowSeconds = 10;

function middle(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function numbers(all: readonly number[]): readonly number[] {
  return all.toSorted((one, other) => one - other);
}

/**
 * Returns the pace of the largest burst: nine in ten of its pods, by the time from the first pod
 * until they were ready, less the time that one pod takes to start.
 */
function podsPerSecond(pods: readonly PodTimes[], limit: ClientLimit): number | undefined {
  const fast = bursts(pods).filter(burst =>
    passes(perSecond(burst.map(({ created }) => created)), limit),
  );
  const largest = fast.reduce<readonly PodTimes[]>(
    (most, one) => (one.length > most.length ? one : most),
    [],
  );
  const starts = numbers(largest.map(({ scheduled, ready }) => ready - scheduled));
  if (largest.length === 0 || middle(starts) > maxSlowSeconds) return undefined;
  const from = Math.min(...largest.map(({ created }) => created)) + 0.5;
  const share = 0.9;
  const seconds =
    quantile(numbers(largest.map(({ ready }) => ready)), share) - from - ((starts[0] ?? 0) + 0.5);
  return (share * largest.length) / Math.max(1, seconds);
}

/**
 * Number of writes for a pod until it is ready, including those of its ReplicaSet, Deployment and
 * budget: pod, binding, two events, status, and as many of the others as occur under load; counted
 * in audit logs.
 */
const writesPerPod = 7;

/**
 * Returns the limits for simulating a copy: the given ones; else Kubernetes' defaults, unless its
 * pods came faster than these allow. Then their pace is that of the API server and its etcd.
 */
export function learnLimits(
  all: readonly JsonObject[],
  given?: ClientLimit,
): { readonly limits: RequestLimits; readonly from: LimitsFrom } {
  const pods = ofKind(all, 'Pod');
  const ofSets = pods.filter(pod => controllerRef(pod)?.['kind'] === 'ReplicaSet');
  const scheduled = perSecond(pods.map(pod => conditionAt(pod, 'PodScheduled')));
  const scheduler = passes(scheduled, defaultLimits.scheduler)
    ? undefined
    : defaultLimits.scheduler;
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
}
