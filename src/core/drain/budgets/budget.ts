import type { Pod } from '../../pod/pod.ts';
import { type LabelSelector, matches, readSelector } from '../../pod/selector.ts';
import { truncate } from '../../text.ts';

/** A PodDisruptionBudget, as far as it decides over evictions. */
export type Budget = {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly selector?: LabelSelector;
  /** Who keeps it: an operator that changes it when a disruption does no harm. */
  readonly owner?: { readonly kind: string; readonly name: string };
  /** The status speaks of the current spec: observedGeneration has caught up. */
  readonly fresh: boolean;
  readonly disruptionsAllowed: number;
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
  readonly expectedPods: number;
  /** Names of pods whose eviction the server has counted and whose end the disruption controller has not seen yet. */
  readonly disruptedPods: readonly string[];
  readonly unhealthyPodEvictionPolicy: string;
  /** The disruption controller could not compute the status; its counts mean nothing then. */
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
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string; readonly controller?: boolean }[];
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

const syncFailureOf = (status: RawBudget['status']): string | undefined => {
  const condition = status?.conditions?.find(({ type, reason }) => type === 'DisruptionAllowed' && reason === 'SyncFailed');
  return condition && (condition.message ?? 'the disruption controller could not compute the budget');
};

/** Its controller, or else the first of its owners. */
const ownerOf = ({ ownerReferences = [] }: RawBudget['metadata']): Pick<Budget, 'owner'> => {
  const owner = ownerReferences.find(({ controller }) => controller === true) ?? ownerReferences[0];
  return owner === undefined ? {} : { owner: { kind: truncate(owner.kind, maxNameLength), name: truncate(owner.name, maxNameLength) } };
};

/** Keeps of a PodDisruptionBudget (policy/v1) what this type has. */
export const readBudget = (raw: unknown): Budget => {
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
    fresh: status?.observedGeneration !== undefined && status.observedGeneration >= (metadata.generation ?? 0),
    disruptionsAllowed: status?.disruptionsAllowed ?? 0,
    currentHealthy: status?.currentHealthy ?? 0,
    desiredHealthy: status?.desiredHealthy ?? 0,
    expectedPods: status?.expectedPods ?? 0,
    disruptedPods: Object.keys(status?.disruptedPods ?? {}),
    unhealthyPodEvictionPolicy: spec?.unhealthyPodEvictionPolicy ?? 'IfHealthyBudget',
    ...(syncFailure !== undefined && { syncFailure }),
  };
};

/** The budgets that guard the pod: same namespace, selector matches. More than one makes the API server refuse every eviction. */
export const budgetsOf = (pod: Pod, budgets: readonly Budget[]): readonly Budget[] =>
  budgets.filter(budget => budget.namespace === pod.namespace && matches(budget.selector, pod.labels));

/**
 * The pod's eviction takes nothing from the budget: it is not Ready, and the budget's policy lets such pods go (API server, eviction.go: AlwaysAllow
 * always; IfHealthyBudget when enough others are healthy). As there, the status counts as it stands: neither of today nor computed without a failure. The
 * API server enforces the pod's version then, so one that has become Ready meanwhile does not go. A policy that is not known counts as the strict one.
 */
export const isFreeEviction = (pod: Pod, budget: Budget): boolean => {
  if (pod.ready) return false;
  if (budget.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  return (
    budget.unhealthyPodEvictionPolicy === 'IfHealthyBudget' && budget.currentHealthy >= budget.desiredHealthy && budget.desiredHealthy > 0
  );
};

/** Of `disruptedPods`: the API server grants nothing above that (MaxDisruptedPodSize), until the disruption controller has confirmed some. */
const maxDisrupted = 2000;

/** Evictions that were granted and that the disruption controller has not confirmed are so many that the API server grants no more. */
export const isUnconfirmed = ({ disruptedPods }: Pick<Budget, 'disruptedPods'>): boolean => disruptedPods.length > maxDisrupted;

/** How many disruptions the API server grants as the status stands: none under one that is about an earlier spec. */
export const grantedBy = (budget: Budget): number => (budget.fresh && !isUnconfirmed(budget) ? Math.max(0, budget.disruptionsAllowed) : 0);

/** It counts no pods at all, and so allows none to go: maxUnavailable and percentages are taken of the controllers' scale. */
export const isUncounted = ({ fresh, expectedPods, disruptionsAllowed }: Budget): boolean =>
  fresh && expectedPods === 0 && disruptionsAllowed === 0;

/** However healthy its pods are, it will not allow one to go: it wants at least as many as there are. */
export const neverAllows = (budget: Budget): boolean =>
  budget.fresh && budget.expectedPods > 0 && budget.desiredHealthy >= budget.expectedPods;
