import { isObject, type JsonObject, statusMessage } from '@drydock/apimachinery';
import type { Plan } from '@drydock/core/plan';
import { approvalObject, approvalsPath, pathOfPlan } from '@drydock/core/plan';
import type { Api, ApiResponse } from '@drydock/kube-client';
import type { PlanApprovalOrder, PlanApprovalView, PlanOrder } from '../scene.ts';
import { approvalOf } from '../views/plan-views.ts';
import { type ActionResult, asked, isGood, isReply, reply } from './maintenances.ts';

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
