import type { JsonObject } from '../../core/json.ts';
import type { Clock } from '../../support/clock.ts';
import { type Cluster, timeText } from '../controllers/controller.ts';
import { readiness } from '../controllers/nodes/conditions.ts';
import { isFinished, nodeOf, phaseOf } from '../controllers/pods.ts';
import { durationMs } from '../duration.ts';
import { at, objects, part, type Stored, strings, text } from '../object.ts';
import type { StoreChange } from '../store/store.ts';
import { graceOf } from './resources.ts';
import { isMirror, StaticPods } from './static-pods.ts';

/** How long pods take, in milliseconds: the middle of each, spread by the seed. */
export type Pace = {
  readonly startMs: number;
  readonly stopMs: number;
  /** Each time is between its middle times (1 - spread) and (1 + spread). */
  readonly spread: number;
  /** What is known of one pod, taken as it is: Infinity is never. Of what it leaves out, the times above. Asked more than once, it says the same. */
  readonly of?: (pod: Stored) => { readonly startMs?: number; readonly stopMs?: number };
  /**
   * Which pods say that their containers have ended before they go: all of them, as with a real kubelet, when left out; or those that finalizers hold, where
   * nobody would see it of the others, which go at that very moment.
   */
  readonly saysEnd?: 'all' | 'held' | 'none';
};

/** Annotations that change the pace of one pod, the same as those of the control plane's tests. */
const prefix = 'drydock.test/';

const seconds = (text: string | undefined): number | undefined => {
  const found = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(text ?? '');
  if (found === null) return undefined;
  return Number(found[1]) * ({ ms: 1, s: 1000, m: 60_000 }[found[2] ?? 's'] ?? 1000);
};

type Own = { readonly after: (name: string) => number | undefined; readonly has: (name: string) => boolean };

const constraintsOf = ({ metadata }: Stored): Own => {
  const annotations = strings(metadata.annotations);
  return { after: name => seconds(annotations[`${prefix}${name}`]), has: name => annotations[`${prefix}${name}`] === 'true' };
};

/** Plays the kubelets of all nodes that have one: starts pods, ends them, and says so. */
export class Kubelets {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #pace: Pace;
  readonly #isAlive: (node: Stored) => boolean;
  /** When pods that are going were told so, by uid. */
  readonly #told = new Map<string, number>();
  /** What is under way, by the pod's uid. */
  readonly #timers = new Map<string, () => void>();
  readonly #staticPods: StaticPods;

  constructor(cluster: Cluster, clock: Clock, pace: Pace, isAlive: (node: Stored) => boolean) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#pace = pace;
    this.#isAlive = isAlive;
    this.#staticPods = new StaticPods(cluster, clock, isAlive);
  }

  /** Is told of every change of nodes and pods. */
  told({ resource, type, object }: StoreChange): void {
    if (resource === 'nodes') {
      if (type !== 'removed' && this.#isAlive(object)) this.back(object.metadata.name);
      return;
    }
    if (resource !== 'pods') return;
    if (type !== 'removed') return this.#look(object);
    this.#forget(object.metadata.uid);
    if (isMirror(object)) this.#staticPods.removed(object);
  }

  /** The kubelet of a node answers again: it finds what has been decided meanwhile. */
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
    this.#told.delete(uid);
  }

  /** The API knows whole seconds only; a kubelet that hears of it late goes by these. */
  #begun({ metadata: { uid, deletionTimestamp = '' } }: Stored, graceMs: number): number {
    const known = this.#told.get(uid);
    if (known !== undefined) return known;
    const [said, now] = [Date.parse(deletionTimestamp) - graceMs, this.#cluster.nowMs()];
    const begun = now - said < 1000 ? now : said;
    this.#told.set(uid, begun);
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

  /** One timer for each pod: what was planned before is off. `what` keeps the same plan from being made twice. */
  #plan(pod: Stored, afterMs: number, act: (pod: Stored) => void): void {
    const { uid, namespace = '', name } = pod.metadata;
    this.#cancel(uid);
    const cancel = this.#clock.after(afterMs, () => {
      this.#timers.delete(uid);
      const current = this.#cluster.store.get('pods', namespace, name);
      const node = current && this.#cluster.store.get('nodes', '', nodeOf(current));
      if (current === undefined || current.metadata.uid !== uid || node === undefined || !this.#isAlive(node)) return;
      act(current);
    });
    this.#timers.set(uid, cancel);
  }

  #start(pod: Stored): void {
    if (this.#timers.has(pod.metadata.uid) || constraintsOf(pod).has('never-ready')) return;
    const startMs = constraintsOf(pod).after('ready-after') ?? this.#pace.of?.(pod).startMs ?? this.#time(this.#pace.startMs);
    if (startMs === Number.POSITIVE_INFINITY) return;
    this.#plan(pod, startMs, current => {
      if (current.metadata.deletionTimestamp === undefined && phaseOf(current) === 'Pending')
        this.#say(current, runningStatus(current, this.#cluster.nowMs()));
    });
  }

  /** Somebody said of its pod that it is not ready, because the node was not heard of: the kubelet knows better. */
  #vouch(pod: Stored): void {
    if (this.#timers.has(pod.metadata.uid)) return;
    this.#plan(pod, vouchMs, current => {
      const node = this.#cluster.store.get('nodes', '', nodeOf(current));
      if (node !== undefined && readiness(node) === 'True' && isDoubted(current))
        this.#say(current, vouchedStatus(current, this.#cluster.nowMs()));
    });
  }

  /** A pod that runs to its end by itself. */
  #finish(pod: Stored): void {
    const after = constraintsOf(pod).after('done-after');
    if (after === undefined || this.#timers.has(pod.metadata.uid)) return;
    this.#plan(pod, after, current => this.#say(current, endedStatus(current, 'Succeeded', this.#cluster.nowMs())));
  }

  /** It gets its grace period and no more; a pod that ignores SIGTERM takes all of it. */
  #end(pod: Stored): void {
    const constraints = constraintsOf(pod);
    const known = this.#pace.of?.(pod).stopMs;
    if (constraints.has('never-gone') || known === Number.POSITIVE_INFINITY) return this.#cancel(pod.metadata.uid);
    if (isMirror(pod)) return this.#staticPods.ending(pod);
    const givenMs = durationMs(pod.metadata.deletionGracePeriodSeconds ?? graceOf(part(pod, 'spec')));
    const begun = this.#begun(pod, givenMs);
    // Of centuries kubelet's own sum makes a negative number, and it kills such a pod at once, without a SIGTERM.
    const graceMs = Math.max(0, givenMs);
    const wanted = constraints.has('ignores-sigterm')
      ? graceMs
      : (constraints.after('gone-after') ?? known ?? this.#time(this.#pace.stopMs));
    const left = constraints.after('gone-after') === undefined ? Math.min(wanted, graceMs + 1000) : wanted;
    this.#plan(pod, Math.max(0, begun + left - this.#cluster.nowMs()), current => {
      if (!isFinished(current) && this.#saysEnd(current)) this.#say(current, endedStatus(current, 'Failed', this.#cluster.nowMs()));
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

/** How long a kubelet takes to see that the API server has another status than it. */
const vouchMs = 1000;

const saysTrue = (pod: Stored, type: string): boolean =>
  objects(at(pod, 'status', 'conditions')).some(one => one['type'] === type && one['status'] === 'True');

/** Its containers are ready, and it is not. */
const isDoubted = (pod: Stored): boolean => saysTrue(pod, 'ContainersReady') && !saysTrue(pod, 'Ready');

const vouchedStatus = (pod: Stored, nowMs: number): JsonObject => ({
  ...part(pod, 'status'),
  conditions: objects(at(pod, 'status', 'conditions')).map(one =>
    one['type'] === 'Ready' ? { ...one, status: 'True', lastTransitionTime: timeText(nowMs) } : one,
  ),
});

const conditions = (pod: Stored, ready: boolean, reason: string | undefined, now: string): readonly JsonObject[] => {
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
};

const containerStatuses = (pod: Stored, state: JsonObject, ready: boolean): readonly JsonObject[] =>
  objects(at(pod, 'spec', 'containers')).map(container => ({
    name: text(container, 'name'),
    image: text(container, 'image'),
    imageID: '',
    ready,
    started: ready,
    restartCount: 0,
    state,
  }));

const runningStatus = (pod: Stored, nowMs: number): JsonObject => {
  const now = timeText(nowMs);
  return {
    ...part(pod, 'status'),
    phase: 'Running',
    startTime: now,
    conditions: [...conditions(pod, true, undefined, now)],
    containerStatuses: [...containerStatuses(pod, { running: { startedAt: now } }, true)],
  };
};

const endedStatus = (pod: Stored, phase: 'Succeeded' | 'Failed', nowMs: number): JsonObject => {
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
        { terminated: { exitCode, finishedAt: now, reason: phase === 'Succeeded' ? 'Completed' : 'Error' } },
        false,
      ),
    ],
  };
};
