import { isObject, type JsonObject } from '@drydock/apimachinery';
import { applyMerge } from '@drydock/core/testing';
import type {
  Api,
  ApiCall,
  ApiResponse,
  CachedObject,
  Change,
  Collection,
  Watcher,
  WatchHandler,
} from '@drydock/kube-client';
import { failure, response } from './fakes.ts';

type Metadata = {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
};

function metadataOf(object: JsonObject): Metadata {
  return object['metadata'] as unknown as Metadata;
}

function collectionOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
function clusterWide(path: string): string {
  return path.replace(/\/namespaces\/[^/]+(\/[^/]+\/[^/]+)$/, '$1');
}

/** The API server knows the namespace by the path. */
function within(path: string, object: JsonObject): JsonObject {
  const namespace = /\/namespaces\/([^/]+)\//.exec(path)?.[1];
  return namespace === undefined
    ? object
    : { ...object, metadata: { ...(object['metadata'] as JsonObject), namespace } };
}

function nodeNameOf(object: JsonObject): unknown {
  return isObject(object['spec']) ? object['spec']['nodeName'] : undefined;
}

function belongs(
  path: string,
  object: JsonObject,
  { path: collection, fieldSelector }: Collection,
): boolean {
  if (collectionOf(path) !== collection && collectionOf(clusterWide(path)) !== collection)
    return false;
  return (
    fieldSelector === undefined || fieldSelector === `spec.nodeName=${String(nodeNameOf(object))}`
  );
}

/**
 * A strategic merge patch, as far as conditions need it: merged by type, `$patch: delete` removes.
 */
function applyConditions(object: JsonObject, patch: JsonObject): JsonObject {
  const listOf = (one: JsonObject): readonly JsonObject[] => {
    const status = one['status'];
    return isObject(status) && Array.isArray(status['conditions'])
      ? (status['conditions'] as readonly JsonObject[])
      : [];
  };
  const all = new Map(listOf(object).map(condition => [condition['type'], condition] as const));
  for (const condition of listOf(patch)) {
    if (condition['$patch'] === 'delete') all.delete(condition['type']);
    else all.set(condition['type'], condition);
  }
  return {
    ...object,
    status: {
      ...(isObject(object['status']) ? object['status'] : {}),
      conditions: [...all.values()],
    },
  };
}

function changeOf<T>(before: T | undefined, object: T | undefined): Change<T> | undefined {
  if (object === undefined)
    return before === undefined ? undefined : { type: 'removed', object: before };
  return before === undefined ? { type: 'added', object } : { type: 'changed', object, before };
}

/** One watch: it tells what belongs to its collection, a turn later than it happens. */
class Follower<T extends CachedObject> {
  readonly collection: Collection;
  readonly #project: (raw: unknown) => T | undefined;
  readonly #sink: WatchHandler<T>;
  readonly #signal: AbortSignal;
  readonly #known = new Map<string, T>();

  constructor(
    collection: Collection,
    project: (raw: unknown) => T | undefined,
    sink: WatchHandler<T>,
    signal: AbortSignal,
  ) {
    this.collection = collection;
    this.#project = project;
    this.#sink = sink;
    this.#signal = signal;
  }

  tell(path: string, before: JsonObject | undefined, after: JsonObject | undefined): void {
    const was = before !== undefined && belongs(path, before, this.collection);
    const is = after !== undefined && belongs(path, after, this.collection);
    if (!was && !is) return;
    queueMicrotask(() => {
      if (this.#signal.aborted) return;
      if (is) this.#put(path, this.#project(after));
      else this.#drop(path, this.#project(before));
    });
  }

  sync(objects: ReadonlyMap<string, JsonObject>, version: number): void {
    for (const [path, object] of objects)
      if (belongs(path, object, this.collection)) this.#put(path, this.#project(object));
    this.#sink.listed?.({
      keys: new Set(Array.from(this.#known.values(), ({ key }) => key)),
      version: String(version),
    });
    this.#sink.synced();
  }

  #put(path: string, object: T | undefined): void {
    const change = changeOf(this.#known.get(path), object);
    if (object !== undefined) this.#known.set(path, object);
    else this.#known.delete(path);
    if (change !== undefined) this.#sink.changed(change);
  }

  #drop(path: string, last: T | undefined): void {
    if (this.#known.delete(path) && last !== undefined)
      this.#sink.changed({ type: 'removed', object: last });
  }
}

/** What not every cluster has, by the version that serves it. */
const plurals: Readonly<Record<string, readonly string[]>> = {
  '/apis/kubevirt.io/v1': [
    'virtualmachineinstances',
    'virtualmachineinstancemigrations',
    'kubevirts',
  ],
  '/apis/lifecycle.k8s.io/v1alpha1': ['evictions', 'evictionrequests'],
};

/** The uid of an object that was put without one. Names are made of uids: no slash is in them. */
export function uidOf(path: string): string {
  return `uid${path.replaceAll('/', '-')}`;
}

/**
 * A small cluster in memory: objects by path, watched and patched as the API server does it.
 * Nothing happens in it by itself.
 */
export class FakeCluster implements Api, Watcher {
  readonly #objects = new Map<string, JsonObject>();
  readonly #followers = new Set<Pick<Follower<CachedObject>, 'collection' | 'tell' | 'sync'>>();
  readonly #held = new Set<string>();
  /** How often something was made at each path. */
  readonly #made = new Map<string, number>();
  #version = 100;
  readonly calls: ApiCall[] = [];
  /** Answers a call before the cluster does; undefined leaves it to the cluster. */
  intercept: (call: ApiCall) => Promise<ApiResponse> | ApiResponse | undefined = () => undefined;
  /** Watches tell nothing after their first list. */
  silent = false;
  /** Collections that the cluster does not have, by path. */
  readonly missing = new Set<string>();
  /** Collections that it lets nobody read, by path. */
  readonly withheld = new Set<string>();

  get(path: string): JsonObject | undefined {
    return this.#objects.get(path);
  }

  /** Creates or replaces an object, as somebody else would. */
  put(path: string, object: JsonObject): JsonObject {
    this.#version += 1;
    const before = this.#objects.get(path);
    const metadata = isObject(object['metadata']) ? object['metadata'] : {};
    const uid = metadata['uid'] ?? uidOf(path);
    const after = {
      ...object,
      metadata: { ...metadata, uid, resourceVersion: String(this.#version) },
    };
    const { deletionTimestamp, finalizers = [] } = metadataOf(after);
    if (deletionTimestamp !== undefined && finalizers.length === 0 && isFinalizing(path)) {
      this.#objects.delete(path);
      this.#tell(path, before, undefined, after);
      return after;
    }
    this.#objects.set(path, after);
    this.#tell(path, before, after, after);
    return after;
  }

  /** A merge patch by somebody else. */
  patch(path: string, patch: JsonObject): void {
    this.put(path, applyMerge(this.#objects.get(path), patch) as JsonObject);
  }

  remove(path: string): void {
    const before = this.#objects.get(path);
    if (before === undefined) return;
    this.#version += 1;
    this.#objects.delete(path);
    const last = {
      ...before,
      metadata: { ...(before['metadata'] as JsonObject), resourceVersion: String(this.#version) },
    };
    this.#tell(path, before, undefined, last);
  }

  /** The first list of this collection keeps its watchers waiting until `letGo`. */
  hold(collection: string): void {
    this.#held.add(collection);
  }

  letGo(collection: string): void {
    this.#held.delete(collection);
    for (const follower of this.#followers)
      if (follower.collection.path === collection) follower.sync(this.#objects, this.#version);
  }

  watch<T extends CachedObject>(
    collection: Collection,
    project: (raw: unknown) => T | undefined,
    sink: WatchHandler<T>,
    signal: AbortSignal,
  ): Promise<void> {
    const follower = new Follower(collection, project, sink, signal);
    queueMicrotask(() => {
      if (signal.aborted) return;
      this.#followers.add(follower);
      if (this.missing.has(collection.path))
        sink.failing?.({ message: 'no such kind', status: 404, retryInMs: 1000 });
      else if (this.withheld.has(collection.path))
        sink.failing?.({ message: 'forbidden', status: 403, retryInMs: 1000 });
      else if (!this.#held.has(collection.path)) follower.sync(this.#objects, this.#version);
    });
    return new Promise(resolve => {
      const end = (): void => {
        this.#followers.delete(follower);
        resolve();
      };
      if (signal.aborted) end();
      else signal.addEventListener('abort', end);
    });
  }

  async call(call: ApiCall, signal?: AbortSignal): Promise<ApiResponse> {
    const optional = plurals[call.path];
    if (optional !== undefined) return this.#discovery(call.path, optional);
    this.calls.push(call);
    const answered = await this.intercept(call);
    signal?.throwIfAborted();
    // The way there and back takes a turn at least.
    await new Promise(resolve => setImmediate(resolve));
    return answered ?? this.#do(call);
  }

  /**
   * Whoever asks which kinds there are is told of those that an operator asks for, unless they are
   * missing; nobody is counted for it.
   */
  #discovery(version: string, optional: readonly string[]): ApiResponse {
    const served = optional.filter(plural => !this.missing.has(`${version}/${plural}`));
    return response(200, { resources: served.map(name => ({ name })) });
  }

  /** Collections that somebody follows at the moment. */
  get followed(): readonly string[] {
    return [...this.#followers].map(({ collection }) => collection.path).sort();
  }

  /** `METHOD path` of what was asked to be changed, in order. */
  get written(): readonly string[] {
    return this.calls
      .filter(({ method }) => method !== 'GET')
      .map(({ method, path }) => `${method} ${path}`);
  }

  #tell(
    path: string,
    before: JsonObject | undefined,
    after: JsonObject | undefined,
    last: JsonObject,
  ): void {
    if (this.silent) return;
    for (const follower of this.#followers) {
      if (!this.#held.has(follower.collection.path))
        follower.tell(path, after === undefined ? last : before, after);
    }
  }

  /** What is made anew under the name of something that is gone has a uid of its own. */
  #make(path: string, object: JsonObject): JsonObject {
    const made = (this.#made.get(path) ?? 0) + 1;
    this.#made.set(path, made);
    const metadata = object['metadata'] as JsonObject;
    return this.put(
      path,
      made === 1 ? object : { ...object, metadata: { uid: `${uidOf(path)}-${made}`, ...metadata } },
    );
  }

  #do(call: ApiCall): ApiResponse {
    const { method, path } = call;
    const body = isObject(call.body) ? call.body : {};
    if (method === 'GET') return this.#list(call);
    if (path.endsWith('/eviction')) return this.#evict(path.slice(0, -'/eviction'.length));
    if (method === 'POST')
      return response(201, this.#make(`${path}/${metadataOf(body).name}`, within(path, body)));
    const target = path.replace(/\/status$/, '');
    const object = this.#objects.get(target);
    if (object === undefined) return failure(404, 'not found');
    if (method === 'DELETE') {
      this.remove(target);
      return response(200);
    }
    const wanted = isObject(body['metadata']) ? body['metadata']['resourceVersion'] : undefined;
    if (wanted !== undefined && wanted !== metadataOf(object).resourceVersion)
      return failure(409, 'the object has been modified');
    const strategic = call.contentType?.startsWith('application/strategic') === true;
    const patched = strategic
      ? applyConditions(object, body)
      : (applyMerge(object, body) as JsonObject);
    return response(200, this.put(target, patched));
  }

  #list({ path, query }: ApiCall): ApiResponse {
    const found = this.#objects.get(path);
    if (found !== undefined) return response(200, found);
    const fieldSelector = query?.['fieldSelector'];
    const collection: Collection = {
      path,
      ...(typeof fieldSelector === 'string' && { fieldSelector }),
    };
    const items = [...this.#objects]
      .filter(([key, object]) => belongs(key, object, collection))
      .map(([, object]) => object);
    return response(200, { items, metadata: {} });
  }

  /** The one budget of the namespace allows it or not, and counts it as the API server does. */
  #evict(podPath: string): ApiResponse {
    const pod = this.#objects.get(podPath);
    if (pod === undefined) return failure(404, 'not found');
    const namespace = metadataOf(pod).namespace ?? '';
    const budgetPath = [...this.#objects.keys()].find(path =>
      path.startsWith(`/apis/policy/v1/namespaces/${namespace}/`),
    );
    const status = budgetPath === undefined ? undefined : this.#objects.get(budgetPath)?.['status'];
    if (budgetPath !== undefined && isObject(status)) {
      const allowed = Number(status['disruptionsAllowed']);
      if (allowed < 1)
        return failure(429, 'Cannot evict pod as it would violate the budget', 'DisruptionBudget');
      const disruptedPods = { [metadataOf(pod).name]: '2026-01-01T00:00:00Z' };
      this.patch(budgetPath, { status: { disruptionsAllowed: allowed - 1, disruptedPods } });
    }
    this.patch(podPath, { metadata: { deletionTimestamp: '2026-01-01T00:10:00Z' } });
    return response(201, {});
  }
}

/** Pods are taken away by their kubelet, everything else goes with its last finalizer. */
function isFinalizing(path: string): boolean {
  return !path.includes('/pods/');
}
