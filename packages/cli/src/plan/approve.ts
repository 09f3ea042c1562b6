import { UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { plainOutput } from '../shared/output.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { giveApproval, runToApprove, untilSeen } from './give-approval.ts';
import { type PlanObject, planNamed } from './why-plans.ts';

export type ApproveFlags = ConnectionFlags & { readonly yes?: boolean };

/** Subject of an approval: the run, or the step after a stage. */
type Asked = { readonly stage?: string };

/** Returns the approval that the plan waits for; undefined when there is none. */
export function askedBy({ status }: PlanObject): Asked | undefined {
  if (status?.waiting?.some(({ reason }) => reason === 'Approval') !== true) return undefined;
  const stage = status.run?.stage;
  return stage === undefined ? {} : { stage };
}

function words({ stage }: Asked): string {
  return stage === undefined ? 'the run' : `what follows stage ${stage}`;
}

function refuseUnknownStage({ metadata, spec }: PlanObject, stage: string): void {
  const stages = (spec.stages ?? [])
    .filter(one => one.approveAfter === true)
    .map(({ name }) => name);
  if (stages.includes(stage)) return;
  const known =
    stages.length === 0 ? 'none of its stages does' : `those that do: ${stages.join(', ')}`;
  throw new UsageError(`stage ${stage} of plan ${metadata.name} asks for no approval; ${known}`);
}

/**
 * Returns the subject to approve. Throws a UsageError where the plan does not wait for it, unless
 * it is approved ahead.
 */
export function approvedBy(plan: PlanObject, stage: string | undefined, ahead: boolean): Asked {
  const { metadata, status, spec } = plan;
  const awaited = askedBy(plan);
  if (awaited !== undefined && (stage === undefined || stage === awaited.stage)) return awaited;
  const state =
    awaited === undefined
      ? `it is ${status?.phase ?? 'not begun'}`
      : `it waits for an approval of ${words(awaited)}`;
  if (!ahead) {
    const what = stage === undefined ? 'no approval' : `no approval of stage ${stage}`;
    throw new UsageError(`plan ${metadata.name} waits for ${what}: ${state}; --yes approves ahead`);
  }
  if (stage !== undefined) refuseUnknownStage(plan, stage);
  else if (spec.approval?.run !== 'Required')
    throw new UsageError(`plan ${metadata.name} asks for no approval of its run; name a stage`);
  return stage === undefined ? {} : { stage };
}

/**
 * `drydock plan approve NAME [STAGE]`: creates the MaintenanceApproval. Throws a UsageError where
 * the plan waits for none.
 */
export function approve(
  name: string,
  stage: string | undefined,
  { yes, ...flags }: ApproveFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  return withCluster(flags, env, async api => {
    const plan = await planNamed(api, name);
    const run = runToApprove(plan);
    const awaited = approvedBy(plan, stage, yes === true);
    const isWaiting = (one: PlanObject): boolean =>
      askedBy(one) !== undefined && askedBy(one)?.stage === awaited.stage;
    await giveApproval(api, plan, run, awaited, isWaiting(plan));
    plainOutput.line(`run ${run.id} of plan ${name}: ${words(awaited)} is approved`);
    if (isWaiting(plan)) await untilSeen(api, name, isWaiting);
  });
}
