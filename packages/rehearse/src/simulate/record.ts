import type { JsonObject } from '@drydock/apimachinery';
import { planAnnotation } from '@drydock/core/plan';
import { type Stored, text } from '@drydock/kube-sim';
import { isReady, nodeOf, replicasOf } from '@drydock/kube-sim/controllers';
import type { Store, StoreChange } from '@drydock/kube-sim/store';
import type { Clock } from '@drydock/utils';
import { type Workload, type Workloads, workloadText } from '../snapshot/workloads.ts';

/**
 * A pod that left a node that is taken out of service. Times in milliseconds since the rehearsal
 * began.
 */
export type PodDeparture = {
  readonly pod: string;
  readonly uid: string;
  readonly node: string;
  readonly workload?: string;
  readonly atMs: number;
  goneMs?: number;
  /**
   * Whether it came to this node during the rehearsal: then it is moved for the second time, or
   * more.
   */
  readonly again: boolean;
};

/** Lowest number of a workload's ready pods that were not terminating. */
export type AvailabilityDip = {
  readonly workload: string;
  readonly desired: number;
  readonly lowest: number;
  readonly atMs: number;
};

type Counted = {
  readonly who: Workload;
  readonly uids: Set<string>;
  before: number;
  lowest: number;
  atMs: number;
};

function isUp(pod: Stored): boolean {
  return isReady(pod) && pod.metadata.deletionTimestamp === undefined;
}

const owners: Readonly<Record<string, string>> = {
  Deployment: 'deployments.apps',
  ReplicaSet: 'replicasets.apps',
  StatefulSet: 'statefulsets.apps',
};

/**
 * Records the pods of a rehearsal: their departures from nodes, and the remaining availability of
 * each workload.
 */
export class PodRecord {
  readonly #store: Store;
  readonly #workloads: Workloads;
  readonly #clock: Clock;
  readonly #isTarget: (node: string) => boolean;
  readonly #first = new Set<string>();
  readonly #counted = new Map<string, Counted>();
  readonly #leaves = new Map<string, PodDeparture>();
  readonly #unsubscribe: () => void;
  readonly #beganMs: number;
  /** Time of the last change of a pod, by node; milliseconds since the beginning. */
  readonly changedMs = new Map<string, number>();
  made = 0;

  constructor(
    store: Store,
    workloads: Workloads,
    clock: Clock,
    isTarget: (node: string) => boolean,
  ) {
    this.#store = store;
    this.#workloads = workloads;
    this.#clock = clock;
    this.#isTarget = isTarget;
    this.#beganMs = clock.now().epochMilliseconds;
    for (const pod of store.list('pods')) {
      this.#first.add(pod.metadata.uid);
      this.#count(pod, isUp(pod));
    }
    for (const counted of this.#counted.values()) {
      counted.before = counted.uids.size;
      counted.lowest = counted.uids.size;
    }
    this.#unsubscribe = store.subscribe(change => this.#onChange(change), 'pods');
  }

  get nowMs(): number {
    return this.#clock.now().epochMilliseconds - this.#beganMs;
  }

  /** Number of pods that were requested to leave. */
  get departures(): number {
    return this.#leaves.size;
  }

  /** Departures in the order of the requests. */
  get leaves(): readonly PodDeparture[] {
    return [...this.#leaves.values()];
  }

  end(): void {
    this.#unsubscribe();
  }

  /** Returns workloads that lost a pod, the worst first. */
  levels(): readonly AvailabilityDip[] {
    const touched = [...this.#counted.values()].filter(({ lowest, before }) => lowest < before);
    return touched
      .map(({ who, lowest, before, atMs }) => ({
        workload: workloadText(who),
        desired: this.#desired(who) ?? before,
        lowest,
        atMs,
      }))
      .toSorted(
        (one, other) =>
          one.lowest / one.desired - other.lowest / other.desired ||
          (one.workload < other.workload ? -1 : 1),
      );
  }

  #desired({ kind, namespace, name }: Workload): number | undefined {
    const resource = owners[kind];
    const found = resource === undefined ? undefined : this.#store.get(resource, namespace, name);
    return found && replicasOf(found);
  }

  #onChange(change: StoreChange): void {
    const { type, object } = change;
    const { uid } = object.metadata;
    const node = nodeOf(object);
    if (type === 'added') this.made += 1;
    const up = type !== 'removed' && isUp(object);
    if (type !== 'changed' || isUp(change.before) !== up) this.#count(object, up);
    // A plan's own pod on a node is not a pod that moves.
    if (
      node === '' ||
      !this.#isTarget(node) ||
      planAnnotation in (object.metadata.annotations ?? {})
    )
      return;
    this.changedMs.set(node, this.nowMs);
    const leave = this.#leaves.get(uid);
    if (type === 'removed') {
      (leave ?? this.#leaving(object, node)).goneMs = this.nowMs;
    } else if (object.metadata.deletionTimestamp !== undefined && leave === undefined)
      this.#leaving(object, node);
  }

  #leaving(pod: Stored, node: string): PodDeparture {
    const workload = this.#workloads.of(pod);
    const leave: PodDeparture = {
      pod: `${pod.metadata.namespace ?? ''}/${pod.metadata.name}`,
      uid: pod.metadata.uid,
      node,
      ...(workload && { workload: workloadText(workload) }),
      atMs: this.nowMs,
      again: !this.#first.has(pod.metadata.uid),
    };
    this.#leaves.set(pod.metadata.uid, leave);
    return leave;
  }

  #count(pod: Stored, up: boolean): void {
    const who = this.#workloads.of(pod);
    if (who === undefined || who.kind === 'DaemonSet' || who.kind === 'Job' || who.kind === 'Node')
      return;
    const key = workloadText(who);
    const counted = this.#counted.get(key) ?? {
      who,
      uids: new Set<string>(),
      before: 0,
      lowest: 0,
      atMs: 0,
    };
    this.#counted.set(key, counted);
    if (up) counted.uids.add(pod.metadata.uid);
    else counted.uids.delete(pod.metadata.uid);
    if (counted.uids.size >= counted.lowest) return;
    counted.lowest = counted.uids.size;
    counted.atMs = this.nowMs;
  }
}

/** Returns the unscheduled pods of the store, with the scheduler's message. */
export function unplaced(
  store: Store,
): readonly { readonly pod: Stored; readonly message: string }[] {
  return store.list('pods').flatMap(pod => {
    if (nodeOf(pod) !== '' || pod.metadata.deletionTimestamp !== undefined) return [];
    const conditions =
      ((pod['status'] ?? {}) as { readonly conditions?: readonly JsonObject[] }).conditions ?? [];
    const scheduled = conditions.find(
      one => one['type'] === 'PodScheduled' && one['status'] === 'False',
    );
    return scheduled === undefined ? [] : [{ pod, message: text(scheduled, 'message') }];
  });
}
