import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
  type ServerResponse,
} from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Access } from '../control-plane/objects/api.ts';

/**
 * At which write (`PATCH nodes 1`: the first of this kind) the blow falls, and whether the API
 * server has done it by then.
 */
export type Blow = { readonly at: string; readonly moment: 'before' | 'after' };

const writing = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host']);

/** What is written, without names: `PATCH nodes/status`. */
function writeOf(method: string, url: string): string {
  const [path = ''] = url.split('?');
  const parts = path.replace(/^\/api(s\/[^/]+)?\/[^/]+\//, '').split('/');
  const [resource = '', , subresource] =
    parts[0] === 'namespaces' && parts.length > 2 ? parts.slice(2) : parts;
  return `${method} ${resource}${subresource === undefined ? '' : `/${subresource}`}`;
}

/** Nothing is stored: it only asks whether it would be. */
export function isDryRun(url: string): boolean {
  return /[?&]dryRun=/.test(url);
}

function withoutHops(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.has(name)));
}

/**
 * Stands between an operator and its API server, plain HTTP on 127.0.0.1 towards the operator, and
 * counts what is written (events and dry runs are not). At the write it was told to wait for, it
 * calls `strike`, which is to kill the operator, cuts its connections and passes on nothing more
 * until it is reopened.
 */
export class Proxy implements AsyncDisposable {
  readonly #access: Access;
  readonly #agent: PlainAgent;
  readonly #strike: (write: string) => void;
  readonly #server = createServer((asked, answer) => void this.#serve(asked, answer));
  readonly #sockets = new Set<Socket>();
  #blow: Blow | undefined;
  #closed = false;
  #underWay = 0;
  /** What has been written since it was armed last, in order. */
  writes: string[] = [];

  constructor(access: Access, strike: (write: string) => void) {
    const { ca, certificate, key, insecure } = access;
    this.#access = access;
    this.#strike = strike;
    const tls = {
      ...(ca && { ca }),
      ...(certificate && { cert: certificate }),
      ...(key && { key }),
      rejectUnauthorized: insecure !== true,
    };
    this.#agent = access.server.startsWith('https:')
      ? new Agent({ keepAlive: true, ...tls })
      : new PlainAgent({ keepAlive: true });
    this.#server.on('connection', socket => {
      this.#sockets.add(socket);
      if (this.#closed) socket.destroy();
      socket.once('close', () => this.#sockets.delete(socket)).on('error', () => {});
    });
  }

  /** Answers its address. */
  async listen(): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject).listen(0, '127.0.0.1', resolve);
    await promise;
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Counts from one again, and waits for this blow, or for none. */
  arm(blow: Blow | undefined): void {
    this.writes = [];
    this.#blow = blow;
  }

  /** Passes on again what comes. */
  reopen(): void {
    this.#closed = false;
  }

  /** Nothing is being written: a blow that was to fall has fallen. */
  get quiet(): boolean {
    return this.#underWay === 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#cut();
    this.#agent.destroy();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    await promise;
  }

  async #serve(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { method = 'GET' } = asked;
    if (!writing.has(method)) return this.#stream(asked, answer);
    this.#underWay += 1;
    try {
      await this.#write(asked, answer);
    } catch {
      answer.destroy();
    } finally {
      this.#underWay -= 1;
    }
  }

  /** What has been passed on is done, even when the operator is dead by then, as on a real wire. */
  async #write(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { method = '', url = '' } = asked;
    const body = await buffer(asked);
    if (this.#closed) return;
    const write = isDryRun(url) ? 'a dry run' : this.#count(method, url);
    const falls = this.#blow?.at === write ? this.#blow.moment : undefined;
    if (falls === 'before') return this.#fall(write);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    this.#onward(asked, resolve).once('error', reject).end(body);
    const incoming = await promise;
    const received = await buffer(incoming);
    if (falls === 'after') return this.#fall(write);
    answer.writeHead(incoming.statusCode ?? 502, withoutHops(incoming.headers)).end(received);
  }

  /**
   * Writes that are sent at the same time arrive in any order, so each is counted among its like.
   */
  #count(method: string, url: string): string {
    const write = writeOf(method, url);
    const counted = `${write} ${this.writes.filter(one => one.startsWith(`${write} `)).length + 1}`;
    if (!write.endsWith(' events')) this.writes.push(counted);
    return counted;
  }

  #fall(write: string): void {
    this.#blow = undefined;
    this.#closed = true;
    this.#strike(write);
    this.#cut();
  }

  #cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #stream(asked: IncomingMessage, answer: ServerResponse): void {
    const onward = this.#onward(asked, incoming => {
      answer.writeHead(incoming.statusCode ?? 502, withoutHops(incoming.headers));
      answer.flushHeaders();
      incoming.on('error', () => answer.destroy()).pipe(answer);
    });
    onward.once('error', () => answer.destroy()).end();
    answer.once('close', () => onward.destroy());
  }

  #onward(asked: IncomingMessage, answered: (incoming: IncomingMessage) => void): ClientRequest {
    const { server, token } = this.#access;
    const { method = 'GET', url = '/', headers } = asked;
    const send = server.startsWith('https:') ? request : plainRequest;
    const options = {
      method,
      agent: this.#agent,
      headers: {
        ...withoutHops(headers),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
    };
    return send(new URL(server + url), options, answered);
  }
}
