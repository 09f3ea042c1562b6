import { createHash } from 'node:crypto';
import { at, objects, part, type Stored, text } from '../../object.ts';
import {
  type Cluster,
  type Controller,
  isFinished,
  keyOf,
  nodeOf,
  split,
  timeText,
} from '../controller.ts';
import { conditionOf, conditionsOf } from '../namespaces.ts';

/**
 * Attaches volumes of CSI drivers to the nodes of their pods, where kubelets leave that to the
 * controller, and detaches them when the last of these is gone
 * (k8s.io/kubernetes/pkg/controller/volume/attachdetach). Simulates the driver, which confirms the
 * attachment, too.
 */

const by = 'attachdetach-controller';
const attachments = 'volumeattachments.storage.k8s.io';
const claims = 'persistentvolumeclaims';
const volumes = 'persistentvolumes';

/** A volume to attach to a node. */
type Attachment = {
  readonly pod: Stored;
  readonly volume: string;
  readonly driver: string;
  readonly handle: string;
  readonly node: string;
};

/** Returns the name of the CSI plugin's attachment (getAttachmentName). */
function nameOf({ handle, driver, node }: Attachment): string {
  return `csi-${createHash('sha256').update(`${handle}${driver}${node}`).digest('hex')}`;
}

function attachmentsOf({ store }: Cluster, pod: Stored): readonly Attachment[] {
  const node = nodeOf(pod);
  if (node === '' || isFinished(pod)) return [];
  return objects(at(pod, 'spec', 'volumes')).flatMap(one => {
    const claim = store.get(
      claims,
      pod.metadata.namespace ?? '',
      text(one, 'persistentVolumeClaim', 'claimName'),
    );
    const volume = claim && store.get(volumes, '', text(claim, 'spec', 'volumeName'));
    const driver = text(volume, 'spec', 'csi', 'driver');
    if (volume === undefined || driver === '' || text(claim, 'status', 'phase') !== 'Bound')
      return [];
    return [
      {
        pod,
        volume: volume.metadata.name,
        driver,
        handle: text(volume, 'spec', 'csi', 'volumeHandle'),
        node,
      },
    ];
  });
}

/**
 * Annotation by which a kubelet leaves its volumes to the controller; other attachments of its node
 * are ignored.
 */
const managed = 'volumes.kubernetes.io/controller-managed-attach-detach';

function wantedOn(cluster: Cluster, node: string): ReadonlyMap<string, Attachment> {
  if (cluster.store.get('nodes', '', node)?.metadata.annotations?.[managed] !== 'true')
    return new Map();
  const attachments = cluster.store
    .indexed('pods', 'spec.nodeName', node)
    .flatMap(pod => attachmentsOf(cluster, pod));
  return new Map(attachments.map(attachment => [nameOf(attachment), attachment]));
}

function attach({ writes }: Cluster, name: string, { driver, node, volume }: Attachment): void {
  writes.create(attachments, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name },
    spec: { attacher: driver, nodeName: node, source: { persistentVolumeName: volume } },
  });
}

/** Writes the driver's confirmation, and the controller's event. */
function noteAttached(
  { writes, record }: Cluster,
  present: Stored,
  { pod, volume }: Attachment,
): void {
  writes.update(attachments, { ...present, status: { attached: true } }, 'status');
  const message = `AttachVolume.Attach succeeded for volume "${volume}" `;
  record({
    by,
    about: { resource: 'pods', object: pod },
    type: 'Normal',
    reason: 'SuccessfulAttachVolume',
    message,
  });
}

/** Returns the controller; it remembers its attachments to each node, and ignores others. */
export function attachDetachController(): Controller {
  const attached = new Map<string, Set<string>>();
  return {
    name: by,
    keysOf: (change, { store }) => {
      const { resource, type, object } = change;
      if (resource === 'pods') {
        const hasClaims = objects(at(object, 'spec', 'volumes')).some(
          one => one['persistentVolumeClaim'] !== undefined,
        );
        return hasClaims && nodeOf(object) !== '' ? [nodeOf(object)] : [];
      }
      if (resource === 'nodes') return type === 'added' ? [object.metadata.name] : [];
      if (resource === attachments && type === 'added') return [text(object, 'spec', 'nodeName')];
      if (
        resource !== claims ||
        type !== 'changed' ||
        text(object, 'status', 'phase') === text(change.before, 'status', 'phase')
      )
        return [];
      const users = store
        .list('pods', object.metadata.namespace ?? '')
        .filter(pod => nodeOf(pod) !== '');
      return [...new Set(users.map(nodeOf))];
    },
    reconcile: (node, cluster) => {
      const { store, writes } = cluster;
      const wanted = wantedOn(cluster, node);
      const before = attached.get(node) ?? new Set<string>();
      for (const [name, attachment] of wanted) {
        const present = store.get(attachments, '', name);
        if (present === undefined) attach(cluster, name, attachment);
        else if (at(present, 'status', 'attached') !== true)
          noteAttached(cluster, present, attachment);
      }
      for (const name of before) if (!wanted.has(name)) writes.remove(attachments, '', name);
      if (wanted.size === 0) attached.delete(node);
      else attached.set(node, new Set(wanted.keys()));
      return undefined;
    },
  };
}

/**
 * Deletes claims when no pod uses them any more, and volumes when they are unbound
 * (pkg/controller/volume/{pvc,pv}protection). Since 1.37 a condition of a bound claim shows whether
 * a pod names it.
 */

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
