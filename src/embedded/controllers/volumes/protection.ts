import { at, objects, type Stored, text } from '../../object.ts';
import { type Cluster, type Controller, keyOf, split } from '../controller.ts';
import { isFinished, nodeOf } from '../pods.ts';

/** Claims go when no pod uses them any more, volumes when they are bound to none (pkg/controller/volume/{pvc,pv}protection). */

const claims = 'persistentvolumeclaims';
const volumes = 'persistentvolumes';
const protection = { [claims]: 'kubernetes.io/pvc-protection', [volumes]: 'kubernetes.io/pv-protection' } as const;

const claimsOf = (pod: Stored): readonly string[] =>
  objects(at(pod, 'spec', 'volumes')).flatMap(volume => text(volume, 'persistentVolumeClaim', 'claimName') || []);

/** A pod that is on no node yet does not hold its claims, nor does one that has ended. */
const isUsed = ({ store }: Cluster, { metadata }: Stored): boolean =>
  store.list('pods', metadata.namespace ?? '').some(pod => nodeOf(pod) !== '' && !isFinished(pod) && claimsOf(pod).includes(metadata.name));

const release = (cluster: Cluster, resource: typeof claims | typeof volumes, object: Stored): void => {
  const finalizers = (object.metadata.finalizers ?? []).filter(one => one !== protection[resource]);
  cluster.writes.update(resource, { ...object, metadata: { ...object.metadata, finalizers } });
};

const isGoing = (object: Stored, resource: typeof claims | typeof volumes): boolean =>
  object.metadata.deletionTimestamp !== undefined && object.metadata.finalizers?.includes(protection[resource]) === true;

export const claimProtection: Controller = {
  name: 'persistentvolumeclaim-protection-controller',
  keysOf: ({ resource, type, object }, { store }) => {
    if (resource === claims) return type !== 'removed' && isGoing(object, claims) ? [keyOf(object)] : [];
    if (resource !== 'pods' || (type !== 'removed' && !isFinished(object))) return [];
    const namespace = object.metadata.namespace ?? '';
    return claimsOf(object)
      .map(name => `${namespace}/${name}`)
      .filter(key => store.get(claims, ...split(key)) !== undefined);
  },
  reconcile: (key, cluster) => {
    const claim = cluster.store.get(claims, ...split(key));
    if (claim !== undefined && isGoing(claim, claims) && !isUsed(cluster, claim)) release(cluster, claims, claim);
    return undefined;
  },
};

export const volumeProtection: Controller = {
  name: 'persistentvolume-protection-controller',
  keysOf: ({ resource, type, object }) => (resource === volumes && type !== 'removed' && isGoing(object, volumes) ? [keyOf(object)] : []),
  reconcile: (key, cluster) => {
    const volume = cluster.store.get(volumes, ...split(key));
    const isFree = volume !== undefined && isGoing(volume, volumes) && text(volume, 'status', 'phase') !== 'Bound';
    if (isFree) release(cluster, volumes, volume);
    return undefined;
  },
};
