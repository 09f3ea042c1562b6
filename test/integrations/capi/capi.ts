import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GoBuild } from '../../control-plane/build/go-build.ts';
import type { Api } from '../../control-plane/objects/api.ts';
import type { Condition, List, Metadata } from '../../control-plane/objects/objects.ts';
import { freePorts } from '../../control-plane/processes/ports.ts';
import type { ControlPlane } from '../../control-plane/types.ts';
import { waitFor } from '../../control-plane/wait.ts';
import { ensureController, type LeftOut } from '../builds.ts';
import type { Ec2Emulator } from '../ec2/ec2.ts';
import { startFakeKubelets } from '../fake-kubelets.ts';
import {
  applyAll,
  bundle,
  certificates,
  documentsIn,
  kindsServed,
  managerReady,
  sourcesOf,
} from '../installed.ts';
import type { PauseSign } from '../stories.ts';
import { startInfrastructure } from './infrastructure.ts';
import {
  apiVersion,
  cluster,
  controlPlaneMachine,
  definitions,
  labels,
  machineDeployment,
  namespace,
  theCluster,
} from './manifests.ts';

const core = 'sigs.k8s.io/cluster-api';
const module = import.meta.dirname;

export const capiBuild: GoBuild = {
  name: 'integrations/capi',
  module,
  salt: '',
  announcement:
    'building the controllers of Cluster API for the tests, about 5 minutes the first time,',
  build: async (folder, go) => {
    await go(['build', '-ldflags', '-s -w', '-o', join(folder, 'manager'), core]);
    const config = join(await sourcesOf(module, core), 'config');
    for (const name of readdirSync(join(config, 'crd', 'bases')))
      cpSync(join(config, 'crd', 'bases', name), join(folder, 'crds', name));
    cpSync(join(config, 'webhook', 'manifests.yaml'), join(folder, 'webhooks.yaml'));
  },
};

export type Machine = {
  readonly metadata: Metadata;
  readonly spec: { readonly providerID?: string };
  readonly status?: {
    readonly phase?: string;
    readonly nodeRef?: { readonly name: string };
    readonly conditions?: readonly Condition[];
  };
};

/** A MachineDeployment or a MachineSet. */
export type MachineGroup = {
  readonly metadata: Metadata;
  readonly spec: { readonly replicas: number };
  readonly status?: {
    readonly replicas?: number;
    readonly availableReplicas?: number;
    readonly readyReplicas?: number;
  };
};

/** Cluster API on a control plane, which manages itself, with instances of an EC2. */
export interface ClusterApi {
  readonly kind: 'started';
  readonly namespace: string;
  /** Of one of them, or of all. */
  pathOf(
    resource:
      | 'clusters'
      | 'machines'
      | 'machinesets'
      | 'machinedeployments'
      | 'machinehealthchecks',
    name?: string,
  ): string;
  /** A MachineDeployment, whose Machines are all Available. */
  makePool(name: string, replicas: number): Promise<readonly Machine[]>;
  /** All, or those of a pool. */
  machines(pool?: string): Promise<readonly Machine[]>;
  /** Waits until a pool has exactly this many Machines, all Available and none on its way out. */
  poolReady(name: string, replicas: number): Promise<readonly Machine[]>;
  scale(pool: string, replicas: number): Promise<void>;
  readonly pauseSigns: readonly PauseSign[];
  stop(): Promise<void>;
}

/**
 * The Machine whose node is linked may still have one that is not Ready: Available is the condition
 * to wait for.
 */
export function isAvailable({ metadata, status }: Machine): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    status?.conditions?.some(({ type, status }) => type === 'Available' && status === 'True') ===
      true
  );
}

const base = `/apis/${apiVersion}/namespaces/${namespace}`;

type Definition = {
  readonly metadata: { readonly name: string; readonly labels?: object };
  readonly spec: { readonly versions: readonly { readonly name: string }[] };
};

/**
 * As its own kustomization has them: with the labels that say which contract they keep, and the old
 * version converted by the manager.
 */
function definitionsIn(folder: string, webhookPort: number, caBundle: string): readonly object[] {
  const files = readdirSync(join(folder, 'crds')).map(name => join(folder, 'crds', name));
  const contracts = { 'cluster.x-k8s.io/v1beta1': 'v1beta1', [apiVersion]: 'v1beta2' };
  const clientConfig = { url: `https://127.0.0.1:${webhookPort}/convert`, caBundle };
  const conversion = {
    strategy: 'Webhook',
    webhook: { conversionReviewVersions: ['v1'], clientConfig },
  };
  return (documentsIn(...files) as readonly Definition[]).map(({ metadata, spec, ...rest }) => ({
    ...rest,
    metadata: { ...metadata, labels: { ...metadata.labels, ...contracts } },
    spec: { ...spec, ...(spec.versions.length > 1 ? { conversion } : {}) },
  }));
}

/** The manager's own webhooks, with an address in the place of a Service. */
function webhooksIn(folder: string, port: number, caBundle: string): readonly object[] {
  type Hook = { readonly clientConfig: { readonly service: { readonly path: string } } };
  const documents = documentsIn(join(folder, 'webhooks.yaml')) as readonly {
    readonly webhooks: readonly Hook[];
  }[];
  return documents.map(({ webhooks, ...rest }) => ({
    ...rest,
    webhooks: webhooks.map(hook => ({
      ...hook,
      clientConfig: { url: `https://127.0.0.1:${port}${hook.clientConfig.service.path}`, caBundle },
    })),
  }));
}

async function startManager(
  controlPlane: ControlPlane,
  folder: string,
): Promise<() => Promise<void>> {
  const { api, kubeconfig } = controlPlane;
  const [webhookPort = 0, healthPort = 0, diagnosticsPort = 0] = await freePorts(3);
  const caBundle = bundle(controlPlane);
  await applyAll(api, [...definitionsIn(folder, webhookPort, caBundle), ...definitions]);
  await kindsServed(api);
  await applyAll(api, [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'capi-system' } }]);
  const running = controlPlane.run({
    name: 'capi',
    command: join(folder, 'manager'),
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--webhook-port=${webhookPort}`,
      `--webhook-cert-dir=${certificates(controlPlane, 'capi')}`,
      `--health-addr=127.0.0.1:${healthPort}`,
      `--diagnostics-address=127.0.0.1:${diagnosticsPort}`,
      '--insecure-diagnostics',
    ],
    environment: {
      POD_NAMESPACE: 'capi-system',
      POD_NAME: 'capi',
      POD_UID: '00000000-0000-4000-8000-000000000001',
    },
  });
  await managerReady(running, healthPort);
  await applyAll(api, webhooksIn(folder, webhookPort, caBundle));
  return () => running.stop();
}

function stateOf({ metadata, status }: Machine): string {
  const why = status?.conditions?.find(({ type }) => type === 'Available');
  return `${metadata.name} ${status?.phase ?? 'without a phase'} ${why?.reason ?? ''} ${why?.message ?? ''}`;
}

function poolOf(api: Api): Pick<ClusterApi, 'machines' | 'poolReady' | 'pathOf' | 'scale'> {
  const pathOf: ClusterApi['pathOf'] = (resource, name) =>
    name === undefined ? `${base}/${resource}` : `${base}/${resource}/${name}`;
  const machines: ClusterApi['machines'] = async pool => {
    const { items } = await api.get<List<Machine>>(pathOf('machines'));
    return pool === undefined
      ? items
      : items.filter(({ metadata }) => metadata.labels?.[labels.deployment] === pool);
  };
  return {
    pathOf,
    machines,
    poolReady: (name, replicas) =>
      waitFor(
        `${replicas} Machines of ${name} to be Available`,
        async () => {
          const found = await machines(name);
          const waiting = found.filter(machine => !isAvailable(machine));
          const deployment = await api.get<MachineGroup>(pathOf('machinedeployments', name));
          if (
            found.length === replicas &&
            waiting.length === 0 &&
            deployment.status?.availableReplicas === replicas
          )
            return { done: found };
          return { yet: `${found.length}, not Available: ${waiting.map(stateOf).join('; ')}` };
        },
        { deadlineMs: 120_000 },
      ),
    scale: async (pool, replicas) =>
      void (await api.patch(pathOf('machinedeployments', pool), { spec: { replicas } })),
  };
}

function pauseSigns(api: Api, pathOf: ClusterApi['pathOf']): readonly PauseSign[] {
  const key = 'cluster.x-k8s.io/paused';
  const annotate = (path: string, value: string | null): Promise<unknown> =>
    api.patch(path, { metadata: { annotations: { [key]: value } } });
  const pause = (paused: boolean | null): Promise<unknown> =>
    api.patch(pathOf('clusters', cluster), { spec: { paused } });
  const deploymentOf = ({ metadata }: Pick<Machine, 'metadata'>): string =>
    pathOf('machinedeployments', metadata.labels?.[labels.deployment] ?? '');
  const machineOf = ({ metadata }: Pick<Machine, 'metadata'>): string =>
    pathOf('machines', metadata.name);
  return [
    {
      what: 'a Machine that',
      says: /^Machine .* is paused \(annotation cluster\.x-k8s\.io\/paused\)/,
      set: async machine => void (await annotate(machineOf(machine), '')),
      take: async machine => void (await annotate(machineOf(machine), null)),
    },
    {
      what: 'a Machine whose MachineDeployment',
      says: /^MachineDeployment .* is paused \(annotation cluster\.x-k8s\.io\/paused\)/,
      set: async machine => void (await annotate(deploymentOf(machine), '')),
      take: async machine => void (await annotate(deploymentOf(machine), null)),
    },
    {
      what: 'a Machine whose Cluster',
      says: /^Cluster .* is paused \(spec\.paused\)/,
      set: async () => void (await pause(true)),
      take: async () => void (await pause(null)),
    },
  ];
}

/**
 * Starts the core of Cluster API on a control plane of the tests, with its kinds and webhooks, a
 * cluster with one control plane Machine, and a provider of infrastructure whose machines are
 * instances, which become nodes (fake-kubelets.ts). Says why where this machine cannot.
 */
export async function startCapi(
  controlPlane: ControlPlane,
  ec2: Ec2Emulator,
): Promise<ClusterApi | LeftOut> {
  const built = await ensureController(capiBuild);
  if (built.kind === 'left-out') return built;
  const { api, server, kubeconfig } = controlPlane;
  const stopManager = await startManager(controlPlane, built.folder);
  const own = [startInfrastructure(api, server, ec2), startFakeKubelets(api, ec2)];
  await applyAll(api, [
    ...theCluster(readFileSync(kubeconfig, 'utf8')),
    ...controlPlaneMachine(`${cluster}-control-plane-0`),
  ]);
  const pool = poolOf(api);
  return {
    kind: 'started',
    namespace,
    ...pool,
    pauseSigns: pauseSigns(api, pool.pathOf),
    makePool: async (name, replicas) => {
      await applyAll(api, machineDeployment(name, replicas));
      return pool.poolReady(name, replicas);
    },
    stop: async () => {
      await Promise.all(own.map(part => part.stop()));
      await stopManager();
    },
  };
}
