import { matches } from '@drydock/apimachinery';
import { readMaintenancePlan } from '@drydock/apis';
import { readNode } from '@drydock/core/node';
import { maxFirst } from '@drydock/core/plan';
import type { Api } from '@drydock/kube-client';
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

/**
 * Returns `order.first` with this node at its front. The last entries of a full list are dropped.
 */
export function movedToFront(stored: readonly string[], node: string): readonly string[] {
  return [node, ...stored.filter(one => one !== node)].slice(0, maxFirst);
}

/** Returns why the node cannot come next at all; undefined when it can. */
export function noTurnOf({ metadata, spec, status }: PlanObject, node: string): string | undefined {
  if (status?.inFlight?.some(one => one.node === node) === true)
    return `node ${node} is in flight in plan ${metadata.name} already`;
  const skipped = spec.skipNodes?.some(one => one.name === node) === true;
  return skipped ? `plan ${metadata.name} leaves node ${node} out (spec.skipNodes)` : undefined;
}

/**
 * Throws where the node does not exist or is not part of the plan. Users who run plans may lack the
 * right to read nodes.
 */
async function refuseOthers(api: Api, plan: PlanObject, node: string): Promise<void> {
  const found = await api.call({ method: 'GET', path: nodePath(node) });
  if (found.status === 403) return;
  if (found.status !== 200) throw refusedError(found);
  if (matches(readMaintenancePlan(plan).nodeSelector, readNode(found.body).labels)) return;
  throw new UsageError(`plan ${plan.metadata.name} does not select node ${node}`);
}

async function refuseOver(api: Api, plan: PlanObject, node: string): Promise<void> {
  const verdicts = ofThisRun(await recordsOf(api, plan), plan).flatMap(slice => slice.verdicts);
  if (!verdicts.some(one => one.node === node && one.verdict === 'Done')) return;
  throw new UsageError(`node ${node} is done in this run of plan ${plan.metadata.name}`);
}

/**
 * `drydock plan next NAME NODE`: moves a node to the front of its stage. Throws a UsageError for a
 * node without a turn in this run.
 */
export function next(
  name: string,
  text: string,
  flags: ConnectionFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  return withCluster(flags, env, async api => {
    const node = plainName(text);
    const plan = await planNamed(api, name);
    await refuseOthers(api, plan, node);
    const why = noTurnOf(plan, node);
    if (why !== undefined) throw new UsageError(why);
    await refuseOver(api, plan, node);
    const isFirst = ({ spec }: PlanObject): boolean => spec.order?.first?.[0] === node;
    const before = await changePlan(api, name, one =>
      isFirst(one)
        ? undefined
        : { order: { first: movedToFront(one.spec.order?.first ?? [], node) } },
    );
    plainOutput.line(
      `${titleOfPlan(name)} ${isFirst(before) ? 'already has' : 'has'} node/${node} at the front of its stage`,
    );
  });
}
