import { isObject, type JsonObject } from '../../core/json.ts';
import { fitsTerm, type Place } from '../../core/pod/placement.ts';
import { matches } from '../../core/pod/selector.ts';
import { at, items, objects, part, type Stored, strings } from '../object.ts';

/** Where a pod may and may not run, by labels (k8s.io/component-helpers/scheduling/corev1/nodeaffinity). */

/** As the rules of placement see it. */
export const placeOf = ({ metadata: { name, labels = {} } }: Stored): Place => ({ name, labels });

/** How much the node is preferred, by the weights that fit. */
export const preference = (podSpec: JsonObject, node: Stored): number =>
  objects(at(podSpec, 'affinity', 'nodeAffinity', 'preferredDuringSchedulingIgnoredDuringExecution'))
    .filter(one => fitsTerm(part(one, 'preference'), placeOf(node)))
    .reduce((sum, { weight }) => sum + (typeof weight === 'number' ? weight : 0), 0);

/** What a pod has to have near it, or must not. */
export const terms = (podSpec: JsonObject, kind: 'podAffinity' | 'podAntiAffinity'): readonly JsonObject[] =>
  objects(at(podSpec, 'affinity', kind, 'requiredDuringSchedulingIgnoredDuringExecution'));

/** The namespaces in which a term of pod affinity picks: the pod's own unless it names others. */
export const namespacesOf = (term: JsonObject, own: string): readonly string[] => {
  const named = items(term['namespaces']).filter(one => typeof one === 'string');
  return named.length === 0 ? [own] : named;
};

/** A term of pod affinity picks a pod. */
export const termPicks = (term: JsonObject, owner: string, pod: Stored): boolean => {
  const selector = term['labelSelector'];
  const isNear = namespacesOf(term, owner).includes(pod.metadata.namespace ?? '');
  return isNear && matches(isObject(selector) ? selector : undefined, strings(pod.metadata.labels));
};
