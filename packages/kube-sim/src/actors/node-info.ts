import type { JsonObject } from '@drydock/apimachinery';
import { isFinished } from '../controllers/pods.ts';
import { memoizeOnObject } from '../memo.ts';
import { at, items, part, type Stored, strings } from '../object.ts';
import type { Store } from '../store/store.ts';
import { terms } from './affinity.ts';
import { type Amounts, allocatable, type ResourceRequests, requestsOf } from './resources.ts';

/** Present load of one node, read for every pod. `guarded`: its pods with anti-affinity. */
export type NodeInfo = {
  readonly name: string;
  readonly node: Stored;
  readonly guarded: readonly Stored[];
  readonly isCordoned: boolean;
  readonly isTainted: boolean;
  readonly zone: string | undefined;
  readonly used: Amounts;
  readonly has: Amounts;
  /** Free share, from 0 to 100. */
  readonly free: number;
};

const weighed = ['cpu', 'memory', 'pods'];

function freeOf(used: Amounts, has: Amounts): number {
  let share = 0;
  for (const name of weighed) if (has[name]) share += (used[name] ?? 0) / has[name];
  return 100 * (1 - share / weighed.length);
}

/** Requests of a pod, and whether it has anti-affinity. */
type Weight = { readonly asked: ResourceRequests; readonly keepsOthersAway: boolean };

/** A pod's spec stays the same object through all updates of its status. */
const weightIn = memoizeOnObject(
  (spec: JsonObject): Weight => ({
    asked: Object.entries(requestsOf(spec)),
    keepsOthersAway: terms(spec, 'podAntiAffinity').length > 0,
  }),
);

const weightOf = memoizeOnObject((pod: Stored): Weight => weightIn(part(pod, 'spec')));

export function askedBy(pod: Stored): ResourceRequests {
  return weightOf(pod).asked;
}

export function loadOf(store: Store, node: Stored): NodeInfo {
  const { name } = node.metadata;
  const guarded: Stored[] = [];
  const used: Record<string, number> = {};
  for (const pod of store.indexed('pods', 'spec.nodeName', name)) {
    if (isFinished(pod)) continue;
    const { asked, keepsOthersAway } = weightOf(pod);
    if (keepsOthersAway) guarded.push(pod);
    for (const [what, value] of asked) used[what] = (used[what] ?? 0) + value;
  }
  const isCordoned = at(node, 'spec', 'unschedulable') === true;
  const isTainted = items(at(node, 'spec', 'taints')).length > 0;
  const has = allocatable(node);
  const zone = domain(node, 'topology.kubernetes.io/zone');
  return { name, node, guarded, isCordoned, isTainted, zone, used, has, free: freeOf(used, has) };
}

/** Returns the topology domain of a node, by key. */
export function domain(node: Stored | undefined, key: string): string | undefined {
  return strings(node?.metadata.labels)[key];
}
