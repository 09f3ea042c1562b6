import type { JsonObject } from '../../core/json.ts';
import { isFinished } from '../controllers/pods.ts';
import { part, type Stored, strings } from '../object.ts';
import type { Store } from '../store/store.ts';
import { terms } from './affinity.ts';
import { type Amounts, allocatable, plus, requestsOf } from './resources.ts';

/** What one node carries at the moment. `guarded`: its pods that keep others away. */
export type Load = {
  readonly node: Stored;
  readonly guarded: readonly Stored[];
  readonly used: Amounts;
  readonly has: Amounts;
};

/** What a pod of a node asks for never changes; its spec stays the same object through all updates of its status. */
const asked = new WeakMap<JsonObject, Amounts>();

export const askedBy = (pod: Stored): Amounts => {
  const spec = part(pod, 'spec');
  const known = asked.get(spec);
  if (known !== undefined) return known;
  const amounts = requestsOf(spec);
  asked.set(spec, amounts);
  return amounts;
};

export const loadOf = (store: Store, node: Stored): Load => {
  const pods = store.indexed('pods', 'spec.nodeName', node.metadata.name).filter(pod => !isFinished(pod));
  const guarded = pods.filter(pod => terms(part(pod, 'spec'), 'podAntiAffinity').length > 0);
  return { node, guarded, used: pods.map(askedBy).reduce(plus, {}), has: allocatable(node) };
};

/** Where a node is, by a topology key. */
export const domain = (node: Stored | undefined, key: string): string | undefined => strings(node?.metadata.labels)[key];

export const zoneOf = (node: Stored | undefined): string | undefined => domain(node, 'topology.kubernetes.io/zone');
