import type { JsonObject } from '../../core/json.ts';
import { planAnnotation, planApi } from '../../core/plan/plan.ts';
import { approvalNameOf, approvalsPath, labelOf } from '../../core/plan/writes.ts';
import type { Api } from '../../operator/ports.ts';
import { systemClock } from '../../support/clock.ts';
import { refusedError } from '../shared/api-error.ts';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { UsageError } from '../shared/fail.ts';
import { plainOutput } from '../shared/output.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { isUpToDate, type PlanObject, planNamed } from './plan-object.ts';

export type ApproveFlags = ConnectionFlags & { readonly yes?: boolean };

/** What an approval is for: the run, or what follows a stage. */
type Asked = { readonly stage?: string };

/** What the plan waits for somebody to agree to; undefined when nothing is. */
export const askedBy = ({ status }: PlanObject): Asked | undefined => {
  if (status?.waiting?.some(({ word }) => word === 'Approval') !== true) return undefined;
  const stage = status.run?.stage;
  return stage === undefined ? {} : { stage };
};

const words = ({ stage }: Asked): string => (stage === undefined ? 'the run' : `what follows stage ${stage}`);

const refuseUnknownStage = ({ metadata, spec }: PlanObject, stage: string): void => {
  const stages = (spec.stages ?? []).filter(one => one.approveAfter === true).map(({ name }) => name);
  if (stages.includes(stage)) return;
  const known = stages.length === 0 ? 'none of its stages does' : `those that do: ${stages.join(', ')}`;
  throw new UsageError(`stage ${stage} of plan ${metadata.name} asks for no approval; ${known}`);
};

/** What is to be approved. Throws a UsageError where the plan does not wait for that, and it is not to be approved ahead. */
export const approvedBy = (plan: PlanObject, stage: string | undefined, ahead: boolean): Asked => {
  const { metadata, status, spec } = plan;
  const asked = askedBy(plan);
  if (asked !== undefined && (stage === undefined || stage === asked.stage)) return asked;
  const state = asked === undefined ? `it is ${status?.phase ?? 'not begun'}` : `it waits for an approval of ${words(asked)}`;
  if (!ahead) {
    const what = stage === undefined ? 'no approval' : `no approval of stage ${stage}`;
    throw new UsageError(`plan ${metadata.name} waits for ${what}: ${state}; --yes approves ahead`);
  }
  if (stage !== undefined) refuseUnknownStage(plan, stage);
  else if (spec.approval?.run !== 'Required') throw new UsageError(`plan ${metadata.name} asks for no approval of its run; name a stage`);
  return stage === undefined ? {} : { stage };
};

type Run = { readonly id: string; readonly revision: string };

/** It goes with its plan. */
const approvalObject = (approval: string, { metadata: { name, uid } }: PlanObject, { id, revision }: Run, asked: Asked): JsonObject => ({
  apiVersion: planApi,
  kind: 'MaintenanceApproval',
  metadata: {
    name: approval,
    labels: { [planAnnotation]: labelOf(name) },
    ownerReferences: [{ apiVersion: planApi, kind: 'MaintenancePlan', name, uid }],
  },
  spec: { planName: name, runID: id, revision, ...asked },
});

const pauseMs = 200;
const mostPauses = 50;

/** Waits until the operator has seen the approval, so that whoever follows the plan next does not find it waiting. Resolves with false when that takes long. */
const isSeen = async (api: Api, name: string, { stage }: Asked): Promise<boolean> => {
  for (let pauses = 0; pauses < mostPauses; pauses += 1) {
    const asked = askedBy(await planNamed(api, name));
    if (asked === undefined || asked.stage !== stage) return true;
    await systemClock.sleep(pauseMs);
  }
  return false;
};

/** `drydock plan approve NAME [STAGE]`: creates the MaintenanceApproval. Throws a UsageError where nothing waits for it. */
export const approve = (
  name: string,
  stage: string | undefined,
  { yes, ...flags }: ApproveFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> =>
  withCluster(flags, env, async api => {
    const plan = await planNamed(api, name);
    const { run } = plan.status ?? {};
    if (run === undefined || !isUpToDate(plan)) {
      throw new Error(
        `the operator has not seen plan ${name} as it is now, and an approval is for one run: try again, or see drydock check`,
      );
    }
    const asked = approvedBy(plan, stage, yes === true);
    const approval = approvalNameOf({ name, uid: plan.metadata.uid }, run, asked.stage);
    const body = approvalObject(approval, plan, run, asked);
    const response = await api.call({ method: 'POST', path: approvalsPath, query: { fieldManager: 'drydock' }, body });
    if (response.status !== 201 && response.status !== 409) throw refusedError(response);
    plainOutput.line(`maintenanceapproval.drydock.dev/${approval} ${response.status === 409 ? 'is there already' : 'created'}`);
    plainOutput.line(`run ${run.id} of plan ${name}: ${words(asked)} is approved`);
    const isAwaited = askedBy(plan)?.stage === asked.stage && askedBy(plan) !== undefined;
    if (isAwaited && !(await isSeen(api, name, asked)))
      plainOutput.note(`the operator has not gone on with plan ${name} yet; drydock check says whether one works`);
  });
