import { isBefore, timeText } from '@drydock/apimachinery';
import { readMaintenancePlan } from '@drydock/apis';
import type { MaintenancePlanSpec } from '@drydock/apis/schema';
import type { Plan } from '@drydock/core/plan';
import { isRefused, isSetAside, type NodeState, type NodeVerdict } from '@drydock/core/plan';
import type { Env } from '@drydock/utils';
import { UsageError } from '@drydock/utils';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { nodePath, plainName } from '../shared/nodes.ts';
import { plainOutput } from '../shared/output.ts';
import { refusedError } from '../shared/requests.ts';
import { withCluster } from '../shared/with-cluster.ts';
import {
  changePlan,
  ofThisRun,
  type PlanObject,
  planNamed,
  recordsOf,
  titleOfPlan,
} from './why-plans.ts';

export type RetryFlags = ConnectionFlags & { readonly failed?: boolean };
export type SkipFlags = ConnectionFlags & { readonly reason: string };

type Retry = NonNullable<MaintenancePlanSpec['retries']>[number];

/**
 * Returns the list with these nodes at this time. `*` replaces entries that are not later, because
 * an older entry of a node would take precedence.
 */
export function mergedRetries(
  stored: readonly Retry[],
  names: readonly string[],
  before: string,
): readonly Retry[] {
  const isLater = (one: Retry): boolean => Date.parse(one.before) > Date.parse(before);
  const kept = stored.filter(
    one => !names.includes(one.name) && (!names.includes('*') || isLater(one)),
  );
  return [...kept, ...names.map(name => ({ name, before }))];
}

/**
 * A problem that a retry sets aside: a failed node, a failed preparation, hook or rehearsal, a
 * forecast that blocks the plan, or a gate that has stopped it.
 */
type NodeSelectionProblem = {
  readonly at: Temporal.Instant;
  readonly node?: string;
  readonly gate?: string;
  readonly hook?: string;
  readonly rehearsal?: true;
};

function ofRehearsal(
  { status }: PlanObject,
  { rehearsal, forecast }: Plan,
): readonly NodeSelectionProblem[] {
  const isRefused = status?.waiting?.some(({ reason }) => reason === 'Forecast') === true;
  return [
    ...(rehearsal?.state === 'Failed' ? [{ rehearsal: true as const, at: rehearsal.since }] : []),
    ...(isRefused && forecast !== undefined
      ? [{ rehearsal: true as const, at: forecast.rehearsedAt }]
      : []),
  ];
}

function troublesOf(
  plan: PlanObject,
  verdicts: readonly NodeVerdict[],
): readonly NodeSelectionProblem[] {
  const read = readMaintenancePlan(plan);
  const failed = verdicts.filter(one => one.verdict === 'Failed' && !isSetAside(one, read));
  const unprepared = read.preparing.filter(isRefused);
  return [
    ...failed.map(({ node, completedAt: at }) => ({ node, at })),
    ...unprepared.map(({ node, since: at }) => ({ node, at })),
    ...read.hookRuns
      .filter(({ state }) => state === 'Failed')
      .map(({ name: hook, since: at }) => ({ hook, at })),
    ...ofRehearsal(plan, read),
    ...(read.gateHalt === undefined ? [] : [read.gateHalt]),
  ];
}

/**
 * Returns the time of the last problem, by the operator's clock: the local clock may be ahead, and
 * would set aside later problems.
 */
function timeOfLast([first, ...more]: readonly [
  NodeSelectionProblem,
  ...NodeSelectionProblem[],
]): string {
  return timeText(more.reduce((latest, { at }) => (isBefore(latest, at) ? at : latest), first.at));
}

/**
 * `drydock plan retry NAME NODE…|--failed`: sets failures aside. Throws a UsageError for a node
 * without one.
 */
export async function retry(
  name: string,
  nodes: readonly string[],
  flags: RetryFlags,
  env: Env,
): Promise<void> {
  const all = flags.failed === true;
  if (all === nodes.length > 0)
    throw new UsageError('name the nodes to retry, or all failed ones with --failed');
  await withCluster(flags, env, async api => {
    const plan = await planNamed(api, name);
    const slices = ofThisRun(await recordsOf(api, plan), plan);
    const troubles = troublesOf(
      plan,
      slices.flatMap(({ verdicts }) => verdicts),
    );
    const names = [...new Set(nodes.map(plainName))];
    const lacking = names.find(node => !troubles.some(one => one.node === node));
    if (lacking !== undefined) {
      throw new UsageError(
        `node ${lacking} has not failed in this run of plan ${name}; drydock plan status ${name} --nodes lists the verdicts`,
      );
    }
    const [first, ...more] = troubles;
    if (first === undefined)
      return plainOutput.line(`no node of plan ${name} has failed: there is nothing to retry`);
    const before = timeOfLast([first, ...more]);
    await changePlan(api, name, ({ spec }) => ({
      retries: mergedRetries(spec.retries ?? [], all ? ['*'] : names, before),
    }));
    const chosen = all ? new Set(troubles.flatMap(({ node = [] }) => node)) : names;
    for (const { hook } of all ? troubles : [])
      if (hook !== undefined) plainOutput.line(`hook ${hook} runs again`);
    if (all && troubles.some(({ rehearsal }) => rehearsal))
      plainOutput.line(`plan ${name} is rehearsed again`);
    for (const { gate } of all ? troubles : [])
      if (gate !== undefined)
        plainOutput.line(`gate ${gate} is cleared: the plan continues when the gate is true`);
    for (const node of chosen) plainOutput.line(`node/${node} has its turn again`);
  });
}

/** Returns the consequence of skipping a node in flight. */
function becomesOf(state: NodeState): string {
  return state === 'Starting' || state === 'Holding'
    ? 'its work has not begun, and the plan releases it'
    : 'the plan finishes what it has begun with it';
}

/**
 * `drydock plan skip NAME NODE --reason R`: skips a node. Throws an ApiError with the server's
 * message.
 */
export function skip(
  name: string,
  text: string,
  { reason, ...flags }: SkipFlags,
  env: Env,
): Promise<void> {
  return withCluster(flags, env, async api => {
    const node = plainName(text);
    const found = await api.call({ method: 'GET', path: nodePath(node) });
    // Users who run plans may lack the right to read nodes.
    if (found.status !== 200 && found.status !== 403) throw refusedError(found);
    const isSame = ({ spec }: PlanObject): boolean =>
      spec.skipNodes?.some(one => one.name === node && one.reason === reason) === true;
    const before = await changePlan(api, name, plan =>
      isSame(plan)
        ? undefined
        : {
            skipNodes: [
              ...(plan.spec.skipNodes ?? []).filter(one => one.name !== node),
              { name: node, reason },
            ],
          },
    );
    plainOutput.line(
      `${titleOfPlan(name)} ${isSame(before) ? 'already leaves' : 'leaves'} node/${node} out`,
    );
    const flying = before.status?.inFlight?.find(one => one.node === node);
    if (flying !== undefined)
      plainOutput.note(`node ${node} is in flight: ${becomesOf(flying.state)}`);
  });
}
