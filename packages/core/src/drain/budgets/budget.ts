import {
  compareVersions,
  type LabelSelector,
  matches,
  readSelector,
  truncate,
} from '@drydock/apimachinery';
import type { Pod } from '../../pod/pod.ts';

/** A PodDisruptionBudget, as far as it decides on evictions. */
export type Budget = {
  /** Key `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly selector?: LabelSelector;
  /** Owner of the budget: an operator that changes it when a disruption does no harm. */
  readonly owner?: { readonly kind: string; readonly name: string };
  /** True if the status is about the current spec: observedGeneration has caught up. */
  readonly fresh: boolean;
  readonly disruptionsAllowed: number;
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
  readonly expectedPods: number;
  /**
   * Names of pods whose eviction the server has counted while the disruption controller has not
   * observed their end yet.
   */
  readonly disruptedPods: readonly string[];
  readonly unhealthyPodEvictionPolicy: string;
  /**
   * Error of the disruption controller, which could not compute the status: its counts mean nothing
   * then.
   */
  readonly syncFailure?: string;
};

/** Characters of a kind or a name that are shown. */
const maxNameLength = 253;

type RawBudget = {
  readonly metadata: {
    readonly namespace?: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly ownerReferences?: readonly {
      readonly kind: string;
      readonly name: string;
      readonly controller?: boolean;
    }[];
  };
  readonly spec?: { readonly selector?: unknown; readonly unhealthyPodEvictionPolicy?: string };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
    readonly expectedPods?: number;
    readonly disruptedPods?: Readonly<Record<string, string>>;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
};

function syncFailureOf(status: RawBudget['status']): string | undefined {
  const condition = status?.conditions?.find(
    ({ type, reason }) => type === 'DisruptionAllowed' && reason === 'SyncFailed',
  );
  return (
    condition && (condition.message ?? 'the disruption controller could not compute the budget')
  );
}

/** Returns the controller of the budget, or else the first of its owners. */
function ownerOf({ ownerReferences = [] }: RawBudget['metadata']): Pick<Budget, 'owner'> {
  const owner = ownerReferences.find(({ controller }) => controller === true) ?? ownerReferences[0];
  return owner === undefined
    ? {}
    : {
        owner: {
          kind: truncate(owner.kind, maxNameLength),
          name: truncate(owner.name, maxNameLength),
        },
      };
}

/** Reads the needed fields of a PodDisruptionBudget (policy/v1). */
export function readBudget(raw: unknown): Budget {
  const { metadata, spec, status } = raw as RawBudget;
  const namespace = metadata.namespace ?? 'default';
  const selector = readSelector(spec?.selector);
  const syncFailure = syncFailureOf(status);
  return {
    key: `${namespace}/${metadata.name}`,
    namespace,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    ...(selector && { selector }),
    ...ownerOf(metadata),
    fresh:
      status?.observedGeneration !== undefined &&
      status.observedGeneration >= (metadata.generation ?? 0),
    disruptionsAllowed: status?.disruptionsAllowed ?? 0,
    currentHealthy: status?.currentHealthy ?? 0,
    desiredHealthy: status?.desiredHealthy ?? 0,
    expectedPods: status?.expectedPods ?? 0,
    disruptedPods: Object.keys(status?.disruptedPods ?? {}),
    unhealthyPodEvictionPolicy: spec?.unhealthyPodEvictionPolicy ?? 'IfHealthyBudget',
    ...(syncFailure !== undefined && { syncFailure }),
  };
}

/**
 * Returns the budgets that guard the pod: same namespace, selector matches. The API server refuses
 * every eviction of a pod with more than one.
 */
export function budgetsOf(pod: Pod, budgets: readonly Budget[]): readonly Budget[] {
  return budgets.filter(
    budget => budget.namespace === pod.namespace && matches(budget.selector, pod.labels),
  );
}

/**
 * Reports whether the pod's eviction takes nothing from the budget: the pod is not Ready, and the
 * budget's policy allows its eviction (API server, eviction.go: AlwaysAllow always; IfHealthyBudget
 * when enough others are healthy). As there, the status counts as it stands, even if it is outdated
 * or its computation failed. The API server enforces the pod's resourceVersion then, so a pod that
 * has become Ready meanwhile is not evicted. An unknown policy counts as the strict one.
 */
export function isFreeEviction(pod: Pod, budget: Budget): boolean {
  if (pod.ready) return false;
  if (budget.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  return (
    budget.unhealthyPodEvictionPolicy === 'IfHealthyBudget' &&
    budget.currentHealthy >= budget.desiredHealthy &&
    budget.desiredHealthy > 0
  );
}

/**
 * Maximum of `disruptedPods`: above it the API server grants nothing (MaxDisruptedPodSize), until
 * the disruption controller has confirmed some.
 */
const maxDisrupted = 2000;

/**
 * Reports whether the API server grants no more, because too many granted evictions are
 * unconfirmed by the disruption controller.
 */
export function isUnconfirmed({ disruptedPods }: Pick<Budget, 'disruptedPods'>): boolean {
  return disruptedPods.length > maxDisrupted;
}

/**
 * Returns the number of disruptions that the API server grants as the status stands: none if the
 * status is about an earlier spec.
 */
export function grantedBy(budget: Budget): number {
  return budget.fresh && !isUnconfirmed(budget) ? Math.max(0, budget.disruptionsAllowed) : 0;
}

/**
 * Reports whether the budget counts no pods at all, and so allows no eviction: maxUnavailable and
 * percentages are computed from the controllers' scale.
 */
export function isUncounted({ fresh, expectedPods, disruptionsAllowed }: Budget): boolean {
  return fresh && expectedPods === 0 && disruptionsAllowed === 0;
}

/**
 * Reports whether the budget never allows an eviction, even if all its pods are healthy: it wants
 * at least as many as there are.
 */
export function neverAllows(budget: Budget): boolean {
  return budget.fresh && budget.expectedPods > 0 && budget.desiredHealthy >= budget.expectedPods;
}

/**
 * A budget that a deletion bypasses. `healthy`: once the budget's status has counted the deletion,
 * fewer pods than this are healthy.
 */
export type BypassedBudget = { readonly budget: string; readonly healthy: number };

/**
 * An eviction, or a deletion, that was requested and whose effect on its budget has not been
 * observed yet.
 */
export type InFlightEviction = {
  readonly uid: string;
  readonly podKey: string;
  readonly podName: string;
  readonly nodeName: string;
  /** Key of the budget that it takes from; missing if it takes from none. */
  readonly budget?: string;
  /** Budgets that a deletion bypasses; evictions have to leave that share to the deletion. */
  readonly overrules?: readonly BypassedBudget[];
  /**
   * State. queued: not sent yet, can be cancelled. sent: no response yet. accepted: the server has
   * agreed.
   */
  readonly state: 'queued' | 'sent' | 'accepted';
  /** Time of the last change of state. */
  readonly at: Temporal.Instant;
  /** resourceVersion of the pod when its deletion was first observed. */
  readonly deletionVersion?: string;
};

/**
 * Milliseconds within which the budget's new status must arrive after an accepted call; in practice
 * it takes a few.
 */
export const reflectionLimitMs = 10_000;

/**
 * Reports whether the budget's status counts this eviction already: it names the pod as disrupted,
 * or it was written after the pod's deletion (the API server writes the budget first and deletes
 * then, so a status that is newer than the deletion has counted it).
 */
export function isReflected(
  inFlightEviction: InFlightEviction,
  budget: Budget,
  now: Temporal.Instant,
): boolean {
  if (budget.disruptedPods.includes(inFlightEviction.podName)) return true;
  return isYounger(budget, inFlightEviction) || isGivenUp(inFlightEviction, now);
}

function isYounger(budget: Budget, { deletionVersion }: InFlightEviction): boolean {
  return (
    deletionVersion !== undefined && compareVersions(budget.resourceVersion, deletionVersion) > 0
  );
}

/** Reports whether the time is over within which the budget would have shown it. */
function isGivenUp({ state, at }: InFlightEviction, now: Temporal.Instant): boolean {
  return state === 'accepted' && now.epochMilliseconds - at.epochMilliseconds > reflectionLimitMs;
}

/**
 * Reports the same for a deletion: a newer status may result from the eviction of another pod, and
 * does not count this one.
 */
export function isCounted(
  inFlightEviction: InFlightEviction,
  { healthy }: BypassedBudget,
  budget: Budget,
  now: Temporal.Instant,
): boolean {
  return (
    (isYounger(budget, inFlightEviction) && budget.currentHealthy < healthy) ||
    isGivenUp(inFlightEviction, now)
  );
}

function takesFrom(
  inFlightEviction: InFlightEviction,
  budget: Budget,
  now: Temporal.Instant,
): boolean {
  if (inFlightEviction.budget === budget.key) return !isReflected(inFlightEviction, budget, now);
  return (
    inFlightEviction.overrules?.some(
      one => one.budget === budget.key && !isCounted(inFlightEviction, one, budget, now),
    ) === true
  );
}

/**
 * Counts the pods of all nodes that the budget's status counts as healthy and that are about to
 * leave.
 */
export function reservedDisruptions(
  budget: Budget,
  inFlight: readonly InFlightEviction[],
  now: Temporal.Instant,
): number {
  return inFlight.reduce(
    (sum, inFlightEviction) => sum + Number(takesFrom(inFlightEviction, budget, now)),
    0,
  );
}

/**
 * Returns how many pods may be evicted now without ever exceeding the budget, with all in-flight
 * evictions of all nodes included.
 */
export function availableDisruptions(
  budget: Budget,
  inFlight: readonly InFlightEviction[],
  now: Temporal.Instant,
): number {
  return Math.max(0, grantedBy(budget) - reservedDisruptions(budget, inFlight, now));
}
