import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, type Stored } from '../object.ts';

/** Conditions in the status of workloads, by the rules of their controllers. */

export function conditionsOf(object: Stored | undefined): readonly JsonObject[] {
  return objects(at(object, 'status', 'conditions'));
}

export function conditionOf(
  conditions: readonly JsonObject[],
  type: string,
): JsonObject | undefined {
  return conditions.find(one => one['type'] === type);
}

export function isTrue(conditions: readonly JsonObject[], type: string): boolean {
  return conditionOf(conditions, type)?.['status'] === 'True';
}

export function withoutCondition(
  conditions: readonly JsonObject[],
  type: string,
): readonly JsonObject[] {
  return conditions.filter(one => one['type'] !== type);
}

export type Statement = {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
};

/**
 * Adds a condition of a Deployment. The same status for the same reason changes nothing, not even
 * the message (SetDeploymentCondition); `renewed` updates the time all the same.
 */
export function withStatement(
  conditions: readonly JsonObject[],
  said: Statement,
  now: string,
  renewed = false,
): readonly JsonObject[] {
  const before = conditionOf(conditions, said.type);
  const same = before?.['status'] === said.status;
  if (same && before['reason'] === said.reason && !renewed) return conditions;
  const lastTransitionTime = same ? before['lastTransitionTime'] : now;
  return [
    ...withoutCondition(conditions, said.type),
    { ...said, lastUpdateTime: now, lastTransitionTime },
  ];
}
