import { isObject, type JsonObject } from '../../core/json.ts';
import { isFinished, nodeOf } from '../controllers/pods.ts';
import { at, objects, type Stored, text } from '../object.ts';
import type { Store } from '../store/store.ts';
import type { Ties } from './scheduler.ts';

/** Node selectors of the volumes that a pod's claims are bound to: it can only run where each of them can be (VolumeBinding). */
const volumesOf = (store: Store, pod: Stored): readonly JsonObject[] =>
  objects(at(pod, 'spec', 'volumes')).flatMap(one => {
    const claim = store.get('persistentvolumeclaims', pod.metadata.namespace ?? '', text(one, 'persistentVolumeClaim', 'claimName'));
    const volume = claim && store.get('persistentvolumes', '', text(claim, 'spec', 'volumeName'));
    const required = at(volume, 'spec', 'nodeAffinity', 'required');
    return isObject(required) ? [required] : [];
  });

const siblingsOf = (store: Store, pod: Stored): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  const owner = pod.metadata.ownerReferences?.[0]?.uid;
  for (const other of owner === undefined ? [] : store.indexed('pods', 'owner', owner)) {
    const node = nodeOf(other);
    if (node !== '' && !isFinished(other) && other.metadata.ownerReferences?.[0]?.uid === owner)
      counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  return counts;
};

/** What ties a pod to nodes, or keeps it from them, beside its own spec. */
export const tiesOf = (store: Store, pod: Stored): Ties => ({ volumes: volumesOf(store, pod), siblings: siblingsOf(store, pod) });
