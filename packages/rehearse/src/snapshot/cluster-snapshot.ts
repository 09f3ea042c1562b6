import type { JsonObject } from '@drydock/apimachinery';

/** The copy of a cluster for a rehearsal. */
export type ClusterSnapshot = {
  /** Time of the copy, as exactly as known. */
  readonly snapshotTime: Temporal.Instant;
  /** Objects as the API returns them, each with `apiVersion` and `kind`. */
  readonly objects: readonly JsonObject[];
  /** Kinds that could not be read, and why: sentences for users. */
  readonly leftOut: readonly string[];
};

/**
 * A copied kind. Nodes and pods are required for a rehearsal; for the others the user may lack the
 * right.
 */
export type CopiedKind = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly needed?: true;
};

function of(
  apiVersion: string,
  ...kinds: readonly (readonly [kind: string, plural: string])[]
): readonly CopiedKind[] {
  return kinds.map(([kind, plural]) => ({ apiVersion, kind, plural }));
}

/** Copied kinds; never secrets or config maps. */
export const copiedKinds: readonly CopiedKind[] = [
  { apiVersion: 'v1', kind: 'Node', plural: 'nodes', needed: true },
  { apiVersion: 'v1', kind: 'Pod', plural: 'pods', needed: true },
  ...of(
    'v1',
    ['Namespace', 'namespaces'],
    ['PersistentVolumeClaim', 'persistentvolumeclaims'],
    ['PersistentVolume', 'persistentvolumes'],
    ['Event', 'events'],
  ),
  ...of('policy/v1', ['PodDisruptionBudget', 'poddisruptionbudgets']),
  ...of(
    'apps/v1',
    ['Deployment', 'deployments'],
    ['ReplicaSet', 'replicasets'],
    ['StatefulSet', 'statefulsets'],
    ['DaemonSet', 'daemonsets'],
  ),
  ...of('batch/v1', ['Job', 'jobs']),
  ...of(
    'storage.k8s.io/v1',
    ['StorageClass', 'storageclasses'],
    ['VolumeAttachment', 'volumeattachments'],
  ),
  ...of('scheduling.k8s.io/v1', ['PriorityClass', 'priorityclasses']),
  ...of(
    'drydock.dev/v1alpha1',
    ['Maintenance', 'maintenances'],
    ['MaintenanceWindow', 'maintenancewindows'],
    ['MaintenancePlan', 'maintenanceplans'],
    ['MaintenancePlanRecord', 'maintenanceplanrecords'],
  ),
  ...of('nodemaintenance.medik8s.io/v1beta1', ['NodeMaintenance', 'nodemaintenances']),
  ...of('nodemaintenance.kubevirt.io/v1beta1', ['NodeMaintenance', 'nodemaintenances']),
  ...of('kubevirt.io/v1alpha1', ['NodeMaintenance', 'nodemaintenances']),
  ...of(
    'kubevirt.io/v1',
    ['KubeVirt', 'kubevirts'],
    ['VirtualMachine', 'virtualmachines'],
    ['VirtualMachineInstance', 'virtualmachineinstances'],
    ['VirtualMachineInstanceMigration', 'virtualmachineinstancemigrations'],
  ),
];

/** Returns the path of the collection over all namespaces. */
export function pathOfKind({ apiVersion, plural }: CopiedKind): string {
  return apiVersion.includes('/')
    ? `/apis/${apiVersion}/${plural}`
    : `/api/${apiVersion}/${plural}`;
}

/** Returns the objects of a kind, whatever the version. */
export function ofKind(objects: readonly JsonObject[], kind: string): readonly JsonObject[] {
  return objects.filter(one => one['kind'] === kind);
}
