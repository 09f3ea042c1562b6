import { type Json, type JsonObject, sameJson } from '@drydock/apimachinery';
import { errorText } from '@drydock/utils';
import type { KindTable } from '../../kinds/kind-table.ts';
import { at, items, objects, part, type Stored, strings, text, without } from '../../object.ts';
import { budgetsOver } from '../../registry/metadata.ts';
import type { StoreChange } from '../../store/store.ts';
import {
  type Cluster,
  type Controller,
  controllerOf,
  isDeleting,
  isReady,
  keyOf,
  type Note,
  split,
  timeText,
} from '../controller.ts';
import { pickedPods } from '../selectors.ts';
import { replicasOf, report } from '../workload.ts';

/**
 * Returns an int-or-percent of a total (apimachinery intstr.GetScaledValueFromIntOrPercent);
 * undefined for other values.
 */
export function scaled(
  value: Json | undefined,
  whole: number,
  round: 'up' | 'down',
): number | undefined {
  if (typeof value === 'number') return value;
  const percent = typeof value === 'string' ? /^(\d+)%$/.exec(value)?.[1] : undefined;
  if (percent === undefined) return undefined;
  const share = (Number(percent) * whole) / 100;
  return round === 'up' ? Math.ceil(share) : Math.floor(share);
}

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

/** The disruption controller (disruption.go): keeps the status of every PodDisruptionBudget. */

const resource = 'poddisruptionbudgets.policy';
const by = 'controllermanager';

/**
 * Returns a lookup of the scale of a pod's controller; for a ReplicaSet, that of its Deployment
 * (the finders of disruption.go).
 */
function scaleOf(cluster: Cluster, kinds: KindTable): ScaleOf {
  return pod => {
    const reference = controllerOf(pod);
    if (reference === undefined) return undefined;
    const namespace = pod.metadata.namespace ?? '';
    const [group, version] = reference.apiVersion.includes('/')
      ? reference.apiVersion.split('/')
      : ['', reference.apiVersion];
    const kind = kinds.named(group ?? '', reference.kind, version);
    if (kind === undefined)
      throw new Error(
        `no matches for kind "${reference.kind}" in version "${reference.apiVersion}"`,
      );
    if (kind.scale === undefined)
      throw new Error(`${kind.resource} does not implement the scale subresource`);
    const found = cluster.store.get(kind.resource, namespace, reference.name);
    if (found === undefined || found.metadata.uid !== reference.uid) return undefined;
    const above = controllerOf(found);
    const deployment =
      above?.kind === 'Deployment'
        ? cluster.store.get('deployments.apps', namespace, above.name)
        : undefined;
    if (deployment !== undefined && deployment.metadata.uid === above?.uid)
      return { uid: deployment.metadata.uid, replicas: replicasOf(deployment) };
    return { uid: found.metadata.uid, replicas: Number(at(found, ...kind.scale.spec) ?? 0) };
  };
}

/** Formats a selector as Go does. */
function shownInGo(selector: Stored[string]): string {
  const labels = Object.entries(strings(at(selector, 'matchLabels')))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, value]) => `${key}: ${value},`);
  const expressions = objects(at(selector, 'matchExpressions')).map(one => {
    const values = items(one['values']).map(String).join(' ');
    return `LabelSelectorRequirement{Key:${text(one, 'key')},Operator:${text(one, 'operator')},Values:[${values}],},`;
  });
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}},}`;
}

function unmanagedMessage(selector: Stored[string]): string {
  return (
    `Pods selected by this PodDisruptionBudget (selector: ${shownInGo(selector)}) were found to be unmanaged. As a result, the status of the PDB ` +
    'cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" ' +
    'field of the PDB to an integer value.'
  );
}

function say(
  cluster: Cluster,
  object: Stored,
  said: Pick<Note, 'type' | 'reason' | 'message'>,
): void {
  cluster.record({ by, about: { resource, object }, ...said });
}

function reconcile(key: string, cluster: Cluster, kinds: KindTable): number | undefined {
  const [namespace, name] = split(key);
  const budget = cluster.store.get(resource, namespace, name);
  if (budget === undefined) return undefined;
  const selector = part(budget, 'spec')['selector'];
  const pods = pickedPods(cluster.store, selector, namespace);
  if (pods.length === 0)
    say(cluster, budget, { type: 'Normal', reason: 'NoPods', message: 'No matching pods found' });
  const { status, againMs, failure, unmanaged } = budgetStatus(
    budget,
    pods,
    scaleOf(cluster, kinds),
    timeText(cluster.nowMs()),
  );
  if (failure !== undefined) {
    const message = `Failed to calculate the number of expected pods: ${failure}`;
    say(cluster, budget, { type: 'Warning', reason: 'CalculateExpectedPodCountFailed', message });
  }
  if (unmanaged === true)
    say(cluster, budget, {
      type: 'Warning',
      reason: 'UnmanagedPods',
      message: unmanagedMessage(selector),
    });
  const written = report(cluster, resource, budget, status);
  // A lost race: an eviction was granted meanwhile.
  if (written?.kind === 'refused') return 5;
  return againMs === undefined ? undefined : Math.max(0, againMs - cluster.nowMs());
}

function isHealthy(pod: Stored): boolean {
  return isReady(pod) && !isDeleting(pod);
}

/** Returns whether nothing has changed that matters to a budget of the pod. */
function isAlike(before: Stored, after: Stored): boolean {
  return (
    isDeleting(before) === isDeleting(after) &&
    isHealthy(before) === isHealthy(after) &&
    sameJson(before.metadata['ownerReferences'], after.metadata['ownerReferences'])
  );
}

/** Returns the budgets that cover the pod, or have covered it, and that the change affects. */
function countedIn({ store }: Cluster, change: StoreChange): readonly string[] {
  const { object: after } = change;
  if (change.type !== 'changed') return budgetsOver(store, after).map(keyOf);
  const { before } = change;
  const [alike, relabelled] = [
    isAlike(before, after),
    !sameJson(before.metadata.labels, after.metadata.labels),
  ];
  if (alike && !relabelled) return [];
  const now = new Set(budgetsOver(store, after).map(keyOf));
  const then = relabelled ? new Set(budgetsOver(store, before).map(keyOf)) : now;
  return [...(alike ? now.symmetricDifference(then) : now.union(then))];
}

/** Returns the controller; it reads the scale of any kind that has one. */
export function disruptionController(kinds: KindTable): Controller {
  return {
    name: by,
    settles: resource,
    keysOf: (change, cluster) => {
      const { object } = change;
      if (change.resource === resource) return change.type === 'removed' ? [] : [keyOf(object)];
      if (change.resource === 'pods') return countedIn(cluster, change);
      const scales =
        change.resource === 'deployments.apps' ||
        change.resource === 'statefulsets.apps' ||
        change.resource === 'replicasets.apps';
      if (
        !scales ||
        (change.type === 'changed' && replicasOf(change.before) === replicasOf(object))
      )
        return [];
      return cluster.store.list(resource, object.metadata.namespace ?? '').map(keyOf);
    },
    reconcile: (key, cluster) => reconcile(key, cluster, kinds),
  };
}
