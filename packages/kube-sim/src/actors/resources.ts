import type { JsonObject } from '@drydock/apimachinery';
import { amount } from '@drydock/apimachinery';
import { memoizeOnObject } from '../memo.ts';
import { at, objects, part } from '../object.ts';

/** Amounts of resources that nodes have and pods request. */

export type Amounts = Readonly<Record<string, number>>;

function read(quantities: JsonObject): Amounts {
  return Object.fromEntries(
    Object.entries(quantities).map(([name, value]) => [name, amount(value)]),
  );
}

export function plus(one: Amounts, other: Amounts): Amounts {
  const sum: Record<string, number> = { ...one };
  for (const [name, value] of Object.entries(other)) sum[name] = (sum[name] ?? 0) + value;
  return sum;
}

function limit(one: Amounts, other: Amounts): Amounts {
  const result: Record<string, number> = { ...one };
  for (const [name, value] of Object.entries(other))
    result[name] = Math.max(result[name] ?? 0, value);
  return result;
}

/**
 * Returns the requests of a pod: the sum of its containers, or its largest init container, and one
 * pod.
 */
export function requestsOf(podSpec: JsonObject): Amounts {
  const of = (container: JsonObject): Amounts => read(part(container, 'resources', 'requests'));
  const containers = objects(podSpec['containers']).map(of).reduce(plus, {});
  const initial = objects(podSpec['initContainers']).map(of).reduce(limit, {});
  return plus(limit(containers, initial), { pods: 1 });
}

/** Returns the allocatable resources of a node. */
export const allocatable = memoizeOnObject((node: JsonObject): Amounts => {
  const own = part(node, 'status', 'allocatable');
  return read(Object.keys(own).length > 0 ? own : part(node, 'status', 'capacity'));
});

/** Requests as a list, which is iterated for every node. */
export type ResourceRequests = readonly (readonly [name: string, value: number])[];

function isShort([name, value]: ResourceRequests[number], used: Amounts, has: Amounts): boolean {
  return value > 0 && (used[name] ?? 0) + value > (has[name] ?? 0);
}

/** Returns whether every request fits. */
export function fits(asked: ResourceRequests, used: Amounts, has: Amounts): boolean {
  for (const one of asked) if (isShort(one, used, has)) return false;
  return true;
}

/** Returns the names of insufficient resources; empty when the pod fits. */
export function lacking(asked: ResourceRequests, used: Amounts, has: Amounts): readonly string[] {
  return asked.filter(one => isShort(one, used, has)).map(([name]) => name);
}

/** Returns the grace period of a pod in seconds. */
export function graceOf(podSpec: JsonObject): number {
  const seconds = at(podSpec, 'terminationGracePeriodSeconds');
  return typeof seconds === 'number' ? seconds : 30;
}
