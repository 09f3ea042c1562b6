import { isObject, type JsonObject } from '@drydock/apimachinery';
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
import type { Clock } from '@drydock/utils';
import { firstRoles, type User } from './access/authorize.ts';
import { respond } from './admission/respond.ts';
import { type CallWebhook, callOverHttps } from './admission/review.ts';
import { withObject } from './api/body.ts';
import { handle } from './api/handler.ts';
import type { ApiRequest, Response, WatchEvent } from './api/message.ts';
import { Feeds, type Server } from './api/server.ts';
import { definitions, followDefinitions } from './crd/definitions.ts';
import { callExtensions, type Extension, extensionAt } from './extension.ts';
import { builtInKinds, definitionKind } from './kinds/built-in.ts';
import { indexes } from './kinds/kind.ts';
import { KindTable } from './kinds/kind-table.ts';
import { objects, type Stored } from './object.ts';
import { create } from './registry/create.ts';
import type { RegistryContext } from './registry/metadata.ts';
import { MemoryStore } from './store/memory-store.ts';

export type ClusterOptions = {
  readonly clock: Clock;
  /**
   * Random source, uniform in [0, 1), for UIDs and generated names. The same numbers make the same
   * cluster.
   */
  readonly random: () => number;
  /**
   * Limit of a resource's changes that are kept for watches and for later pages of lists; 20,000
   * when left out.
   */
  readonly historyLimit?: number;
  /** Client for validating webhooks; over HTTPS when left out. */
  readonly callWebhook?: CallWebhook;
  /** API servers behind the cluster's own. */
  readonly extensions?: readonly Extension[];
};

/** A cluster in memory: its objects, and their API. Without actors, nothing changes on its own. */
export type EmbeddedCluster = Server & {
  /**
   * Handles one request as kube-apiserver does, synchronously: calls no webhook, so it is for
   * reads.
   */
  answer(request: ApiRequest): Response;
  /**
   * Handles one request as kube-apiserver does. The user may do everything; webhooks receive the
   * name.
   */
  respond(request: ApiRequest, user?: User): Promise<Response>;
};

/** User for callers in the same process. */
const inside: User = { name: 'system:admin', groups: ['system:masters', 'system:authenticated'] };

/** Objects that every API server creates at its start. */
const firstObjects = [
  ...['kube-system', 'kube-public', 'kube-node-lease', 'default'].map(
    name => ['namespaces', { metadata: { name } }] as const,
  ),
  ...(
    [
      [
        'system-node-critical',
        2_000_001_000,
        'Used for system critical pods that must not be moved from their current node.',
      ],
      [
        'system-cluster-critical',
        2_000_000_000,
        'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
      ],
    ] as const
  ).map(
    ([name, value, description]) =>
      ['priorityclasses.scheduling.k8s.io', { metadata: { name }, value, description }] as const,
  ),
  ...firstRoles,
] as const;

/** Creates an empty cluster with the namespaces and priority classes that every cluster has. */
export function createCluster(options: ClusterOptions): EmbeddedCluster {
  const { clock, random, historyLimit, callWebhook = callOverHttps, extensions = [] } = options;
  const store = new MemoryStore({
    indexes,
    ...(historyLimit === undefined ? {} : { historyLimit }),
  });
  const kinds = new KindTable([...builtInKinds, definitionKind(definitions)]);
  const registry: RegistryContext = { store, kinds, clock, random };
  followDefinitions(registry);
  for (const [resource, object] of firstObjects) {
    const outcome = create(registry, kinds.of(resource), object, '');
    if (outcome.kind === 'refused')
      throw new Error(`a new cluster cannot have a ${resource}: ${outcome.failure.message}`);
  }
  const server: Server = { registry, feeds: new Feeds(store), clock };
  const call = callExtensions(registry, extensions, callWebhook);
  const passedOn = (request: ApiRequest): Response | undefined =>
    extensionAt(extensions, request.path)?.answer(registry, request);
  return {
    ...server,
    answer: request => passedOn(request) ?? handle(server, withObject(request, kinds)),
    respond: async (request, user = inside) =>
      passedOn(request) ?? respond(server, withObject(request, kinds), { call, user }),
  };
}

/**
 * Latencies in milliseconds of the cluster's clock; none when left out. Used by rehearsals and
 * faults.
 */
type Delays = {
  /** Latency before a call reaches the server. */
  readonly request?: (call: ApiCall) => number;
  /** Latency before its response arrives. */
  readonly response?: (call: ApiCall) => number;
  /** Latency before a change reaches a watcher. Changes of one watch never overtake each other. */
  readonly watch?: (collection: Collection) => number;
};

export type InProcess = {
  /** User agent, which is the name of the field manager. */
  readonly userAgent: string;
  readonly delays?: Delays;
};

const retryMs = 1000;

function queryOf(query: ApiCall['query']): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(query ?? {}).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, String(value)] as const],
    ),
  );
}

function requestOf(call: ApiCall, userAgent: string): ApiRequest {
  return {
    method: call.method,
    path: call.path,
    query: queryOf(call.query),
    accept: call.accept ?? 'application/json',
    contentType: call.contentType ?? 'application/json',
    userAgent,
    body: call.body === undefined ? { kind: 'none' } : { kind: 'json', value: call.body },
  };
}

/**
 * Returns the operator's client of a cluster in the same process: no sockets, no serialization, and
 * in virtual time the same from run to run. Responses arrive in a later turn, as over a wire, but
 * no later unless `delays` requires it.
 */
export function inProcess(
  cluster: EmbeddedCluster,
  { userAgent, delays = {} }: InProcess,
): Api & Watcher {
  const wait = async (milliseconds: number, signal?: AbortSignal): Promise<void> => {
    if (milliseconds > 0) await cluster.clock.sleep(milliseconds, signal);
    signal?.throwIfAborted();
  };
  const call = async (asked: ApiCall, signal?: AbortSignal): Promise<ApiResponse> => {
    signal?.throwIfAborted();
    await wait(delays.request?.(asked) ?? 0, signal);
    const response = await cluster.respond(requestOf(asked, userAgent));
    await wait(delays.response?.(asked) ?? 0, signal);
    if (response.kind === 'watch') throw new Error(`${asked.path} is a watch: it is not called`);
    // The caller may change the body; the stored objects in it are deeply frozen.
    return { status: response.status, headers: response.headers, body: response.body };
  };
  return {
    call,
    watch: async (collection, project, handler, signal) => {
      const follower = new Follower(cluster, collection, project, handler, delays.watch);
      while (!signal.aborted) {
        const problem = follower.begin(userAgent);
        if (problem === undefined) break;
        handler.failing?.({ ...problem, retryInMs: retryMs });
        await cluster.clock.sleep(retryMs, signal);
      }
      await untilAborted(signal);
      follower.end();
    },
  };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

type Problem = { readonly message: string; readonly status: number };

/**
 * One followed collection: a list first, then every change, each delivered to the handler in order.
 */
class Follower<T extends CachedObject> {
  readonly #cluster: EmbeddedCluster;
  readonly #collection: Collection;
  readonly #project: (raw: unknown) => T | undefined;
  readonly #handler: WatchHandler<T>;
  readonly #delay: ((collection: Collection) => number) | undefined;
  readonly #known = new Map<string, T>();
  #close = (): void => {};
  #ended = false;
  /** Time of the last pending delivery: none is delivered before it. */
  #lastAt = 0;

  constructor(
    cluster: EmbeddedCluster,
    collection: Collection,
    project: (raw: unknown) => T | undefined,
    handler: WatchHandler<T>,
    delay: ((collection: Collection) => number) | undefined,
  ) {
    this.#cluster = cluster;
    this.#collection = collection;
    this.#project = project;
    this.#handler = handler;
    this.#delay = delay;
  }

  /** Lists and starts the watch; returns the error, if any. */
  begin(userAgent: string): Problem | undefined {
    const { path, fieldSelector, labelSelector, metadataOnly } = this.#collection;
    const form = metadataOnly === true ? ';as=PartialObjectMetadata;g=meta.k8s.io;v=v1' : '';
    const call = (query: ApiCall['query']): ApiRequest =>
      requestOf(
        {
          method: 'GET',
          path,
          query: { fieldSelector, labelSelector, ...query },
          accept: `application/json${form}`,
        },
        userAgent,
      );
    const listed = this.#cluster.answer(call({}));
    if (listed.kind !== 'object' || listed.status !== 200)
      return problemOf(listed.kind === 'object' ? listed : undefined);
    const body = listed.body as JsonObject;
    const version = (body['metadata'] as { readonly resourceVersion: string }).resourceVersion;
    for (const item of objects(body['items'])) this.#later(() => this.#put(item as Stored));
    this.#later(() => {
      this.#handler.listed?.({
        keys: new Set(Array.from(this.#known.values(), ({ key }) => key)),
        version,
      });
      this.#handler.synced();
    });
    // More than an hour: in the same process the server never ends a watch.
    const watch = this.#cluster.answer(
      call({ watch: 1, resourceVersion: version, timeoutSeconds: 1_000_000_000 }),
    );
    if (watch.kind !== 'watch') return problemOf(watch.kind === 'object' ? watch : undefined);
    const watching = watch.open({
      event: event => this.#later(() => this.#heard(event)),
      // The path is gone, with its definition.
      ended: () => undefined,
    });
    this.#close = () => watching.close();
    return undefined;
  }

  end(): void {
    this.#ended = true;
    this.#close();
  }

  #later(tell: () => void): void {
    const run = (): void => {
      if (!this.#ended) tell();
    };
    const now = this.#cluster.clock.now().epochMilliseconds;
    const at = Math.max(now + (this.#delay?.(this.#collection) ?? 0), this.#lastAt);
    this.#lastAt = at;
    if (at > now) this.#cluster.clock.after(at - now, run);
    else queueMicrotask(run);
  }

  #heard({ type, object }: WatchEvent): void {
    if (type === 'DELETED') this.#remove(object as unknown as Stored);
    else if (type === 'ADDED' || type === 'MODIFIED') this.#put(object as unknown as Stored);
  }

  #put(raw: Stored): void {
    const object = this.#project(raw);
    const key = `${raw.metadata.namespace ?? ''}/${raw.metadata.name}`;
    const before = this.#known.get(key);
    if (object === undefined) return this.#forget(key, before);
    if (before !== undefined && before.uid !== object.uid) this.#forget(key, before);
    this.#known.set(key, object);
    const change: Change<T> =
      before === undefined || before.uid !== object.uid
        ? { type: 'added', object }
        : { type: 'changed', object, before };
    this.#handler.changed(change);
  }

  #remove(raw: Stored): void {
    const key = `${raw.metadata.namespace ?? ''}/${raw.metadata.name}`;
    const before = this.#known.get(key);
    if (before === undefined) return;
    const last = this.#project(raw);
    this.#forget(key, last?.uid === before.uid ? last : before);
  }

  #forget(key: string, last: T | undefined): void {
    if (last === undefined) return;
    this.#known.delete(key);
    this.#handler.changed({ type: 'removed', object: last });
  }
}

function problemOf(
  answer: { readonly status: number; readonly body: unknown } | undefined,
): Problem {
  const message = isObject(answer?.body) ? answer.body['message'] : undefined;
  return {
    message: typeof message === 'string' ? message : 'there is no such collection',
    status: answer?.status ?? 404,
  };
}
