import type { JsonObject } from '@drydock/apimachinery';
import { errorText } from '@drydock/utils';
import { at, objects, part, type Stored, strings, without } from '../../object.ts';
import { controllerOf, isDeleting, isReady } from '../pods.ts';
import { scaled } from './scaled.ts';

/**
 * The status of a PodDisruptionBudget (k8s.io/kubernetes/pkg/controller/disruption/disruption.go),
 * as a pure function.
 */

/** Milliseconds after which an evicted pod that still exists counts again (DeletionTimeout). */
const deletionTimeoutMs = 2 * 60_000;

/**
 * Returns the replicas of a pod's controller; undefined when it does not exist. Throws when it
 * cannot be read.
 */
export type ScaleOf = (
  pod: Stored,
) => { readonly uid: string; readonly replicas: number } | undefined;

export type BudgetStatus = {
  readonly status: JsonObject;
  /** Reason why the expected number of pods is unknown. */
  readonly failure?: string;
  /** Whether some pods have no controller, although the budget depends on one. */
  readonly unmanaged?: true;
  /** Time of the next check, in milliseconds since the epoch: a disrupted pod may count again. */
  readonly againMs?: number;
};

type Expected = { readonly expected: number; readonly desired: number };

function expectedScale(pods: readonly Stored[], scaleOf: ScaleOf): number {
  const scales = new Map<string, number>();
  const asked = new Set<string>();
  for (const pod of pods) {
    const controller = controllerOf(pod);
    if (controller === undefined || asked.has(controller.uid)) continue;
    asked.add(controller.uid);
    const scale = scaleOf(pod);
    if (scale === undefined) throw new Error(`found no controllers for pod "${pod.metadata.name}"`);
    scales.set(scale.uid, scale.replicas);
  }
  return [...scales.values()].reduce((sum, replicas) => sum + replicas, 0);
}

function share(field: string, value: Parameters<typeof scaled>[0], whole: number): number {
  const found = scaled(value, whole, 'up');
  if (found === undefined) throw new Error(`invalid value for ${field}: ${JSON.stringify(value)}`);
  return found;
}

/** Returns the expected pods. Throws when they are unknown; the budget then allows nothing. */
function expectedOf(budget: Stored, pods: readonly Stored[], scaleOf: ScaleOf): Expected {
  const { maxUnavailable, minAvailable } = part(budget, 'spec');
  if (maxUnavailable !== undefined && maxUnavailable !== null) {
    const expected = expectedScale(pods, scaleOf);
    return {
      expected,
      desired: Math.max(0, expected - share('maxUnavailable', maxUnavailable, expected)),
    };
  }
  if (typeof minAvailable === 'number') return { expected: pods.length, desired: minAvailable };
  if (minAvailable === undefined || minAvailable === null) return { expected: 0, desired: 0 };
  const expected = expectedScale(pods, scaleOf);
  return { expected, desired: share('minAvailable', minAvailable, expected) };
}

/**
 * Returns pods whose eviction was granted and that still exist, except terminating ones and those
 * beyond the timeout.
 */
function disruptedNow(
  budget: Stored,
  pods: readonly Stored[],
  nowMs: number,
): { readonly map: JsonObject; readonly againMs?: number } {
  const before = strings(at(budget, 'status', 'disruptedPods'));
  const map: Record<string, string> = {};
  let againMs: number | undefined;
  for (const pod of pods) {
    const since = before[pod.metadata.name];
    if (isDeleting(pod) || since === undefined) continue;
    const end = Date.parse(since) + deletionTimeoutMs;
    if (end < nowMs) continue;
    map[pod.metadata.name] = since;
    againMs = Math.min(againMs ?? end, end);
  }
  return { map, ...(againMs !== undefined && { againMs }) };
}

function healthyAmong(pods: readonly Stored[], disrupted: JsonObject): number {
  return pods.filter(
    pod => !isDeleting(pod) && disrupted[pod.metadata.name] === undefined && isReady(pod),
  ).length;
}

/** Returns a metav1.Condition; the transition time changes with the status. */
function condition(
  budget: Stored,
  status: 'True' | 'False',
  reason: string,
  message: string,
  now: string,
): JsonObject {
  const before = objects(at(budget, 'status', 'conditions')).find(
    ({ type }) => type === 'DisruptionAllowed',
  );
  return {
    type: 'DisruptionAllowed',
    status,
    observedGeneration: budget.metadata.generation ?? 0,
    lastTransitionTime: before?.['status'] === status ? before['lastTransitionTime'] : now,
    reason,
    message,
  };
}

/**
 * Returns the controller's status after an error: nothing may be disrupted, the rest stays
 * unchanged.
 */
function failSafe(budget: Stored, why: string, now: string): BudgetStatus {
  const seen = at(budget, 'status', 'observedGeneration');
  const failed = without({
    ...condition(budget, 'False', 'SyncFailed', why, now),
    observedGeneration: seen,
  });
  return {
    status: { ...part(budget, 'status'), disruptionsAllowed: 0, conditions: [failed] },
    failure: why,
  };
}

/** Returns the status of the budget for its pods. `now` is RFC 3339, whole seconds. */
export function budgetStatus(
  budget: Stored,
  pods: readonly Stored[],
  scaleOf: ScaleOf,
  now: string,
): BudgetStatus {
  let found: Expected;
  try {
    found = expectedOf(budget, pods, scaleOf);
  } catch (error) {
    return failSafe(budget, errorText(error), now);
  }
  const { map, againMs } = disruptedNow(budget, pods, Date.parse(now));
  const healthy = healthyAmong(pods, map);
  // Without expected pods nothing is allowed: the first pods must not meet a budget that is still
  // generous.
  const allowed = found.expected <= 0 ? 0 : Math.max(0, healthy - found.desired);
  const { maxUnavailable, minAvailable } = part(budget, 'spec');
  const asksWho =
    (maxUnavailable !== undefined && maxUnavailable !== null) || typeof minAvailable === 'string';
  const unmanaged = asksWho && pods.some(pod => controllerOf(pod) === undefined);
  const reason = allowed > 0 ? 'SufficientPods' : 'InsufficientPods';
  return {
    status: {
      currentHealthy: healthy,
      desiredHealthy: found.desired,
      expectedPods: found.expected,
      disruptionsAllowed: allowed,
      ...(Object.keys(map).length > 0 && { disruptedPods: map }),
      observedGeneration: budget.metadata.generation ?? 0,
      conditions: [condition(budget, allowed > 0 ? 'True' : 'False', reason, '', now)],
    },
    ...(unmanaged && { unmanaged }),
    ...(againMs !== undefined && { againMs: againMs + 1 }),
  };
}
