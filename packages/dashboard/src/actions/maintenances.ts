import { isObject, statusMessage } from '@drydock/apimachinery';
import type { KindAdapter, MaintenanceRequest } from '@drydock/core/request';
import {
  creation,
  type MaintenanceInput,
  maintenanceObject,
  nodeMaintenanceObject,
  notServed,
  removal,
} from '@drydock/core/request';
import type { Api, ApiCall, ApiResponse } from '@drydock/kube-client';
import { errorText, isDefect } from '@drydock/utils';
import type { MaintainOrder, ReleaseOrder } from '../scene.ts';

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
export async function asked(api: Api, call: ApiCall): Promise<ApiResponse | ActionResult> {
  try {
    return await api.call(call);
  } catch (error) {
    if (isDefect(error)) throw error;
    return reply(502, `the request to the API server failed: ${errorText(error)}`);
  }
}

/** Returns whether the call did not reach the server. */
export function isReply(answer: ApiResponse | ActionResult): answer is ActionResult {
  return !('headers' in answer);
}

/** Returns whether the call succeeded. */
export function isGood({ status }: ApiResponse): boolean {
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
