import type { JsonObject } from '../../core/json.ts';
import { amount } from '../../core/quantity.ts';
import { memoizeOnObject } from '../memo.ts';
import { at, objects, part } from '../object.ts';

/** Amounts of what nodes have and pods ask for. */

export type Amounts = Readonly<Record<string, number>>;

const read = (quantities: JsonObject): Amounts =>
  Object.fromEntries(Object.entries(quantities).map(([name, value]) => [name, amount(value)]));

export const plus = (one: Amounts, other: Amounts): Amounts => {
  const sum: Record<string, number> = { ...one };
  for (const [name, value] of Object.entries(other)) sum[name] = (sum[name] ?? 0) + value;
  return sum;
};

const limit = (one: Amounts, other: Amounts): Amounts => {
  const result: Record<string, number> = { ...one };
  for (const [name, value] of Object.entries(other)) result[name] = Math.max(result[name] ?? 0, value);
  return result;
};

/** What a pod asks for: its containers together, or its greediest init container, and one place. */
export const requestsOf = (podSpec: JsonObject): Amounts => {
  const of = (container: JsonObject): Amounts => read(part(container, 'resources', 'requests'));
  const containers = objects(podSpec['containers']).map(of).reduce(plus, {});
  const initial = objects(podSpec['initContainers']).map(of).reduce(limit, {});
  return plus(limit(containers, initial), { pods: 1 });
};

/** What a node has to give. */
export const allocatable = memoizeOnObject((node: JsonObject): Amounts => {
  const own = part(node, 'status', 'allocatable');
  return read(Object.keys(own).length > 0 ? own : part(node, 'status', 'capacity'));
});

/** What is asked for, one by one: it is gone through for every node. */
export type ResourceRequests = readonly (readonly [name: string, value: number])[];

const isShort = ([name, value]: ResourceRequests[number], used: Amounts, has: Amounts): boolean =>
  value > 0 && (used[name] ?? 0) + value > (has[name] ?? 0);

/** There is enough of everything. */
export const fits = (asked: ResourceRequests, used: Amounts, has: Amounts): boolean => {
  for (const one of asked) if (isShort(one, used, has)) return false;
  return true;
};

/** Of what there would be too little; empty when it fits. */
export const lacking = (asked: ResourceRequests, used: Amounts, has: Amounts): readonly string[] =>
  asked.filter(one => isShort(one, used, has)).map(([name]) => name);

/** The seconds that a pod has to end. */
export const graceOf = (podSpec: JsonObject): number => {
  const seconds = at(podSpec, 'terminationGracePeriodSeconds');
  return typeof seconds === 'number' ? seconds : 30;
};
