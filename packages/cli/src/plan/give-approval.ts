import type { JsonObject } from '@drydock/apimachinery';
import { agreedHash, agreedSpec } from '@drydock/apis';
import type { Approval } from '@drydock/core/plan';
import { approvalNameOf, approvalObject, approvalsPath } from '@drydock/core/plan';
import type { Api, Connection } from '@drydock/kube-client';
import { systemClock } from '@drydock/utils';
import { stringify } from 'yaml';
import { plainOutput } from '../shared/output.ts';
import { refusedError } from '../shared/requests.ts';
import { isUpToDate, type PlanObject, planNamed } from './why-plans.ts';

/**
 * Common part of `drydock plan approve` and `drydock plan promote`: creates a MaintenanceApproval,
 * and waits until the operator sees it.
 */

/** Subject of an approval: the run, the step after a stage, or a soak time that it ends. */
export type Given = Pick<Approval, 'stage' | 'promote'>;

type Run = { readonly id: string; readonly revision: string };

/**
 * Returns the run to approve. Throws where the operator has not yet reconciled the current plan.
 */
export function runToApprove(plan: PlanObject): Run {
  const { run } = plan.status ?? {};
  if (run !== undefined && isUpToDate(plan)) return run;
  throw new Error(
    `the operator has not seen plan ${plan.metadata.name} as it is now, and an approval is for one run: try again, or see drydock check`,
  );
}

/** An API server and its clock. */
type Cluster = Pick<Connection, 'call' | 'clock'>;

type Stored = { readonly metadata: { readonly uid: string; readonly creationTimestamp?: string } };

/**
 * Deletes an approval of this name that is no longer valid, so that another can be created.
 * Resolves with whether to retry the creation.
 */
async function removedVoid(
  api: Cluster,
  path: string,
  { spec }: PlanObject,
  isAwaited: boolean,
): Promise<boolean> {
  const seconds = spec.approval?.expiresAfterSeconds;
  if (seconds === undefined) return false;
  const found = await api.call({ method: 'GET', path });
  if (found.status !== 200) return found.status === 404;
  const { uid, creationTimestamp } = (found.body as Stored).metadata;
  const isOld =
    Date.parse(creationTimestamp ?? '') + seconds * 1000 <= api.clock.now().epochMilliseconds;
  // An approval that the plan still waits for despite its existence is invalid, whatever the clock
  // shows.
  if (!isOld && !isAwaited) return false;
  const removed = await api.call({ method: 'DELETE', path, body: { preconditions: { uid } } });
  if (removed.status !== 200 && removed.status !== 404 && removed.status !== 409)
    throw refusedError(removed);
  return true;
}

function approvedPlan({ metadata: { name, uid }, spec }: PlanObject) {
  return {
    name,
    uid,
    specHash: agreedHash(spec as unknown as JsonObject),
  };
}

/** Prints the agreed spec: the text whose hash the approval contains. */
function printAgreed({ metadata: { name }, spec }: PlanObject, run: Run): void {
  plainOutput.line(
    `# what is approved: run ${run.id} of plan ${name} with this spec; an edit of it voids the approval`,
  );
  for (const line of stringify(agreedSpec(spec as unknown as JsonObject))
    .trimEnd()
    .split('\n'))
    plainOutput.line(line);
}

/**
 * Creates the approval; a second approval has no effect, unless the first has expired. Throws an
 * ApiError with the server's message.
 */
export async function giveApproval(
  api: Cluster,
  plan: PlanObject,
  run: Run,
  given: Given,
  isAwaited: boolean,
): Promise<void> {
  const approved = approvedPlan(plan);
  const approval = approvalNameOf(approved, run, given);
  const body = approvalObject(approved, run, given);
  printAgreed(plan, run);
  const create = () =>
    api.call({ method: 'POST', path: approvalsPath, query: { fieldManager: 'drydock' }, body });
  const first = await create();
  const isVoid =
    first.status === 409 &&
    (await removedVoid(api, `${approvalsPath}/${approval}`, plan, isAwaited));
  const response = isVoid ? await create() : first;
  if (response.status !== 201 && response.status !== 409) throw refusedError(response);
  plainOutput.line(
    `maintenanceapproval.drydock.dev/${approval} ${response.status === 409 ? 'is there already' : 'created'}`,
  );
}

const pauseMs = 200;
const maxPauses = 50;

/**
 * Waits until the operator has seen the approval, so that a following `plan status` does not show
 * the plan waiting; prints a note when that takes long.
 */
export async function untilSeen(
  api: Api,
  name: string,
  isWaiting: (plan: PlanObject) => boolean,
): Promise<void> {
  for (let pauses = 0; pauses < maxPauses; pauses += 1) {
    if (!isWaiting(await planNamed(api, name))) return;
    await systemClock.sleep(pauseMs);
  }
  plainOutput.note(
    `the operator has not continued plan ${name} yet; drydock check shows whether an operator runs`,
  );
}
