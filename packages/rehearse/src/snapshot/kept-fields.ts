import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import {
  affinity,
  claimSpec,
  claimTemplate,
  conditions,
  conditionsWithText,
  containerStatus,
  type Kept,
  metadata,
  nodeTermList,
  only,
  podSpec,
  reference,
  resources,
  selector,
  source,
  template,
  volume,
} from './kept.ts';

/**
 * Fields of each kind that a snapshot keeps: those that a rehearsal, or the operator in it, reads.
 * This is an allowlist: a field that Kubernetes adds tomorrow is left out until it is added here.
 * Never messages, values of variables, arguments, headers, parameters of drivers, or notes of other
 * programs in annotations.
 */

const rollout = only('type', { rollingUpdate: only('maxSurge maxUnavailable partition') });
const workloadSpec = { selector, template };
const countsOf =
  'availableReplicas collisionCount currentReplicas currentRevision fullyLabeledReplicas observedGeneration readyReplicas replicas terminatingReplicas unavailableReplicas updateRevision updatedReplicas';

const vmSpec = only(
  'evictionStrategy nodeSelector priorityClassName schedulerName terminationGracePeriodSeconds',
  {
    affinity,
    domain: only('', { cpu: only('cores sockets threads'), memory: only('guest'), resources }),
    tolerations: only('effect key operator tolerationSeconds value'),
    volumes: volume,
  },
);
const phases = only('phase phaseTransitionTimestamp');
const migrationState = only(
  'abortRequested abortStatus completed endTimestamp failed migrationUid mode sourceNode sourcePod startTimestamp targetNode targetNodeAddress targetPod',
);

const jobOfPlan = only('rebootsNode timeoutSeconds attempts', { podSpec });
const work = only('none replace', {
  job: jobOfPlan,
  reboot: only('timeoutSeconds'),
  external: only('timeoutSeconds finished'),
});
const prepare = only('refusalCode', { job: jobOfPlan });
const planSpec = only(
  'approval concurrency controlPlane direction done due expectedSeconds halt membership nodeSelector onDelete onFailure order pace retries runID soakAfterReleaseSeconds soakSeconds stages state windows',
  {
    template: only('', { maintenance: only('', { drain: 'whole' }) }),
    prepare,
    work,
    rollback: only('due done', { prepare, work }),
    hooks: only('name at onFailure', { job: jobOfPlan }),
    gates: only('name at forSeconds onFalse workloads', {
      object: source,
      promql: source,
      alerts: source,
    }),
    rehearse: only('before everySeconds refuse timeoutSeconds workSeconds rebootSeconds'),
    pause: only('until'),
    skipNodes: only('name'),
  },
);
const planStatus = only(
  'completionTime estimatedCompletionTime nodes observedGeneration passedOver phase resolved run stages upNext waitingFor',
  {
    inFlight: only(
      'attempt bootIDBefore domains heldAs node nodeUID pod podUID providerID rebootStartTime rebooted revision soakStartTime stage startTime state stateStartTime work workCompletionTime workStartTime',
      { outcome: only('verdict state held', { message: 'empty' }) },
    ),
    preparing: only('node nodeUID pod podUID startTime state', { message: 'empty' }),
    waiting: only('reason node startTime until', { message: 'empty' }),
    failures: only('node stage state time held', { message: 'empty' }),
    conditions: conditionsWithText,
  },
);
const verdict = only(
  'attempts completionTime held nodeUID rebootSeconds rebooted requeues stage startTime state verdict workSeconds',
  {
    message: 'empty',
  },
);

const claimsKind = { spec: claimSpec, status: only('accessModes capacity phase') };
const nodeMaintenance: Readonly<Record<string, Kept>> = {
  spec: only('nodeName'),
  status: only(
    'drainProgress errorOnLeaseCount evictionPods lastUpdate pendingPods phase totalpods',
    {
      pendingPodsRefs: only('namespace name'),
    },
  ),
};

/** Kept fields by kind; every copied kind has an entry. */
export const keptFields: Readonly<Record<string, Readonly<Record<string, Kept>>>> = {
  Node: {
    spec: only('podCIDR podCIDRs providerID unschedulable', {
      taints: only('effect key timeAdded value'),
    }),
    status: only('allocatable capacity phase volumesInUse', {
      addresses: only('address type'),
      conditions,
      nodeInfo: only(
        'architecture bootID containerRuntimeVersion kernelVersion kubeProxyVersion kubeletVersion machineID operatingSystem osImage systemUUID',
      ),
      volumesAttached: only('name devicePath'),
    }),
  },
  Pod: {
    spec: podSpec,
    status: only('nominatedNodeName observedGeneration phase qosClass reason startTime', {
      conditions,
      containerStatuses: containerStatus,
      initContainerStatuses: containerStatus,
    }),
  },
  Namespace: { spec: only('finalizers'), status: only('phase') },
  PersistentVolumeClaim: claimsKind,
  PersistentVolume: {
    spec: only('accessModes capacity persistentVolumeReclaimPolicy storageClassName volumeMode', {
      claimRef: reference,
      csi: only('driver volumeHandle'),
      nodeAffinity: only('', { required: nodeTermList }),
      ...Object.fromEntries(
        [
          'awsElasticBlockStore',
          'azureDisk',
          'cinder',
          'gcePersistentDisk',
          'hostPath',
          'iscsi',
          'local',
          'nfs',
          'vsphereVolume',
        ].map(name => [name, source]),
      ),
    }),
    status: only('lastPhaseTransitionTime phase reason'),
  },
  Event: {
    ...(Object.fromEntries(
      'count eventTime firstTimestamp lastTimestamp reason type'
        .split(' ')
        .map(name => [name, 'whole']),
    ) as Record<string, Kept>),
    involvedObject: reference,
  },
  PodDisruptionBudget: {
    spec: only('maxUnavailable minAvailable unhealthyPodEvictionPolicy', { selector }),
    status: only(
      'currentHealthy desiredHealthy disruptedPods disruptionsAllowed expectedPods observedGeneration',
      {
        conditions: conditionsWithText,
      },
    ),
  },
  Deployment: {
    spec: only('minReadySeconds paused progressDeadlineSeconds replicas revisionHistoryLimit', {
      ...workloadSpec,
      strategy: rollout,
    }),
    status: only(countsOf, { conditions }),
  },
  ReplicaSet: {
    spec: only('minReadySeconds replicas', workloadSpec),
    status: only(countsOf, { conditions }),
  },
  StatefulSet: {
    spec: only('minReadySeconds podManagementPolicy replicas revisionHistoryLimit serviceName', {
      ...workloadSpec,
      ordinals: only('start'),
      persistentVolumeClaimRetentionPolicy: only('whenDeleted whenScaled'),
      updateStrategy: rollout,
      volumeClaimTemplates: claimTemplate,
    }),
    status: only(countsOf, { conditions }),
  },
  DaemonSet: {
    spec: only('minReadySeconds revisionHistoryLimit', {
      ...workloadSpec,
      updateStrategy: rollout,
    }),
    status: only(
      'collisionCount currentNumberScheduled desiredNumberScheduled numberAvailable numberMisscheduled numberReady numberUnavailable observedGeneration updatedNumberScheduled',
      { conditions },
    ),
  },
  Job: {
    spec: only(
      'activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions managedBy manualSelector maxFailedIndexes parallelism podReplacementPolicy suspend ttlSecondsAfterFinished',
      {
        ...workloadSpec,
        podFailurePolicy: only('', {
          rules: only('action', {
            onExitCodes: only('containerName operator values'),
            onPodConditions: only('status type'),
          }),
        }),
        successPolicy: only('', { rules: only('succeededCount succeededIndexes') }),
      },
    ),
    status: only(
      'active completedIndexes completionTime failed failedIndexes ready startTime succeeded terminating',
      {
        uncountedTerminatedPods: only('failed succeeded'),
        conditions,
      },
    ),
  },
  StorageClass: {
    provisioner: 'whole',
    reclaimPolicy: 'whole',
    volumeBindingMode: 'whole',
    allowVolumeExpansion: 'whole',
    allowedTopologies: only('', { matchLabelExpressions: only('key values') }),
  },
  VolumeAttachment: {
    spec: only('attacher nodeName', { source: only('persistentVolumeName') }),
    status: only('attached'),
  },
  PriorityClass: { value: 'whole', globalDefault: 'whole', preemptionPolicy: 'whole' },
  Maintenance: {
    spec: only('nodeName level start drain'),
    status: only(
      'blockerCount completionTime estimatedCompletionTime failure leaseErrors observedGeneration phase pods progress scheduledTime startTime',
      {
        blockers: only('budgets reason pod startTime volume', {
          server: only('id name'),
          message: 'empty',
        }),
        conditions: conditionsWithText,
      },
    ),
  },
  MaintenanceWindow: {
    spec: only('atEnd events expectedDuration kinds missed nodeSelector openings timeZone', {
      freezes: only('from to'),
    }),
    status: only('next observedGeneration open', { conditions: conditionsWithText }),
  },
  MaintenancePlan: { spec: planSpec, status: planStatus },
  MaintenancePlanRecord: {
    spec: only('planName planUID runID revision slice', { verdicts: { each: verdict } }),
  },
  NodeMaintenance: nodeMaintenance,
  KubeVirt: {
    spec: only('', {
      configuration: only('evictionStrategy', {
        migrations: only(
          'nodeDrainTaintKey parallelMigrationsPerCluster parallelOutboundMigrationsPerNode',
        ),
      }),
    }),
    status: only('phase'),
  },
  VirtualMachine: {
    spec: only('runStrategy running', { template: only('', { metadata, spec: vmSpec }) }),
    status: only('created printableStatus ready runStrategy', { conditions }),
  },
  VirtualMachineInstance: {
    spec: vmSpec,
    status: only(
      'activePods evacuationNodeName launcherContainerImageVersion migrationMethod nodeName phase virtualMachineRevisionName',
      {
        conditions,
        memory: only('guestAtBoot guestCurrent guestRequested'),
        migrationState,
        phaseTransitionTimestamps: phases,
      },
    ),
  },
  VirtualMachineInstanceMigration: {
    spec: only('vmiName'),
    status: only('phase', { conditions, migrationState, phaseTransitionTimestamps: phases }),
  },
};

/** Kept fields of every object. */
const keptOfAll: Readonly<Record<string, Kept>> = {
  apiVersion: 'whole',
  kind: 'whole',
  metadata,
};

/**
 * Annotations that determine decisions of the control plane, KubeVirt and Drydock; others may
 * contain anything, including passwords.
 */
const deciding = [
  /^(batch|controller|deployment|descheduler\.alpha|node\.alpha|pv|storageclass|volume|volume\.beta)\.kubernetes\.io\//,
  /^kubernetes\.io\/config\.(mirror|source|seen|hash)$/,
  /^imperative-eviction\.k8s\.io\//,
  /^([a-z0-9.-]+\.)?drydock\.dev\//,
  /^([a-z0-9.-]+\.)?medik8s\.io\//,
  /^kubevirt\.io\//,
  /^(machine\.openshift|([a-z0-9-]+\.)?cluster\.x-k8s)\.io\//,
];

/**
 * Annotations that contain a whole applied object, or the arguments of a node agent: including
 * values of variables and tokens.
 */
const carriers = /\/(last-applied-configuration|applied|node-args|node-env)$/;

/**
 * Returns whether an annotation is kept; expressions of plans may read any annotation of a node.
 */
function isKept(key: string, kind: Json | undefined): boolean {
  return !carriers.test(key) && (kind === 'Node' || deciding.some(one => one.test(key)));
}

function withAnnotations(metadata: JsonObject, kind: Json | undefined): JsonObject {
  const { annotations, ...rest } = metadata;
  if (!isObject(annotations)) return rest;
  return {
    ...rest,
    annotations: Object.fromEntries(
      Object.entries(annotations).filter(([key]) => isKept(key, kind)),
    ),
  };
}

function fieldsOf(
  object: JsonObject,
  fields: Readonly<Record<string, Kept>>,
  kind?: Json,
): JsonObject {
  const result: Record<string, Json> = {};
  for (const key of Object.keys(object)) {
    const [value, kept] = [object[key], Object.hasOwn(fields, key) ? fields[key] : undefined];
    if (value === undefined || kept === undefined) continue;
    const trimmedValue = valueOf(value, kept);
    result[key] =
      key === 'metadata' && isObject(trimmedValue)
        ? withAnnotations(trimmedValue, kind)
        : trimmedValue;
  }
  return result;
}

function valueOf(value: Json, kept: Kept): Json {
  if (kept === 'whole') return value;
  if (kept === 'empty') return '';
  if (Array.isArray(value)) return (value as readonly Json[]).map(one => valueOf(one, kept));
  // A value of another type than an object is dropped.
  if (!isObject(value)) return null;
  if ('fields' in kept) return fieldsOf(value, kept.fields);
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      one === undefined ? undefined : valueOf(one, kept.each),
    ]),
  );
}

const byKind = new Map<Json | undefined, Readonly<Record<string, Kept>>>(
  Object.entries(keptFields).map(([kind, fields]) => [kind, { ...keptOfAll, ...fields }]),
);

/**
 * Returns the fields of an object that a rehearsal needs (kept-fields.ts); for a kind that is not
 * copied, only its name.
 */
export function redacted(object: JsonObject): JsonObject {
  return fieldsOf(object, byKind.get(object['kind']) ?? keptOfAll, object['kind']);
}

/** Returns the fields that another list keeps of an object, with its name. */
export function trimmedBy(fields: Readonly<Record<string, Kept>>, object: JsonObject): JsonObject {
  return fieldsOf(object, { ...keptOfAll, ...fields }, object['kind']);
}
