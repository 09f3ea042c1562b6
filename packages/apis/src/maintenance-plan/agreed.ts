import { createHash } from 'node:crypto';
import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import { canonical, writtenIn } from '../read.ts';
import { planFields } from './plan-fields.ts';

/**
 * Fields of a plan that a MaintenanceApproval does not cover: those that stop the plan, leave nodes
 * out, retry failed ones, or set its deadline. A field that is not named here is covered.
 */
const freeFields: readonly string[] = [
  'expectedSeconds',
  'onDelete',
  'pace',
  'pause',
  'retries',
  // The approval names it separately.
  'runID',
  // Fewer skipped nodes need the right to approve (deploy/plans/policy.yaml).
  'skipNodes',
  'state',
];

/**
 * Returns the order without `first`: which nodes come first in their stage changes nothing that is
 * approved.
 */
function orderWithoutFirst({ order }: JsonObject): JsonObject {
  if (!isObject(order)) return {};
  const { first: _first, ...rest } = order;
  return Object.keys(rest).length === 0 ? {} : { order: rest };
}

/**
 * Reports whether an unknown value counts: a field that this version does not know is covered as
 * well, unless it is empty, because the API server may have filled it in.
 */
function saysSomething(value: Json): boolean {
  return value !== false && value !== 0 && value !== '';
}

const written = writtenIn(planFields, saysSomething);

/**
 * Returns the part of a spec that an approver is shown: the fields that a user has written, without
 * defaults.
 */
export function agreedSpec(spec: JsonObject): JsonObject {
  const all = written(spec);
  return {
    ...Object.fromEntries(
      Object.entries(all).filter(([field]) => field !== 'order' && !freeFields.includes(field)),
    ),
    ...orderWithoutFirst(all),
  };
}

/**
 * Returns its hash (SHA-256, cut to 40 hexadecimal digits): an author must not find another spec
 * with the same hash.
 */
export function agreedHash(spec: JsonObject): string {
  return createHash('sha256')
    .update(canonical(agreedSpec(spec)))
    .digest('hex')
    .slice(0, 40);
}
