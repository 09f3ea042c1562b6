import { createHash } from 'node:crypto';
import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import { canonical } from '../canonical.ts';
import { writtenIn } from '../known-fields.ts';
import { planFields } from './plan-fields.ts';

/**
 * What a MaintenanceApproval agrees to: the whole spec of the plan but for what stops the plan, leaves nodes out, tries failed ones again, or says when it should be
 * over. A field that is not named here is agreed to.
 */
const freeFields: readonly string[] = [
  'aborted',
  'expectedSeconds',
  'onDelete',
  'pace',
  'pause',
  'paused',
  'retries',
  // The approval names it beside.
  'runID',
  // Fewer skipped nodes take the right to approve (deploy/plans/policy.yaml).
  'skipNodes',
];

/** Of the order, which nodes come first in their stage changes nothing that is agreed to. */
const orderWithoutFirst = ({ order }: JsonObject): JsonObject => {
  if (!isObject(order)) return {};
  const { first: _first, ...rest } = order;
  return Object.keys(rest).length === 0 ? {} : { order: rest };
};

/** A field that this version does not know is agreed to as well, unless it says nothing: the API server may have filled it in. */
const saysSomething = (value: Json): boolean => value !== false && value !== 0 && value !== '';

const written = writtenIn(planFields, saysSomething);

/** The part of a spec that an approver is shown: what somebody has written, without what is so by default. */
export const agreedSpec = (spec: JsonObject): JsonObject => {
  const all = written(spec);
  return {
    ...Object.fromEntries(Object.entries(all).filter(([field]) => field !== 'order' && !freeFields.includes(field))),
    ...orderWithoutFirst(all),
  };
};

/** Its hash (SHA-256, cut to 40 hexadecimal digits): an author may not find another spec that has the same. */
export const agreedHash = (spec: JsonObject): string =>
  createHash('sha256')
    .update(canonical(agreedSpec(spec)))
    .digest('hex')
    .slice(0, 40);
