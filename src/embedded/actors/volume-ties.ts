import { isObject, type JsonObject } from '../../core/json.ts';
import { at, objects, type Stored, text } from '../object.ts';
import type { Store } from '../store/store.ts';

/** Node selectors of the volumes that a pod's claims are bound to: it can only run where each of them can be (VolumeBinding). */
export const volumeTies = (store: Store, pod: Stored): readonly JsonObject[] =>
  objects(at(pod, 'spec', 'volumes')).flatMap(one => {
    const claim = store.get('persistentvolumeclaims', pod.metadata.namespace ?? '', text(one, 'persistentVolumeClaim', 'claimName'));
    const volume = claim && store.get('persistentvolumes', '', text(claim, 'spec', 'volumeName'));
    const required = at(volume, 'spec', 'nodeAffinity', 'required');
    return isObject(required) ? [required] : [];
  });
