import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Api } from '@drydock/kube-client';
import { approve, readApproval } from '../actions/approval.ts';
import { announce, type DemoCloud } from '../actions/demo-cloud.ts';
import {
  type ActionResult,
  maintain,
  parseMaintainAction,
  readRelease,
  release,
  reply,
} from '../actions/maintenances.ts';
import {
  applyPlanAction,
  approvePlan,
  noSuchPlan,
  readPlanApproval,
  readPlanOrder,
} from '../actions/plans.ts';
import type { Asset } from '../assets.ts';
import type { NodePods } from '../scene.ts';
import type { SseClients } from '../stream/sse-clients.ts';
import type { Observer } from '../watch/observer.ts';
import { answerAsset, answerJson, openStream } from './answer.ts';
import { readBody } from './body.ts';
import { rejectForeignOrigin, withoutToken } from './guard.ts';

/**
 * Access rights. `link`: only users with the printed link may read and act. `read-only`: everyone
 * who reaches the dashboard may read.
 */
export type Access =
  | { readonly kind: 'link'; readonly token: string; readonly api: Api }
  | { readonly kind: 'read-only' };

export type Served = {
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
export async function answer(
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
