import { isObject, type JsonObject } from '../../core/json.ts';
import { type Labels, matches, readSelector } from '../../core/pod/selector.ts';
import { at, items, objects, part, type Stored, strings, text } from '../object.ts';

/** Where a pod may and may not run, by labels (k8s.io/component-helpers/scheduling/corev1/nodeaffinity). */

/** As label selectors do, and beside that by order, which nodes alone know. */
const meets = (labels: Labels, requirement: JsonObject): boolean => {
  const [operator, value] = [text(requirement, 'operator'), labels[text(requirement, 'key')]];
  const [bound] = items(requirement['values']);
  if (operator === 'Gt') return value !== undefined && Number(value) > Number(bound);
  if (operator === 'Lt') return value !== undefined && Number(value) < Number(bound);
  return matches(readSelector({ matchExpressions: [requirement] }), labels);
};

const fitsTerm = (term: JsonObject, node: Stored): boolean => {
  const expressions = objects(term['matchExpressions']);
  const fields = objects(term['matchFields']);
  // A term that says nothing fits nothing.
  if (expressions.length === 0 && fields.length === 0) return false;
  const labels = strings(node.metadata.labels);
  return (
    expressions.every(one => meets(labels, one)) &&
    fields.every(one => text(one, 'key') === 'metadata.name' && meets({ 'metadata.name': node.metadata.name }, one))
  );
};

/** The node has the labels that the pod's node selector and required node affinity ask for. */
export const fitsSelector = (podSpec: JsonObject, node: Stored): boolean => {
  const labels = strings(node.metadata.labels);
  const selector = strings(podSpec['nodeSelector']);
  if (!Object.entries(selector).every(([key, value]) => labels[key] === value)) return false;
  const required = at(podSpec, 'affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution');
  return !isObject(required) || fitsTerms(required, node);
};

/** One of the terms of a node selector fits the node. */
export const fitsTerms = (selector: JsonObject, node: Stored): boolean =>
  objects(selector['nodeSelectorTerms']).some(term => fitsTerm(term, node));

/** How much the node is preferred, by the weights that fit. */
export const preference = (podSpec: JsonObject, node: Stored): number =>
  objects(at(podSpec, 'affinity', 'nodeAffinity', 'preferredDuringSchedulingIgnoredDuringExecution'))
    .filter(one => fitsTerm(part(one, 'preference'), node))
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
