import type { Api } from '../control-plane/objects/api.ts';
import { nodePath } from '../control-plane/objects/cluster.ts';
import { node } from '../control-plane/objects/manifests.ts';
import type { Node } from '../control-plane/objects/objects.ts';
import type { Ec2Emulator, Instance } from './ec2/ec2.ts';
import { type Repeated, repeat } from './repeat.ts';

/**
 * Instances with this tag become nodes; its value is their role (`worker`, `control-plane`…), or
 * several with commas between.
 */
export const nodeTag = 'drydock.test/node';

type Options = {
  /** How long it takes from a running instance to its node. */
  readonly joinAfterMs?: number;
  /** How long a kubelet is silent when its instance boots again. */
  readonly bootMs?: number;
  /**
   * How long the node of a terminated instance is left, which the cloud controller then deletes.
   */
  readonly vanishAfterMs?: number;
};

/** What is known of the node of one instance. */
type Known = {
  readonly name: string;
  boots: number;
  /** `gone`: the node was deleted, by whomever; a kubelet registers only when it starts. */
  state: 'starting' | 'up' | 'down' | 'gone';
  since: number;
};

/**
 * Kwok leaves the status of such a node alone (control-plane/stages/nodes.yaml). It ends deleted
 * pods there all the same, which no kubelet would.
 */
const dead = 'drydock.test/dead';
const shutdown = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' };

function ready(status: 'True' | 'Unknown'): object {
  const now = new Date().toISOString();
  const up = { reason: 'KubeletReady', message: 'kubelet is posting ready status' };
  const down = { reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' };
  return {
    type: 'Ready',
    status,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
    ...(status === 'True' ? up : down),
  };
}

function pressure(type: string, reason: string): object {
  const now = new Date().toISOString();
  return {
    type,
    status: 'False',
    reason,
    message: '',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  };
}

/** What a kubelet says of itself; with every boot another id. */
function statusOf({ id, ip, dns, boots }: Instance): object {
  return {
    conditions: [
      pressure('MemoryPressure', 'KubeletHasSufficientMemory'),
      pressure('DiskPressure', 'KubeletHasNoDiskPressure'),
      pressure('PIDPressure', 'KubeletHasSufficientPID'),
      ready('True'),
    ],
    addresses: [
      { type: 'InternalIP', address: ip },
      { type: 'InternalDNS', address: dns },
      { type: 'Hostname', address: dns },
    ],
    nodeInfo: {
      architecture: 'amd64',
      bootID: `${id}-boot-${boots}`,
      containerRuntimeVersion: 'containerd://2.2.0',
      kernelVersion: '6.12.0',
      kubeProxyVersion: '',
      kubeletVersion: 'v1.37.2',
      machineID: '',
      operatingSystem: 'linux',
      osImage: '',
      systemUUID: '',
    },
  };
}

function manifestOf(instance: Instance): object {
  const { dns, id, zone, tags } = instance;
  const roles = (tags[nodeTag] ?? '').split(',').filter(role => role !== '');
  const isControlPlane = (role: string): boolean => role === 'control-plane' || role === 'master';
  const manifest = node(dns, {
    labels: {
      'topology.kubernetes.io/zone': zone,
      'topology.kubernetes.io/region': zone.slice(0, -1),
      ...Object.fromEntries(roles.map(role => [`node-role.kubernetes.io/${role}`, ''])),
    },
    taints: roles
      .filter(isControlPlane)
      .map(role => ({ key: `node-role.kubernetes.io/${role}`, effect: 'NoSchedule' })),
  });
  return {
    ...manifest,
    spec: { ...(manifest.spec as object), providerID: `aws:///${zone}/${id}` },
    status: { ...(manifest.status as object), ...statusOf(instance) },
  };
}

/**
 * The kubelets of all instances of one EC2, and of the cloud controller what becomes of their
 * nodes.
 */
class Kubelets {
  readonly #api: Api;
  readonly #ec2: Ec2Emulator;
  readonly #options: Required<Options>;
  readonly #known = new Map<string, Known>();

  constructor(api: Api, ec2: Ec2Emulator, options: Options) {
    this.#api = api;
    this.#ec2 = ec2;
    this.#options = { joinAfterMs: 500, bootMs: 1000, vanishAfterMs: 2000, ...options };
  }

  async look(): Promise<void> {
    const tagged = (await this.#ec2.instances()).filter(({ tags }) => nodeTag in tags);
    // Somebody else's write in between is a conflict, and the next turn's business; it keeps no
    // other node waiting.
    const turns = await Promise.allSettled(tagged.map(instance => this.#attend(instance)));
    for (const turn of turns) if (turn.status === 'rejected') throw turn.reason;
  }

  async #attend(instance: Instance): Promise<void> {
    const known = this.#known.get(instance.id) ?? this.#meet(instance);
    // One that starts may have said so already: the write before the last of its turn.
    const speaks = known.state === 'up' || known.state === 'starting';
    if (instance.state !== 'running') {
      if (speaks) await this.#down(known, instance.state !== 'terminated');
      else if (instance.state === 'terminated') await this.#vanish(known);
    } else if (known.boots !== instance.boots) {
      if (speaks) await this.#down(known, false);
      known.boots = instance.boots;
      become(known, 'starting');
    } else if (known.state === 'starting') {
      const { joinAfterMs, bootMs } = this.#options;
      if (performance.now() - known.since >= (instance.boots === 1 ? joinAfterMs : bootMs))
        await this.#up(instance, known);
    }
  }

  async #vanish(known: Known): Promise<void> {
    if (known.state === 'gone' || performance.now() - known.since < this.#options.vanishAfterMs)
      return;
    await this.#api.delete(nodePath(known.name));
    become(known, 'gone');
  }

  #meet({ id, dns, boots }: Instance): Known {
    const known: Known = { name: dns, boots, state: 'starting', since: performance.now() };
    this.#known.set(id, known);
    return known;
  }

  /**
   * Registers the node, or says that it is back. Kwok plays what belongs to a kubelet beside that:
   * pods and the lease.
   */
  async #up(instance: Instance, known: Known): Promise<void> {
    const { status } = await this.#api.call('GET', nodePath(known.name));
    if (status === 404) await this.#api.post('/api/v1/nodes', manifestOf(instance));
    else {
      await this.#report(known, statusOf(instance));
      await this.#write(known, { [dead]: null }, false);
    }
    become(known, 'up');
  }

  /** Kwok is told first, or it would make the node Ready again. */
  async #down(known: Known, isShutDown: boolean): Promise<void> {
    if (await this.#write(known, { [dead]: 'true' }, isShutDown)) {
      await this.#report(known, { conditions: [ready('Unknown')] });
      become(known, 'down');
    } else become(known, 'gone');
  }

  /** As a kubelet does: conditions of others stay. */
  async #report({ name }: Known, status: object): Promise<void> {
    const reply = await this.#api.call(
      'PATCH',
      `${nodePath(name)}/status`,
      { status },
      'application/strategic-merge-patch+json',
    );
    if (reply.status > 299)
      throw new Error(`the status of node ${name}: ${reply.status} ${JSON.stringify(reply.body)}`);
  }

  /**
   * Annotations, and the taint that the cloud controller has for instances that are stopped. False:
   * there is no such node any more.
   */
  async #write(
    { name }: Known,
    annotations: Readonly<Record<string, string | null>>,
    isShutDown: boolean,
  ): Promise<boolean> {
    const { status, body } = await this.#api.call('GET', nodePath(name));
    if (status === 404) return false;
    const { metadata, spec } = body as Node;
    const others = (spec.taints ?? []).filter(({ key }) => key !== shutdown.key);
    await this.#api.patch(nodePath(name), {
      metadata: { annotations, resourceVersion: metadata.resourceVersion },
      spec: { taints: isShutDown ? [...others, shutdown] : others },
    });
    return true;
  }
}

function become(known: Known, state: Known['state']): void {
  known.state = state;
  known.since = performance.now();
}

/**
 * Tagged instances become nodes of a control plane, with `spec.providerID`, zone and role. A node
 * is not Ready while its instance is stopped or boots (and has another boot id then), and vanishes
 * when its instance is terminated.
 */
export function startFakeKubelets(api: Api, ec2: Ec2Emulator, options: Options = {}): Repeated {
  const kubelets = new Kubelets(api, ec2, options);
  return repeat('playing kubelets', 100, () => kubelets.look());
}

/** The instance in a provider id. */
export function instanceIn(providerId: string | undefined): string {
  return providerId?.split('/').at(-1) ?? '';
}
