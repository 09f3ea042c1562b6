import { at, isObject, items, type JsonObject, objects, strings, text } from '../json.ts';
import { type Labels, matches, readSelector } from './selector.ts';

/** Where a pod may and may not run, by labels and taints (k8s.io/component-helpers/scheduling/corev1). */

/** What is looked at of a node. */
export type Place = { readonly name: string; readonly labels: Labels };

/** As label selectors do, and beside that by order, which nodes alone know. */
const meets = (labels: Labels, requirement: JsonObject): boolean => {
  const [operator, value] = [text(requirement, 'operator'), labels[text(requirement, 'key')]];
  const [bound] = items(requirement['values']);
  if (operator === 'Gt') return value !== undefined && Number(value) > Number(bound);
  if (operator === 'Lt') return value !== undefined && Number(value) < Number(bound);
  return matches(readSelector({ matchExpressions: [requirement] }), labels);
};

/** One term of a node selector fits the node. */
export const fitsTerm = (term: JsonObject, { name, labels }: Place): boolean => {
  const expressions = objects(term['matchExpressions']);
  const fields = objects(term['matchFields']);
  // A term that says nothing fits nothing.
  if (expressions.length === 0 && fields.length === 0) return false;
  return (
    expressions.every(one => meets(labels, one)) &&
    fields.every(one => text(one, 'key') === 'metadata.name' && meets({ 'metadata.name': name }, one))
  );
};

/** One of the terms of a node selector fits the node. */
export const fitsTerms = (selector: JsonObject, place: Place): boolean =>
  objects(selector['nodeSelectorTerms']).some(term => fitsTerm(term, place));

/** The node has the labels that the pod's node selector and required node affinity ask for. */
export const fitsSelector = (podSpec: JsonObject, place: Place): boolean => {
  const selector = strings(podSpec['nodeSelector']);
  if (!Object.entries(selector).every(([key, value]) => place.labels[key] === value)) return false;
  const required = at(podSpec, 'affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution');
  return !isObject(required) || fitsTerms(required, place);
};

/** A taint as far as tolerations look at it. */
type TaintLike = { readonly key: string; readonly effect: string; readonly value?: string };

/** Whether a toleration fits a taint (v1.Toleration.ToleratesTaint). */
export const tolerates = (toleration: JsonObject, taint: TaintLike): boolean => {
  const [key, effect] = [text(toleration, 'key'), text(toleration, 'effect')];
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  const operator = text(toleration, 'operator');
  if (key === '' && operator !== 'Exists') return false;
  return operator === 'Exists' || text(toleration, 'value') === (taint.value ?? '');
};

/** The taints that no toleration of the pod fits. */
export const untoleratedBy = <T extends TaintLike>(podSpec: JsonObject, taints: readonly T[]): readonly T[] => {
  if (taints.length === 0) return taints;
  const tolerations = objects(podSpec['tolerations']);
  return taints.filter(taint => !tolerations.some(toleration => tolerates(toleration, taint)));
};

/** Of the spec of a pod, what says on which nodes it may run. */
export const placementOf = ({ nodeSelector, tolerations, affinity }: JsonObject): JsonObject => {
  const nodeAffinity = isObject(affinity) ? affinity['nodeAffinity'] : undefined;
  return {
    ...(nodeSelector !== undefined && { nodeSelector }),
    ...(tolerations !== undefined && { tolerations }),
    ...(nodeAffinity !== undefined && { affinity: { nodeAffinity } }),
  };
};
