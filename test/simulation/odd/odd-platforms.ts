import type { JsonObject } from '@drydock/apimachinery';
import { uidOf } from '@drydock/operator/testing';
import { type Maker, metadata } from './odd-parts.ts';
import { type Chance, type Draw, label, many, maybe, pick } from './odd-values.ts';

/**
 * Odd objects of what a cluster may run on or have beside Kubernetes: VMs, volumes, machines,
 * evictions of responders.
 */

const nodeNames: readonly string[] = ['n0', 'n1', 'n2', 'n3'];

function quantity(chance: Chance, { int, word }: Draw): string | number {
  return pick(chance, ['4Gi', '-1Ei', '1e400', '0.1m', word(), int()]);
}

function podUid(chance: Chance, { word }: Draw, index: number): string {
  return pick(chance, [uidOf(`/api/v1/namespaces/shop/pods/p${index}`), word()]);
}

const vms: readonly Maker[] = [
  (chance, draw, index) => [
    `/apis/kubevirt.io/v1/namespaces/shop/virtualmachineinstances/vm-${index % 6}`,
    {
      metadata: metadata(chance, draw, `vm-${index % 6}`, 'shop'),
      spec: {
        evictionStrategy: maybe(chance, () =>
          pick(chance, ['None', 'LiveMigrate', 'LiveMigrateIfPossible', 'External', draw.word()]),
        ),
        domain: maybe(chance, () => ({
          memory: { guest: quantity(chance, draw) },
          resources: { requests: { memory: quantity(chance, draw) } },
        })),
      },
      status: {
        phase: pick(chance, ['Running', 'Succeeded', 'Failed', draw.word()]),
        nodeName: maybe(chance, () => pick(chance, nodeNames)),
        evacuationNodeName: maybe(chance, () => pick(chance, nodeNames)),
        memory: maybe(chance, () => ({ guestCurrent: quantity(chance, draw) })),
        conditions: many(chance, 3, () => draw.condition('LiveMigratable', 'EvictionRequested')),
      },
    },
  ],
  (chance, draw, index) => [
    `/apis/kubevirt.io/v1/namespaces/shop/virtualmachineinstancemigrations/mig-${index % 6}`,
    {
      metadata: metadata(chance, draw, `mig-${index % 6}`, 'shop'),
      spec: { vmiName: pick(chance, ['vm-0', 'vm-1', 'vm-2', draw.word()]) },
      status: {
        phase: pick(chance, ['Pending', 'Running', 'Succeeded', 'Failed', draw.word()]),
        phaseTransitionTimestamps: many(chance, 2, () => ({
          phase: 'Running',
          phaseTransitionTimestamp: draw.time(),
        })),
        migrationState: maybe(chance, () => ({
          sourceNode: pick(chance, nodeNames),
          targetNode: draw.word(),
          failureReason: draw.word(),
          startTimestamp: draw.time(),
          endTimestamp: draw.time(),
        })),
      },
    },
  ],
  (chance, draw) => [
    '/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt',
    {
      metadata: metadata(chance, draw, 'kubevirt', 'kubevirt'),
      spec: {
        configuration: {
          evictionStrategy: draw.word(),
          migrations: {
            parallelMigrationsPerCluster: draw.int(),
            parallelOutboundMigrationsPerNode: draw.int(),
            nodeDrainTaintKey: pick(chance, label),
          },
        },
      },
    },
  ],
];

const volumes: readonly Maker[] = [
  (chance, draw, index) => [
    `/apis/storage.k8s.io/v1/volumeattachments/va-${index % 6}`,
    {
      metadata: metadata(chance, draw, `va-${index % 6}`),
      spec: {
        attacher: draw.word(),
        nodeName: pick(chance, [...nodeNames, draw.word()]),
        source: { persistentVolumeName: maybe(chance, draw.word) },
      },
      status: {
        attached: chance() < 0.5,
        detachError: maybe(chance, () => ({ time: draw.time(), message: draw.word() })),
      },
    },
  ],
];

function ended(chance: Chance, draw: Draw): readonly JsonObject[] {
  return many(chance, 2, () => draw.condition('TargetEvicted', 'Failed'));
}

const evictions: readonly Maker[] = [
  (chance, draw, index) => [
    `/apis/lifecycle.k8s.io/v1alpha1/namespaces/shop/evictions/e${index % 6}`,
    {
      metadata: metadata(chance, draw, `e${index % 6}`, 'shop'),
      spec: {
        target: pick<JsonObject>(chance, [
          { pod: { name: draw.word(), uid: podUid(chance, draw, index) } },
          {},
        ]),
      },
      status: {
        conditions: ended(chance, draw),
        targetResponders: many(chance, 2, () => ({
          name: draw.word(),
          state: pick(chance, ['Active', draw.word()]),
        })),
        responders: many(chance, 2, () => ({
          name: draw.word(),
          message: draw.word(),
          startTime: draw.time(),
          heartbeatTime: draw.time(),
          expectedCompletionTime: draw.time(),
        })),
      },
    },
  ],
  (chance, draw, index) => {
    const name = `er-${index % 6}`;
    const own = metadata(chance, draw, name, 'shop');
    return [
      `/apis/lifecycle.k8s.io/v1alpha1/namespaces/shop/evictionrequests/${name}`,
      {
        metadata: {
          ...own,
          labels: { 'drydock.dev/requester': 'drain' },
          annotations: { 'drydock.dev/withdrawn-at': draw.time() },
          ownerReferences: [
            {
              apiVersion: 'v1',
              kind: 'Node',
              name: pick(chance, [...nodeNames, draw.word()]),
              uid: draw.word(),
            },
          ],
        },
        spec: {
          requester: 'drydock.dev/drain',
          target: { pod: { name: draw.word(), uid: podUid(chance, draw, index) } },
        },
        status: { observedGeneration: maybe(chance, draw.int), conditions: ended(chance, draw) },
      },
    ];
  },
];

/** Groups of the machine APIs, as a cluster may serve them: the plurals of each version. */
export const machineApis: Readonly<Record<string, readonly string[]>> = {
  '/apis/machine.openshift.io/v1beta1': ['machines', 'machinesets'],
  '/apis/machine.openshift.io/v1': ['controlplanemachinesets'],
  '/apis/cluster.x-k8s.io/v1beta2': ['machines', 'machinesets', 'machinedeployments'],
  '/apis/controlplane.cluster.x-k8s.io/v1beta2': ['kubeadmcontrolplanes'],
};

const machineGroups: readonly string[] = [
  '/apis/machine.openshift.io/v1beta1',
  '/apis/cluster.x-k8s.io/v1beta2',
];

const machine: Maker = (chance, draw, index) => {
  const name = pick(chance, ['n1', 'n2', `machine-${index % 4}`]);
  return [
    `${pick(chance, machineGroups)}/namespaces/machines/machines/${name}`,
    {
      metadata: {
        ...metadata(chance, draw, name, 'machines'),
        ownerReferences: many(chance, 2, () => owner(chance, draw)),
      },
      spec: {
        providerID: pick(chance, ['aws:///eu-central-1a/i-1', draw.word()]),
        failureDomain: draw.word(),
        lifecycleHooks: {
          preDrain: many(chance, 2, () => ({ name: draw.word(), owner: draw.word() })),
        },
      },
      status: {
        phase: draw.word(),
        nodeRef: maybe(chance, () => ({ name: pick(chance, nodeNames) })),
        conditions: many(chance, 2, () => draw.condition('Available', 'Deleting', 'Drained')),
      },
    },
  ];
};

function owner(chance: Chance, { word }: Draw): JsonObject {
  return {
    apiVersion: word(),
    kind: pick(chance, ['MachineSet', 'ControlPlaneMachineSet', 'KubeadmControlPlane', word()]),
    name: pick(chance, ['set-0', 'set-1', word()]),
    uid: word(),
    controller: chance() < 0.7,
  };
}

const set: Maker = (chance, draw, index) => {
  const [collection, plurals] = pick(chance, Object.entries(machineApis));
  const plural = pick(
    chance,
    plurals.filter(name => name !== 'machines'),
  );
  const name = `set-${index % 2}`;
  return [
    `${collection}/namespaces/machines/${plural}/${name}`,
    {
      metadata: {
        ...metadata(chance, draw, name, 'machines'),
        annotations: {
          [`surge.drydock.dev/${draw.word()}`]: pick(chance, [
            String(draw.int()),
            '3',
            draw.word(),
          ]),
        },
      },
      spec: { replicas: draw.int(), state: pick(chance, ['Active', 'Inactive']) },
      status: { replicas: draw.int(), readyReplicas: draw.int() },
    },
  ];
};

/** Makers of VMs, volumes, evictions of responders, machines and their sets. */
export const ofPlatforms: readonly Maker[] = [...vms, ...volumes, ...evictions, machine, set];
