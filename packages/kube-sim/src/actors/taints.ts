import type { JsonObject } from '@drydock/apimachinery';
import { tolerates, untoleratedBy } from '@drydock/apimachinery';
import { at, objects, type Stored, text } from '../object.ts';

/** Taints and tolerations (k8s.io/component-helpers/scheduling/corev1). */

function taintOf(taint: JsonObject): {
  readonly key: string;
  readonly effect: string;
  readonly value: string;
} {
  return {
    key: text(taint, 'key'),
    effect: text(taint, 'effect'),
    value: text(taint, 'value'),
  };
}

/** Returns the taints of these effects that the pod does not tolerate. */
export function untolerated(
  podSpec: JsonObject,
  node: Stored,
  effects: readonly string[],
): ReturnType<typeof untoleratedBy> {
  const taints = objects(at(node, 'spec', 'taints'));
  return taints.length === 0
    ? []
    : untoleratedBy(
        podSpec,
        taints.map(taintOf).filter(({ effect }) => effects.includes(effect)),
      );
}

/** Returns whether the pod tolerates all of the node's taints of these effects. */
export function toleratesAll(
  podSpec: JsonObject,
  node: Stored,
  effects: readonly string[],
): boolean {
  return untolerated(podSpec, node, effects).length === 0;
}

/**
 * Returns for how long the pod tolerates a NoExecute taint: forever, a number of seconds, or
 * undefined when it does not. The first matching toleration decides.
 */
export function toleratedFor(
  podSpec: JsonObject,
  taint: JsonObject,
): 'forever' | number | undefined {
  const fitting = objects(podSpec['tolerations']).find(toleration =>
    tolerates(toleration, taintOf(taint)),
  );
  if (fitting === undefined) return undefined;
  const seconds = fitting['tolerationSeconds'];
  return typeof seconds === 'number' ? Math.max(0, seconds) : 'forever';
}
