import { fitsTerm, isObject, type JsonObject, matches, type Place } from '@drydock/apimachinery';
import { at, items, objects, part, type Stored, strings } from '../object.ts';

/** Rules for a pod's nodes, by labels (k8s.io/component-helpers/scheduling/corev1/nodeaffinity). */

/** Returns the fields of a node that the rules read. */
export function placeOf({ metadata: { name, labels = {} } }: Stored): Place {
  return { name, labels };
}

/** Returns the node's preference: the sum of the weights of matching terms. */
export function preference(podSpec: JsonObject, node: Stored): number {
  return objects(
    at(podSpec, 'affinity', 'nodeAffinity', 'preferredDuringSchedulingIgnoredDuringExecution'),
  )
    .filter(one => fitsTerm(part(one, 'preference'), placeOf(node)))
    .reduce((sum, { weight }) => sum + (typeof weight === 'number' ? weight : 0), 0);
}

/** Returns the required terms of a pod's affinity or anti-affinity. */
export function terms(
  podSpec: JsonObject,
  kind: 'podAffinity' | 'podAntiAffinity',
): readonly JsonObject[] {
  return objects(at(podSpec, 'affinity', kind, 'requiredDuringSchedulingIgnoredDuringExecution'));
}

/** Returns the namespaces of a pod affinity term: the pod's own unless it names others. */
export function namespacesOf(term: JsonObject, own: string): readonly string[] {
  const named = items(term['namespaces']).filter(one => typeof one === 'string');
  return named.length === 0 ? [own] : named;
}

/** Returns whether a pod affinity term selects a pod. */
export function termPicks(term: JsonObject, owner: string, pod: Stored): boolean {
  const selector = term['labelSelector'];
  const isNear = namespacesOf(term, owner).includes(pod.metadata.namespace ?? '');
  return isNear && matches(isObject(selector) ? selector : undefined, strings(pod.metadata.labels));
}
