import type { JsonObject } from '@drydock/apimachinery';

/**
 * Building blocks of the list of kept fields (kept-fields.ts): pods, selectors, metadata,
 * conditions.
 */

/** Rule for keeping a value. Lists are kept element by element. */
export type Kept =
  /** The whole value, with everything in it. */
  | 'whole'
  /** An empty text, where only the presence matters. */
  | 'empty'
  /** A rule for each value of a map with arbitrary keys. */
  | { readonly each: Kept }
  /** Only these fields. */
  | { readonly fields: Readonly<Record<string, Kept>> };

/** Returns a rule that keeps these fields whole, and those of `more` in part. */
export function only(names: string, more: Readonly<Record<string, Kept>> = {}): Kept {
  return {
    fields: {
      ...Object.fromEntries(
        names
          .split(' ')
          .filter(Boolean)
          .map(name => [name, 'whole' as const]),
      ),
      ...more,
    },
  };
}

export const reference = only('apiVersion kind name namespace uid');
export const selector = only('matchLabels', { matchExpressions: only('key operator values') });
const nodeTerms = only('', {
  matchExpressions: only('key operator values'),
  matchFields: only('key operator values'),
});
export const nodeTermList = only('', { nodeSelectorTerms: nodeTerms });

const podTerm = only('matchLabelKeys mismatchLabelKeys namespaces topologyKey', {
  labelSelector: selector,
  namespaceSelector: selector,
});
const podTerms = only('', {
  requiredDuringSchedulingIgnoredDuringExecution: podTerm,
  preferredDuringSchedulingIgnoredDuringExecution: only('weight', { podAffinityTerm: podTerm }),
});
export const affinity = only('', {
  nodeAffinity: only('', {
    requiredDuringSchedulingIgnoredDuringExecution: nodeTermList,
    preferredDuringSchedulingIgnoredDuringExecution: only('weight', { preference: nodeTerms }),
  }),
  podAffinity: podTerms,
  podAntiAffinity: podTerms,
});

export const resources = only('limits requests');
const probe = only(
  'failureThreshold initialDelaySeconds periodSeconds successThreshold terminationGracePeriodSeconds timeoutSeconds',
);
const container = only('name image imagePullPolicy restartPolicy', {
  resources,
  env: only('name'),
  ports: only('containerPort hostPort hostIP protocol name'),
  livenessProbe: probe,
  readinessProbe: probe,
  startupProbe: probe,
  lifecycle: only('', { preStop: only('', { sleep: only('seconds') }) }),
  volumeMounts: only('name mountPath readOnly'),
  volumeDevices: only('name devicePath'),
});

/** Annotations have their own list (trim.ts). */
export const metadata = only(
  'annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName generation labels name namespace resourceVersion uid',
  { ownerReferences: only('apiVersion blockOwnerDeletion controller kind name uid') },
);

export const claimSpec = only('accessModes storageClassName volumeMode volumeName', {
  resources,
  selector,
});
export const claimTemplate = only('apiVersion kind', { metadata, spec: claimSpec });

/** Keeps only the presence of a source, not its contents. */
export const source = only('');
export const volume = only('name', {
  emptyDir: only('medium sizeLimit'),
  persistentVolumeClaim: only('claimName readOnly'),
  ephemeral: only('', { volumeClaimTemplate: claimTemplate }),
  ...Object.fromEntries(
    [
      'configMap',
      'csi',
      'downwardAPI',
      'hostPath',
      'image',
      'nfs',
      'projected',
      'secret',
      'containerDisk',
      'cloudInitNoCloud',
    ].map(name => [name, source]),
  ),
  dataVolume: only('name'),
});

export const podSpec = only(
  'activeDeadlineSeconds hostIPC hostNetwork hostPID hostname nodeName nodeSelector overhead preemptionPolicy priority priorityClassName restartPolicy runtimeClassName schedulerName serviceAccountName subdomain terminationGracePeriodSeconds',
  {
    affinity,
    containers: container,
    initContainers: container,
    evictionResponders: only('name priority'),
    os: only('name'),
    readinessGates: only('conditionType'),
    resources,
    schedulingGates: only('name'),
    schedulingGroup: only('podGroupName'),
    tolerations: only('effect key operator tolerationSeconds value'),
    topologySpreadConstraints: only(
      'matchLabelKeys maxSkew minDomains nodeAffinityPolicy nodeTaintsPolicy topologyKey whenUnsatisfiable',
      {
        labelSelector: selector,
      },
    ),
    volumes: volume,
  },
);
export const template = only('', { metadata, spec: podSpec });

export const conditions = only(
  'lastHeartbeatTime lastProbeTime lastTransitionTime lastUpdateTime observedGeneration reason status type',
);
export const conditionsWithText = only('lastTransitionTime observedGeneration reason status type', {
  message: 'empty',
});

const containerState = only('', {
  running: only('startedAt'),
  terminated: only('exitCode finishedAt reason signal startedAt'),
  waiting: only('reason'),
});
export const containerStatus = only('name image imageID ready restartCount started', {
  state: containerState,
  lastState: containerState,
});

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
