import { isObject, type JsonObject, sameJson } from '@drydock/apimachinery';
import { type Node, readNode } from '@drydock/core/node';
import { isTerminating, type Pod, readPod } from '@drydock/core/pod';
import type { Problem } from '@drydock/core/request';
import { type Api, type Change, listAll, type Watcher } from '@drydock/kube-client';
import type { Clock, Log, PanicHandler } from '@drydock/utils';
import { Cache, interned } from './cache.ts';

type Watch = {
  readonly pods: Cache<Pod>;
  readonly stop: AbortController;
  synced: boolean;
  /** Number of failed lists in a row. */
  failures: number;
  problem?: Problem;
  /**
   * Pods (uid by key) that were listed and that the watch has not delivered: it may never do so, if
   * they were gone before it came to that version.
   */
  readonly unheard: Map<string, string>;
  confirmed: 'unasked' | 'asked' | 'yes';
};

type Options = {
  readonly api: Api;
  readonly watcher: Watcher;
  readonly clock: Clock;
  readonly events: {
    readonly touched: (nodeName: string) => void;
    readonly podChanged: (pod: Pod, nodeName: string, leaving: boolean) => void;
  };
  readonly log: Log;
  readonly defects: PanicHandler;
};

/** Milliseconds until a failed list is retried. */
const confirmAgainMs = 1000;

/** Milliseconds that the watch gets to deliver a listed pod. */
const hearWithinMs = 30_000;

/**
 * Number of failures in a row after which the problem is reported: a server that has just started
 * fails once or twice.
 */
const tellAfterFailures = 3;

/** Returns the parts of a pod that matter: half of a pod's updates change none of them. */
function fingerprint({
  uid,
  phase,
  ready,
  labels,
  deletionTimestamp,
  finalizers,
  owner,
}: Pod): string {
  return JSON.stringify([
    uid,
    phase,
    ready,
    labels,
    deletionTimestamp?.epochMilliseconds,
    finalizers,
    owner?.uid,
  ]);
}

const collection = '/api/v1/pods';
function onNode(nodeName: string): string {
  return `spec.nodeName=${nodeName}`;
}

/**
 * Watches of the pods of the nodes that are worked on, and of no others: memory does not grow with
 * the cluster.
 */
export class PodWatches {
  readonly #watches = new Map<string, Watch>();
  readonly #options: Options;
  readonly #project = interned(readPod);

  constructor(options: Options) {
    this.#options = options;
  }

  /** Returns the node's pods; undefined as long as none are known. */
  of(nodeName: string): readonly Pod[] | undefined {
    const watch = this.#watches.get(nodeName);
    return watch?.synced === true ? [...watch.pods.values()] : undefined;
  }

  /**
   * Returns why the pods are not known: the API server's error after several tries in a row, or at
   * once if a right is missing.
   */
  problemOf(nodeName: string): Problem | undefined {
    const watch = this.#watches.get(nodeName);
    return watch === undefined || watch.synced ? undefined : watch.problem;
  }

  /** Reports whether the pods have been listed once more since the first call of `confirm`. */
  isConfirmed(nodeName: string): boolean {
    return this.#watches.get(nodeName)?.confirmed === 'yes';
  }

  watched(): readonly string[] {
    return [...this.#watches.keys()];
  }

  /** Returns the watched node that has the pod of this uid; undefined for any other pod. */
  nodeOf(uid: string): string | undefined {
    return this.watched().find(
      nodeName => this.of(nodeName)?.some(pod => pod.uid === uid) === true,
    );
  }

  start(nodeName: string): void {
    if (this.#watches.has(nodeName)) return;
    const pods = new Cache<Pod>(({ namespace }) => namespace);
    const watch: Watch = {
      pods,
      stop: new AbortController(),
      synced: false,
      failures: 0,
      unheard: new Map(),
      confirmed: 'unasked',
    };
    this.#watches.set(nodeName, watch);
    void this.#run(nodeName, watch);
  }

  /** Lists the pods once more, this time not from a cache that may be old. */
  confirm(nodeName: string): void {
    const watch = this.#watches.get(nodeName);
    if (watch?.confirmed !== 'unasked') return;
    watch.confirmed = 'asked';
    void this.#confirm(nodeName, watch);
  }

  /**
   * Forgets a pod that is gone according to the server; its successor of the same name may exist.
   */
  forget(nodeName: string, { key, uid }: Pod): void {
    const watch = this.#watches.get(nodeName);
    if (watch?.pods.get(key)?.uid !== uid) return;
    watch.unheard.delete(key);
    watch.pods.forget(key);
    this.#options.events.touched(nodeName);
  }

  stop(nodeName: string): void {
    this.#watches.get(nodeName)?.stop.abort();
    this.#watches.delete(nodeName);
  }

  stopAll(): void {
    for (const nodeName of this.watched()) this.stop(nodeName);
  }

  #isCurrent(nodeName: string, watch: Watch): boolean {
    return this.#watches.get(nodeName) === watch;
  }

  async #confirm(nodeName: string, watch: Watch): Promise<void> {
    const raws = await this.#read(nodeName, watch);
    if (raws === undefined) return;
    for (const pod of raws.map(raw => this.#project(raw))) {
      if (watch.pods.get(pod.key)?.uid !== pod.uid) watch.unheard.set(pod.key, pod.uid);
      watch.pods.observe(pod);
    }
    watch.confirmed = 'yes';
    if (this.#isCurrent(nodeName, watch)) this.#options.events.touched(nodeName);
    await this.#check(nodeName, watch);
  }

  /**
   * Lists all pods of the node as they are now, with any number of retries; undefined once the
   * watch has ended.
   */
  async #read(
    nodeName: string,
    { stop: { signal } }: Watch,
  ): Promise<readonly unknown[] | undefined> {
    const { api, clock, log, defects } = this.#options;
    while (!signal.aborted) {
      try {
        return await listAll(api, collection, { fieldSelector: onNode(nodeName) }, 'fail', signal);
      } catch (error) {
        if (signal.aborted) return undefined;
        // The node waits for these pods, so the list is retried, whatever the cause.
        const text = defects.textOf('Watch', nodeName, error);
        log.warn('failed to read the pods of a node again; retrying', {
          node: nodeName,
          error: text,
        });
        await clock.sleep(confirmAgainMs, signal);
      }
    }
    return undefined;
  }

  /**
   * Lists again until the watch has delivered every listed pod, or the pod is gone: the watch never
   * delivers a pod that has come and gone while it lagged behind.
   */
  async #check(nodeName: string, watch: Watch): Promise<void> {
    const { signal } = watch.stop;
    while (watch.unheard.size > 0 && !signal.aborted) {
      await this.#options.clock.sleep(hearWithinMs, signal);
      const raws =
        signal.aborted || watch.unheard.size === 0 ? undefined : await this.#read(nodeName, watch);
      if (raws === undefined) return;
      const present = new Set(raws.map(raw => readPod(raw).uid));
      for (const [key, uid] of watch.unheard) {
        if (present.has(uid)) continue;
        watch.unheard.delete(key);
        if (watch.pods.get(key)?.uid === uid) watch.pods.forget(key);
      }
      if (this.#isCurrent(nodeName, watch)) this.#options.events.touched(nodeName);
    }
  }

  async #run(nodeName: string, watch: Watch): Promise<void> {
    const { watcher, events, log } = this.#options;
    const touch = (): void => {
      if (watch.synced && this.#isCurrent(nodeName, watch)) events.touched(nodeName);
    };
    await watcher.watch(
      { path: collection, fieldSelector: onNode(nodeName), beginWithCache: true },
      this.#project,
      {
        changed: change => {
          if (watch.unheard.get(change.object.key) === change.object.uid)
            watch.unheard.delete(change.object.key);
          const before = watch.pods.apply(change);
          this.#notify(change, nodeName);
          if (
            change.type !== 'changed' ||
            before === undefined ||
            fingerprint(before) !== fingerprint(change.object)
          )
            touch();
        },
        synced: () => {
          watch.synced = true;
          touch();
        },
        failing: ({ message, status, retryInMs }) => {
          log.warn('failed to read the pods of a node; retrying', {
            node: nodeName,
            error: message,
            retryInMs,
          });
          this.#failed(nodeName, watch, message, status);
        },
      },
      watch.stop.signal,
    );
  }

  #failed(nodeName: string, watch: Watch, message: string, status: number | undefined): void {
    watch.failures += 1;
    if (watch.synced || (status !== 403 && watch.failures < tellAfterFailures)) return;
    const isNews = watch.problem === undefined;
    const reason = status === 403 ? 'NotAllowed' : 'PodsUnknown';
    watch.problem = {
      reason,
      message: `the pods of the node are not known, and none of them is evicted: ${message}`,
    };
    if (isNews && this.#isCurrent(nodeName, watch)) this.#options.events.touched(nodeName);
  }

  #notify({ type, object }: Change<Pod>, nodeName: string): void {
    this.#options.events.podChanged(object, nodeName, type === 'removed' || isTerminating(object));
  }
}

/**
 * A Node, and once there is a plan all fields that its expressions may read, at the same version.
 */
export type CachedNode = Node & { readonly object?: JsonObject };

function without(object: JsonObject, ...keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

function part(object: JsonObject, key: string): JsonObject {
  const found = object[key];
  return isObject(found) ? found : {};
}

/**
 * Returns the conditions without heartbeats. A condition that equals a kept one shares its memory.
 */
function conditionsOf(
  { conditions: raw }: JsonObject,
  { conditions: kept }: Node,
): readonly JsonObject[] {
  return ((raw ?? []) as readonly JsonObject[]).map(({ lastHeartbeatTime: _, ...quiet }, index) => {
    const same = kept[index];
    return sameJson(quiet, same) ? (same as JsonObject) : quiet;
  });
}

/**
 * Reads a Node without images and managed fields, which are most of it and which no expression
 * needs.
 */
export function readWholeNode(raw: unknown): CachedNode {
  const given = raw as JsonObject;
  const node = readNode(given);
  const status = part(given, 'status');
  const object = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: without(part(given, 'metadata'), 'managedFields'),
    spec: part(given, 'spec'),
    status: {
      ...without(status, 'images', 'volumesInUse', 'volumesAttached'),
      conditions: conditionsOf(status, node),
    },
  };
  return { ...node, object };
}

function unversioned(object: JsonObject): JsonObject {
  return { ...object, metadata: without(part(object, 'metadata'), 'resourceVersion') };
}

/** Reports whether the two objects are equal to expressions: they differ by heartbeats at most. */
export function looksTheSame(one: CachedNode, other: CachedNode): boolean {
  return (
    one.object !== undefined &&
    other.object !== undefined &&
    sameJson(unversioned(one.object), unversioned(other.object))
  );
}
