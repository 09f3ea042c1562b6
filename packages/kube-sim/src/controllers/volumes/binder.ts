import { amount } from '@drydock/apimachinery';
import { at, items, type ObjectMeta, part, type Stored, text } from '../../object.ts';
import { type Cluster, type Controller, keyOf, split, timeText } from '../controller.ts';

/**
 * Binds claims to volumes (k8s.io/kubernetes/pkg/controller/volume/persistentvolume). Nothing is
 * provisioned.
 */

const claims = 'persistentvolumeclaims';
const volumes = 'persistentvolumes';
const byController = 'pv.kubernetes.io/bound-by-controller';
const completed = 'pv.kubernetes.io/bind-completed';

function refersTo(volume: Stored, { metadata }: Stored): boolean {
  const claim = part(volume, 'spec', 'claimRef');
  const sameUid =
    claim['uid'] === undefined || claim['uid'] === '' || claim['uid'] === metadata.uid;
  return claim['name'] === metadata.name && claim['namespace'] === metadata.namespace && sameUid;
}

function isFree(volume: Stored): boolean {
  return at(volume, 'spec', 'claimRef') === undefined;
}

function capacityOf(volume: Stored): number {
  return amount(at(volume, 'spec', 'capacity', 'storage'));
}

function fits(volume: Stored, claim: Stored): boolean {
  const modes = items(at(volume, 'spec', 'accessModes'));
  const isEnough =
    capacityOf(volume) >= amount(at(claim, 'spec', 'resources', 'requests', 'storage'));
  const sameClass =
    text(volume, 'spec', 'storageClassName') === text(claim, 'spec', 'storageClassName');
  const sameMode =
    (text(volume, 'spec', 'volumeMode') || 'Filesystem') ===
    (text(claim, 'spec', 'volumeMode') || 'Filesystem');
  return (
    isEnough &&
    sameClass &&
    sameMode &&
    items(at(claim, 'spec', 'accessModes')).every(mode => modes.includes(mode))
  );
}

/**
 * Returns the volume that the claim names, that names the claim, or the smallest free one that is
 * large enough (findBestMatchForClaim).
 */
function volumeFor({ store }: Cluster, claim: Stored): Stored | undefined {
  const named = text(claim, 'spec', 'volumeName');
  if (named !== '') {
    const volume = store.get(volumes, '', named);
    return volume !== undefined && (isFree(volume) || refersTo(volume, claim)) ? volume : undefined;
  }
  const all = store
    .list(volumes)
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const meant = all.find(volume => !isFree(volume) && refersTo(volume, claim));
  return (
    meant ??
    all
      .filter(volume => isFree(volume) && fits(volume, claim))
      .toSorted((one, other) => capacityOf(one) - capacityOf(other))[0]
  );
}

function annotated(metadata: ObjectMeta, added: Readonly<Record<string, string>>): ObjectMeta {
  return {
    ...metadata,
    annotations: { ...metadata.annotations, ...added },
  };
}

function setPhase(cluster: Cluster, volume: Stored, phase: string): void {
  if (text(volume, 'status', 'phase') === phase) return;
  const status = {
    ...part(volume, 'status'),
    phase,
    lastPhaseTransitionTime: timeText(cluster.nowMs()),
  };
  cluster.writes.update(volumes, { ...volume, status }, 'status');
}

function bindVolume(
  cluster: Cluster,
  volume: Stored,
  { metadata: { name, namespace = '', uid, resourceVersion } }: Stored,
): Stored {
  const before = part(volume, 'spec', 'claimRef');
  if (before['uid'] === uid) return volume;
  const claimRef = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    name,
    namespace,
    uid,
    resourceVersion,
  };
  const metadata = isFree(volume)
    ? annotated(volume.metadata, { [byController]: 'yes' })
    : volume.metadata;
  const written = cluster.writes.update(volumes, {
    ...volume,
    metadata,
    spec: { ...part(volume, 'spec'), claimRef },
  });
  return written.kind === 'stored' ? written.object : volume;
}

/**
 * Binds the volume first, then the claim: after a crash in between, the volume is found bound, and
 * binding continues.
 */
function bind(cluster: Cluster, claim: Stored, found: Stored): void {
  const volume = bindVolume(cluster, found, claim);
  setPhase(cluster, volume, 'Bound');
  const { name } = volume.metadata;
  const own = text(claim, 'spec', 'volumeName') === '' ? { [byController]: 'yes' } : {};
  const isDone =
    claim.metadata.annotations?.[completed] === 'yes' && text(claim, 'spec', 'volumeName') === name;
  const metadata = annotated(claim.metadata, { ...own, [completed]: 'yes' });
  const bound = isDone
    ? undefined
    : cluster.writes.update(claims, {
        ...claim,
        metadata,
        spec: { ...part(claim, 'spec'), volumeName: name },
      });
  const current = bound?.kind === 'stored' ? bound.object : claim;
  if (text(current, 'status', 'phase') === 'Bound') return;
  const { accessModes, capacity } = part(volume, 'spec');
  cluster.writes.update(
    claims,
    { ...current, status: { ...part(current, 'status'), phase: 'Bound', accessModes, capacity } },
    'status',
  );
}

function lookAtVolume(cluster: Cluster, volume: Stored): void {
  const { namespace, name, uid } = part(volume, 'spec', 'claimRef');
  if (typeof name !== 'string' || typeof namespace !== 'string')
    return setPhase(cluster, volume, 'Available');
  const claim = cluster.store.get(claims, namespace, name);
  const isLost = typeof uid === 'string' && uid !== '' && claim?.metadata.uid !== uid;
  if (isLost) setPhase(cluster, volume, 'Released');
  else if (uid === undefined || uid === '') setPhase(cluster, volume, 'Available');
}

/** Reconciles a key, `claim namespace/name` or `volume name`. */
function reconcile(key: string, cluster: Cluster): undefined {
  const cut = key.indexOf(' ');
  const rest = key.slice(cut + 1);
  if (key.startsWith('volume ')) {
    const volume = cluster.store.get(volumes, '', rest);
    if (volume !== undefined) lookAtVolume(cluster, volume);
    return;
  }
  const claim = cluster.store.get(claims, ...split(rest));
  const volume = claim && volumeFor(cluster, claim);
  if (claim !== undefined && volume !== undefined && claim.metadata.deletionTimestamp === undefined)
    bind(cluster, claim, volume);
}

function isPending(claim: Stored): boolean {
  return text(claim, 'status', 'phase') !== 'Bound';
}

export const volumeBinder: Controller = {
  name: 'persistentvolume-controller',
  keysOf: ({ resource, type, object }, { store }) => {
    if (resource === claims) {
      const volume = text(object, 'spec', 'volumeName');
      if (type === 'removed') return volume === '' ? [] : [`volume ${volume}`];
      return isPending(object) ? [`claim ${keyOf(object)}`] : [];
    }
    if (resource !== volumes || type === 'removed') return [];
    const waiting =
      isFree(object) || text(object, 'status', 'phase') !== 'Bound'
        ? store.list(claims).filter(isPending)
        : [];
    return [`volume ${object.metadata.name}`, ...waiting.map(claim => `claim ${keyOf(claim)}`)];
  },
  reconcile,
};
