import type { JsonObject } from '../../core/json.ts';
import { at, objects, type Stored, text } from '../object.ts';

/** Taints and tolerations (k8s.io/component-helpers/scheduling/corev1). */

/** Whether a toleration fits a taint (v1.Toleration.ToleratesTaint). */
const tolerates = (toleration: JsonObject, taint: JsonObject): boolean => {
  const [key, effect] = [text(toleration, 'key'), text(toleration, 'effect')];
  if (effect !== '' && effect !== text(taint, 'effect')) return false;
  if (key !== '' && key !== text(taint, 'key')) return false;
  const operator = text(toleration, 'operator');
  if (key === '' && operator !== 'Exists') return false;
  return operator === 'Exists' || text(toleration, 'value') === text(taint, 'value');
};

/** Taints of these effects that the pod does not tolerate. */
export const untolerated = (podSpec: JsonObject, node: Stored, effects: readonly string[]): readonly JsonObject[] => {
  const taints = objects(at(node, 'spec', 'taints'));
  if (taints.length === 0) return taints;
  const tolerations = objects(podSpec['tolerations']);
  return taints
    .filter(taint => effects.includes(text(taint, 'effect')))
    .filter(taint => !tolerations.some(toleration => tolerates(toleration, taint)));
};

/** The pod tolerates all of the node's taints of these effects. */
export const toleratesAll = (podSpec: JsonObject, node: Stored, effects: readonly string[]): boolean =>
  untolerated(podSpec, node, effects).length === 0;

/** For how long the pod tolerates a NoExecute taint: for ever, for so many seconds, or not at all. The first toleration that fits decides. */
export const toleratedFor = (podSpec: JsonObject, taint: JsonObject): 'for ever' | number | undefined => {
  const fitting = objects(podSpec['tolerations']).find(toleration => tolerates(toleration, taint));
  if (fitting === undefined) return undefined;
  const seconds = fitting['tolerationSeconds'];
  return typeof seconds === 'number' ? Math.max(0, seconds) : 'for ever';
};
