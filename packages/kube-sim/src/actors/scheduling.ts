import type { Clock } from '@drydock/utils';
import { type Cluster, isFinished, nodeOf, timeText } from '../controllers/controller.ts';
import { type RequestQueue, schedulerClient } from '../controllers/runner.ts';
import { objects, part, type Stored, text } from '../object.ts';
import type { StoreChange } from '../store/store.ts';
import { loadOf, type NodeInfo } from './node-info.ts';
import { place, queueOf } from './scheduler.ts';
import { SchedulingCycle } from './scheduling-cycle.ts';

/** Milliseconds from a pod's creation to its binding, as measured on a small real cluster. */
const latencyMs = 5;

/**
 * Milliseconds after which an unschedulable pod is tried again without a change (unschedulable pods
 * are flushed after 5 minutes).
 */
const patienceMs = 300_000;

/**
 * Limit of feasible nodes that are compared; the search starts where the last pod's ended
 * (numFeasibleNodesToFind, which takes some more of many).
 */
const maxCompared = 100;

/** Binds pods to nodes, one after the other. */
export class Scheduling {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #bind: (pod: Stored, node: string) => boolean;
  readonly #requests: RequestQueue | undefined;
  readonly #waiting = new Map<string, Stored>();
  /** Unschedulable pods, until a change that may help. */
  readonly #parked = new Map<string, Stored>();
  readonly #loads = new Map<string, NodeInfo>();
  /** Nodes with pods that have anti-affinity. */
  readonly #guarded = new Map<string, NodeInfo>();
  /**
   * Nodes in order, and the position of each; rebuilt on demand after a node was added or removed.
   */
  #turns: { readonly loads: NodeInfo[]; readonly at: ReadonlyMap<string, number> } | undefined;
  readonly #stale = new Set<string>();
  #from = 0;
  #scheduled: (() => void) | undefined;
  #flush: (() => void) | undefined;

  constructor(
    cluster: Cluster,
    clock: Clock,
    bind: (pod: Stored, node: string) => boolean,
    requests?: RequestQueue,
  ) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#bind = bind;
    this.#requests = requests;
  }

  /** Receives every change of nodes and pods. */
  onChange(change: StoreChange): void {
    const { resource, object } = change;
    if (resource === 'nodes') this.#nodeChanged(change);
    if (resource !== 'pods') return;
    this.#weigh(change);
    const { uid } = object.metadata;
    if (change.type !== 'removed' && queueOf([object]).length === 1) this.#want(object);
    else {
      this.#waiting.delete(uid);
      this.#parked.delete(uid);
      // A place may have become free.
      if (change.type === 'removed' && nodeOf(object) !== '') this.#unpark();
    }
  }

  /** Updates the load of nodes when a pod is bound, ends or is removed. */
  #weigh(change: StoreChange): void {
    const { object } = change;
    const before = change.type === 'changed' ? change.before : undefined;
    if (
      before !== undefined &&
      nodeOf(before) === nodeOf(object) &&
      isFinished(before) === isFinished(object)
    )
      return;
    for (const pod of [before, object])
      if (pod !== undefined && nodeOf(pod) !== '') this.#stale.add(nodeOf(pod));
  }

  stop(): void {
    this.#scheduled?.();
    this.#flush?.();
    this.#waiting.clear();
    this.#parked.clear();
  }

  #nodeChanged({ type, object }: StoreChange): void {
    const { name } = object.metadata;
    this.#stale.add(name);
    if (type !== 'removed') this.#unpark();
  }

  #want(pod: Stored): void {
    this.#parked.delete(pod.metadata.uid);
    this.#waiting.set(pod.metadata.uid, pod);
    this.#scheduled ??= this.#clock.after(latencyMs, () => this.#work());
  }

  #unpark(): void {
    for (const pod of this.#parked.values()) this.#want(pod);
  }

  #refresh(): void {
    for (const name of this.#stale) {
      const node = this.#cluster.store.get('nodes', '', name);
      if ((node === undefined) === this.#loads.has(name)) this.#turns = undefined;
      const load = node && loadOf(this.#cluster.store, node);
      if (load === undefined) this.#loads.delete(name);
      else this.#loads.set(name, load);
      const turn = this.#turns?.at.get(name);
      if (this.#turns !== undefined && load !== undefined && turn !== undefined)
        this.#turns.loads[turn] = load;
      if (load === undefined || load.guarded.length === 0) this.#guarded.delete(name);
      else this.#guarded.set(name, load);
    }
    this.#stale.clear();
  }

  #work(): void {
    this.#scheduled = undefined;
    for (const pod of queueOf([...this.#waiting.values()])) {
      const waitMs = this.#requests?.waitMs(schedulerClient) ?? 0;
      if (waitMs > 0) {
        this.#scheduled ??= this.#clock.after(waitMs, () => this.#work());
        return;
      }
      this.#waiting.delete(pod.metadata.uid);
      this.#place(pod);
    }
    // The remaining pods need no place any more.
    if (this.#scheduled === undefined) this.#waiting.clear();
  }

  /** Yields all nodes, starting where the last pod ended. */
  *#inTurn(): Iterable<NodeInfo> {
    this.#turns ??= {
      loads: [...this.#loads.values()],
      at: new Map([...this.#loads.keys()].map((name, index) => [name, index])),
    };
    const { loads } = this.#turns;
    for (let index = 0; index < loads.length; index += 1) {
      const load = loads[(this.#from + index) % loads.length];
      if (load !== undefined) yield load;
    }
  }

  #place(pod: Stored): void {
    this.#refresh();
    const { uid, namespace = '', name } = pod.metadata;
    const current = this.#cluster.store.get('pods', namespace, name);
    if (current === undefined || current.metadata.uid !== uid || nodeOf(current) !== '') return;
    const round = new SchedulingCycle(this.#cluster.store, current, {
      all: this.#loads,
      guarded: this.#guarded,
    });
    const placement = place(round, this.#inTurn(), maxCompared, this.#cluster.random);
    this.#from = (this.#from + placement.looked) % Math.max(1, this.#loads.size);
    if (placement.kind === 'bound' && this.#bind(current, placement.node)) {
      this.#stale.add(placement.node);
      this.#say(
        current,
        'Normal',
        'Scheduled',
        `Successfully assigned ${namespace}/${name} to ${placement.node}`,
      );
      return;
    }
    if (placement.kind === 'nowhere') this.#park(current, placement.message);
  }

  #park(pod: Stored, message: string): void {
    this.#parked.set(pod.metadata.uid, pod);
    this.#flush ??= this.#clock.after(patienceMs, () => {
      this.#flush = undefined;
      this.#unpark();
    });
    const before = objects(part(pod, 'status')['conditions']);
    if (
      before.some(one => text(one, 'type') === 'PodScheduled' && text(one, 'message') === message)
    )
      return;
    const others = before.filter(one => text(one, 'type') !== 'PodScheduled');
    const { generation } = pod.metadata;
    const condition = {
      type: 'PodScheduled',
      ...(generation !== undefined && { observedGeneration: generation }),
      status: 'False',
      reason: 'Unschedulable',
      message,
      lastProbeTime: null,
      lastTransitionTime: timeText(this.#cluster.nowMs()),
    };
    this.#cluster.writes.update(
      'pods',
      { ...pod, status: { ...part(pod, 'status'), conditions: [...others, condition] } },
      'status',
    );
    this.#say(pod, 'Warning', 'FailedScheduling', message);
  }

  #say(object: Stored, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const action = reason === 'Scheduled' ? 'Binding' : 'Scheduling';
    this.#cluster.record({
      by: 'default-scheduler',
      about: { resource: 'pods', object },
      type,
      reason,
      message,
      action,
    });
  }
}
