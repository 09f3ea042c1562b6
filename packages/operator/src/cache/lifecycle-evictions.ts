import { isBefore, secondsAfter } from '@drydock/apimachinery';
import {
  type ActiveResponder,
  type EvictionRequest,
  evictionRequestsPath,
  evictionRequestsSelector,
  type LifecycleEviction,
  lifecycleEvictionsPath,
  readEvictionRequest,
  readLifecycleEviction,
  triedAgainAfter,
} from '@drydock/core/drain';
import { hasLifecycleConditions } from '@drydock/core/hold';
import { conditionOf, type Node } from '@drydock/core/node';
import { isControlPlane } from '@drydock/core/quorum';
import type { Api, Change } from '@drydock/kube-client';
import type { Clock } from '@drydock/utils';
import { Cache } from './cache.ts';
import type { InformerSet } from './informer-set.ts';

const evictionsName = 'evictions.lifecycle.k8s.io';
const requestsName = 'evictionrequests.lifecycle.k8s.io';

/** Collections that are listed only once they are served. */
export const lifecycleCollections: ReadonlySet<string> = new Set([evictionsName, requestsName]);

/**
 * Callbacks for the pod that an Eviction is for, and for the node that a request of ours belongs
 * to.
 */
type Touched = {
  readonly pod: (podUid: string) => void;
  readonly node: (nodeName: string) => void;
};

/**
 * A cache of all Evictions, regardless of their requesters, and of our own EvictionRequests, kept
 * up to date by watches where they are served.
 */
export class LifecycleEvictions {
  readonly #evictions = new Cache<LifecycleEviction>(
    ({ namespace, podUid }) => `${namespace}/${podUid}`,
  );
  readonly #requests = new Cache<EvictionRequest>(({ nodeName }) => nodeName);
  readonly #informers: InformerSet;
  readonly #touched: Touched;
  readonly #reach: { readonly api: Api; readonly clock: Clock };
  #unansweredUntil: Temporal.Instant | undefined;

  constructor(
    reach: { readonly api: Api; readonly clock: Clock },
    informers: InformerSet,
    touched: Touched,
  ) {
    this.#reach = reach;
    this.#informers = informers;
    this.#touched = touched;
  }

  /** Watches Evictions until the signal is aborted. */
  async followEvictions(signal: AbortSignal): Promise<void> {
    const changed = (change: Change<LifecycleEviction>): void => {
      this.#evictions.apply(change);
      this.#touched.pod(change.object.podUid);
    };
    const collection = { path: lifecycleEvictionsPath };
    await this.#informers.followOnceServed(
      this.#reach,
      evictionsName,
      collection,
      readLifecycleEviction,
      changed,
      signal,
    );
  }

  /** Watches our EvictionRequests until the signal is aborted. */
  async followRequests(signal: AbortSignal): Promise<void> {
    const changed = (change: Change<EvictionRequest>): void => {
      this.#requests.apply(change);
      this.#touched.node(change.object.nodeName);
    };
    const collection = { path: evictionRequestsPath, labelSelector: evictionRequestsSelector };
    await this.#informers.followOnceServed(
      this.#reach,
      requestsName,
      collection,
      readEvictionRequest,
      changed,
      signal,
    );
  }

  /**
   * Returns the responders whose turn it is, by the uid of the pod. An Eviction affects pods of its
   * own namespace only. If a pod has several Evictions, one whose responder has something to do
   * counts.
   */
  of(
    pods: readonly { readonly namespace: string; readonly uid: string }[],
  ): ReadonlyMap<string, ActiveResponder> {
    const active = new Map<string, ActiveResponder>();
    if (this.#evictions.size === 0) return active;
    for (const { namespace, uid } of pods)
      for (const { responder } of this.#evictions.in(`${namespace}/${uid}`))
        if (responder !== undefined && (!responder.isDefault || !active.has(uid)))
          active.set(uid, responder);
    return active;
  }

  /** Returns our own requests of one node, by key. */
  requestsOf(nodeName: string): ReadonlyMap<string, EvictionRequest> {
    return new Map(this.#requests.in(nodeName).map(request => [request.key, request]));
  }

  /** Returns the nodes that have requests of ours. */
  requestedNodes(): Iterable<string> {
    return this.#requests.groups();
  }

  /** Applies the response to a write of ours. */
  observeRequest(request: EvictionRequest | undefined): void {
    if (request !== undefined) this.#requests.observe(request);
  }

  /** Forgets a request that is gone; the watch may deliver its removal later. */
  forgetRequest(key: string, uid?: string): void {
    this.#requests.forget(key, uid);
  }

  /**
   * Reports whether both kinds are served and may be read, and no request was left without a
   * response lately.
   */
  areAnswered(now: Temporal.Instant): boolean {
    if (!this.#informers.isKnown(evictionsName) || !this.#informers.isKnown(requestsName))
      return false;
    return this.#unansweredUntil === undefined || !isBefore(now, this.#unansweredUntil);
  }

  /**
   * Records a request without a response: this API server serves the kinds, and no controller acts
   * on them.
   */
  unanswered(now: Temporal.Instant): void {
    this.#unansweredUntil = secondsAfter(now, triedAgainAfter);
  }
}

/**
 * Predicates on the parts of a node that matter to its maintenances and to those of other nodes.
 */

/** Returns the parts of a node that matter: heartbeats change nodes all the time. */
export function fingerprint(node: Node): string {
  return JSON.stringify([
    node.unschedulable,
    node.taints,
    node.labels,
    node.conditions.map(({ type, status, reason }) => [type, status, reason]),
    node.holdRecord,
    node.deleting,
    node.uid,
    node.bootId,
    node.providerId,
    node.annotations,
  ]);
}

/**
 * Reports whether the node carries state of ours: a hold, or a condition that a hold has left
 * behind.
 */
export function isOwnedNode(node: Node | undefined): boolean {
  return node !== undefined && (node.holdRecord !== undefined || hasLifecycleConditions(node));
}

/** Returns the parts of a node that matter to the quorum. */
export function quorumFingerprint(node: Node | undefined): string {
  return node === undefined || !isControlPlane(node)
    ? ''
    : `${conditionOf(node, 'Ready')?.status ?? ''} ${node.holdRecord === undefined}`;
}
