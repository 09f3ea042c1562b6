import type { Budget } from '@drydock/core/drain';
import type { DrainInputs } from '@drydock/core/maintenance';
import type { Node } from '@drydock/core/node';
import { findsNoNode, isDaemonSetPod, type Pod } from '@drydock/core/pod';
import { byAge, type MaintenanceRequest } from '@drydock/core/request';
import type { CachedObject, Change } from '@drydock/kube-client';

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
