import { at, isObject, items, type JsonObject, objects, strings, text } from './json.ts';
import { type Labels, matches, readSelector } from './selector.ts';

/** Placement of a pod by labels and taints (k8s.io/component-helpers/scheduling/corev1). */

/** Fields of a node that decide on a placement. */
export type Place = { readonly name: string; readonly labels: Labels };

/**
 * Reports whether the labels meet a requirement: as in label selectors, and beside that with Gt and
 * Lt, which only node selectors have.
 */
function meets(labels: Labels, requirement: JsonObject): boolean {
  const [operator, value] = [text(requirement, 'operator'), labels[text(requirement, 'key')]];
  const [bound] = items(requirement['values']);
  if (operator === 'Gt') return value !== undefined && Number(value) > Number(bound);
  if (operator === 'Lt') return value !== undefined && Number(value) < Number(bound);
  return matches(readSelector({ matchExpressions: [requirement] }), labels);
}

/** Reports whether one term of a node selector matches the node. */
export function fitsTerm(term: JsonObject, { name, labels }: Place): boolean {
  const expressions = objects(term['matchExpressions']);
  const fields = objects(term['matchFields']);
  // An empty term matches nothing.
  if (expressions.length === 0 && fields.length === 0) return false;
  return (
    expressions.every(one => meets(labels, one)) &&
    fields.every(
      one => text(one, 'key') === 'metadata.name' && meets({ 'metadata.name': name }, one),
    )
  );
}

/** Reports whether one of the terms of a node selector matches the node. */
export function fitsTerms(selector: JsonObject, place: Place): boolean {
  return objects(selector['nodeSelectorTerms']).some(term => fitsTerm(term, place));
}

/**
 * Reports whether the node has the labels that the pod's node selector and required node affinity
 * demand.
 */
export function fitsSelector(podSpec: JsonObject, place: Place): boolean {
  const selector = strings(podSpec['nodeSelector']);
  if (!Object.entries(selector).every(([key, value]) => place.labels[key] === value)) return false;
  const required = at(
    podSpec,
    'affinity',
    'nodeAffinity',
    'requiredDuringSchedulingIgnoredDuringExecution',
  );
  return !isObject(required) || fitsTerms(required, place);
}

/** A taint with the fields that tolerations match. */
type TaintLike = { readonly key: string; readonly effect: string; readonly value?: string };

/** Reports whether a toleration matches a taint (v1.Toleration.ToleratesTaint). */
export function tolerates(toleration: JsonObject, taint: TaintLike): boolean {
  const [key, effect] = [text(toleration, 'key'), text(toleration, 'effect')];
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  const operator = text(toleration, 'operator');
  if (key === '' && operator !== 'Exists') return false;
  return operator === 'Exists' || text(toleration, 'value') === (taint.value ?? '');
}

/** Returns the taints that no toleration of the pod matches. */
export function untoleratedBy<T extends TaintLike>(
  podSpec: JsonObject,
  taints: readonly T[],
): readonly T[] {
  if (taints.length === 0) return taints;
  const tolerations = objects(podSpec['tolerations']);
  return taints.filter(taint => !tolerations.some(toleration => tolerates(toleration, taint)));
}

/** Returns the fields of a pod spec that determine on which nodes it may run. */
export function placementOf({ nodeSelector, tolerations, affinity }: JsonObject): JsonObject {
  const nodeAffinity = isObject(affinity) ? affinity['nodeAffinity'] : undefined;
  return {
    ...(nodeSelector !== undefined && { nodeSelector }),
    ...(tolerations !== undefined && { tolerations }),
    ...(nodeAffinity !== undefined && { affinity: { nodeAffinity } }),
  };
}
