import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SimulatedKubeVirt } from '@drydock/kube-sim/kubevirt';
import { kubeVirtDefinitions, kubeVirtObjects } from '@drydock/kube-sim/kubevirt';
import type { GoBuild } from '../control-plane/build/go-build.ts';
import { filesOf, issue } from '../control-plane/certificates.ts';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import { type Access, type Api, apiFor } from '../control-plane/objects/api.ts';
import { applyOne, collectionOf } from '../control-plane/objects/cluster.ts';
import type { Manifest } from '../control-plane/objects/manifests.ts';
import type { Condition, Node } from '../control-plane/objects/objects.ts';
import { run } from '../control-plane/processes/command.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import type { Program, Running } from '../control-plane/processes/process.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { waitFor } from '../control-plane/wait.ts';
import { ensureController, type LeftOut } from '../integrations/builds.ts';
import { kindsServed } from '../integrations/installed.ts';
import { startFakeHandlers } from './fake-handler.ts';
import { home, kubeVirtPath } from './objects.ts';
import { deployed, kubeVirt, namespace, service, trusted } from './surroundings.ts';
import { type Vms, vmsOn } from './vms.ts';

/** The newest whose dependencies the Go module proxy and the checksum database all have. */
const version = 'v1.7.0';

const kubeVirtBuild: GoBuild = {
  name: 'integrations/kubevirt',
  module: import.meta.dirname,
  salt: '',
  announcement:
    'building virt-api and virt-controller of KubeVirt for the tests, 3 to 9 minutes the first time,',
  build: (folder, go) => go(['build', '-ldflags', '-s -w', '-o', join(folder, 'kubevirt'), '.']),
};

type Part = 'virt-api' | 'virt-controller';

/** KubeVirt on a control plane that was started with `aggregation: true`. */
export interface KubeVirt extends Vms {
  readonly kind: 'started';
  /** Waits until KubeVirt will put VMs on these nodes. */
  nodesKnown(...names: readonly string[]): Promise<void>;
  stopPart(part: Part): Promise<void>;
  /** Resolves when it works again. */
  startPart(part: Part): Promise<void>;
  /** Has to come before the end of the control plane. */
  stop(): Promise<void>;
}

/** What the program prints of KubeVirt's own objects. */
async function printed(program: string, ...args: readonly string[]): Promise<readonly Manifest[]> {
  const { code, stdout, stderr } = await run(program, args);
  if (code !== 0) throw new Error(`kubevirt ${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as readonly Manifest[];
}

function applyEach(api: Api, manifests: readonly Manifest[]): Promise<unknown> {
  return Promise.all(manifests.map(manifest => applyOne(api, manifest)));
}

/** Everything that is there before the first part starts. */
async function install({ api, folder }: ControlPlane, program: string): Promise<void> {
  await applyOne(api, namespace);
  await Promise.all([
    printed(program, 'definitions').then(found => applyEach(api, found)),
    printed(program, 'access', home).then(found => applyEach(api, found)),
  ]);
  await kindsServed(api);
  await applyEach(api, [trusted(readFileSync(join(folder, 'ca.crt'), 'utf8')), kubeVirt, service]);
  await api.patch(`${kubeVirtPath}/status`, { status: deployed(version) });
  await issue(folder, 'virt-api', {
    commonName: 'virt-api',
    servedNames: ['virt-api.kubevirt.svc', 'localhost'],
  });
  await issue(folder, 'virt-handler', { commonName: 'kubevirt.io:system:client:virt-handler' });
}

/** As whom a part of KubeVirt works: its webhooks tell it from a user. */
async function accessOf(controlPlane: ControlPlane, account: string): Promise<Access> {
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 86_400 },
  };
  const path = `${collectionOf('v1', 'ServiceAccount', home)}/${account}/token`;
  const { status } = await controlPlane.api.post<{ readonly status: { readonly token: string } }>(
    path,
    request,
  );
  const { server, ca } = controlPlane.accessOf('admin');
  return { server, token: status.token, ...(ca !== undefined && { ca }) };
}

type Ports = Readonly<Record<Part, number>>;

async function programsOf(
  controlPlane: ControlPlane,
  command: string,
  ports: Ports,
): Promise<Readonly<Record<Part, Program>>> {
  const { folder } = controlPlane;
  const [server, client] = [filesOf(folder, 'virt-api'), filesOf(folder, 'virt-handler')];
  const program = async (
    part: Part,
    account: string,
    flags: Readonly<Record<string, string>>,
  ): Promise<Program> => {
    const kubeconfig = writeKubeconfig(
      join(folder, `${account}.kubeconfig`),
      account,
      await accessOf(controlPlane, account),
      home,
    );
    const all = { kubeconfig, listen: '127.0.0.1', port: String(ports[part]), ...flags };
    return {
      name: part,
      command,
      args: [part, ...Object.entries(all).map(([name, value]) => `--${name}=${value}`)],
      patience: '1s',
    };
  };
  return {
    'virt-api': await program('virt-api', 'kubevirt-apiserver', {
      'tls-cert-file': server.certificate,
      'tls-key-file': server.key,
      'handler-cert-file': client.certificate,
      'handler-key-file': client.key,
    }),
    'virt-controller': await program('virt-controller', 'kubevirt-controller', {
      'launcher-image': `virt-launcher:${version}`,
      'exporter-image': `virt-exportserver:${version}`,
      'prom-cert-file': server.certificate,
      'prom-key-file': server.key,
      // Started again, it waits for as long as its predecessor held the lease.
      'leader-elect-lease-duration': '15s',
    }),
  };
}

/** The parts as processes, which can be stopped and started. */
class Parts {
  readonly #controlPlane: ControlPlane;
  readonly #programs: Readonly<Record<Part, Program>>;
  readonly #ports: Ports;
  readonly #running = new Map<Part, Running>();

  constructor(controlPlane: ControlPlane, programs: Readonly<Record<Part, Program>>, ports: Ports) {
    this.#controlPlane = controlPlane;
    this.#programs = programs;
    this.#ports = ports;
  }

  async start(part: Part): Promise<void> {
    const running = this.#controlPlane.run(this.#programs[part]);
    this.#running.set(part, running);
    const path = part === 'virt-api' ? '/apis/subresources.kubevirt.io/v1/healthz' : '/leader';
    const { ca } = this.#controlPlane.accessOf('admin');
    const client = apiFor({
      server: `https://localhost:${this.#ports[part]}`,
      ...(ca !== undefined && { ca }),
    });
    const dead = new AbortController();
    try {
      await waitFor(
        `${part} to be ready`,
        async () => {
          if (!running.alive()) dead.abort(new Error(`${part} has ended:\n${running.tail()}`));
          if (dead.signal.aborted) return { done: undefined };
          const { status, body } = await client.call('GET', path);
          const says = typeof body === 'string' ? body : JSON.stringify(body);
          const isReady = status === 200 && (part === 'virt-api' || says.includes('true'));
          return isReady ? { done: undefined } : { yet: `${status} ${says.slice(0, 200)}` };
        },
        { deadlineMs: 90_000, everyMs: 100 },
      );
    } finally {
      client.close();
    }
    dead.signal.throwIfAborted();
  }

  async stop(...parts: readonly Part[]): Promise<void> {
    const running = parts.map(part => this.#running.get(part)).filter(one => one !== undefined);
    await Promise.all(running.map(one => one.stop()));
  }
}

/** Until the API server passes calls on to virt-api. */
function aggregated(api: Api): Promise<void> {
  return waitFor(
    "KubeVirt's subresources to be served",
    async () => {
      type Service = { readonly status?: { readonly conditions?: readonly Condition[] } };
      const path = `${collectionOf('apiregistration.k8s.io/v1', 'APIService')}/v1.subresources.kubevirt.io`;
      const { status } = await api.get<Service>(path);
      const available = status?.conditions?.find(({ type }) => type === 'Available');
      return available?.status === 'True'
        ? { done: undefined }
        : { yet: available?.message ?? 'no condition' };
    },
    { deadlineMs: 60_000 },
  );
}

async function begin(controlPlane: ControlPlane, program: string): Promise<Parts> {
  const { api, folder } = controlPlane;
  await install(controlPlane, program);
  const [apiPort = 0, controllerPort = 0] = await freePorts(2);
  const ports = { 'virt-api': apiPort, 'virt-controller': controllerPort };
  const parts = new Parts(controlPlane, await programsOf(controlPlane, program, ports), ports);
  try {
    await Promise.all([parts.start('virt-api'), parts.start('virt-controller')]);
    await applyEach(
      api,
      await printed(program, 'hooks', home, String(apiPort), join(folder, 'ca.crt')),
    );
    await aggregated(api);
    return parts;
  } catch (error) {
    await parts.stop('virt-api', 'virt-controller');
    throw error;
  }
}

type Known = Node & {
  readonly status: { readonly allocatable?: Readonly<Record<string, string>> };
};

async function known(
  api: Api,
  names: readonly string[],
  isKnown: (node: Known) => boolean,
): Promise<void> {
  await waitFor(`nodes ${names.join(', ')} to be known to KubeVirt`, async () => {
    const nodes = await Promise.all(names.map(name => api.get<Known>(`/api/v1/nodes/${name}`)));
    const unknown = nodes.filter(node => !isKnown(node));
    return unknown.length === 0
      ? { done: undefined }
      : { yet: unknown.map(({ metadata }) => metadata.name).join(', ') };
  });
}

/** The embedded cluster has everything but the kinds and what virt-operator leaves behind. */
async function simulated({ api }: ControlPlane, kubevirt: SimulatedKubeVirt): Promise<KubeVirt> {
  await applyEach(api, kubeVirtDefinitions as readonly Manifest[]);
  await kindsServed(api);
  for (const manifest of kubeVirtObjects() as readonly Manifest[]) await applyOne(api, manifest);
  return {
    kind: 'started',
    ...vmsOn(api),
    nodesKnown: (...names) =>
      known(api, names, ({ metadata }) => metadata.labels?.['kubevirt.io/schedulable'] === 'true'),
    stopPart: async part => kubevirt.set(part, false),
    startPart: async part => kubevirt.set(part, true),
    // It ends with its cluster.
    stop: async () => {},
  };
}

/**
 * Starts virt-api and virt-controller on a control plane of the tests, with everything that
 * virt-operator would have installed for them; what runs on nodes is played (fake-handler.ts). On
 * the embedded cluster it is the simulated KubeVirt. Says why where this machine cannot.
 */
export async function startKubeVirt(controlPlane: ControlPlane): Promise<KubeVirt | LeftOut> {
  if (controlPlane.simulatedKubeVirt !== undefined)
    return simulated(controlPlane, controlPlane.simulatedKubeVirt);
  const built = await ensureController(kubeVirtBuild);
  if (built.kind === 'left-out') return built;
  const { api } = controlPlane;
  const parts = await begin(controlPlane, join(built.folder, 'kubevirt'));
  const handler = apiFor(await accessOf(controlPlane, 'kubevirt-handler'));
  const handlers = startFakeHandlers(api, handler);
  return {
    kind: 'started',
    ...vmsOn(api),
    nodesKnown: (...names) =>
      known(
        api,
        names,
        ({ status }) => status.allocatable?.['devices.kubevirt.io/tun'] !== undefined,
      ),
    stopPart: part => parts.stop(part),
    startPart: part => parts.start(part),
    stop: async () => {
      try {
        await handlers.stop();
      } finally {
        handler.close();
        await parts.stop('virt-api', 'virt-controller');
      }
    },
  };
}
