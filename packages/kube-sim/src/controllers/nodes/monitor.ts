import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, part, type Stored, text } from '../../object.ts';
import { type Cluster, type Controller, isReady, timeText } from '../controller.ts';
import { withPodCondition } from '../pod-conditions.ts';
import {
  conditionOfNode,
  hasTaint,
  notReady,
  readiness,
  taintsOf,
  unreachable,
  withTaints,
} from './taint-eviction.ts';

/**
 * Monitors the health of nodes (monitorNodeHealth of
 * k8s.io/kubernetes/pkg/controller/nodelifecycle): a node that is silent for too long becomes
 * Unknown, a node that is not ready is tainted NoExecute, and its pods are marked not ready. Zones
 * in which most nodes are gone are not spared.
 */

export type NodeHealthOptions = {
  /** Interval of checks in milliseconds; 5 s as in a real cluster when left out. */
  readonly periodMs?: number;
  /** Milliseconds of silence after which a node becomes Unknown; 50 s when left out. */
  readonly graceMs?: number;
  /** The same for a node that has never reported; 60 s when left out. */
  readonly startupMs?: number;
  /**
   * Interval in milliseconds at which kubelets renew their leases; 10 s when left out. With
   * infinite `renewMs` and `graceMs` there are no heartbeats and no node is ever lost: for hours of
   * simulated time with thousands of nodes.
   */
  readonly renewMs?: number;
};

const by = 'node-controller';
const leases = 'leases.coordination.k8s.io';
const kept = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** Last report of a node: its time by this clock, and its content. */
type Health = { readonly node: Stored; readonly heardMs: number; readonly heartbeat: string };

function heartbeatOf(node: Stored): string {
  return text(conditionOfNode(node, 'Ready'), 'lastHeartbeatTime');
}

/** Returns the conditions of a silent node. */
function lost(node: Stored, now: string): readonly JsonObject[] {
  const present = objects(at(node, 'status', 'conditions'));
  const known = present.map(one =>
    kept.includes(text(one, 'type')) && one['status'] !== 'Unknown'
      ? {
          ...one,
          status: 'Unknown',
          reason: 'NodeStatusUnknown',
          message: 'Kubelet stopped posting node status.',
          lastTransitionTime: now,
        }
      : one,
  );
  const never = kept
    .filter(type => !present.some(one => one['type'] === type))
    .map(type => ({
      type,
      status: 'Unknown',
      lastHeartbeatTime: node.metadata.creationTimestamp,
      lastTransitionTime: now,
      reason: 'NodeStatusNeverUpdated',
      message: 'Kubelet never posted node status.',
    }));
  return [...known, ...never];
}

/** Marks the pods of a node as not ready, whatever their kubelet reports (MarkPodsNotReady). */
function markPods(cluster: Cluster, pods: readonly Stored[]): void {
  for (const pod of pods) {
    if (!isReady(pod)) continue;
    const now = timeText(cluster.nowMs());
    const conditions = withPodCondition(pod, { type: 'Ready', status: 'False' }, now);
    cluster.writes.update(
      'pods',
      { ...pod, status: { ...part(pod, 'status'), conditions: [...conditions] } },
      'status',
    );
    const about = { resource: 'pods', object: pod };
    cluster.record({
      by,
      about,
      type: 'Warning',
      reason: 'NodeNotReady',
      message: 'Node is not ready',
    });
  }
}

/**
 * Sets the NoExecute taint for the node's condition, and removes the other one
 * (processTaintBaseEviction).
 */
function taint(cluster: Cluster, node: Stored): void {
  const ready = readiness(node);
  const key = ready === 'False' ? notReady : ready === 'Unknown' ? unreachable : undefined;
  const others = taintsOf(node).filter(
    one =>
      !(
        [notReady, unreachable].includes(text(one, 'key')) &&
        text(one, 'effect') === 'NoExecute' &&
        one['key'] !== key
      ),
  );
  const isThere = key !== undefined && hasTaint(node, key, 'NoExecute');
  if (others.length === taintsOf(node).length && (key === undefined || isThere)) return;
  const added =
    key === undefined || isThere
      ? []
      : [{ key, effect: 'NoExecute', timeAdded: timeText(cluster.nowMs()) }];
  cluster.writes.update('nodes', withTaints(node, [...others, ...added]));
}

function podsOn({ store }: Cluster, { metadata }: Stored): readonly Stored[] {
  return store.indexed('pods', 'spec.nodeName', metadata.name);
}

function sayNode(cluster: Cluster, object: Stored, reason: string, message: string): void {
  cluster.record({
    by,
    about: { resource: 'nodes', object },
    type: 'Normal',
    reason,
    message: `Node ${object.metadata.name} ${message}`,
  });
}

/** Checks a node, and returns it: Unknown after the time limit. */
function judged(cluster: Cluster, node: Stored, health: Health, limitMs: number): Stored {
  if (cluster.nowMs() <= health.heardMs + limitMs || readiness(node) === 'Unknown') return node;
  const status = {
    ...part(node, 'status'),
    conditions: [...lost(node, timeText(cluster.nowMs()))],
  };
  const written = cluster.writes.update('nodes', { ...node, status }, 'status');
  return written.kind === 'stored' ? written.object : node;
}

type Limits = { readonly graceMs: number; readonly startupMs: number };

/** Last reports of all nodes. */
class NodeHealthTracker {
  readonly #options: Limits;
  readonly #known = new Map<string, Health>();

  constructor(options: Limits) {
    this.#options = options;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Records the renewal of a lease. */
  hear(name: string, nowMs: number): void {
    const health = this.#known.get(name);
    if (health !== undefined) this.#known.set(name, { ...health, heardMs: nowMs });
  }

  look(cluster: Cluster, node: Stored): void {
    const { graceMs, startupMs } = this.#options;
    const health = this.#note(cluster, node);
    const said = readiness(node);
    const now = judged(cluster, node, health, said === '' ? startupMs : graceMs);
    if (readiness(now) === '') return;
    taint(cluster, now);
    if (said !== 'True' || readiness(now) === 'True') return;
    sayNode(cluster, now, 'NodeNotReady', 'status is now: NodeNotReady');
    markPods(cluster, podsOn(cluster, now));
  }

  /** Drops deleted nodes. */
  forget(cluster: Cluster): void {
    for (const [name, { node }] of this.#known) {
      if (cluster.store.get('nodes', '', name) !== undefined) continue;
      this.#known.delete(name);
      sayNode(cluster, node, 'RemovingNode', `event: Removing Node ${name} from Controller`);
    }
  }

  #note(cluster: Cluster, node: Stored): Health {
    const { name, creationTimestamp } = node.metadata;
    const before = this.#known.get(name);
    const heartbeat = heartbeatOf(node);
    const isNews = before === undefined || before.heartbeat !== heartbeat;
    const never = before === undefined && readiness(node) === '';
    const heardMs = never
      ? Date.parse(creationTimestamp)
      : isNews
        ? cluster.nowMs()
        : before.heardMs;
    const health = { node, heardMs, heartbeat };
    this.#known.set(name, health);
    if (before === undefined)
      sayNode(cluster, node, 'RegisteredNode', `event: Registered Node ${name} in Controller`);
    return health;
  }
}

/** Returns the controller; it remembers the last report of each node. */
export function nodeMonitor({
  periodMs = 5000,
  graceMs = 50_000,
  startupMs = 60_000,
}: NodeHealthOptions = {}): Controller {
  const healths = new NodeHealthTracker({ graceMs, startupMs });
  let running = false;
  return {
    name: 'node-monitor',
    keysOf: ({ resource, type, object }, { nowMs }) => {
      if (type === 'removed') return [];
      const { namespace, name } = object.metadata;
      if (resource === leases && namespace === 'kube-node-lease') healths.hear(name, nowMs());
      if (resource !== 'nodes' || running) return [];
      running = true;
      return ['nodes'];
    },
    reconcile: (_key, cluster) => {
      for (const node of cluster.store.list('nodes')) healths.look(cluster, node);
      healths.forget(cluster);
      running = healths.size > 0;
      return running ? periodMs : undefined;
    },
  };
}
