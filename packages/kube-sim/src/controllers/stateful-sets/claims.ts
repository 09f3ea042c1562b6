import type { JsonObject } from '@drydock/apimachinery';
import {
  at,
  type OwnerReference,
  objects,
  part,
  type Stored,
  strings,
  text,
} from '../../object.ts';
import { type Cluster, controllerReference } from '../controller.ts';

/**
 * Claims of a StatefulSet's pods: created before the pod, kept after its deletion, unless the
 * retention policy differs.
 */

const resource = 'persistentvolumeclaims';

type Claim = { readonly volume: string; readonly name: string; readonly template: JsonObject };

function claimsOf(set: Stored, pod: string): readonly Claim[] {
  return objects(at(set, 'spec', 'volumeClaimTemplates')).map(template => {
    const volume = text(template, 'metadata', 'name');
    return { volume, name: `${volume}-${pod}`, template };
  });
}

/**
 * Returns the pod's volumes: its claims, then the other volumes of the template (updateStorage).
 */
export function volumesOf(
  set: Stored,
  pod: string,
  given: readonly JsonObject[],
): readonly JsonObject[] {
  const claims = claimsOf(set, pod);
  const own = new Set(claims.map(({ volume }) => volume));
  const mounted = claims.map(({ volume, name }) => ({
    name: volume,
    persistentVolumeClaim: { claimName: name },
  }));
  return [...mounted, ...given.filter(volume => !own.has(text(volume, 'name')))];
}

export type CreatedClaim = { readonly claim: string; readonly failure?: string };

/** Creates missing claims; returns the result for each. */
export function makeClaims(
  { store, writes }: Cluster,
  set: Stored,
  pod: string,
): readonly CreatedClaim[] {
  const namespace = set.metadata.namespace ?? '';
  const missing = claimsOf(set, pod).filter(
    ({ name }) => store.get(resource, namespace, name) === undefined,
  );
  return missing.map(({ name, template }) => {
    const given = part(template, 'metadata');
    const labels = {
      ...strings(given['labels']),
      ...strings(at(set, 'spec', 'selector', 'matchLabels')),
    };
    const metadata = { ...given, name, namespace, labels };
    const written = writes.create(resource, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata,
      spec: part(template, 'spec'),
    });
    return written.kind === 'stored' ? { claim: name } : { claim: name, failure: written.message };
  });
}

/** Returns a terminating claim of the pod, whose replacement the pod has to await. */
export function hasLeavingClaim({ store }: Cluster, set: Stored, pod: string): string | undefined {
  return claimsOf(set, pod).find(
    ({ name }) =>
      store.get(resource, set.metadata.namespace ?? '', name)?.metadata.deletionTimestamp !==
      undefined,
  )?.name;
}

/**
 * Returns the owner with which the claim is deleted: the pod when it is scaled down, the set when
 * that is deleted, or none (updateClaimOwnerRefForSetAndPod).
 */
function ownerFor(set: Stored, pod: Stored, isSurplus: boolean): OwnerReference | undefined {
  const policy = part(set, 'spec', 'persistentVolumeClaimRetentionPolicy');
  if (policy['whenScaled'] === 'Delete' && isSurplus) return controllerReference('v1', 'Pod', pod);
  return policy['whenDeleted'] === 'Delete'
    ? controllerReference('apps/v1', 'StatefulSet', set)
    : undefined;
}

/** Updates the owners of a pod's claims by the retention policy. */
export function ownClaims(
  { store, writes }: Cluster,
  set: Stored,
  pod: Stored,
  isSurplus: boolean,
): void {
  const owner = ownerFor(set, pod, isSurplus);
  const ours = new Set([set.metadata.uid, pod.metadata.uid]);
  for (const { name } of claimsOf(set, pod.metadata.name)) {
    const claim = store.get(resource, set.metadata.namespace ?? '', name);
    const present = claim?.metadata.ownerReferences ?? [];
    const mine = present.filter(({ uid }) => ours.has(uid));
    const isRight =
      mine.length === (owner === undefined ? 0 : 1) && mine.every(({ uid }) => uid === owner?.uid);
    if (claim === undefined || isRight) continue;
    const ownerReferences = [
      ...present.filter(({ uid }) => !ours.has(uid)),
      ...(owner === undefined ? [] : [owner]),
    ];
    writes.update(resource, { ...claim, metadata: { ...claim.metadata, ownerReferences } });
  }
}
