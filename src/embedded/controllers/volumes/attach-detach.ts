import { createHash } from 'node:crypto';
import { at, objects, type Stored, text } from '../../object.ts';
import type { Cluster, Controller } from '../controller.ts';
import { isFinished, nodeOf } from '../pods.ts';

/**
 * Volumes of CSI drivers are attached to the nodes of their pods, where kubelets leave that to the controller, and detached when the last of
 * these has gone (k8s.io/kubernetes/pkg/controller/volume/attachdetach). The driver's own side, which says that it has attached, is played too.
 */

const by = 'attachdetach-controller';
const attachments = 'volumeattachments.storage.k8s.io';
const claims = 'persistentvolumeclaims';
const volumes = 'persistentvolumes';

/** A volume that is to be attached to a node. */
type Attachment = {
  readonly pod: Stored;
  readonly volume: string;
  readonly driver: string;
  readonly handle: string;
  readonly node: string;
};

/** As the CSI plugin names them (getAttachmentName). */
const nameOf = ({ handle, driver, node }: Attachment): string =>
  `csi-${createHash('sha256').update(`${handle}${driver}${node}`).digest('hex')}`;

const attachmentsOf = ({ store }: Cluster, pod: Stored): readonly Attachment[] => {
  const node = nodeOf(pod);
  if (node === '' || isFinished(pod)) return [];
  return objects(at(pod, 'spec', 'volumes')).flatMap(one => {
    const claim = store.get(claims, pod.metadata.namespace ?? '', text(one, 'persistentVolumeClaim', 'claimName'));
    const volume = claim && store.get(volumes, '', text(claim, 'spec', 'volumeName'));
    const driver = text(volume, 'spec', 'csi', 'driver');
    if (volume === undefined || driver === '' || text(claim, 'status', 'phase') !== 'Bound') return [];
    return [{ pod, volume: volume.metadata.name, driver, handle: text(volume, 'spec', 'csi', 'volumeHandle'), node }];
  });
};

/** A kubelet says by this that its volumes are the controller's affair; what else is attached to its node is left alone. */
const managed = 'volumes.kubernetes.io/controller-managed-attach-detach';

const wantedOn = (cluster: Cluster, node: string): ReadonlyMap<string, Attachment> => {
  if (cluster.store.get('nodes', '', node)?.metadata.annotations?.[managed] !== 'true') return new Map();
  const attachments = cluster.store.indexed('pods', 'spec.nodeName', node).flatMap(pod => attachmentsOf(cluster, pod));
  return new Map(attachments.map(attachment => [nameOf(attachment), attachment]));
};

const attach = ({ writes }: Cluster, name: string, { driver, node, volume }: Attachment): void => {
  writes.create(attachments, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name },
    spec: { attacher: driver, nodeName: node, source: { persistentVolumeName: volume } },
  });
};

/** What the driver says, and what the controller makes of that. */
const noteAttached = ({ writes, record }: Cluster, present: Stored, { pod, volume }: Attachment): void => {
  writes.update(attachments, { ...present, status: { attached: true } }, 'status');
  const message = `AttachVolume.Attach succeeded for volume "${volume}" `;
  record({ by, about: { resource: 'pods', object: pod }, type: 'Normal', reason: 'SuccessfulAttachVolume', message });
};

/** The controller; it remembers what it has attached to each node, and lets other attachments be. */
export const attachDetachController = (): Controller => {
  const attached = new Map<string, Set<string>>();
  return {
    name: by,
    keysOf: (change, { store }) => {
      const { resource, type, object } = change;
      if (resource === 'pods') {
        const hasClaims = objects(at(object, 'spec', 'volumes')).some(one => one['persistentVolumeClaim'] !== undefined);
        return hasClaims && nodeOf(object) !== '' ? [nodeOf(object)] : [];
      }
      if (resource === 'nodes') return type === 'added' ? [object.metadata.name] : [];
      if (resource === attachments && type === 'added') return [text(object, 'spec', 'nodeName')];
      if (resource !== claims || type !== 'changed' || text(object, 'status', 'phase') === text(change.before, 'status', 'phase'))
        return [];
      const users = store.list('pods', object.metadata.namespace ?? '').filter(pod => nodeOf(pod) !== '');
      return [...new Set(users.map(nodeOf))];
    },
    reconcile: (node, cluster) => {
      const { store, writes } = cluster;
      const wanted = wantedOn(cluster, node);
      const before = attached.get(node) ?? new Set<string>();
      for (const [name, attachment] of wanted) {
        const present = store.get(attachments, '', name);
        if (present === undefined) attach(cluster, name, attachment);
        else if (at(present, 'status', 'attached') !== true) noteAttached(cluster, present, attachment);
      }
      for (const name of before) if (!wanted.has(name)) writes.remove(attachments, '', name);
      if (wanted.size === 0) attached.delete(node);
      else attached.set(node, new Set(wanted.keys()));
      return undefined;
    },
  };
};
