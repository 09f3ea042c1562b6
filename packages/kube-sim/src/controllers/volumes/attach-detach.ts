import { createHash } from 'node:crypto';
import { at, objects, type Stored, text } from '../../object.ts';
import type { Cluster, Controller } from '../controller.ts';
import { isFinished, nodeOf } from '../pods.ts';

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
