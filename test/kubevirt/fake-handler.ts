import type { Api } from '../control-plane/objects/api.ts';
import { nodePath, podPath } from '../control-plane/objects/cluster.ts';
import type { Condition, List, Node, Pod } from '../control-plane/objects/objects.ts';
import { type Repeated, repeat } from '../integrations/repeat.ts';
import { pathOf, steering, type Vmi } from './objects.ts';

/**
 * What virt-handler and virt-launcher do on a node, without any VM: nodes that say they can have
 * VMs, VMIs that run, the node's side of migrations, and the ends of launcher pods. Annotations of
 * a VMI steer it (objects.ts).
 */

const everyMs = 250;
const heartbeatMs = 30_000;
const defaultMs = 3000;

const cpu = 'Skylake-Server';

/** What a virt-handler finds out about its node. */
const nodeLabels = {
  'kubevirt.io/schedulable': 'true',
  // The kubelet's own word, which the nodes of the tests lack.
  'kubernetes.io/arch': 'amd64',
  'machine-type.node.kubevirt.io/q35': 'true',
  [`host-model-cpu.node.kubevirt.io/${cpu}`]: 'true',
  [`cpu-model.node.kubevirt.io/${cpu}`]: 'true',
  [`cpu-model-migration.node.kubevirt.io/${cpu}`]: 'true',
} as const;

/** Its device plugins, and what the kubelet would say of the node's disk. */
const devices = {
  'devices.kubevirt.io/kvm': '1k',
  'devices.kubevirt.io/tun': '1k',
  'devices.kubevirt.io/vhost-net': '1k',
  'ephemeral-storage': '100Gi',
} as const;

function nowText(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}

/**
 * What is to be written: members of the VMI that change (null takes them away), and pods that end.
 */
type Change = {
  readonly status: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly ended?: readonly { readonly pod: string; readonly phase: 'Succeeded' | 'Failed' }[];
};

type Tree = Readonly<Record<string, unknown>>;
function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A merge patch applied here: virt-handler may update VMIs, not patch them. */
function merged(before: Tree, patch: Tree): Tree {
  const after: Record<string, unknown> = { ...before };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete after[key];
    else if (isTree(value)) after[key] = merged(isTree(after[key]) ? after[key] : {}, value);
    else after[key] = value;
  }
  return after;
}

function running(vmi: Vmi): Change {
  const isMigratable = vmi.metadata.annotations?.[steering.migratable] !== 'false';
  const others = (vmi.status?.conditions ?? []).filter(
    ({ type }) => !['LiveMigratable', 'StorageLiveMigratable'].includes(type),
  );
  const condition: Condition & { readonly lastProbeTime: null } = {
    type: 'LiveMigratable',
    status: isMigratable ? 'True' : 'False',
    lastProbeTime: null,
    lastTransitionTime: nowText(),
    ...(!isMigratable && {
      reason: 'DisksNotLiveMigratable',
      message: 'cannot migrate VMI: PVC disk is not shared',
    }),
  };
  const since = [
    ...(vmi.status?.phaseTransitionTimestamps ?? []),
    { phase: 'Running', phaseTransitionTimestamp: nowText() },
  ];
  // A target pod is made only for a VMI whose context is known.
  return {
    status: {
      phase: 'Running',
      conditions: [...others, condition],
      phaseTransitionTimestamps: since,
      selinuxContext: 'none',
    },
  };
}

function failed(targetPod: string | undefined, more: Tree): Change {
  return {
    status: { migrationState: { endTimestamp: nowText(), completed: true, failed: true, ...more } },
    ended: targetPod === undefined ? [] : [{ pod: targetPod, phase: 'Failed' }],
  };
}

/** The VM runs on the target from now on. */
function arrived(target: string, sourcePod: string | undefined): Change {
  return {
    status: {
      nodeName: target,
      evacuationNodeName: null,
      migrationState: {
        endTimestamp: nowText(),
        completed: true,
        failed: false,
        targetNodeDomainDetected: true,
      },
    },
    metadata: {
      labels: { 'kubevirt.io/nodeName': target, 'kubevirt.io/outdatedLauncherImage': null },
    },
    ended: sourcePod === undefined ? [] : [{ pod: sourcePod, phase: 'Succeeded' }],
  };
}

/** Migrations by their uid, with the time of their start. */
type Starts = Map<string, number>;

function courseOf({ metadata }: Vmi): {
  readonly kind: 'fail' | 'hang' | 'lasts';
  readonly ms: number;
} {
  const said = metadata.annotations?.[steering.migration] ?? '';
  if (said === 'hang') return { kind: 'hang', ms: Number.POSITIVE_INFINITY };
  if (said === 'fail') return { kind: 'fail', ms: defaultMs };
  return { kind: 'lasts', ms: said === '' ? defaultMs : Number.parseFloat(said) * 1000 };
}

/** The next step of a migration that virt-controller has handed over. */
function migrating(vmi: Vmi, starts: Starts): Change | undefined {
  const {
    migrationUid = '',
    targetNode,
    targetPod,
    sourcePod,
    ...state
  } = vmi.status?.migrationState ?? {};
  if (migrationUid === '' || targetNode === undefined || state.completed === true) return undefined;
  if (state.targetNodeAddress === undefined)
    return {
      status: {
        migrationState: {
          targetNodeAddress: '10.9.9.9',
          targetDirectMigrationNodePorts: { '49152': 0 },
        },
      },
    };
  if (state.abortRequested === true)
    return failed(targetPod, {
      abortStatus: 'Succeeded',
      startTimestamp: state.startTimestamp ?? nowText(),
      failureReason: 'Live migration has been aborted',
    });
  if (state.startTimestamp === undefined) {
    starts.set(migrationUid, performance.now());
    return { status: { migrationState: { startTimestamp: nowText(), mode: 'PreCopy' } } };
  }
  const course = courseOf(vmi);
  const began = starts.get(migrationUid) ?? performance.now();
  starts.set(migrationUid, began);
  if (performance.now() - began < course.ms) return undefined;
  return course.kind === 'fail'
    ? failed(targetPod, { failureReason: 'Live migration failed' })
    : arrived(targetNode, sourcePod);
}

/** Pods of a VMI on a node that are being deleted take the VM with them, as UID/NODE. */
type Going = ReadonlySet<string>;

function nextOf(vmi: Vmi, going: Going, starts: Starts): Change | undefined {
  const { metadata, status } = vmi;
  const isUp = status?.phase === 'Scheduled' || status?.phase === 'Running';
  if (!isUp) return undefined;
  const isEnding =
    metadata.deletionTimestamp !== undefined ||
    going.has(`${metadata.uid}/${status.nodeName ?? ''}`);
  if (isEnding) return { status: { phase: 'Succeeded' } };
  return status.phase === 'Scheduled' ? running(vmi) : migrating(vmi, starts);
}

type PodStatus = { readonly phase: string; readonly containerStatuses?: readonly object[] };

class Handlers {
  readonly #admin: Api;
  readonly #handler: Api;
  readonly #beats = new Map<string, number>();
  readonly #starts: Starts = new Map();

  constructor(admin: Api, handler: Api) {
    this.#admin = admin;
    this.#handler = handler;
  }

  async look(): Promise<void> {
    const dead = await this.#nodes();
    const launchers = await this.#admin.get<List<Pod>>(
      '/api/v1/pods?labelSelector=kubevirt.io%3Dvirt-launcher',
    );
    const going = new Set(
      launchers.items
        .filter(
          ({ metadata, status }) =>
            metadata.deletionTimestamp !== undefined && status.phase === 'Running',
        )
        .map(
          ({ metadata, spec }) =>
            `${metadata.labels?.['kubevirt.io/created-by'] ?? ''}/${spec.nodeName ?? ''}`,
        ),
    );
    const { items } = await this.#admin.get<List<Vmi>>(
      '/apis/kubevirt.io/v1/virtualmachineinstances',
    );
    for (const vmi of items)
      if (!dead.has(vmi.status?.nodeName ?? '')) await this.#attend(vmi, going);
  }

  /** Answers those that are dead, by the word of tests: nothing on them says anything any more. */
  async #nodes(): Promise<ReadonlySet<string>> {
    const { items } = await this.#admin.get<List<Node>>('/api/v1/nodes');
    const isDead = ({ metadata }: Node): boolean =>
      metadata.annotations?.['drydock.test/dead'] !== undefined;
    for (const { metadata } of items.filter(node => !isDead(node))) {
      const before = this.#beats.get(metadata.uid);
      if (before !== undefined && performance.now() - before < heartbeatMs) continue;
      const annotations = { 'kubevirt.io/heartbeat': nowText() };
      await this.#admin.patch(nodePath(metadata.name), {
        metadata: { annotations, labels: nodeLabels },
      });
      await this.#admin.patch(`${nodePath(metadata.name)}/status`, {
        status: { capacity: devices, allocatable: devices },
      });
      this.#beats.set(metadata.uid, performance.now());
    }
    return new Set(items.filter(isDead).map(({ metadata }) => metadata.name));
  }

  async #attend(vmi: Vmi, going: Going): Promise<void> {
    const change = nextOf(vmi, going, this.#starts);
    if (change === undefined) return;
    const { namespace = '', name } = vmi.metadata;
    const { status, metadata = {}, ended = [] } = change;
    // VMIs have no status subresource.
    const reply = await this.#handler.call(
      'PUT',
      pathOf('virtualmachineinstances', namespace, name),
      merged(vmi, { status, metadata }),
    );
    // Somebody was faster, it is gone, or virt-api is away: the next turn sees how things stand
    // then.
    if ([404, 409, 500, 503].includes(reply.status)) return;
    if (reply.status > 299)
      throw new Error(`the status of VMI ${name}: ${reply.status} ${JSON.stringify(reply.body)}`);
    for (const { pod, phase } of ended) await this.#end(namespace, pod, phase);
  }

  /** What the kubelet reports of a launcher that has ended. */
  async #end(namespace: string, name: string, phase: 'Succeeded' | 'Failed'): Promise<void> {
    const { status: code, body } = await this.#admin.call('GET', podPath(namespace, name));
    if (code === 404) return;
    const { status } = body as { readonly status: PodStatus };
    if (status.phase === 'Succeeded' || status.phase === 'Failed') return;
    const isGood = phase === 'Succeeded';
    const terminated = {
      exitCode: isGood ? 0 : 1,
      reason: isGood ? 'Completed' : 'Error',
      finishedAt: nowText(),
    };
    const containerStatuses = (status.containerStatuses ?? []).map(one => ({
      ...one,
      ready: false,
      state: { terminated },
    }));
    await this.#admin.call(
      'PATCH',
      `${podPath(namespace, name)}/status`,
      { status: { phase, containerStatuses } },
      'application/merge-patch+json',
    );
  }
}

/**
 * Plays virt-handler and virt-launcher on all nodes. `handler` is a client with the identity of
 * virt-handler.
 */
export function startFakeHandlers(admin: Api, handler: Api): Repeated {
  const handlers = new Handlers(admin, handler);
  return repeat('playing virt-handlers', everyMs, () => handlers.look());
}
