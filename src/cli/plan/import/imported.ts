import { isObject, type Json, type JsonObject } from '../../../core/json.ts';
import { planApi } from '../../../core/plan/plan.ts';
import { at, items, text } from '../../../embedded/object.ts';
import { UsageError } from '../../shared/fail.ts';

/** What an object of another system has become. */
export type Imported = {
  /** A MaintenancePlan that is paused, and a MaintenanceWindow where there is one. */
  readonly objects: readonly JsonObject[];
  /** What could not be carried over, or has to be looked at: a sentence each, with the field. */
  readonly left: readonly string[];
};

/** A plan that begins with nothing until somebody has compared what is due with what was expected. */
export const pausedPlan = (name: string, spec: JsonObject): JsonObject => ({
  apiVersion: planApi,
  kind: 'MaintenancePlan',
  metadata: { name },
  spec: { paused: true, ...spec },
});

/** Whole seconds of a Go duration (`1h30m`), or of nanoseconds as Go writes them in JSON; undefined for what is neither. */
export const secondsIn = (value: Json | undefined): number | undefined => {
  if (typeof value === 'number') return Math.round(value / 1e9);
  if (typeof value !== 'string') return undefined;
  const parts = [...value.matchAll(/(\d+(?:\.\d+)?)(h|m|s)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== value) return undefined;
  const units = { h: 3600, m: 60, s: 1 } as const;
  return Math.round(parts.reduce((sum, [, amount = '0', unit = 's']) => sum + Number(amount) * units[unit as keyof typeof units], 0));
};

/** No pod has this label: nothing is drained. */
export const drainNothing: JsonObject = { podSelector: { matchLabels: { 'drydock.dev/drained': 'none' } } };

/** The nodes that are selected. Throws where there is no selector: theirs selects nothing then, and ours needs one. */
export const selectorOf = (object: JsonObject): JsonObject => {
  const selector = at(object, 'spec', 'nodeSelector');
  if (isObject(selector)) return selector;
  throw new UsageError(`${text(object, 'kind')} ${nameOf(object)} cannot be imported: it has no spec.nodeSelector, and selects no node`);
};

/** The objects among the items of a field. */
export const objectsIn = (value: Json | undefined): readonly JsonObject[] => items(value).filter(isObject);

export const nameOf = (object: JsonObject): string => text(object, 'metadata', 'name');
