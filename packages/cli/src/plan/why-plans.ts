import { matches, timeText } from '@drydock/apimachinery';
import { readMaintenancePlan } from '@drydock/apis';
import type { MaintenancePlanStatus } from '@drydock/apis/schema';
import type { Node } from '@drydock/core/node';
import type { NodeVerdict } from '@drydock/core/plan';
import { isSetAside, maxUpNext, plansPath } from '@drydock/core/plan';
import { isControlPlane } from '@drydock/core/quorum';
import type { MaintenanceRequest } from '@drydock/core/request';
import type { Api } from '@drydock/kube-client';
import { listAll } from '@drydock/kube-client';
import { ofThisRun, type PlanObject, recordsOf } from './plan-object.ts';

/** Plans that affect a node, for `drydock why`. */

type PlanWait = NonNullable<MaintenancePlanStatus['waiting']>[number];

/** Remedies for waits; those for a step of a node in flight end without one. */
const remedies: Readonly<Record<string, string>> = {
  MaxInFlight: 'wait until a node in flight is done, or raise concurrency.maxInFlight',
  Ramp: 'wait for the next success, which admits more nodes, or change concurrency.ramp',
  MaxUnavailable: 'bring the unavailable nodes back, or raise concurrency.maxUnavailable',
  OtherPlanLimit: 'bring the unavailable nodes back, or raise the limit of that other plan',
  Topology: 'bring the unavailable nodes back, or change concurrency.perTopology',
  LastHealthy: 'bring another node back',
  Quorum: 'bring another control-plane node back',
  HeldBy: 'release the node: drydock release, or kubectl uncordon',
  NotReady: 'make the node Ready: kubectl describe node names its conditions',
  Window: 'wait until the window opens (drydock windows), or set windows to Ignore',
  Frozen: 'wait until the freeze ends: drydock windows',
  WindowsUnknown: 'let the operator list MaintenanceWindows: drydock check',
  Rate: 'wait for the next opening (drydock windows), or raise concurrency.startsPerWindow',
  Pace: 'wait for the start that pace.deadline foresees, or set pace.mode to AsSoonAsPossible',
  Starved:
    'end what that node waits for, skip it (drydock plan skip), or change order.starvedAfterSeconds',
  WouldNotFit: 'make a window long enough, or set expectedSeconds',
  StageSoak: 'wait until the soak time ends, or end it: drydock plan promote',
  Blocked: 'correct the expression in the plan',
};

function atPhase(phase: string | undefined, message: string, name: string): string | undefined {
  if (phase === 'Halted' && message.includes('all plans are halted'))
    return 'drydock plan halt --release lets all plans continue';
  if (phase === 'Paused') return `drydock plan resume ${name}`;
  if (phase === 'Halted')
    return `drydock plan status ${name} lists the failures; drydock plan retry ${name} --failed sets them aside`;
  if (phase === 'AwaitingApproval') return `drydock plan approve ${name}`;
  return phase === 'Aborted' ? `drydock plan rerun ${name} begins again` : undefined;
}

function waitText({ reason, message, until }: PlanWait): string {
  const end = until === undefined ? '' : ` (until ${until})`;
  const remedy = remedies[reason];
  return ` It waits for ${reason}: ${message}${end}.${remedy === undefined ? '' : ` What helps: ${remedy}.`}`;
}

/** Returns the wait of this node. */
function ownWait({ status }: PlanObject, node: string): PlanWait | undefined {
  return status?.waiting?.find(one => one.node === node);
}

/**
 * Returns the wait of the whole plan; else that of another node, which stands for all with the same
 * word.
 */
function planWait({ status }: PlanObject): PlanWait | undefined {
  const all = status?.waiting ?? [];
  return all.find(({ node }) => node === undefined) ?? all[0];
}

function verdictText(
  name: string,
  { node, verdict, completedAt, message, held }: NodeVerdict,
): string {
  const at = `${timeText(completedAt)}${message === '' ? '' : `: ${message}`}`;
  if (verdict !== 'Failed')
    return `MaintenancePlan ${name} has finished with it in this run (${verdict}), since ${at}.`;
  const stays = held ? ' The node stays held.' : '';
  return `MaintenancePlan ${name} has failed on it at ${at}.${stays} What helps: drydock plan retry ${name} ${node}.`;
}

/** Returns the text for another plan that reverts this plan's work, perhaps on this node. */
function contestText({ conditions = [] }: MaintenancePlanStatus, { verdict }: NodeVerdict): string {
  const contested =
    verdict === 'Done'
      ? conditions.find(({ type, status }) => type === 'Contested' && status === 'True')
      : undefined;
  return contested === undefined ? '' : ` Of its nodes, ${contested.message}.`;
}

type Known = {
  readonly plan: PlanObject;
  readonly node: Pick<Node, 'name' | 'uid'>;
  readonly verdict?: NodeVerdict;
};

/** Returns a sentence about one plan that selects the node, or has it in flight. */
export function planSentence({ plan, node, verdict }: Known): string {
  const { metadata, spec, status = {} } = plan;
  const { phase = 'Pending', message = 'no operator has reconciled it yet' } = status;
  const name = `MaintenancePlan ${metadata.name}`;
  const flying = status.inFlight?.find(one => one.nodeUID === node.uid);
  if (flying !== undefined) {
    const wait = ownWait(plan, node.name);
    return `${name} (${phase}) has it in flight: ${flying.state} since ${flying.stateStartTime}.${wait === undefined ? '' : waitText(wait)}`;
  }
  if (verdict !== undefined && verdict.verdict !== 'Requeued')
    return `${verdictText(metadata.name, verdict)}${contestText(status, verdict)}`;
  const skipped = spec.skipNodes?.find(one => one.name === node.name);
  if (skipped !== undefined)
    return `${name} leaves it out${skipped.reason === undefined ? '' : ` (${skipped.reason})`}.`;
  if (phase === 'Complete') return `${name} selects it and is complete: the node was not due.`;
  const helps = atPhase(phase, message, metadata.name);
  if (helps !== undefined)
    return `${name} selects it, has not begun with it, and is ${phase}: ${message}. What helps: ${helps}.`;
  const wait = ownWait(plan, node.name) ?? planWait(plan);
  const own = wait === undefined ? ` The plan is ${phase}: ${message}.` : waitText(wait);
  return `${name} (${phase}) selects it and has not begun with it${placeOf(status, node.name)}.${own}`;
}

/** Returns the node's place in the order of its stage, as far as the status contains it. */
function placeOf({ upNext = [], run }: MaintenancePlanStatus, node: string): string {
  const place = upNext.indexOf(node);
  const stage = run?.stage === undefined ? '' : ` of stage ${run.stage}`;
  if (place >= 0) return `: it is number ${place + 1}${stage}`;
  return upNext.length < maxUpNext
    ? ''
    : `: ${maxUpNext} others${stage} come first, or its stage comes later`;
}

function isAbout(plan: PlanObject, node: Node): boolean {
  const { nodeSelector, controlPlane, inFlight } = readMaintenancePlan(plan);
  if (inFlight.some(({ uid }) => uid === node.uid)) return true;
  return matches(nodeSelector, node.labels) && (controlPlane !== 'Never' || !isControlPlane(node));
}

async function verdictOn(
  api: Api,
  plan: PlanObject,
  { uid }: Node,
): Promise<NodeVerdict | undefined> {
  const slices = ofThisRun(await recordsOf(api, plan), plan);
  const verdict = slices.flatMap(({ verdicts }) => verdicts).find(one => one.uid === uid);
  return verdict === undefined || isSetAside(verdict, readMaintenancePlan(plan))
    ? undefined
    : verdict;
}

/**
 * Returns a sentence about a hold whose plan is gone: the result of the plan's work on the node is
 * in no record any more.
 */
function orphanedSentence(plan: string, { name }: MaintenanceRequest): string {
  return `MaintenancePlan ${plan}, which made Maintenance ${name}, does not exist any more, and whether its work on the node had ended is not known. What helps: look at the node, then release it: kubectl delete maintenances.drydock.dev ${name}.`;
}

function orphansAmong(
  requests: readonly MaintenanceRequest[],
  plans: readonly PlanObject[],
): readonly string[] {
  const known = new Set(plans.map(({ metadata }) => metadata.name));
  return requests.flatMap(request =>
    request.plan === undefined || known.has(request.plan) || request.deleting
      ? []
      : [orphanedSentence(request.plan, request)],
  );
}

/**
 * Returns a sentence for each plan that has the node in flight or selects it, and for each hold of
 * a deleted plan. `requests`: the maintenances of the node. Empty for users who may not read plans.
 */
export async function plansAbout(
  api: Api,
  node: Node,
  requests: readonly MaintenanceRequest[],
): Promise<readonly string[]> {
  const { status } = await api.call({ method: 'GET', path: plansPath, query: { limit: 1 } });
  if (status === 403 || status === 404) return [];
  const all = (await listAll(api, plansPath)) as readonly PlanObject[];
  const sentences = all
    .filter(plan => isAbout(plan, node))
    .map(async plan => {
      const verdict = await verdictOn(api, plan, node).catch(() => undefined);
      return planSentence({ plan, node, ...(verdict && { verdict }) });
    });
  return [...(await Promise.all(sentences)), ...orphansAmong(requests, all)];
}
