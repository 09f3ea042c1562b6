import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { KindAdapter } from '@drydock/core/request';
import type { Api, Watcher } from '@drydock/kube-client';
import {
  boundedServer,
  type Clock,
  connectionLimits,
  errorText,
  type Log,
  type PanicHandler,
} from '@drydock/utils';
import {
  type ActionResult,
  announce,
  applyPlanAction,
  approve,
  approvePlan,
  type DemoCloud,
  maintain,
  noSuchPlan,
  parseMaintainAction,
  readApproval,
  readPlanApproval,
  readPlanOrder,
  readRelease,
  release,
  reply,
} from '../actions/actions.ts';
import { type Asset, readAssets } from '../assets.ts';
import type { NodePods } from '../scene.ts';
import { SseClients } from '../stream/sse.ts';
import { Observer } from '../watch/observer.ts';
import type { MachineClient, PlanClient } from '../watch/plan-watch.ts';
import { answerAsset, answerJson, openStream } from './answer.ts';
import { hostsOf, rejectForeignOrigin, withoutToken } from './guard.ts';

/** Limit of a body in bytes; no order is nearly as long. */
const maxBytes = 16_384;

/** Reads a JSON body; returns its value, or an error. Rejects when the connection breaks. */
async function readBody(
  request: IncomingMessage,
): Promise<{ readonly value: unknown } | ActionResult> {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  // Forms of other sites cannot send this type without a CORS preflight.
  if (type !== 'application/json') return reply(415, 'the body must be application/json');
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Ending the loop must not close the connection: the response still has to be sent.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return reply(413, `the body is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  try {
    return { value: JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown };
  } catch (error) {
    return reply(400, `the body is not JSON: ${errorText(error)}`);
  }
}

/**
 * Access rights. `link`: only users with the printed link may read and act. `read-only`: everyone
 * who reaches the dashboard may read.
 */
type Access =
  | { readonly kind: 'link'; readonly token: string; readonly api: Api }
  | { readonly kind: 'read-only' };

type Served = {
  readonly access: Access;
  readonly assets: ReadonlyMap<string, Asset>;
  readonly observer: Observer;
  readonly clients: SseClients;
  /** Hosts of a simulated cloud, where there is one. */
  readonly hosts: DemoCloud | undefined;
  /** Valid values of the header Host. */
  readonly names: ReadonlySet<string>;
};

type Asked = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly served: Served;
};
type Work = (
  observer: Observer,
  api: Api,
  value: unknown,
  hosts: DemoCloud | undefined,
) => Promise<ActionResult>;
type Route = {
  readonly method: 'GET' | 'POST';
  readonly answer: (asked: Asked) => Promise<void> | void;
};

function sendReply(response: ServerResponse, { status, body }: ActionResult): void {
  // The rest of an oversized body is not awaited.
  answerJson(response, status, body, status === 413 ? { connection: 'close' } : {});
}

function stream({ request, response, served }: Asked): void {
  if (served.clients.full)
    return sendReply(response, reply(503, 'too many dashboards are open: close some'));
  openStream(response);
  const { 'last-event-id': lastEventId } = request.headers;
  served.clients.add(response, Array.isArray(lastEventId) ? undefined : lastEventId);
}

function scene({ response, served: { observer } }: Asked): void {
  answerJson(response, 200, { revision: observer.revision, scene: observer.scene() });
}

function outlook({ response, url, served: { observer } }: Asked): void {
  const node = url.searchParams.get('node') ?? '';
  if (!observer.hasNode(node)) return sendReply(response, reply(404, `there is no node "${node}"`));
  const isOn = (name: string): boolean => url.searchParams.get(name) === 'true';
  answerJson(
    response,
    200,
    observer.outlook(node, {
      force: isOn('force'),
      deleteEmptyDirData: isOn('deleteEmptyDirData'),
    }),
  );
}

function pods({ response, url, served: { observer } }: Asked): void {
  const answered: NodePods = { pods: observer.podsOn(url.searchParams.get('node') ?? '') };
  answerJson(response, 200, answered);
}

async function maintainOrder(observer: Observer, api: Api, value: unknown): Promise<ActionResult> {
  const order = parseMaintainAction(value);
  if (typeof order === 'string') return reply(400, order);
  if (!observer.hasNode(order.node)) return reply(404, `there is no node "${order.node}"`);
  return maintain(api, observer.maker(), order);
}

async function releaseOrder(observer: Observer, api: Api, value: unknown): Promise<ActionResult> {
  const order = readRelease(value);
  if (typeof order === 'string') return reply(400, order);
  const request = observer.find(order.store, order.namespace, order.name);
  return request === undefined
    ? reply(404, `there is no maintenance "${order.name}" any more`)
    : release(api, request);
}

async function approvalOrder(observer: Observer, api: Api, value: unknown): Promise<ActionResult> {
  const order = readApproval(value);
  if (typeof order === 'string') return reply(400, order);
  const request = observer.findMachine(order.key);
  return request === undefined
    ? reply(404, `there is no machine maintenance "${order.key}" any more`)
    : approve(api, request);
}

async function planOrder(observer: Observer, api: Api, value: unknown): Promise<ActionResult> {
  const order = readPlanOrder(value);
  if (typeof order === 'string') return reply(400, order);
  const plan = observer.findPlan(order.plan, order.uid);
  return plan === undefined ? noSuchPlan(order) : applyPlanAction(api, plan, order.what);
}

async function planApproval(observer: Observer, api: Api, value: unknown): Promise<ActionResult> {
  const order = readPlanApproval(value);
  if (typeof order === 'string') return reply(400, order);
  const plan = observer.findPlan(order.plan, order.uid);
  return plan === undefined ? noSuchPlan(order) : approvePlan(api, plan, order);
}

const hostOrder: Work = async (_observer, _api, value, hosts) => announce(hosts, value);

/** Wraps a handler that changes something: only with the link. */
function write(work: Work): Route['answer'] {
  return async ({ request, response, served: { access, observer, hosts } }) => {
    if (access.kind !== 'link')
      return sendReply(
        response,
        reply(403, 'this dashboard is read-only: run drydock dashboard to act'),
      );
    const body = await readBody(request);
    sendReply(
      response,
      'value' in body ? await work(observer, access.api, body.value, hosts) : body,
    );
  };
}

const routes: ReadonlyMap<string, Route> = new Map([
  ['/api/scene', { method: 'GET', answer: scene }],
  ['/api/stream', { method: 'GET', answer: stream }],
  ['/api/pods', { method: 'GET', answer: pods }],
  ['/api/outlook', { method: 'GET', answer: outlook }],
  ['/api/maintain', { method: 'POST', answer: write(maintainOrder) }],
  ['/api/release', { method: 'POST', answer: write(releaseOrder) }],
  ['/api/approve', { method: 'POST', answer: write(approvalOrder) }],
  ['/api/steer-plan', { method: 'POST', answer: write(planOrder) }],
  ['/api/approve-plan', { method: 'POST', answer: write(planApproval) }],
  ['/api/announce', { method: 'POST', answer: write(hostOrder) }],
]);

function wrongMethod(response: ServerResponse, allow: string): void {
  answerJson(response, 405, { message: `only ${allow} is served here` }, { allow });
}

/** Handles one request. Rejects when the connection breaks, or on a defect. */
async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  served: Served,
): Promise<void> {
  const url = URL.parse(request.url ?? '/', 'http://page.invalid');
  const path = url?.pathname ?? '';
  const stranger = rejectForeignOrigin(request.headers, served.names, path === '/');
  if (stranger !== undefined)
    return answerJson(response, stranger.status, { message: stranger.message });
  const asset = served.assets.get(path);
  if (asset !== undefined) {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return wrongMethod(response, 'GET, HEAD');
    return answerAsset(response, asset, request.headers['if-none-match'], request.method === 'GET');
  }
  const route = routes.get(path);
  if (url === null || route === undefined)
    return answerJson(response, 404, { message: 'not found' });
  const { access } = served;
  const refusal =
    access.kind === 'link' ? withoutToken(request.headers.authorization, access.token) : undefined;
  if (refusal !== undefined)
    return answerJson(
      response,
      refusal.status,
      { message: refusal.message },
      { 'www-authenticate': 'Bearer' },
    );
  if (request.method !== route.method) return wrongMethod(response, route.method);
  await route.answer({ request, response, url, served });
}

export type DashboardOptions = {
  /** Watcher of the shown cluster. */
  readonly watcher: Watcher;
  readonly adapters: readonly KindAdapter[];
  /** Reader of machine maintenances; they are not watched when left out. */
  readonly machines?: MachineClient;
  /** Reader of plans; they are not watched when left out. */
  readonly plans?: PlanClient;
  /** Hosts of a simulated cloud: users who may act can have it announce events. */
  readonly hosts?: DemoCloud | undefined;
  readonly access: Access;
  /** Name of the cluster, for people. */
  readonly cluster: string;
  /** Host to listen on; 127.0.0.1 when left out. */
  readonly host?: string;
  /** Port to listen on; 0 means any free one. */
  readonly port: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
};

export type Dashboard = {
  /** URL with the token in its fragment where one is needed: browsers do not send fragments. */
  readonly url: string;
  readonly port: number;
  /** Ends everything, including open streams. */
  close(): Promise<void>;
};

async function listening(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
  return (server.address() as AddressInfo).port;
}

function failed(
  error: unknown,
  response: ServerResponse,
  { log, defects }: DashboardOptions,
): void {
  // The client has disconnected: no response is possible.
  if (response.destroyed) return;
  log.error('the dashboard failed to respond', {
    error: defects.textOf('Process', 'dashboard', error),
  });
  if (response.headersSent) response.destroy();
  else
    answerJson(response, 500, {
      message: 'internal error: see the log of the command that serves this dashboard',
    });
}

function urlOf(host: string, port: number, access: Access): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}/${access.kind === 'link' ? `#${access.token}` : ''}`;
}

/**
 * Serves the dashboard and watches the cluster for it. Rejects when the address is not available.
 */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { hosts, access, host = '127.0.0.1', clock } = options;
  const assets = readAssets();
  const observer = new Observer({
    ...options,
    simulated: hosts !== undefined,
    access: access.kind,
  });
  const clients = new SseClients(observer, clock);
  let names: ReadonlySet<string> = new Set();
  const server = boundedServer({ connections: connectionLimits.pages }, (request, response) => {
    const served: Served = { access, assets, observer, clients, hosts, names };
    answer(request, response, served).catch((error: unknown) => failed(error, response, options));
  });
  const done = new AbortController();
  const port = await listening(server, host, options.port).catch((error: unknown) => {
    clients.end();
    throw error;
  });
  names = hostsOf(host, port);
  const running = observer.run(done.signal);
  const close = async (): Promise<void> => {
    done.abort();
    clients.end();
    const closed = new Promise(resolve => server.close(resolve));
    server.closeAllConnections();
    await Promise.all([running, closed]);
  };
  return { url: urlOf(host, port, access), port, close };
}
