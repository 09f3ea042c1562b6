import type { JsonObject } from '@drydock/apimachinery';
import type { Clock } from '@drydock/utils';
import { type Cluster, isFinished, nodeOf, phaseOf, timeText } from '../controllers/controller.ts';
import { readiness } from '../controllers/nodes/taint-eviction.ts';
import { at, durationMs, objects, part, type Stored, strings, text } from '../object.ts';
import type { StoreChange } from '../store/store.ts';
import { graceOf, isMirror, StaticPods } from './node-info.ts';

/** Durations of pods in milliseconds: the mean of each, with a spread by the seed. */
export type Pace = {
  readonly startMs: number;
  readonly stopMs: number;
  /** Relative spread: each duration is between its mean times (1 - spread) and (1 + spread). */
  readonly spread: number;
  /**
   * Durations of one pod, which override the means; Infinity means never. Must return the same on
   * every call.
   */
  readonly of?: (pod: Stored) => { readonly startMs?: number; readonly stopMs?: number };
  /**
   * Pods whose status reports the end of their containers before they are removed: all of them, as
   * with a real kubelet, when left out; or those with finalizers, because the others are removed at
   * the same moment.
   */
  readonly saysEnd?: 'all' | 'held' | 'none';
};

/**
 * Prefix of annotations that change the durations of one pod, the same as in the control plane's
 * tests.
 */
const prefix = 'drydock.test/';

function seconds(text: string | undefined): number | undefined {
  const found = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(text ?? '');
  if (found === null) return undefined;
  return Number(found[1]) * ({ ms: 1, s: 1000, m: 60_000 }[found[2] ?? 's'] ?? 1000);
}

type Own = {
  readonly after: (name: string) => number | undefined;
  readonly has: (name: string) => boolean;
};

function constraintsOf({ metadata }: Stored): Own {
  const annotations = strings(metadata.annotations);
  return {
    after: name => seconds(annotations[`${prefix}${name}`]),
    has: name => annotations[`${prefix}${name}`] === 'true',
  };
}

/**
 * Simulates the kubelets of all nodes that have one: starts and stops pods, and writes their
 * statuses.
 */
export class Kubelets {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #pace: Pace;
  readonly #isAlive: (node: Stored) => boolean;
  /** Time at which terminating pods received their signal, by UID. */
  readonly #begunAt = new Map<string, number>();
  /** Pending timers, by the pod's UID. */
  readonly #timers = new Map<string, () => void>();
  readonly #staticPods: StaticPods;

  constructor(cluster: Cluster, clock: Clock, pace: Pace, isAlive: (node: Stored) => boolean) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#pace = pace;
    this.#isAlive = isAlive;
    this.#staticPods = new StaticPods(cluster, clock, isAlive);
  }

  /** Receives every change of nodes and pods. */
  onChange({ resource, type, object }: StoreChange): void {
    if (resource === 'nodes') {
      if (type !== 'removed' && this.#isAlive(object)) this.back(object.metadata.name);
      return;
    }
    if (resource !== 'pods') return;
    if (type !== 'removed') return this.#look(object);
    this.#forget(object.metadata.uid);
    if (isMirror(object)) this.#staticPods.removed(object);
  }

  /** Handles the return of a node's kubelet: it sees the decisions made meanwhile. */
  back(node: string): void {
    for (const pod of this.#podsOn(node)) this.#look(pod);
  }

  stop(): void {
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    this.#staticPods.stop();
  }

  #podsOn(node: string): readonly Stored[] {
    return this.#cluster.store.indexed('pods', 'spec.nodeName', node);
  }

  #forget(uid: string): void {
    this.#cancel(uid);
    this.#begunAt.delete(uid);
  }

  /**
   * Returns the start of a termination. The API has whole seconds only; a kubelet that learns of it
   * late uses these.
   */
  #begun({ metadata: { uid, deletionTimestamp = '' } }: Stored, graceMs: number): number {
    const known = this.#begunAt.get(uid);
    if (known !== undefined) return known;
    const [begunMs, now] = [Date.parse(deletionTimestamp) - graceMs, this.#cluster.nowMs()];
    const begun = now - begunMs < 1000 ? now : begunMs;
    this.#begunAt.set(uid, begun);
    return begun;
  }

  #cancel(uid: string): void {
    this.#timers.get(uid)?.();
    this.#timers.delete(uid);
  }

  #look(pod: Stored): void {
    const node = nodeOf(pod);
    const found = node === '' ? undefined : this.#cluster.store.get('nodes', '', node);
    if (found === undefined || !this.#isAlive(found)) return;
    if (pod.metadata.deletionTimestamp !== undefined) this.#end(pod);
    else if (phaseOf(pod) === 'Pending') this.#start(pod);
    else if (phaseOf(pod) === 'Running' && isDoubted(pod)) this.#vouch(pod);
    else if (phaseOf(pod) === 'Running') this.#finish(pod);
  }

  #time(middleMs: number): number {
    const { spread } = this.#pace;
    return Math.round(middleMs * (1 - spread + 2 * spread * this.#cluster.random()));
  }

  /** Sets the single timer of a pod, and cancels the former one. */
  #plan(pod: Stored, afterMs: number, act: (pod: Stored) => void): void {
    const { uid, namespace = '', name } = pod.metadata;
    this.#cancel(uid);
    const cancel = this.#clock.after(afterMs, () => {
      this.#timers.delete(uid);
      const current = this.#cluster.store.get('pods', namespace, name);
      const node = current && this.#cluster.store.get('nodes', '', nodeOf(current));
      if (
        current === undefined ||
        current.metadata.uid !== uid ||
        node === undefined ||
        !this.#isAlive(node)
      )
        return;
      act(current);
    });
    this.#timers.set(uid, cancel);
  }

  #start(pod: Stored): void {
    if (this.#timers.has(pod.metadata.uid) || constraintsOf(pod).has('never-ready')) return;
    const startMs =
      constraintsOf(pod).after('ready-after') ??
      this.#pace.of?.(pod).startMs ??
      this.#time(this.#pace.startMs);
    if (startMs === Number.POSITIVE_INFINITY) return;
    this.#plan(pod, startMs, current => {
      if (current.metadata.deletionTimestamp === undefined && phaseOf(current) === 'Pending')
        this.#say(current, runningStatus(current, this.#cluster.nowMs()));
    });
  }

  /** Corrects a pod that was marked as not ready because its node was silent. */
  #vouch(pod: Stored): void {
    if (this.#timers.has(pod.metadata.uid)) return;
    this.#plan(pod, vouchMs, current => {
      const node = this.#cluster.store.get('nodes', '', nodeOf(current));
      if (node !== undefined && readiness(node) === 'True' && isDoubted(current))
        this.#say(current, vouchedStatus(current, this.#cluster.nowMs()));
    });
  }

  /** Ends a pod that runs to completion. */
  #finish(pod: Stored): void {
    const after = constraintsOf(pod).after('done-after');
    if (after === undefined || this.#timers.has(pod.metadata.uid)) return;
    this.#plan(pod, after, current =>
      this.#say(current, endedStatus(current, 'Succeeded', this.#cluster.nowMs())),
    );
  }

  /** Stops a pod within its grace period; a pod that ignores SIGTERM takes all of it. */
  #end(pod: Stored): void {
    const constraints = constraintsOf(pod);
    const known = this.#pace.of?.(pod).stopMs;
    if (constraints.has('never-gone') || known === Number.POSITIVE_INFINITY)
      return this.#cancel(pod.metadata.uid);
    if (isMirror(pod)) return this.#staticPods.ending(pod);
    const givenMs = durationMs(
      pod.metadata.deletionGracePeriodSeconds ?? graceOf(part(pod, 'spec')),
    );
    const begun = this.#begun(pod, givenMs);
    // With centuries, the kubelet's own sum overflows to a negative number, and it kills such a pod
    // at once, without a SIGTERM.
    const graceMs = Math.max(0, givenMs);
    const wanted = constraints.has('ignores-sigterm')
      ? graceMs
      : (constraints.after('gone-after') ?? known ?? this.#time(this.#pace.stopMs));
    const left =
      constraints.after('gone-after') === undefined ? Math.min(wanted, graceMs + 1000) : wanted;
    this.#plan(pod, Math.max(0, begun + left - this.#cluster.nowMs()), current => {
      if (!isFinished(current) && this.#saysEnd(current))
        this.#say(current, endedStatus(current, 'Failed', this.#cluster.nowMs()));
      const { namespace = '', name, uid } = current.metadata;
      this.#cluster.writes.remove('pods', namespace, name, { gracePeriodSeconds: 0, uid });
    });
  }

  #saysEnd({ metadata: { finalizers = [] } }: Stored): boolean {
    const { saysEnd = 'all' } = this.#pace;
    return saysEnd === 'all' || (saysEnd === 'held' && finalizers.length > 0);
  }

  #say(pod: Stored, status: JsonObject): void {
    this.#cluster.writes.update('pods', { ...pod, status }, 'status');
  }
}

/** Milliseconds until a kubelet sees that the API server's status differs from its own. */
const vouchMs = 1000;

function saysTrue(pod: Stored, type: string): boolean {
  return objects(at(pod, 'status', 'conditions')).some(
    one => one['type'] === type && one['status'] === 'True',
  );
}

/** Returns whether the containers of a pod are ready, but the pod is not. */
function isDoubted(pod: Stored): boolean {
  return saysTrue(pod, 'ContainersReady') && !saysTrue(pod, 'Ready');
}

function vouchedStatus(pod: Stored, nowMs: number): JsonObject {
  return {
    ...part(pod, 'status'),
    conditions: objects(at(pod, 'status', 'conditions')).map(one =>
      one['type'] === 'Ready'
        ? { ...one, status: 'True', lastTransitionTime: timeText(nowMs) }
        : one,
    ),
  };
}

function conditions(
  pod: Stored,
  ready: boolean,
  reason: string | undefined,
  now: string,
): readonly JsonObject[] {
  const kept = objects(at(pod, 'status', 'conditions')).filter(
    one => !['Ready', 'ContainersReady', 'Initialized'].includes(text(one, 'type')),
  );
  const make = (type: string, status: boolean): JsonObject => ({
    type,
    status: status ? 'True' : 'False',
    lastTransitionTime: now,
    lastProbeTime: null,
    ...(!status && reason !== undefined && { reason }),
  });
  return [...kept, make('Initialized', true), make('ContainersReady', ready), make('Ready', ready)];
}

function containerStatuses(pod: Stored, state: JsonObject, ready: boolean): readonly JsonObject[] {
  return objects(at(pod, 'spec', 'containers')).map(container => ({
    name: text(container, 'name'),
    image: text(container, 'image'),
    imageID: '',
    ready,
    started: ready,
    restartCount: 0,
    state,
  }));
}

function runningStatus(pod: Stored, nowMs: number): JsonObject {
  const now = timeText(nowMs);
  return {
    ...part(pod, 'status'),
    phase: 'Running',
    startTime: now,
    conditions: [...conditions(pod, true, undefined, now)],
    containerStatuses: [...containerStatuses(pod, { running: { startedAt: now } }, true)],
  };
}

function endedStatus(pod: Stored, phase: 'Succeeded' | 'Failed', nowMs: number): JsonObject {
  const now = timeText(nowMs);
  const reason = phase === 'Succeeded' ? 'PodCompleted' : 'PodFailed';
  const exitCode = phase === 'Succeeded' ? 0 : 137;
  return {
    ...part(pod, 'status'),
    phase,
    conditions: [...conditions(pod, false, reason, now)],
    containerStatuses: [
      ...containerStatuses(
        pod,
        {
          terminated: {
            exitCode,
            finishedAt: now,
            reason: phase === 'Succeeded' ? 'Completed' : 'Error',
          },
        },
        false,
      ),
    ],
  };
}
