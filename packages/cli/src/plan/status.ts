import { type JsonObject, timeText } from '@drydock/apimachinery';
import { readMaintenancePlan } from '@drydock/apis';
import { isSetAside, plansPath } from '@drydock/core/plan';
import type { Api, CachedObject, Watcher } from '@drydock/kube-client';
import { UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { plainOutput, printText, written } from '../shared/output.ts';
import { ApiError } from '../shared/requests.ts';
import { withCluster } from '../shared/with-cluster.ts';
import {
  planLine,
  plansTable,
  planText,
  type ShownVerdict,
  shownVerdicts,
  verdictJson,
} from './status-text.ts';
import {
  isUpToDate,
  ofThisRun,
  type PlanObject,
  planNamed,
  plansOf,
  recordsOf,
} from './why-plans.ts';

type Followed = CachedObject & { readonly plan: PlanObject };

function project(raw: unknown): Followed {
  const plan = raw as PlanObject;
  const { name, uid, resourceVersion } = plan.metadata;
  return { key: name, uid, resourceVersion, plan };
}

/**
 * Watches a plan until `look` returns 'done'. Resolves with the last state of the plan; undefined
 * when it is deleted.
 */
async function followPlan(
  watcher: Watcher,
  name: string,
  look: (plan: PlanObject) => 'done' | 'continue',
): Promise<PlanObject | undefined> {
  const done = new AbortController();
  let last: PlanObject | undefined;
  await watcher.watch(
    { path: plansPath, fieldSelector: `metadata.name=${name}` },
    project,
    {
      changed: ({ type, object: { plan } }) => {
        if (done.signal.aborted) return;
        last = type === 'removed' ? undefined : plan;
        if (last === undefined || look(plan) === 'done') done.abort();
      },
      // The plan was deleted before the watch started.
      synced: () => (last === undefined ? done.abort() : undefined),
      failing: ({ message }) =>
        plainOutput.note(`drydock: plan ${name} cannot be read at the moment: ${message}`),
    },
    done.signal,
  );
  return last;
}

export type PlanStatusFlags = ConnectionFlags & {
  readonly output: 'table' | 'wide' | 'json' | 'yaml';
  readonly watch?: boolean;
  readonly nodes?: boolean;
};

async function verdictsOf(api: Api, plan: PlanObject): Promise<readonly ShownVerdict[]> {
  const read = readMaintenancePlan(plan);
  return shownVerdicts(ofThisRun(await recordsOf(api, plan), plan), verdict =>
    isSetAside(verdict, read),
  );
}

function planJson(
  { metadata, status }: PlanObject,
  verdicts?: readonly ShownVerdict[],
): JsonObject {
  return {
    name: metadata.name,
    generation: metadata.generation,
    ...(status as JsonObject | undefined),
    ...(verdicts && { verdicts: verdicts.map(verdictJson) }),
  };
}

async function printStatus(
  api: Api,
  plan: PlanObject,
  { output, nodes }: PlanStatusFlags,
): Promise<void> {
  const verdicts = nodes === true ? await verdictsOf(api, plan) : undefined;
  printText(
    output === 'json' || output === 'yaml'
      ? written(planJson(plan, verdicts), output)
      : planText(plan, verdicts),
  );
}

/** Returns the exit code for a followed plan; undefined while it continues. */
export function endOf(plan: PlanObject): 0 | 3 | 4 | 5 | undefined {
  if (!isUpToDate(plan)) return undefined;
  const { phase } = plan.status ?? {};
  if (phase === 'Complete') return (plan.status?.nodes?.failed ?? 0) > 0 ? 5 : 0;
  if (phase === 'AwaitingApproval') return 3;
  return phase === 'Halted' || phase === 'Aborted' ? 4 : undefined;
}

/** Prints every change, and the whole status at the end. */
async function watchOver(
  api: Parameters<typeof followPlan>[0] & Api,
  name: string,
  flags: PlanStatusFlags,
): Promise<void> {
  const isText = flags.output === 'table' || flags.output === 'wide';
  let last = '';
  const end = await followPlan(api, name, plan => {
    const isOver = endOf(plan) !== undefined;
    const text = isText
      ? planLine(plan)
      : written(planJson(plan), flags.output === 'yaml' ? 'yaml' : 'json');
    if (text !== last && (isText || !isOver)) {
      if (isText) plainOutput.line(`${timeText(Temporal.Now.instant())}  ${text}`);
      else printText(`${flags.output === 'yaml' ? '---\n' : ''}${text}`);
    }
    last = text;
    return isOver ? 'done' : 'continue';
  });
  if (end === undefined) throw new ApiError(`error: MaintenancePlan ${name} has been deleted`);
  if (isText) plainOutput.line('');
  else if (flags.output === 'yaml') plainOutput.line('---');
  await printStatus(api, end, flags);
  process.exitCode = endOf(end) ?? 0;
}

async function tellAll(api: Api, { output }: PlanStatusFlags): Promise<void> {
  const plans = await plansOf(api);
  if (output === 'json' || output === 'yaml')
    return printText(written({ plans: plans.map(plan => planJson(plan)) }, output));
  printText(plansTable(plans, output === 'wide'));
}

/**
 * `drydock plan status [NAME]`: prints all plans, or all of one; with --watch, until it ends or
 * waits for a user: the exit code distinguishes them. Writes nothing.
 */
export async function planStatus(
  name: string | undefined,
  flags: PlanStatusFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  if (name === undefined && (flags.watch === true || flags.nodes === true)) {
    throw new UsageError(
      `name the plan: drydock plan status NAME --${flags.watch === true ? 'watch' : 'nodes'}`,
    );
  }
  await withCluster(flags, env, async connection => {
    if (name === undefined) return tellAll(connection, flags);
    // Throws when the plan does not exist.
    const plan = await planNamed(connection, name);
    return flags.watch === true
      ? watchOver(connection, name, flags)
      : printStatus(connection, plan, flags);
  });
}
