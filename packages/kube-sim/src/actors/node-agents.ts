import type { JsonObject } from '@drydock/apimachinery';
import { microTimeText } from '@drydock/apimachinery';
import type { Clock } from '@drydock/utils';
import { type Cluster, timeText } from '../controllers/controller.ts';
import { conditionOfNode, readiness } from '../controllers/nodes/taint-eviction.ts';
import { at, kubernetesVersion, objects, part, type Stored, text } from '../object.ts';
import type { StoreChange } from '../store/store.ts';

/**
 * Simulates kubelets' reports about their nodes: readiness, and a lease renewal every ten seconds.
 */

const leases = 'leases.coordination.k8s.io';
const namespace = 'kube-node-lease';

/**
 * Duration of a lease in seconds, and its renewal interval in milliseconds
 * (nodeLeaseDurationSeconds, nodeLeaseRenewIntervalFraction).
 */
const leaseSeconds = 40;
const defaultRenewMs = 10_000;

/**
 * Milliseconds between batches: leases are renewed a few at a time, and not those of all nodes at
 * once.
 */
const beatMs = 1000;

/** Returns true: every kubelet always responds. */
export function alwaysAlive(): boolean {
  return true;
}

/** Annotation of a node that reports nothing: a test sets its conditions. */
const silent = 'drydock.test/dead';

type ReportedCondition = readonly [type: string, status: string, reason: string, message: string];

const healthy: readonly ReportedCondition[] = [
  ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
  [
    'MemoryPressure',
    'False',
    'KubeletHasSufficientMemory',
    'kubelet has sufficient memory available',
  ],
  ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
];

const versions = {
  containerRuntimeVersion: 'embedded',
  kernelVersion: 'embedded',
  kubeletVersion: kubernetesVersion,
  kubeProxyVersion: '',
};
const machine = {
  architecture: 'amd64',
  operatingSystem: 'linux',
  bootID: '',
  machineID: '',
  osImage: '',
  systemUUID: '',
};

/** Capacity of a machine without a given one. */
const defaultCapacity = { cpu: '16', memory: '64Gi', 'ephemeral-storage': '100Gi', pods: '110' };

/**
 * Returns the default capacity unless either of the two fields is given: the scheduler accepts
 * either.
 */
function capacityOf(node: Stored): JsonObject {
  const said = ['capacity', 'allocatable'].some(
    field => Object.keys(part(node, 'status', field)).length > 0,
  );
  return said ? {} : { capacity: defaultCapacity, allocatable: defaultCapacity };
}

function isGiven(info: JsonObject): boolean {
  return Object.values(info).some(value => value !== '');
}

/**
 * Returns the status of a healthy node. Given values stay: addresses, resources, system info, and
 * conditions of others.
 */
function readyStatus(node: Stored, now: string): JsonObject {
  const { name } = node.metadata;
  const others = objects(at(node, 'status', 'conditions')).filter(
    one => !healthy.some(([type]) => type === one['type']),
  );
  const own = healthy.map(([type, status, reason, message]) => {
    const before = conditionOfNode(node, type);
    const lastTransitionTime = before?.['status'] === status ? before['lastTransitionTime'] : now;
    return { type, status, reason, message, lastHeartbeatTime: now, lastTransitionTime };
  });
  const addresses = objects(at(node, 'status', 'addresses'));
  const info = part(node, 'status', 'nodeInfo');
  return {
    ...part(node, 'status'),
    ...capacityOf(node),
    conditions: [...others, ...own],
    addresses: addresses.length > 0 ? [...addresses] : [{ type: 'Hostname', address: name }],
    nodeInfo: isGiven(info) ? info : { ...machine, ...versions },
  };
}

/** Reports for the nodes whose kubelets respond. */
export class NodeAgents {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #isAlive: (node: Stored) => boolean;
  readonly #isBack: (node: string) => void;
  readonly #renewMs: number;
  /** Nodes whose kubelets did not respond at the last beat. */
  readonly #dark = new Set<string>();
  /** Time of each lease's last renewal. */
  readonly #renewed = new Map<string, number>();
  #beat: (() => void) | undefined;

  /** Creates the reporter; `isBack` is called when the kubelet of a node responds again. */
  constructor(
    cluster: Cluster,
    clock: Clock,
    isAlive: (node: Stored) => boolean,
    isBack: (node: string) => void,
    renewMs = defaultRenewMs,
  ) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#isAlive = isAlive;
    this.#isBack = isBack;
    this.#renewMs = renewMs;
  }

  /** Receives every change of nodes. */
  onChange({ resource, type, object }: StoreChange): void {
    if (resource !== 'nodes') return;
    const { name } = object.metadata;
    if (type === 'removed') {
      this.#renewed.delete(name);
      this.#dark.delete(name);
      return;
    }
    if (!this.#renewed.has(name)) this.#renewed.set(name, Number.NEGATIVE_INFINITY);
    if (type === 'added' || readiness(object) !== 'True') this.#soon();
  }

  stop(): void {
    this.#beat?.();
  }

  /** Schedules a report: a kubelet takes a moment to see changes of its node. */
  #soon(): void {
    this.#beat?.();
    this.#beat = this.#clock.after(2, () => this.#work());
  }

  #work(): void {
    this.#beat = undefined;
    const due = this.#cluster.nowMs() - this.#renewMs;
    for (const [name, renewedMs] of this.#renewed) {
      const node = this.#cluster.store.get('nodes', '', name);
      if (node === undefined) continue;
      if (!this.#isAlive(node)) {
        this.#dark.add(name);
        continue;
      }
      if (renewedMs <= due) this.#renew(node);
      if (readiness(node) !== 'True' && node.metadata.annotations?.[silent] === undefined)
        this.#sayReady(node);
      if (this.#dark.delete(name)) this.#isBack(name);
    }
    // Without heartbeats, and with kubelets that always respond, no timer is needed.
    const isQuiet = this.#renewMs === Number.POSITIVE_INFINITY && this.#isAlive === alwaysAlive;
    if (this.#renewed.size > 0 && !isQuiet)
      this.#beat ??= this.#clock.after(beatMs, () => this.#work());
  }

  #sayReady(node: Stored): void {
    this.#cluster.writes.update(
      'nodes',
      { ...node, status: readyStatus(node, timeText(this.#cluster.nowMs())) },
      'status',
    );
  }

  #renew({ metadata: { name, uid } }: Stored): void {
    const now = this.#cluster.nowMs();
    this.#renewed.set(name, now);
    const renewTime = microTimeText(this.#clock.now());
    const { store, writes } = this.#cluster;
    const before = store.get(leases, namespace, name);
    // Only the time changes, tens of thousands of times an hour: that needs no checks.
    if (before !== undefined && text(before, 'spec', 'holderIdentity') === name) {
      store.put(leases, { ...before, spec: { ...part(before, 'spec'), renewTime } });
      return;
    }
    if (before !== undefined) writes.remove(leases, namespace, name);
    const owner = { apiVersion: 'v1', kind: 'Node', name, uid };
    writes.create(leases, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace, ownerReferences: [owner] },
      spec: { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime },
    });
  }
}
