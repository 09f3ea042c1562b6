import { isObject, statusMessage } from '@drydock/apimachinery';
import type { MachineRequest } from '@drydock/core/machine';
import { pathOfRequest } from '@drydock/core/machine';
import type { Api } from '@drydock/kube-client';
import type { ApprovalOrder } from '../scene.ts';
import { type ActionResult, asked, isGood, isReply, reply } from './maintenances.ts';

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
