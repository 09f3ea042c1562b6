import { sameJson } from '@drydock/apimachinery';
import type { KindTable } from '../../kinds/kind-table.ts';
import { at, items, objects, part, type Stored, strings, text } from '../../object.ts';
import { budgetsOver } from '../../registry/budgets-over.ts';
import type { StoreChange } from '../../store/store.ts';
import { type Cluster, type Controller, keyOf, type Note, split, timeText } from '../controller.ts';
import { controllerOf, isDeleting, isReady } from '../pods.ts';
import { pickedPods } from '../selectors.ts';
import { replicasOf, report } from '../workload.ts';
import { budgetStatus, type ScaleOf } from './disruption.ts';

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
