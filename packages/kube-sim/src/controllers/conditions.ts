import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, type Stored } from '../object.ts';

/** Conditions in the status of workloads, by the rules of their controllers. */

export const conditionsOf = (object: Stored | undefined): readonly JsonObject[] => objects(at(object, 'status', 'conditions'));

export const conditionOf = (conditions: readonly JsonObject[], type: string): JsonObject | undefined =>
  conditions.find(one => one['type'] === type);

export const isTrue = (conditions: readonly JsonObject[], type: string): boolean => conditionOf(conditions, type)?.['status'] === 'True';

export const withoutCondition = (conditions: readonly JsonObject[], type: string): readonly JsonObject[] =>
  conditions.filter(one => one['type'] !== type);

export type Statement = { readonly type: string; readonly status: string; readonly reason: string; readonly message: string };

/**
 * Adds a condition of a Deployment. The same status for the same reason changes nothing, not even
 * the message (SetDeploymentCondition); `renewed` updates the time all the same.
 */
export const withStatement = (conditions: readonly JsonObject[], said: Statement, now: string, renewed = false): readonly JsonObject[] => {
  const before = conditionOf(conditions, said.type);
  const same = before?.['status'] === said.status;
  if (same && before['reason'] === said.reason && !renewed) return conditions;
  const lastTransitionTime = same ? before['lastTransitionTime'] : now;
  return [...withoutCondition(conditions, said.type), { ...said, lastUpdateTime: now, lastTransitionTime }];
};
