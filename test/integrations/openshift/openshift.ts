import { cpSync, globSync, mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { GoBuild } from '../../control-plane/build/go-build.ts';
import type { Api } from '../../control-plane/objects/api.ts';
import {
  type Condition,
  isReady,
  type List,
  type Metadata,
  type Node,
} from '../../control-plane/objects/objects.ts';
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
import {
  apiVersion,
  infrastructureStatus,
  labels,
  machine,
  machineSet,
  namespace,
  surroundings,
  webhooks,
} from './manifests.ts';

/**
 * In go.mod of September 2024, the time of OpenShift 4.18: the newest that the Go module proxy and
 * the checksum database both have.
 */
const operatorModule = 'github.com/openshift/machine-api-operator';
const apiModule = 'github.com/openshift/api';
const module = import.meta.dirname;

const crds = [
  `${operatorModule} install/*_02_machine.Default.crd.yaml`,
  `${operatorModule} install/*_03_machineset.Default.crd.yaml`,
  `${operatorModule} install/*_07_machinehealthcheck.crd.yaml`,
  `${apiModule} payload-manifests/crds/*_infrastructures-Default.crd.yaml`,
  `${apiModule} config/v1/zz_generated.crd-manifests/*_dnses*.crd.yaml`,
] as const;

export const machineApiBuild: GoBuild = {
  name: 'integrations/openshift',
  module,
  salt: crds.join('\n'),
  announcement:
    'building the controllers of the OpenShift machine API for the tests, about 5 minutes the first time,',
  build: async (folder, go) => {
    const make = (name: string, sources: string): Promise<void> =>
      go(['build', '-ldflags', '-s -w', '-o', join(folder, name), sources]);
    await make('machineset', `${operatorModule}/cmd/machineset`);
    await make('nodelink', `${operatorModule}/cmd/nodelink-controller`);
    await make('machine-controller', '.');
    mkdirSync(join(folder, 'crds'));
    for (const [dependency = '', pattern = ''] of crds.map(line => line.split(' '))) {
      const [file] = globSync(join(await sourcesOf(module, dependency), pattern));
      if (file === undefined) throw new Error(`${dependency} has no ${pattern}`);
      cpSync(file, join(folder, 'crds', basename(file)));
    }
  },
};

export type Machine = {
  readonly metadata: Metadata;
  readonly spec: {
    readonly providerID?: string;
    readonly lifecycleHooks?: Readonly<
      Partial<
        Record<
          'preDrain' | 'preTerminate',
          readonly { readonly name: string; readonly owner: string }[]
        >
      >
    >;
  };
  readonly status?: {
    readonly phase?: string;
    readonly nodeRef?: { readonly name: string };
    readonly errorMessage?: string;
    readonly conditions?: readonly (Condition & { readonly severity?: string })[];
  };
};

export type MachineSet = {
  readonly metadata: Metadata;
  readonly spec: { readonly replicas: number };
  readonly status?: { readonly replicas?: number; readonly availableReplicas?: number };
};

/** The machine API of OpenShift on a control plane, with instances of an EC2. */
export interface MachineApi {
  readonly kind: 'started';
  readonly namespace: string;
  /** Of a Machine or a MachineSet, or of all. */
  pathOf(resource: 'machines' | 'machinesets', name?: string): string;
  /** A MachineSet, whose Machines are all there with a Ready node. */
  makePool(name: string, replicas: number): Promise<readonly Machine[]>;
  /** A Machine of no set, as masters are; its node has the role, and is Ready. */
  makeMachine(name: string, role: string): Promise<Machine>;
  /** All, or those of a pool. */
  machines(pool?: string): Promise<readonly Machine[]>;
  /** Waits until a pool has exactly this many Machines, all Running on a Ready node. */
  poolReady(name: string, replicas: number): Promise<readonly Machine[]>;
  scale(pool: string, replicas: number): Promise<void>;
  stop(): Promise<void>;
}

const base = `/apis/${apiVersion}/namespaces/${namespace}`;

async function install({ api }: ControlPlane, folder: string): Promise<void> {
  const files = readdirSync(join(folder, 'crds')).map(name => join(folder, 'crds', name));
  await applyAll(api, documentsIn(...files));
  await kindsServed(api);
  await applyAll(api, surroundings);
  await api.patch('/apis/config.openshift.io/v1/infrastructures/cluster/status', {
    status: infrastructureStatus,
  });
}

async function startControllers(
  controlPlane: ControlPlane,
  folder: string,
  endpoint: string,
): Promise<() => Promise<void>> {
  const [webhookPort = 0, healthPort = 0, metricsPort = 0] = await freePorts(3);
  const environment = { KUBECONFIG: controlPlane.kubeconfig, AWS_ENDPOINT_URL: endpoint };
  const run = (name: string, ...args: readonly string[]) =>
    controlPlane.run({ name, command: join(folder, name), args: [...args, '-v=3'], environment });
  const sets = run(
    'machineset',
    `--webhook-port=${webhookPort}`,
    `--webhook-cert-dir=${certificates(controlPlane, 'machineset')}`,
    `--health-addr=127.0.0.1:${healthPort}`,
    `--metrics-bind-address=127.0.0.1:${metricsPort}`,
    `--namespace=${namespace}`,
  );
  await managerReady(sets, healthPort);
  await applyAll(controlPlane.api, webhooks(webhookPort, bundle(controlPlane)));
  const others = [
    run('machine-controller'),
    run('nodelink', '-logtostderr', `-namespace=${namespace}`),
  ];
  return async () => void (await Promise.all([sets, ...others].map(running => running.stop())));
}

/** Phase Running says only that a node was linked. */
async function notReady(api: Api, machines: readonly Machine[]): Promise<readonly string[]> {
  const { items } = await api.get<List<Node>>('/api/v1/nodes');
  const ready = new Set(items.filter(isReady).map(({ metadata }) => metadata.name));
  const isUp = ({ metadata, status }: Machine): boolean =>
    metadata.deletionTimestamp === undefined &&
    status?.phase === 'Running' &&
    ready.has(status.nodeRef?.name ?? '');
  return machines
    .filter(machine => !isUp(machine))
    .map(({ metadata, status }) => `${metadata.name} ${status?.phase ?? 'without a phase'}`);
}

/**
 * Starts the machine controllers of OpenShift on a control plane of the tests: MachineSet, drain,
 * node link and webhooks unchanged, the actuator ours.
 * Instances become nodes (fake-kubelets.ts). Says why where this machine cannot.
 */
export async function startMachineApi(
  controlPlane: ControlPlane,
  ec2: Ec2Emulator,
): Promise<MachineApi | LeftOut> {
  const built = await ensureController(machineApiBuild);
  if (built.kind === 'left-out') return built;
  const { api } = controlPlane;
  await install(controlPlane, built.folder);
  const stopControllers = await startControllers(controlPlane, built.folder, ec2.endpoint);
  const kubelets = startFakeKubelets(api, ec2);

  const pathOf: MachineApi['pathOf'] = (resource, name) =>
    name === undefined ? `${base}/${resource}` : `${base}/${resource}/${name}`;
  const machines: MachineApi['machines'] = async pool => {
    const { items } = await api.get<List<Machine>>(pathOf('machines'));
    return pool === undefined
      ? items
      : items.filter(({ metadata }) => metadata.labels?.[labels.set] === pool);
  };
  const allReady = (
    what: string,
    count: number,
    look: () => Promise<readonly Machine[]>,
  ): Promise<readonly Machine[]> =>
    waitFor(
      `${count} Machines of ${what} to be Running`,
      async () => {
        const found = await look();
        const waiting = await notReady(api, found);
        return found.length === count && waiting.length === 0
          ? { done: found }
          : { yet: `${found.length}, not ready: ${waiting.join(', ')}` };
      },
      { deadlineMs: 60_000 },
    );
  const poolReady: MachineApi['poolReady'] = (name, replicas) =>
    allReady(name, replicas, () => machines(name));
  return {
    kind: 'started',
    namespace,
    pathOf,
    machines,
    poolReady,
    makePool: async (name, replicas) => {
      await api.post(pathOf('machinesets'), machineSet(name, replicas));
      return poolReady(name, replicas);
    },
    makeMachine: async (name, role) => {
      await api.post(pathOf('machines'), machine(name, role));
      const [made] = await allReady(name, 1, async () => [
        await api.get<Machine>(pathOf('machines', name)),
      ]);
      return made as Machine;
    },
    scale: async (pool, replicas) =>
      void (await api.patch(pathOf('machinesets', pool), { spec: { replicas } })),
    stop: async () => {
      await kubelets.stop();
      await stopControllers();
    },
  };
}
