import { isObject, type JsonObject } from '@drydock/apimachinery';
import { applyMerge } from '@drydock/core/testing';
import type { Api, ApiCall, ApiResponse } from '@drydock/kube-client';

/**
 * An API server in memory, as far as admission needs one: consistent, with optimistic concurrency,
 * and no faster than a turn.
 */

type Metadata = Readonly<Record<string, unknown>> & {
  readonly name: string;
  readonly resourceVersion?: string;
  readonly labels?: Readonly<Record<string, string>>;
};

function metadataOf(object: JsonObject): Metadata {
  return (isObject(object['metadata']) ? object['metadata'] : {}) as unknown as Metadata;
}

function collectionOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

function status(code: number, message: string): ApiResponse {
  return { status: code, headers: {}, body: { kind: 'Status', code, message } };
}

function matches(object: JsonObject, selector: unknown): boolean {
  if (typeof selector !== 'string' || selector === '') return true;
  const { labels = {} } = metadataOf(object);
  return selector.split(',').every(part => {
    const [key = '', value] = part.split('=');
    return value === undefined ? key in labels : labels[key] === value;
  });
}

export class MemoryServer implements Api {
  readonly #objects = new Map<string, JsonObject>();
  #version = 0;
  readonly calls: ApiCall[] = [];
  /** `user verb`: rights that somebody lacks. */
  readonly denied = new Set<string>();
  /** Collections that are served although they are empty. */
  readonly served: Set<string>;
  /** Answers in the server's place; undefined leaves it to the server. */
  intercept: (call: ApiCall) => ApiResponse | Promise<ApiResponse> | undefined = () => undefined;

  constructor(served: readonly string[]) {
    this.served = new Set(served);
  }

  /** `METHOD path` of what was asked to be changed, in order. */
  get written(): readonly string[] {
    return this.calls
      .filter(({ method }) => method !== 'GET')
      .map(({ method, path }) => `${method} ${path}`);
  }

  get paths(): readonly string[] {
    return [...this.#objects.keys()];
  }

  get(path: string): JsonObject | undefined {
    return this.#objects.get(path);
  }

  put(path: string, object: JsonObject): JsonObject {
    this.#version += 1;
    const stored = {
      ...object,
      metadata: { ...metadataOf(object), resourceVersion: String(this.#version) },
    } as unknown as JsonObject;
    this.#objects.set(path, stored);
    return stored;
  }

  remove(path: string): void {
    this.#objects.delete(path);
  }

  async call(call: ApiCall, signal?: AbortSignal): Promise<ApiResponse> {
    this.calls.push(call);
    signal?.throwIfAborted();
    const answered = await this.intercept(call);
    await new Promise(resolve => setImmediate(resolve));
    signal?.throwIfAborted();
    return answered ?? this.#do(call);
  }

  #do({ method, path, body, query }: ApiCall): ApiResponse {
    const object = isObject(body) ? body : {};
    if (path === '/apis/authorization.k8s.io/v1/subjectaccessreviews')
      return this.#reviewed(object);
    if (method === 'POST') return this.#create(`${path}/${metadataOf(object).name}`, object);
    const stored = this.#objects.get(path);
    if (stored === undefined)
      return method === 'GET' ? this.#list(path, query) : status(404, `${path} not found`);
    if (method === 'GET') return { status: 200, headers: {}, body: stored };
    const preconditions = method === 'DELETE' ? object['preconditions'] : metadataOf(object);
    const wanted = isObject(preconditions) ? preconditions['resourceVersion'] : undefined;
    if (wanted !== undefined && wanted !== metadataOf(stored).resourceVersion)
      return status(409, 'the object has been modified');
    if (method === 'DELETE') {
      this.remove(path);
      return { status: 200, headers: {}, body: {} };
    }
    return {
      status: 200,
      headers: {},
      body: this.put(
        path,
        method === 'PATCH' ? (applyMerge(stored, object) as JsonObject) : object,
      ),
    };
  }

  #reviewed(review: JsonObject): ApiResponse {
    const spec = review['spec'] as {
      readonly user?: string;
      readonly resourceAttributes: { readonly verb: string };
    };
    const allowed = !this.denied.has(`${spec.user} ${spec.resourceAttributes.verb}`);
    return { status: 201, headers: {}, body: { ...review, status: { allowed } } };
  }

  #create(path: string, object: JsonObject): ApiResponse {
    if (this.#objects.has(path)) return status(409, `${path} already exists`);
    return { status: 201, headers: {}, body: this.put(path, object) };
  }

  #list(path: string, query: ApiCall['query']): ApiResponse {
    if (!this.served.has(path))
      return status(404, 'the server could not find the requested resource');
    const items = [...this.#objects].filter(
      ([key, object]) => collectionOf(key) === path && matches(object, query?.['labelSelector']),
    );
    return { status: 200, headers: {}, body: { items: items.map(([, object]) => object) } };
  }
}
