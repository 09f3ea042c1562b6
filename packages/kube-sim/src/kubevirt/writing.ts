import { amount, type JsonObject, sameJson } from '@drydock/apimachinery';
import { type Cluster, controllerReference, timeText } from '../controllers/controller.ts';
import { at, objects, part, type Stored, strings, text, without } from '../object.ts';
import { withCondition } from '../registry/evict.ts';
import { annotations, apiVersion, group, instances, labels, migrations, phaseOf } from './words.ts';

/** Writes of the simulated components: only actual changes are written. */

export type VmChange = {
  readonly labels?: Readonly<Record<string, string | undefined>>;
  readonly annotations?: Readonly<Record<string, string | undefined>>;
  readonly finalizers?: readonly string[];
  /** Changed members of the spec. */
  readonly spec?: JsonObject;
  /** Changed members of the status; undefined removes one. */
  readonly status?: JsonObject;
};

function merged(
  before: Readonly<Record<string, string>> | undefined,
  change: VmChange['labels'],
): JsonObject {
  return without({ ...strings(before), ...change });
}

function changed(
  object: Stored,
  { labels, annotations, finalizers, spec, status }: VmChange,
): Stored {
  return {
    ...object,
    metadata: {
      ...object.metadata,
      ...(labels !== undefined && {
        labels: merged(object.metadata.labels, labels) as Readonly<Record<string, string>>,
      }),
      ...(annotations !== undefined && {
        annotations: merged(object.metadata.annotations, annotations) as Readonly<
          Record<string, string>
        >,
      }),
      ...(finalizers !== undefined && { finalizers }),
    },
    ...(spec !== undefined && { spec: { ...part(object, 'spec'), ...spec } }),
    ...(status !== undefined && { status: without({ ...part(object, 'status'), ...status }) }),
  };
}

function write(
  cluster: Cluster,
  resource: string,
  object: Stored,
  change: VmChange,
  sub?: 'status',
): Stored {
  const after = changed(object, change);
  if (sameJson(after, object)) return object;
  const written = cluster.writes.update(resource, after, sub);
  return written.kind === 'stored' ? written.object : object;
}

/**
 * Writes a VMI, which has no status subresource: one write is sufficient. Returns the stored VMI.
 */
export function writeInstance(cluster: Cluster, vmi: Stored, change: VmChange): Stored {
  return write(cluster, instances, vmi, change);
}

/** Writes a migration, which has a status subresource. */
export function writeMigration(
  cluster: Cluster,
  migration: Stored,
  { status, ...change }: VmChange,
): Stored {
  const after = write(cluster, migrations, migration, change);
  return status === undefined ? after : write(cluster, migrations, after, { status }, 'status');
}

export function writePod(cluster: Cluster, pod: Stored, change: VmChange): Stored {
  return write(cluster, 'pods', pod, change);
}

/** Returns the members of a status for the start of a phase. */
export function entered(cluster: Cluster, object: Stored, phase: string): JsonObject {
  if (phaseOf(object) === phase) return {};
  const before = objects(at(object, 'status', 'phaseTransitionTimestamps'));
  const now = timeText(cluster.nowMs());
  return {
    phase,
    phaseTransitionTimestamps: [...before, { phase, phaseTransitionTimestamp: now }],
  };
}

/** Adds a condition, or replaces the one of its type. */
export function withThis(
  cluster: Cluster,
  object: Stored,
  condition: JsonObject,
): readonly JsonObject[] {
  return withCondition(
    objects(at(object, 'status', 'conditions')),
    condition,
    timeText(cluster.nowMs()),
  );
}

export function withoutThis(object: Stored, type: string): readonly JsonObject[] {
  return objects(at(object, 'status', 'conditions')).filter(one => one['type'] !== type);
}

/** Writes the kubelet's report about a launcher that has ended. */
export function endPod(
  cluster: Cluster,
  namespace: string,
  name: string,
  phase: 'Succeeded' | 'Failed',
): void {
  const pod = cluster.store.get('pods', namespace, name);
  if (pod === undefined || ['Succeeded', 'Failed'].includes(text(pod, 'status', 'phase'))) return;
  const now = timeText(cluster.nowMs());
  const isGood = phase === 'Succeeded';
  const terminated = {
    exitCode: isGood ? 0 : 1,
    reason: isGood ? 'Completed' : 'Error',
    finishedAt: now,
  };
  const over = (one: JsonObject): JsonObject => ({
    ...one,
    ready: false,
    started: false,
    state: { terminated },
  });
  const unready = (one: JsonObject): JsonObject =>
    ['Ready', 'ContainersReady'].includes(text(one, 'type'))
      ? { ...one, status: 'False', reason: 'PodCompleted', lastTransitionTime: now }
      : one;
  const status = {
    phase,
    conditions: objects(at(pod, 'status', 'conditions')).map(unready),
    containerStatuses: objects(at(pod, 'status', 'containerStatuses')).map(over),
  };
  write(cluster, 'pods', pod, { status }, 'status');
}

/** The pod in which a VM runs. Upstream: pkg/virt-controller/services/template.go. */

/** Memory overhead of the launcher, in MiB. */
const overheadMi = 268;
const mebi = 2 ** 20;

const volumes = [
  'private',
  'public',
  'sockets',
  'virt-bin-share-dir',
  'libvirt-runtime',
  'ephemeral-disks',
  'container-disks',
  'hotplug-disks',
];

/** Returns the guest's memory in bytes. */
export function memoryOf(vmi: Stored): number {
  return amount(
    at(vmi, 'spec', 'domain', 'memory', 'guest') ??
      at(vmi, 'spec', 'domain', 'resources', 'requests', 'memory'),
  );
}

function container(vmi: Stored): JsonObject {
  const cpus = Number(at(vmi, 'spec', 'domain', 'cpu', 'cores') ?? 1);
  const memory = `${Math.ceil(memoryOf(vmi) / mebi) + overheadMi}Mi`;
  return {
    name: 'compute',
    image: 'virt-launcher:v1.7.0',
    command: [
      '/usr/bin/virt-launcher-monitor',
      '--name',
      vmi.metadata.name,
      '--uid',
      vmi.metadata.uid,
    ],
    resources: { requests: { cpu: `${cpus * 100}m`, memory } },
  };
}

/** Returns the anti-affinity by which a target avoids the VM's node. */
function apart(vmi: Stored): JsonObject {
  return {
    labelSelector: { matchLabels: { [labels.createdBy]: vmi.metadata.uid } },
    topologyKey: 'kubernetes.io/hostname',
  };
}

function affinityOf(vmi: Stored, isTarget: boolean): JsonObject {
  const own = part(vmi, 'spec', 'affinity');
  if (!isTarget) return own;
  const keepers = objects(
    at(own, 'podAntiAffinity', 'requiredDuringSchedulingIgnoredDuringExecution'),
  );
  const podAntiAffinity = {
    ...part(own, 'podAntiAffinity'),
    requiredDuringSchedulingIgnoredDuringExecution: [...keepers, apart(vmi)],
  };
  return { ...own, podAntiAffinity };
}

function metadataOf(vmi: Stored, migration: Stored | undefined): JsonObject {
  const { name, namespace = '', uid } = vmi.metadata;
  return {
    namespace,
    generateName: `virt-launcher-${name}-`,
    labels: {
      ...strings(vmi.metadata.labels),
      [labels.launcher]: 'virt-launcher',
      [labels.createdBy]: uid,
      [`vm.${group}/name`]: name,
      [`vmi.${group}/id`]: name,
      ...(migration !== undefined && { [labels.migrationUid]: migration.metadata.uid }),
    },
    annotations: {
      ...strings(vmi.metadata.annotations),
      [annotations.domain]: name,
      'descheduler.alpha.kubernetes.io/request-evict-only': '',
      'kubectl.kubernetes.io/default-container': 'compute',
      ...(migration !== undefined && { [annotations.migrationName]: migration.metadata.name }),
    },
    ownerReferences: [controllerReference(apiVersion, 'VirtualMachineInstance', vmi)],
  };
}

/** Returns the launcher of a VM, or with a migration its target pod. */
export function launcherFor(vmi: Stored, migration?: Stored): JsonObject {
  const affinity = affinityOf(vmi, migration !== undefined);
  const priorityClassName = text(vmi, 'spec', 'priorityClassName');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: metadataOf(vmi, migration),
    spec: {
      containers: [container(vmi)],
      volumes: volumes.map(name => ({ name, emptyDir: {} })),
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 60,
      hostname: vmi.metadata.name,
      nodeSelector: { ...strings(at(vmi, 'spec', 'nodeSelector')), [labels.schedulable]: 'true' },
      ...(Object.keys(affinity).length > 0 && { affinity }),
      ...(priorityClassName !== '' && { priorityClassName }),
      tolerations: [...objects(at(vmi, 'spec', 'tolerations'))],
    },
  };
}
