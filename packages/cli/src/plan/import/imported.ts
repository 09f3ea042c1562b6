import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import { planApi } from '@drydock/core/plan';
import { at, items, text } from '@drydock/kube-sim';
import { UsageError } from '@drydock/utils';

/** Result of converting an object of another system. */
export type Imported = {
  /** A paused MaintenancePlan, and a MaintenanceWindow where there is one. */
  readonly objects: readonly JsonObject[];
  /** Settings that could not be converted, or need a review: a sentence each, with the field. */
  readonly left: readonly string[];
};

/**
 * Returns a plan that starts nothing until a user has compared the due nodes with the expected
 * ones.
 */
export function pausedPlan(name: string, spec: JsonObject): JsonObject {
  return {
    apiVersion: planApi,
    kind: 'MaintenancePlan',
    metadata: { name },
    spec: { state: 'Paused', ...spec },
  };
}

/**
 * Returns the whole seconds of a Go duration (`1h30m`), or of nanoseconds as Go writes them in
 * JSON; undefined for other values.
 */
export function secondsIn(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return Math.round(value / 1e9);
  if (typeof value !== 'string') return undefined;
  const parts = [...value.matchAll(/(\d+(?:\.\d+)?)(h|m|s)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== value) return undefined;
  const units = { h: 3600, m: 60, s: 1 } as const;
  return Math.round(
    parts.reduce(
      (sum, [, amount = '0', unit = 's']) =>
        sum + Number(amount) * units[unit as keyof typeof units],
      0,
    ),
  );
}

/** Drain options that drain nothing: no pod has this label. */
export const drainNothing: JsonObject = {
  podSelector: { matchLabels: { 'drydock.dev/drained': 'none' } },
};

/**
 * Returns the selector of nodes. Throws where there is none: it selects nothing in the other
 * system, and a plan requires one.
 */
export function selectorOf(object: JsonObject): JsonObject {
  const selector = at(object, 'spec', 'nodeSelector');
  if (isObject(selector)) return selector;
  throw new UsageError(
    `${text(object, 'kind')} ${nameOf(object)} cannot be imported: it has no spec.nodeSelector, and selects no node`,
  );
}

/** Returns the objects among the items of a field. */
export function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return items(value).filter(isObject);
}

export function nameOf(object: JsonObject): string {
  return text(object, 'metadata', 'name');
}
