import { isObject, type JsonObject, statusMessage } from '@drydock/apimachinery';
import { type MachineRequest, pathOfRequest } from '@drydock/core/machine';
import { approvalObject, approvalsPath, type Plan, pathOfPlan } from '@drydock/core/plan';
import {
  creation,
  type KindAdapter,
  type MaintenanceInput,
  type MaintenanceRequest,
  maintenanceObject,
  nodeMaintenanceObject,
  notServed,
  removal,
} from '@drydock/core/request';
import type { Api, ApiCall, ApiResponse } from '@drydock/kube-client';
import { errorText, isDefect } from '@drydock/utils';
import type {
  ApprovalOrder,
  HostOrder,
  MaintainOrder,
  PlanApprovalOrder,
  PlanApprovalView,
  PlanOrder,
  ReleaseOrder,
} from '../scene.ts';
import { approvalOf } from '../views/plan-views.ts';

/** Result of an order: an HTTP status, and a body with a message. */
export type ActionResult = { readonly status: number; readonly body: { readonly message: string } };

const full = 'maintenances.drydock.dev';
const seed = 'nodemaintenances.nodemaintenance.medik8s.io';

export function reply(status: number, message: string): ActionResult {
  return { status, body: { message } };
}

/** Returns the kind to create: the one with a policy, or else the one that it replaces. */
export function creatableKind(served: readonly KindAdapter[]): KindAdapter | undefined {
  return served.find(({ name }) => name === full) ?? served.find(({ name }) => name === seed);
}

/** Parses an order from JSON; returns a string with the error. */
export function parseMaintainAction(raw: unknown): MaintainOrder | string {
  if (!isObject(raw))
    return 'the body must be an object such as {"node": "worker-1", "reason": "new disk"}';
  const { node, reason = '', force = false, deleteEmptyDirData = false } = raw;
  if (typeof node !== 'string' || node === '') return 'node is missing: name the node to maintain';
  if (typeof reason !== 'string') return 'reason must be a string';
  if (typeof force !== 'boolean' || typeof deleteEmptyDirData !== 'boolean')
    return 'force and deleteEmptyDirData must be true or false';
  return { node, reason, force, deleteEmptyDirData };
}

/** Parses the order to release a maintenance; returns a string with the error. */
export function readRelease(raw: unknown): ReleaseOrder | string {
  if (!isObject(raw))
    return 'the body must be an object such as {"store": "maintenances.drydock.dev", "name": "worker-1"}';
  const { store, namespace, name } = raw;
  if (typeof store !== 'string' || typeof name !== 'string' || store === '' || name === '')
    return 'store and name are missing: name the maintenance';
  if (namespace !== undefined && typeof namespace !== 'string') return 'namespace must be a string';
  return { store, name, ...(namespace !== undefined && { namespace }) };
}

/**
 * Calls the API server. Returns its error in its own words, or an error when it cannot be reached.
 * Rejects for defects only.
 */
async function asked(api: Api, call: ApiCall): Promise<ApiResponse | ActionResult> {
  try {
    return await api.call(call);
  } catch (error) {
    if (isDefect(error)) throw error;
    return reply(502, `the request to the API server failed: ${errorText(error)}`);
  }
}

/** Returns whether the call did not reach the server. */
function isReply(answer: ApiResponse | ActionResult): answer is ActionResult {
  return !('headers' in answer);
}

/** Returns whether the call succeeded. */
function isGood({ status }: ApiResponse): boolean {
  return status >= 200 && status < 300;
}

/**
 * Returns the maintenance to create, or an error. Deletion of data always needs the user's
 * agreement, and the replaced kind deletes without it: so it is created only when the user has
 * agreed to both.
 */
function bodyOf(
  maker: KindAdapter,
  order: MaintainOrder,
): ReturnType<typeof maintenanceObject> | string {
  const { node, reason, force, deleteEmptyDirData } = order;
  const input: MaintenanceInput = {
    node,
    ...(reason.trim() !== '' && { reason: reason.trim() }),
    drain: { force, deleteEmptyDirData },
  };
  if (maker.name === full) return maintenanceObject(input);
  if (force && deleteEmptyDirData) return nodeMaintenanceObject(maker, input);
  return 'this cluster serves NodeMaintenance only, which always evicts pods without a controller and pods with local data: agree to both, or install the kind Maintenance (drydock install)';
}

export async function maintain(
  api: Api,
  maker: KindAdapter | undefined,
  order: MaintainOrder,
): Promise<ActionResult> {
  if (maker === undefined) return reply(409, notServed);
  const body = bodyOf(maker, order);
  if (typeof body === 'string') return reply(422, body);
  const answer = await asked(api, creation(maker, body));
  if (isReply(answer)) return answer;
  if (answer.status === 404) return reply(409, notServed);
  return isGood(answer)
    ? reply(201, `maintenance of ${order.node} created`)
    : reply(answer.status, statusMessage(answer));
}

export async function release(api: Api, request: MaintenanceRequest): Promise<ActionResult> {
  const answer = await asked(api, removal(request));
  if (isReply(answer)) return answer;
  // An object that is already gone counts as released.
  if (isGood(answer) || answer.status === 404)
    return reply(200, `${request.nodeName} is being released`);
  return reply(answer.status, statusMessage(answer));
}

/** A simulated cloud that accepts orders: only a demonstration has one. */
export interface DemoCloud {
  /**
   * Announces an event for the machine of the node. Returns a string with the reason when it
   * cannot.
   */
  announce(node: string, what: HostOrder['what']): string | undefined;
}

const words: Readonly<Record<HostOrder['what'], string>> = {
  retirement: 'will be retired',
  reboot: 'will be rebooted',
};

/** Parses an order from JSON; returns a string with the error. */
function readHostOrder(raw: unknown): HostOrder | string {
  if (!isObject(raw))
    return 'the body must be an object such as {"node": "worker-1", "what": "retirement"}';
  const { node, what } = raw;
  if (typeof node !== 'string' || node === '')
    return 'node is missing: name the node whose host to announce';
  if (what !== 'retirement' && what !== 'reboot') return 'what must be retirement or reboot';
  return { node, what };
}

/** Has the simulated cloud announce an event. */
export function announce(hosts: DemoCloud | undefined, value: unknown): ActionResult {
  if (hosts === undefined)
    return reply(
      404,
      'the machines of this cluster are not simulated: nothing can be announced here',
    );
  const order = readHostOrder(value);
  if (typeof order === 'string') return reply(400, order);
  const problem = hosts.announce(order.node, order.what);
  return problem === undefined
    ? reply(201, `the cloud announces: the host of ${order.node} ${words[order.what]}`)
    : reply(409, problem);
}

function readPlan(raw: JsonObject): Omit<PlanOrder, 'what'> | string {
  const { plan, uid } = raw;
  if (typeof plan !== 'string' || typeof uid !== 'string' || plan === '' || uid === '')
    return 'plan and uid are missing: name the plan';
  return { plan, uid };
}

/** Parses the order to pause or resume a plan; returns a string with the error. */
export function readPlanOrder(raw: unknown): PlanOrder | string {
  if (!isObject(raw))
    return 'the body must be an object such as {"plan": "kernel", "uid": "…", "what": "pause"}';
  const order = readPlan(raw);
  if (typeof order === 'string') return order;
  const { what } = raw;
  return what === 'pause' || what === 'resume'
    ? { ...order, what }
    : 'what must be pause or resume';
}

/** Parses the approval of a plan; returns a string with the error. */
export function readPlanApproval(raw: unknown): PlanApprovalOrder | string {
  if (!isObject(raw))
    return 'the body must be an object such as {"plan": "kernel", "uid": "…", "run": "1", "revision": "…", "specHash": "…"}';
  const order = readPlan(raw);
  if (typeof order === 'string') return order;
  const { run, revision, specHash, stage } = raw;
  if (typeof run !== 'string' || typeof revision !== 'string' || typeof specHash !== 'string')
    return 'run, revision and specHash are missing: name what is approved';
  if (stage !== undefined && typeof stage !== 'string') return 'stage must be a string';
  return { ...order, run, revision, specHash, ...(stage !== undefined && { stage }) };
}

/** Returns the error for a plan that does not exist, or whose name now belongs to another. */
export function noSuchPlan({ plan }: Pick<PlanOrder, 'plan'>): ActionResult {
  return reply(404, `there is no such plan "${plan}" any more`);
}

/** Pauses or resumes exactly the plan that was seen. */
export async function applyPlanAction(
  api: Api,
  { name, uid, aborted }: Plan,
  what: PlanOrder['what'],
): Promise<ActionResult> {
  if (aborted)
    return reply(409, `plan ${name} is aborted: drydock plan rerun ${name} begins again`);
  const answer = await asked(api, {
    method: 'PATCH',
    path: pathOfPlan({ name }),
    query: { fieldManager: 'drydock' },
    contentType: 'application/merge-patch+json',
    body: {
      metadata: { uid },
      spec: what === 'pause' ? { state: 'Paused', pause: null } : { state: 'Running', pause: null },
    },
  });
  if (isReply(answer)) return answer;
  if (answer.status === 404) return noSuchPlan({ plan: name });
  return isGood(answer)
    ? reply(200, `plan ${name} is ${what === 'pause' ? 'paused' : 'resumed'}`)
    : reply(answer.status, statusMessage(answer));
}

function sameApproval(one: PlanApprovalView, other: PlanApprovalView): boolean {
  return (
    one.run === other.run &&
    one.revision === other.revision &&
    one.specHash === other.specHash &&
    one.stage === other.stage
  );
}

function isThereAlready({ status, body }: ApiResponse): boolean {
  return status === 409 && isObject(body) && body['reason'] === 'AlreadyExists';
}

/**
 * Approves the step that the plan waits for, if it is the one that was seen: users approve only
 * what they were shown.
 */
export async function approvePlan(
  api: Api,
  plan: Plan,
  order: PlanApprovalView,
): Promise<ActionResult> {
  const waits = approvalOf(plan);
  if (waits === undefined || !sameApproval(waits, order))
    return reply(409, `plan ${plan.name} does not wait for this approval (any more)`);
  const { run, revision, stage } = waits;
  const body = approvalObject(plan, { id: run, revision }, stage === undefined ? {} : { stage });
  const answer = await asked(api, {
    method: 'POST',
    path: approvalsPath,
    query: { fieldManager: 'drydock' },
    body,
  });
  if (isReply(answer)) return answer;
  const what = waits.stage === undefined ? `run ${waits.run}` : `what follows stage ${waits.stage}`;
  if (isGood(answer) || isThereAlready(answer))
    return reply(200, `plan ${plan.name}: ${what} is approved`);
  return reply(answer.status, statusMessage(answer));
}

/** Parses the approval of a machine maintenance; returns a string with the error. */
export function readApproval(raw: unknown): ApprovalOrder | string {
  const key = isObject(raw) ? raw['key'] : undefined;
  return typeof key === 'string' && key !== ''
    ? { key }
    : 'the body must be an object such as {"key": "drydock-system/mm-worker-1"}';
}

/**
 * Approves a maintenance that waits for it, in the version that was seen: after a change, the user
 * has to look again.
 */
export async function approve(api: Api, request: MachineRequest): Promise<ActionResult> {
  const { machineName, history, resourceVersion } = request;
  if (history.phase !== 'AwaitingApproval')
    return reply(409, `the maintenance of machine ${machineName} is not waiting for approval`);
  const answer = await asked(api, {
    method: 'PATCH',
    path: pathOfRequest(request),
    contentType: 'application/merge-patch+json',
    body: { metadata: { resourceVersion, annotations: { 'drydock.dev/approved': 'true' } } },
  });
  if (isReply(answer)) return answer;
  if (answer.status === 404)
    return reply(404, `there is no maintenance of machine ${machineName} any more`);
  return isGood(answer)
    ? reply(200, `the maintenance of machine ${machineName} is approved`)
    : reply(answer.status, statusMessage(answer));
}
