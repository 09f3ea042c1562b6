import { type JsonObject, sameJson } from '@drydock/apimachinery';
import type { PanicHandler } from '@drydock/utils';
import { type AdmissionVerdict, allowed, denied, type Review } from './review.ts';
import { metadataOf } from './rules.ts';

/**
 * Function that returns the errors of a MaintenancePlan, the same one that its condition Valid
 * comes from; none if it is valid.
 */
export type PlanProblems = (plan: JsonObject) => readonly string[];

function problemsOf(
  problems: PlanProblems,
  plan: JsonObject,
  defects: PanicHandler,
): readonly string[] {
  try {
    return problems(plan);
  } catch (error) {
    return [`the plan cannot be read: ${defects.textOf('Webhook', 'maintenanceplans', error)}`];
  }
}

function isDeleting(object: JsonObject): boolean {
  return metadataOf(object)['deletionTimestamp'] !== undefined;
}

/**
 * Decides whether a plan may be written as it is, from the request alone. An existing error does
 * not prevent a change of the rest: the plan was stored before this check existed, or while the
 * webhook was away, and may have to be paused, ended or repaired. A plan that is being deleted is
 * never refused.
 */
export function planVerdict(
  problems: PlanProblems,
  review: Review,
  defects: PanicHandler,
): AdmissionVerdict {
  const { operation, subresource, object, oldObject } = review;
  if (object === undefined || subresource !== '' || isDeleting(object)) return allowed;
  if (operation === 'UPDATE' && sameJson(object['spec'], oldObject?.['spec'])) return allowed;
  const found = problemsOf(problems, object, defects);
  if (found.length === 0) return allowed;
  const known =
    operation === 'UPDATE' && oldObject !== undefined
      ? problemsOf(problems, oldObject, defects)
      : [];
  const fresh = found.find(problem => !known.includes(problem));
  return fresh === undefined ? allowed : denied(fresh);
}
