import { at, objects, part, type Stored, text } from '../../object.ts';
import { conditionOf, conditionsOf } from '../conditions.ts';
import { type Cluster, type Controller, keyOf, split, timeText } from '../controller.ts';
import { isFinished, nodeOf } from '../pods.ts';

/**
 * Deletes claims when no pod uses them any more, and volumes when they are unbound
 * (pkg/controller/volume/{pvc,pv}protection). Since 1.37 a condition of a bound claim shows whether
 * a pod names it.
 */

const claims = 'persistentvolumeclaims';
const volumes = 'persistentvolumes';
const protection = {
  [claims]: 'kubernetes.io/pvc-protection',
  [volumes]: 'kubernetes.io/pv-protection',
} as const;

function claimsOf(pod: Stored): readonly string[] {
  return objects(at(pod, 'spec', 'volumes')).flatMap(
    volume => text(volume, 'persistentVolumeClaim', 'claimName') || [],
  );
}

/** Returns whether a pod uses the claim: an unscheduled or finished pod does not. */
function isUsed({ store }: Cluster, { metadata }: Stored): boolean {
  return store
    .list('pods', metadata.namespace ?? '')
    .some(pod => nodeOf(pod) !== '' && !isFinished(pod) && claimsOf(pod).includes(metadata.name));
}

/** Returns whether an unfinished pod names the claim, scheduled or not. */
function isNamed({ store }: Cluster, { metadata }: Stored): boolean {
  return store
    .list('pods', metadata.namespace ?? '')
    .some(pod => !isFinished(pod) && claimsOf(pod).includes(metadata.name));
}

const named = {
  status: 'False',
  reason: 'PodUsingPVC',
  message: 'A pod is currently referencing this PVC',
};
const notNamed = {
  status: 'True',
  reason: 'NoPodsUsingPVC',
  message: 'No pods are currently referencing this PVC',
};

/** Updates the condition Unused of a bound claim. */
function sayWhetherUsed(cluster: Cluster, claim: Stored): void {
  if (claim.metadata.deletionTimestamp !== undefined || text(claim, 'status', 'phase') !== 'Bound')
    return;
  const said = isNamed(cluster, claim) ? named : notNamed;
  const conditions = conditionsOf(claim);
  const before = conditionOf(conditions, 'Unused');
  if (before?.['status'] === said.status) return;
  const fresh = {
    type: 'Unused',
    ...said,
    lastProbeTime: null,
    lastTransitionTime: timeText(cluster.nowMs()),
  };
  const status = {
    ...part(claim, 'status'),
    conditions: [...conditions.filter(one => one !== before), fresh],
  };
  cluster.writes.update(claims, { ...claim, status }, 'status');
}

function isUnsaid(claim: Stored): boolean {
  return conditionOf(conditionsOf(claim), 'Unused') === undefined;
}

function release(cluster: Cluster, resource: typeof claims | typeof volumes, object: Stored): void {
  const finalizers = (object.metadata.finalizers ?? []).filter(one => one !== protection[resource]);
  cluster.writes.update(resource, { ...object, metadata: { ...object.metadata, finalizers } });
}

function isGoing(object: Stored, resource: typeof claims | typeof volumes): boolean {
  return (
    object.metadata.deletionTimestamp !== undefined &&
    object.metadata.finalizers?.includes(protection[resource]) === true
  );
}

export const claimProtection: Controller = {
  name: 'persistentvolumeclaim-protection-controller',
  keysOf: ({ resource, type, object }, { store }) => {
    if (resource === claims)
      return type !== 'removed' && (isGoing(object, claims) || isUnsaid(object))
        ? [keyOf(object)]
        : [];
    if (resource !== 'pods') return [];
    const namespace = object.metadata.namespace ?? '';
    return claimsOf(object)
      .map(name => `${namespace}/${name}`)
      .filter(key => store.get(claims, ...split(key)) !== undefined);
  },
  reconcile: (key, cluster) => {
    const claim = cluster.store.get(claims, ...split(key));
    if (claim === undefined) return undefined;
    sayWhetherUsed(cluster, claim);
    if (isGoing(claim, claims) && !isUsed(cluster, claim)) release(cluster, claims, claim);
    return undefined;
  },
};

export const volumeProtection: Controller = {
  name: 'persistentvolume-protection-controller',
  keysOf: ({ resource, type, object }) =>
    resource === volumes && type !== 'removed' && isGoing(object, volumes) ? [keyOf(object)] : [],
  reconcile: (key, cluster) => {
    const volume = cluster.store.get(volumes, ...split(key));
    const isFree =
      volume !== undefined &&
      isGoing(volume, volumes) &&
      text(volume, 'status', 'phase') !== 'Bound';
    if (isFree) release(cluster, volumes, volume);
    return undefined;
  },
};
