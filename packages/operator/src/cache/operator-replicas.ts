import { pathSegment } from '@drydock/apimachinery';
import {
  type OperatorPod,
  type OperatorView,
  operatorPods,
  readOperatorPod,
} from '@drydock/core/maintenance';
import type { Node } from '@drydock/core/node';
import type { MaintenanceRequest } from '@drydock/core/request';
import { Cache } from './cache.ts';
import type { InformerSet } from './informer-set.ts';
import type { Listener } from './listeners.ts';
import { operatorPodsName } from './withheld.ts';

/**
 * The pod of this process (`namespace/name`), and its node according to the environment of the
 * process.
 */
export type OwnProcess = { readonly pod: string; readonly node?: string | undefined };

/** Parts of the cache that are needed beside the replicas. */
type Known = {
  readonly nodes: { values(): Iterable<Node> };
  readonly requests: { values(): Iterable<MaintenanceRequest> };
};

/** Reports whether a pod that goes to the node of the request would have to leave it again. */
function isComing({ deleting, level }: MaintenanceRequest): boolean {
  return !deleting && level !== 'Announce';
}

/**
 * A cache of the operator's replicas, which could do the work of this process when its own pod
 * leaves. None are followed if the process does not run in a pod.
 */
export class OperatorReplicas {
  readonly #pods = new Cache<OperatorPod>();
  readonly #own: OwnProcess | undefined;
  readonly #informers: InformerSet;
  readonly #known: Known;
  readonly #touched: (nodeName: string) => void;

  constructor(
    own: OwnProcess | undefined,
    informers: InformerSet,
    known: Known,
    touched: (nodeName: string) => void,
  ) {
    this.#own = own;
    this.#informers = informers;
    this.#known = known;
    this.#touched = touched;
  }

  async follow(signal: AbortSignal): Promise<void> {
    if (this.#own === undefined) return;
    const { pod } = this.#own;
    const namespace = pod.slice(0, pod.indexOf('/'));
    const collection = {
      path: `/api/v1/namespaces/${pathSegment(namespace)}/pods`,
      ...operatorPods,
    };
    await this.#informers.followInto(
      this.#pods,
      operatorPodsName,
      collection,
      readOperatorPod,
      () => this.#changed(),
      signal,
    );
  }

  /**
   * Returns the view on possible successors when a pod leaves this node. Nodes are included only
   * for the node of this process.
   */
  view(nodeName: string): OperatorView {
    if (!this.#informers.isKnown(operatorPodsName)) return { nodes: [], wanted: new Set() };
    const pods = [...this.#pods.values()];
    if (this.#home !== nodeName) return { pods, nodes: [], wanted: new Set() };
    const wanted = [...this.#known.requests.values()]
      .filter(isComing)
      .map(request => request.nodeName);
    return { pods, nodes: [...this.#known.nodes.values()], wanted: new Set(wanted) };
  }

  /** Returns the pod of this process if it runs on this node. */
  ownOn(nodeName: string): string | undefined {
    return this.#home === nodeName ? this.#own?.pod : undefined;
  }

  /** Listener for changes that may allow the pod of this process to leave, or forbid it. */
  readonly listener: Listener = {
    node: ({ name }) => (name === this.#home ? undefined : this.#changed()),
    request: () => this.#changed(),
  };

  #changed(): void {
    if (this.#home !== undefined) this.#touched(this.#home);
  }

  /** Name of the node that this process runs on. */
  get #home(): string | undefined {
    if (this.#own === undefined) return undefined;
    const { pod, node } = this.#own;
    return this.#pods.get(pod)?.nodeName ?? node;
  }
}
