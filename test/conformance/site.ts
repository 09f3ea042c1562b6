import { type Agent, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { protobufType } from '@drydock/kube-sim/api';
import { protobufOf } from '@drydock/kube-sim/testing';
import type { Access } from '../control-plane/objects/api.ts';
import { tokenOf } from '../control-plane/users.ts';
import type { Hooked, Review } from './hook.ts';
import { type Normal, normal } from './normal.ts';

/** What one server answered: the body as it came. */
export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body;
};

/** Bodies are looked into by cases; a path that is not there is undefined. */
export type Body = { readonly [key: string]: unknown } & {
  readonly metadata?: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly [key: string]: unknown;
  };
};

export type Ask = {
  readonly body?: unknown;
  readonly type?: string;
  readonly accept?: string;
  /**
   * Who asks: the administrator when left out. `limited` may do what roles say, and at first that
   * is next to nothing.
   */
  readonly user?: 'limited';
  /** False: the answer is needed, and not compared. */
  readonly compared?: boolean;
};

const comparedHeaders = ['retry-after', 'warning', 'content-type'];

/**
 * A watch that has been silent for so long has told what there was to tell: on a busy machine the
 * real one is some hundred milliseconds late.
 */
const watchQuietMs = 1000;

/**
 * One of the two servers, as a case sees it. Everything that is asked goes into the transcript that
 * is compared.
 */
export class Site {
  readonly access: Access;
  /** Tells cases apart: part of every name. */
  readonly id: string;
  readonly transcript: Normal[] = [];
  /** Sends objects of built-in kinds as protobuf. */
  readonly #protobuf: boolean;
  readonly #agent: Agent;
  readonly #hook: (answer: (review: Review) => Hooked) => object;

  constructor(
    access: Access,
    id: string,
    agent: Agent,
    hook: (answer: (review: Review) => Hooked) => object,
    protobuf = false,
  ) {
    this.access = access;
    this.#protobuf = protobuf;
    this.id = id;
    this.#agent = agent;
    this.#hook = hook;
  }

  /** The clientConfig of a webhook of this case; what it is asked is compared. */
  webhook(answer: (review: Review) => Hooked): object {
    return this.#hook(review => {
      const { name, operation, dryRun, kind, resource, subResource, namespace, object, oldObject } =
        review.request;
      this.note('asked', {
        name,
        operation,
        dryRun,
        kind,
        resource,
        subResource,
        namespace,
        object,
        oldObject,
      });
      return answer(review);
    });
  }

  /**
   * Roles, policies and webhooks count a moment after they are stored: asks until the status is as
   * wanted, and compares none of it.
   */
  async settles(method: string, path: string, status: number, ask: Ask = {}): Promise<void> {
    for (const until = performance.now() + 15_000; ; ) {
      const answer = await this.ask(method, path, { ...ask, compared: false });
      if (answer.status === status) return;
      if (performance.now() > until)
        throw new Error(`${method} ${path}: still ${answer.status} ${JSON.stringify(answer.body)}`);
      await sleep(50);
    }
  }

  /** The case's own namespace. */
  get namespace(): string {
    return `c-${this.id}`;
  }

  /** A cluster-wide name that no other case has. */
  name(base: string): string {
    return `${base}-${this.id}`;
  }

  /** The path of a collection in the case's namespace: `pods`, `apps/v1/deployments`. */
  path(resource: string, ...rest: readonly string[]): string {
    const parts = resource.split('/');
    const plural = parts.at(-1) ?? '';
    const root = parts.length === 1 ? '/api/v1' : `/apis/${parts.slice(0, -1).join('/')}`;
    return [`${root}/namespaces/${this.namespace}/${plural}`, ...rest].join('/');
  }

  get(path: string, ask: Ask = {}): Promise<Answer> {
    return this.ask('GET', path, ask);
  }

  post(path: string, body: unknown, ask: Ask = {}): Promise<Answer> {
    return this.ask('POST', path, { body, ...ask });
  }

  put(path: string, body: unknown, ask: Ask = {}): Promise<Answer> {
    return this.ask('PUT', path, { body, ...ask });
  }

  delete(path: string, body?: unknown, ask: Ask = {}): Promise<Answer> {
    return this.ask('DELETE', path, { body, ...ask });
  }

  patch(
    path: string,
    kind: 'json' | 'merge' | 'strategic-merge' | 'apply',
    body: unknown,
    ask: Ask = {},
  ): Promise<Answer> {
    const type =
      kind === 'json'
        ? 'application/json-patch+json'
        : kind === 'apply'
          ? 'application/apply-patch+yaml'
          : `application/${kind}-patch+json`;
    return this.ask('PATCH', path, { body, type, ...ask });
  }

  /** Something that a case needs and is not about: it has to work. */
  async has(path: string, body: unknown): Promise<Body> {
    const answer = await this.post(path, body, { compared: false });
    if (answer.status !== 201)
      throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async ask(
    method: string,
    path: string,
    { body, type, accept, user, compared = true }: Ask = {},
  ): Promise<Answer> {
    const answer = await this.#exchange(method, path, { body, type, accept, user });
    if (compared) {
      const headers = Object.fromEntries(
        comparedHeaders.flatMap(name =>
          answer.headers[name] === undefined ? [] : [[name, answer.headers[name]]],
        ),
      );
      this.transcript.push(
        normal({ asked: `${method} ${path}`, status: answer.status, headers, body: answer.body }),
      );
    }
    return answer;
  }

  /**
   * Follows a path while `meanwhile` runs and until nothing has come for a while; compares the
   * events.
   */
  async watch(
    path: string,
    meanwhile: () => Promise<unknown>,
    accept?: string,
  ): Promise<readonly Body[]> {
    const events: Body[] = [];
    const cut = new AbortController();
    let heard = 0;
    const { promise, resolve } = Promise.withResolvers<number>();
    const over = this.#stream(path, accept, cut.signal, resolve, line => {
      heard = performance.now();
      events.push(JSON.parse(line) as Body);
    });
    const status = await promise;
    await sleep(30);
    await meanwhile();
    heard = Math.max(heard, performance.now());
    while (performance.now() - heard < watchQuietMs) await sleep(20);
    cut.abort();
    await over;
    // When bookmarks come in between is the server's affair; the one that ends the initial events
    // is not.
    const told = events.filter(
      ({ type, object }) =>
        type !== 'BOOKMARK' || JSON.stringify(object).includes('initial-events-end'),
    );
    this.transcript.push(normal({ watched: path, status, events: told }));
    return told;
  }

  /** A note of the case's own, to be the same on both sides. */
  note(what: string, value: unknown): void {
    this.transcript.push(normal({ what, value }));
  }

  #stream(
    path: string,
    accept = 'application/json',
    signal: AbortSignal,
    opened: (status: number) => void,
    tell: (line: string) => void,
  ): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let rest = '';
    const asked = request(
      this.access.server + path,
      { ...this.#options, headers: { ...this.#headers(), accept }, signal },
      answer => {
        opened(answer.statusCode ?? 0);
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => {
          const lines = (rest + chunk).split('\n');
          rest = lines.pop() ?? '';
          // An answer that is no stream is one JSON text over several lines: it is told whole at
          // the end.
          if (answer.statusCode === 200) for (const line of lines) if (line !== '') tell(line);
          if (answer.statusCode !== 200) rest = [...lines, rest].join('\n');
        });
        answer.once('end', () => {
          if (rest.trim() !== '') tell(rest);
          resolve();
        });
        answer.once('error', () => resolve());
      },
    );
    asked.once('error', error => (signal.aborted ? resolve() : reject(error)));
    asked.end();
    return promise;
  }

  get #options(): { readonly agent: Agent; readonly ca?: string } {
    const { ca } = this.access;
    return { agent: this.#agent, ...(ca === undefined ? {} : { ca }) };
  }

  #headers(user?: string): Record<string, string> {
    return {
      authorization: `Bearer ${user === undefined ? this.access.token : tokenOf(user)}`,
      'user-agent': 'conformance',
    };
  }

  #exchange(
    method: string,
    path: string,
    ask: { [Key in keyof Ask]: Ask[Key] | undefined },
  ): Promise<Answer> {
    const { body, accept = 'application/json', user } = ask;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const encoded = this.#protobuf && ask.type === undefined ? protobufIn(method, body) : undefined;
    const payload =
      encoded ??
      (body === undefined || typeof body === 'string' || body instanceof Uint8Array
        ? body
        : JSON.stringify(body));
    const type = ask.type ?? (encoded === undefined ? 'application/json' : protobufType);
    const headers = {
      ...this.#headers(user),
      accept,
      ...(payload === undefined
        ? {}
        : { 'content-type': type, 'content-length': Buffer.byteLength(payload) }),
    };
    const asked = request(
      this.access.server + path,
      { ...this.#options, method, headers, timeout: 20_000 },
      answer => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => (text += chunk));
        answer.once('error', reject);
        answer.once('end', () => {
          const isJson = answer.headers['content-type']?.includes('json') === true;
          const found = Object.entries(answer.headers).map(([name, value]) => [
            name,
            String(value),
          ]);
          resolve({
            status: answer.statusCode ?? 0,
            headers: Object.fromEntries(found) as Record<string, string>,
            body: (isJson ? JSON.parse(text) : { text }) as Body,
          });
        });
      },
    );
    asked.once('timeout', () => asked.destroy(new Error(`${method} ${path}: no answer in 20 s`)));
    asked.once('error', reject);
    asked.end(payload);
    return promise;
  }
}

/** The body of a write as protobuf; undefined for what goes as JSON all the same. */
function protobufIn(method: string, body: unknown): Uint8Array | undefined {
  if (method === 'DELETE' && typeof body === 'object')
    return protobufOf({ apiVersion: 'v1', kind: 'DeleteOptions', ...body });
  return method === 'POST' || method === 'PUT' ? protobufOf(body) : undefined;
}

/** A case: asked of both servers, and the answers have to be the same. */
export type Case = {
  readonly name: string;
  readonly run: (at: Site) => Promise<void>;
  /** Needs no namespace of its own. */
  readonly bare?: true;
  /** Sends objects of built-in kinds as protobuf, as clients in Go do. */
  readonly protobuf?: true;
};
