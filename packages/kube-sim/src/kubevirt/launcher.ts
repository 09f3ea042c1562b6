import type { JsonObject } from '@drydock/apimachinery';
import { amount } from '@drydock/apimachinery';
import { controllerReference } from '../controllers/pods.ts';
import { at, objects, part, type Stored, strings, text } from '../object.ts';
import { annotations, apiVersion, group, labels } from './words.ts';

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
