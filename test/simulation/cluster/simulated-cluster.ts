import { readFileSync } from 'node:fs';
import type { JsonObject } from '@drydock/apimachinery';
import {
  ClusterRuntime,
  createCluster,
  type EmbeddedCluster,
  type Stored,
  seeded,
  text,
} from '@drydock/kube-sim';
import type { Writes } from '@drydock/kube-sim/controllers';
import { writesOn } from '@drydock/kube-sim/controllers';
import {
  kubeVirtDefinitions,
  kubeVirtObjects,
  SimulatedKubeVirt,
} from '@drydock/kube-sim/kubevirt';
import {
  machineControllers,
  machineDefinitions,
  machineGroups,
  runsOn,
  SimulatedCloud,
} from '@drydock/kube-sim/machines';
import { workNamespace } from '@drydock/operator';
import { parse } from 'yaml';
import { oddNamespace } from '../odd/odd-parts.ts';
import type { NodePlan, Story } from '../story/story.ts';
import { leaseNamespace, operatorNamespace } from './namespaces.ts';
import { imageLateness, startPlanPods } from './plan-pods.ts';
import { lifecycleDefinitions, Responders } from './responders.ts';
import type { SimClock } from './sim-clock.ts';

/** The cluster of a story, with everything that moves in it by itself. */
export type SimulatedCluster = {
  readonly cluster: EmbeddedCluster;
  readonly cloud: SimulatedCloud | undefined;
  readonly writes: Writes;
  readonly runtime: ClusterRuntime;
  readonly responders: Responders | undefined;
  /** Nodes whose kubelet does not answer. */
  readonly silent: Set<string>;
  /** What somebody has made that is odd. */
  readonly odds: { readonly resource: string; readonly object: Stored }[];
  readonly make: (resource: string, draft: JsonObject) => Stored | undefined;
};

const files = [
  'crds/maintenances.drydock.dev',
  'crds/maintenancewindows.drydock.dev',
  'crds/maintenanceplans.drydock.dev',
  'crds/maintenanceplanrecords.drydock.dev',
  'crds/maintenanceapprovals.drydock.dev',
  'crds/machineeventsources.drydock.dev',
  'crds/nodenotices.drydock.dev',
  'crds/machinemaintenances.machinemaintenance.managed.openshift.io',
  'crds/nodemaintenances.nodemaintenance.medik8s.io',
  'legacy/nodemaintenance.kubevirt.io/nodemaintenances.nodemaintenance.kubevirt.io',
  'legacy/kubevirt.io/nodemaintenances.kubevirt.io',
];

const definitions: readonly JsonObject[] = files.map(
  name =>
    parse(
      readFileSync(new URL(`../../../deploy/${name}.yaml`, import.meta.url), 'utf8'),
    ) as JsonObject,
);

const crds = 'customresourcedefinitions.apiextensions.k8s.io';
const never = Number.POSITIVE_INFINITY;
const launchMs = 15_000;

const kubeVirtResources: Readonly<Record<string, string>> = {
  Namespace: 'namespaces',
  KubeVirt: 'kubevirts.kubevirt.io',
  ValidatingWebhookConfiguration: 'validatingwebhookconfigurations.admissionregistration.k8s.io',
};

export function readyCondition(status: 'True' | 'Unknown', at: string): JsonObject {
  return {
    type: 'Ready',
    status,
    reason: status === 'True' ? 'KubeletReady' : 'NodeStatusUnknown',
    message: '',
    lastHeartbeatTime: at,
    lastTransitionTime: at,
  };
}

export function nodeDraft({ name, zone, spec, labels }: NodePlan, at: string): JsonObject {
  return {
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': zone, ...labels },
    },
    spec,
    status: {
      capacity: { cpu: '64', memory: '256Gi', pods: '110' },
      allocatable: { cpu: '64', memory: '256Gi', pods: '110' },
      conditions: [readyCondition('True', at)],
    },
  };
}

function furnish({ make, runtime }: SimulatedCluster, story: Story, clock: SimClock): void {
  const { vms, machines, nodes, workloads, budgets } = story;
  const more = [
    ...(story.responders === undefined ? [] : lifecycleDefinitions),
    ...(vms.length > 0 ? kubeVirtDefinitions : []),
    ...(machines === undefined ? [] : machineDefinitions(machines.flavour)),
  ];
  for (const one of [...definitions, ...more]) make(crds, one);
  for (const name of [
    leaseNamespace,
    operatorNamespace,
    workNamespace,
    oddNamespace,
    'shop',
    'bank',
    'machines',
    'customer',
  ])
    make('namespaces', { metadata: { name } });
  if (vms.length > 0)
    for (const one of kubeVirtObjects()) make(kubeVirtResources[text(one, 'kind')] ?? '', one);
  make('priorityclasses.scheduling.k8s.io', { metadata: { name: 'high' }, value: 1000 });
  runtime.start();
  for (const one of nodes) make('nodes', nodeDraft(one, clock.now().toString()));
  for (const { resource, draft } of workloads) make(resource, draft);
  for (const { name, namespace, spec } of budgets)
    make('poddisruptionbudgets.policy', { metadata: { name, namespace }, spec });
  for (const { draft } of vms) make('virtualmachines.kubevirt.io', draft);
  if (machines === undefined) return;
  make(`machinesets.${machineGroups[machines.flavour].group}`, {
    metadata: { name: 'workers', namespace: 'machines' },
    spec: {
      replicas: machines.replicas,
      template: { metadata: {}, spec: { failureDomain: 'north' } },
    },
  });
  make('machineeventsources.drydock.dev', {
    metadata: { name: 'cloud' },
    spec: { aws: { intervalSeconds: 60 } },
  });
}

/** Sets it up; `attach` comes before the first object. */
export function setUp(
  story: Story,
  clock: SimClock,
  attach: (cluster: EmbeddedCluster) => void,
): SimulatedCluster {
  const kubevirt = story.vms.length > 0 ? new SimulatedKubeVirt() : undefined;
  const cluster = createCluster({
    clock,
    random: seeded(story.seed),
    ...(kubevirt && { extensions: [kubevirt.extension()] }),
  });
  attach(cluster);
  const { registry } = cluster;
  const cloud = story.machines === undefined ? undefined : new SimulatedCloud(clock);
  const silent = new Set<string>();
  const runs = cloud === undefined ? () => true : runsOn(cloud);
  const runtime = new ClusterRuntime({
    registry,
    clock,
    pace: {
      startMs: 2000,
      stopMs: 3000,
      spread: 0.3,
      of: pod => {
        const startMs = imageLateness(story.seed, pod);
        return startMs === undefined ? {} : { startMs };
      },
    },
    isAlive: node => !silent.has(node.metadata.name) && runs(node),
    nodeHealth: { renewMs: never, graceMs: never },
    more: [
      ...(kubevirt?.controllers() ?? []),
      ...(cloud === undefined || story.machines === undefined
        ? []
        : machineControllers({ flavour: story.machines.flavour, cloud, launchMs })),
    ],
  });
  const writes = writesOn(registry);
  const make = (resource: string, draft: JsonObject): Stored | undefined => {
    const written = writes.create(resource, draft);
    return written.kind === 'refused' ? undefined : written.object;
  };
  const responders =
    story.responders && new Responders(story.responders, cluster, clock, clock.nowMs);
  const stage: SimulatedCluster = {
    cluster,
    responders,
    cloud,
    writes,
    runtime,
    silent,
    odds: [],
    make,
  };
  startPlanPods({ cluster, writes, clock }, story.seed);
  furnish(stage, story, clock);
  return stage;
}
