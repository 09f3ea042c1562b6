import { UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { plainOutput } from '../shared/output.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { askedBy } from './approve.ts';
import { type Given, giveApproval, runToApprove, untilSeen } from './give-approval.ts';
import { type PlanObject, planNamed } from './why-plans.ts';

export type PromoteFlags = ConnectionFlags & { readonly full?: boolean };

/** Returns the stage whose soak time is running. */
function quietAfter({ status }: PlanObject): string | undefined {
  return status?.waiting?.some(({ reason }) => reason === 'StageSoak') === true
    ? status.run?.stage
    : undefined;
}

/**
 * Returns the approval that ends what now keeps the plan between two stages. Throws a UsageError
 * where nothing does.
 */
export function promotionOf(plan: PlanObject, full: boolean): Given {
  if (full) return { promote: 'Full' };
  const quiet = quietAfter(plan);
  if (quiet !== undefined) return { stage: quiet, promote: 'Stage' };
  const awaited = askedBy(plan);
  if (awaited !== undefined)
    return awaited.stage === undefined ? {} : { ...awaited, promote: 'Stage' };
  const { metadata, status } = plan;
  const state = `it is ${status?.phase ?? 'not begun'}`;
  throw new UsageError(
    `plan ${metadata.name} waits for no soak time and no approval: ${state}; --full lets it go through all its stages`,
  );
}

function textOfGiven({ stage, promote }: Given): string {
  if (promote === 'Full') return 'it goes through all its stages without soak times and approvals';
  return stage === undefined
    ? 'the run is approved'
    : `stage ${stage} is over, and the next one begins`;
}

/** Returns whether the plan waits for a step that such an approval ends. */
function waitsFor(plan: PlanObject, { stage, promote }: Given): boolean {
  const [quiet, awaited] = [quietAfter(plan), askedBy(plan)];
  if (promote === 'Full') return quiet !== undefined || awaited !== undefined;
  return (
    (quiet !== undefined && quiet === stage) || (awaited !== undefined && awaited.stage === stage)
  );
}

/**
 * `drydock plan promote NAME [--full]`: ends the soak time and approves, by a MaintenanceApproval.
 * Throws a UsageError where the plan waits for neither.
 */
export function promote(
  name: string,
  { full, ...flags }: PromoteFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  return withCluster(flags, env, async api => {
    const plan = await planNamed(api, name);
    const run = runToApprove(plan);
    const given = promotionOf(plan, full === true);
    await giveApproval(api, plan, run, given, waitsFor(plan, given));
    plainOutput.line(`run ${run.id} of plan ${name}: ${textOfGiven(given)}`);
    if (waitsFor(plan, given)) await untilSeen(api, name, one => waitsFor(one, given));
  });
}
