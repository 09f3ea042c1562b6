import { timeText } from '@drydock/apimachinery';
import type { Budget } from '@drydock/core/drain';
import type { DrainInputs } from '@drydock/core/maintenance';
import type { Node } from '@drydock/core/node';
import { findsNoNode, isDaemonSetPod, type Pod } from '@drydock/core/pod';
import { byAge, type MaintenanceRequest } from '@drydock/core/request';
import type { CachedObject, Change, Collection, Watcher, WatchHandler } from '@drydock/kube-client';
import type { Clock } from '@drydock/utils';
import type { PodCountsView, PodPhase, PodView, WorkloadView } from '../scene.ts';
import { ViewStore } from '../views/timeline.ts';
import { podPhase, podView } from '../views/views.ts';
import { LowestAvailability } from '../views/workload-lows.ts';

/** Milliseconds by which a failing attempt has reported its error: one call takes 30 s at most. */
const patienceMs = 35_000;

/**
 * Collections that cannot be read, with messages. A recovery is not reported: a collection without
 * new errors counts as readable.
 */
class WatchErrors {
  readonly #all = new Map<string, { readonly message: string; readonly forget: () => void }>();
  readonly #clock: Clock;
  readonly #changed: () => void;

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  failing(what: string, message: string, retryInMs: number): void {
    this.#all.get(what)?.forget();
    this.#all.set(what, {
      message,
      forget: this.#clock.after(retryInMs + patienceMs, () => this.mended(what)),
    });
    this.#changed();
  }

  mended(what: string): void {
    const trouble = this.#all.get(what);
    if (trouble === undefined) return;
    trouble.forget();
    this.#all.delete(what);
    this.#changed();
  }

  list(): readonly { readonly what: string; readonly message: string }[] {
    return [...this.#all]
      .map(([what, { message }]) => ({ what, message }))
      .sort((one, other) => (one.what < other.what ? -1 : 1));
  }

  stop(): void {
    for (const { forget } of this.#all.values()) forget();
  }
}

type Followed<T extends CachedObject> = {
  /** Name for users. */
  readonly what: string;
  readonly collection: Collection;
  readonly project: (raw: unknown) => T | undefined;
  readonly onChange: (change: Change<T>) => void;
  /** Whether a cluster may lack the collection: then its absence is no error. */
  readonly mayLack?: true;
};

/**
 * Watches collections, and records which have not been read yet, which cannot be read, and which
 * the cluster does not serve.
 */
export class Collections {
  readonly #watcher: Watcher;
  readonly #changed: () => void;
  readonly #troubles: WatchErrors;
  readonly #loading = new Set<string>();
  readonly #missing = new Set<string>();

  /** Creates the collections; `changed` is called after every change. */
  constructor(watcher: Watcher, clock: Clock, changed: () => void) {
    this.#watcher = watcher;
    this.#changed = changed;
    this.#troubles = new WatchErrors(clock, changed);
  }

  get loading(): readonly string[] {
    return [...this.#loading].sort();
  }

  get unreadable(): ReturnType<WatchErrors['list']> {
    return this.#troubles.list();
  }

  /** Returns whether the cluster does not serve the collection. */
  lacks(what: string): boolean {
    return this.#missing.has(what);
  }

  /** Watches a collection until the signal is aborted. */
  follow<T extends CachedObject>(
    { what, collection, project, onChange, mayLack }: Followed<T>,
    signal: AbortSignal,
  ): Promise<void> {
    this.#loading.add(what);
    const sink: WatchHandler<T> = {
      changed: change => {
        this.#heard(what);
        onChange(change);
        this.#changed();
      },
      synced: () => {
        this.#loading.delete(what);
        this.#heard(what);
        this.#changed();
      },
      // A list may be the only event after a refusal, when nothing in the collection changes.
      listed: () => {
        this.#heard(what);
        this.#changed();
      },
      failing: ({ message, status, retryInMs }) => {
        this.#loading.delete(what);
        if (mayLack !== true || status !== 404)
          return this.#troubles.failing(what, message, retryInMs);
        this.#missing.add(what);
        this.#changed();
      },
    };
    return this.#watcher.watch(collection, project, sink, signal);
  }

  stop(): void {
    this.#troubles.stop();
  }

  #heard(what: string): void {
    this.#missing.delete(what);
    this.#troubles.mended(what);
  }
}

/** Objects of one kind by key, and by group. */
class Group<T extends CachedObject> {
  readonly #objects = new Map<string, T>();
  readonly #keys = new Map<string, Set<string>>();
  readonly #groupOf: (object: T) => string;

  constructor(groupOf: (object: T) => string) {
    this.#groupOf = groupOf;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): Iterable<T> {
    return this.#objects.values();
  }

  in(group: string): readonly T[] {
    return [...(this.#keys.get(group) ?? [])].flatMap(key => this.#objects.get(key) ?? []);
  }

  groups(): Iterable<string> {
    return this.#keys.keys();
  }

  /** Applies a change; returns the affected groups: the old one and the new one. */
  apply(change: Change<T>): readonly string[] {
    const { object } = change;
    const before = this.#objects.get(object.key);
    if (before !== undefined) this.#drop(before);
    if (change.type !== 'removed') this.#put(object);
    return [
      ...new Set([...(before === undefined ? [] : [this.#groupOf(before)]), this.#groupOf(object)]),
    ];
  }

  #put(object: T): void {
    const group = this.#groupOf(object);
    this.#objects.set(object.key, object);
    const keys = this.#keys.get(group);
    if (keys === undefined) this.#keys.set(group, new Set([object.key]));
    else keys.add(object.key);
  }

  #drop(object: T): void {
    const group = this.#groupOf(object);
    const keys = this.#keys.get(group);
    keys?.delete(object.key);
    if (keys?.size === 0) this.#keys.delete(group);
    this.#objects.delete(object.key);
  }
}

/** The last known state of the cluster. */
export class ObjectIndex {
  readonly nodes = new Group<Node>(({ name }) => name);
  readonly pods = new Group<Pod>(({ nodeName }) => nodeName);
  readonly budgets = new Group<Budget>(({ namespace }) => namespace);
  readonly requests = new Group<MaintenanceRequest>(({ nodeName }) => nodeName);

  /** Returns the maintenances of a node, oldest first. */
  requestsOn(node: string): readonly MaintenanceRequest[] {
    return this.requests.in(node).toSorted(byAge);
  }

  #unscheduledIn(namespaces: readonly string[]): NonNullable<DrainInputs['unscheduled']> {
    const stray = this.pods
      .in('')
      .filter(pod => findsNoNode(pod) && namespaces.includes(pod.namespace));
    const readAt = Temporal.Instant.fromEpochMilliseconds(0);
    return new Map(
      [...Map.groupBy(stray, ({ namespace }) => namespace)].map(([namespace, pods]) => [
        namespace,
        { readAt, pods },
      ]),
    );
  }

  /**
   * Returns the inputs of the node's drain. The DaemonSets are those that its pods name, because
   * they are not read for a page.
   */
  drainInputsAt(node: string): DrainInputs {
    const pods = this.pods.in(node);
    const namespaces = [...new Set(pods.map(({ namespace }) => namespace))];
    const daemonSets = pods.flatMap(pod =>
      isDaemonSetPod(pod) ? [`${pod.namespace}/${pod.owner?.name ?? ''}`] : [],
    );
    const [known] = this.nodes.in(node);
    return {
      ...(known && { node: known }),
      pods,
      budgets: namespaces.flatMap(namespace => this.budgets.in(namespace)),
      daemonSets: new Set(daemonSets),
      unscheduled: this.#unscheduledIn(namespaces),
    };
  }
}

/** Limits of pods and nodes up to which pods are listed one by one. */
const maxPods = 1500;
const maxNodes = 150;
/**
 * Share of the limits below which pods are listed again: a cluster near the limit does not
 * alternate.
 */
const backAt = 0.8;

function countsOf(node: string, pods: readonly Pod[]): PodCountsView {
  const counts: { [Phase in PodPhase]?: number } = {};
  for (const pod of pods) {
    const phase = podPhase(pod);
    counts[phase] = (counts[phase] ?? 0) + 1;
  }
  return { key: node, ...counts };
}

/** Pods of the cluster as shown: one by one while they are few, else as counts by node. */
export class PodWatch {
  readonly lows = new ViewStore<WorkloadView>();
  pods = new ViewStore<PodView>();
  counts = new ViewStore<PodCountsView>();
  readonly #objectIndex: ObjectIndex;
  readonly #workloads = new LowestAvailability();
  readonly #stale = new Set<string>();
  #isCounted = false;

  constructor(objectIndex: ObjectIndex) {
    this.#objectIndex = objectIndex;
  }

  get isCounted(): boolean {
    return this.#isCounted;
  }

  /** Applies a change; returns the affected nodes. */
  onChange(change: Change<Pod>): readonly string[] {
    const { object } = change;
    const isGone = change.type === 'removed';
    this.#workloads.changed(this.#objectIndex.pods.get(object.key), isGone ? undefined : object);
    const nodes = this.#objectIndex.pods.apply(change);
    if (this.#isCounted) for (const node of nodes) this.#stale.add(node);
    else if (isGone) this.pods.drop(object.key);
    else this.pods.put(podView(object));
    return nodes;
  }

  /** Updates everything. Returns true when the mode has changed between single pods and counts. */
  settle(now: Temporal.Instant): boolean {
    this.#workloads.judge(timeText(now));
    this.#showLows();
    const isTurned = this.#turn();
    for (const node of this.#stale) this.#count(node);
    this.#stale.clear();
    return isTurned;
  }

  /** Returns the pods of a node, one by one, however many the cluster has. */
  on(node: string): readonly PodView[] {
    return this.#objectIndex.pods.in(node).map(podView);
  }

  #turn(): boolean {
    const { nodes, pods } = this.#objectIndex;
    const share = this.#isCounted ? backAt : 1;
    const isCounted = nodes.size > maxNodes * share || pods.size > maxPods * share;
    if (isCounted === this.#isCounted) return false;
    this.#isCounted = isCounted;
    this.pods = new ViewStore();
    this.counts = new ViewStore();
    if (isCounted) for (const node of pods.groups()) this.#stale.add(node);
    else for (const pod of pods.values()) this.pods.put(podView(pod));
    return true;
  }

  #count(node: string): void {
    const pods = this.#objectIndex.pods.in(node);
    if (pods.length === 0) this.counts.drop(node);
    else if (this.#isCounted) this.counts.put(countsOf(node, pods));
  }

  #showLows(): void {
    const worst = this.#workloads.worst();
    const keys = new Set(worst.map(({ key }) => key));
    for (const { key } of this.lows.values()) if (!keys.has(key)) this.lows.drop(key);
    for (const view of worst) this.lows.put(view);
  }
}
