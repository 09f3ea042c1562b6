import { readMaintenancePlan } from '../../apis/maintenance-plan/maintenance-plan.ts';
import type { MaintenancePlanStatus } from '../../apis/schema/maintenance-plan-status.ts';
import type { Node } from '../../core/hold/node.ts';
import type { NodeVerdict } from '../../core/plan/in-flight.ts';
import { mostUpNext, plansPath } from '../../core/plan/plan.ts';
import { isSetAside } from '../../core/plan/view.ts';
import { matches } from '../../core/pod/selector.ts';
import { isControlPlane } from '../../core/quorum/quorum.ts';
import type { MaintenanceRequest } from '../../core/request/request.ts';
import { timeText } from '../../core/time.ts';
import { listAll } from '../../operator/list.ts';
import type { Api } from '../../operator/ports.ts';
import { ofThisRun, type PlanObject, recordsOf } from './plan-object.ts';

/** What plans have to do with a node, for `drydock why`. */

type Wait = NonNullable<MaintenancePlanStatus['waiting']>[number];

/** Who can do something about a wait; words that name a step of a node in flight end by themselves. */
const remedies: Readonly<Record<string, string>> = {
  MaxInFlight: 'nodes in flight come back, or whoever runs the plan raises that limit',
  Ramp: 'each success lets more nodes go, or whoever runs the plan changes concurrency.ramp',
  MaxUnavailable: 'those nodes come back, or whoever runs the plan raises concurrency.maxUnavailable',
  OtherPlanLimit: 'those nodes come back, or whoever runs that plan raises its limit',
  Topology: 'those nodes come back, or whoever runs the plan changes concurrency.perTopology',
  LastHealthy: 'another node comes back',
  Quorum: 'another node of the control plane comes back',
  HeldBy: 'whoever holds the node releases it: drydock release, kubectl uncordon',
  NotReady: 'the node becomes Ready',
  Window: 'the window opens: drydock windows; whoever writes plans sets windows to Ignore',
  Frozen: 'the freeze ends: drydock windows',
  WindowsUnknown: 'the API server answers, and the operator may list maintenance windows',
  Rate: 'the next opening: drydock windows; or whoever runs the plan raises concurrency.startsPerWindow',
  Pace: 'its time comes, or whoever runs the plan sets pace.mode to AsSoonAsPossible',
  Starved: 'what that node waits for ends, or whoever runs the plan skips it or changes order.starvedAfterSeconds',
  WouldNotFit: 'whoever maintains the windows makes one long enough, or whoever writes plans sets expectedSeconds',
  StageSoak: 'the soak time ends, or whoever may approve ends it: drydock plan promote',
  Blocked: 'whoever writes the plan fixes the expression',
};

const atPhase = (phase: string | undefined, message: string, name: string): string | undefined => {
  if (phase === 'Halted' && message.includes('all plans are halted')) return 'drydock plan halt --release lets all plans continue';
  if (phase === 'Paused') return `drydock plan resume ${name}`;
  if (phase === 'Halted') return `drydock plan status ${name} lists the failures; drydock plan retry ${name} --failed sets them aside`;
  if (phase === 'AwaitingApproval') return `drydock plan approve ${name}`;
  return phase === 'Aborted' ? `drydock plan rerun ${name} begins again` : undefined;
};

const waitText = ({ word, who, ends }: Wait): string => {
  const end = ends === undefined ? '' : ` (until ${ends})`;
  const remedy = remedies[word];
  return ` It waits for ${word}: ${who}${end}.${remedy === undefined ? '' : ` What helps: ${remedy}.`}`;
};

/** What this node waits for. */
const ownWait = ({ status }: PlanObject, node: string): Wait | undefined => status?.waiting?.find(one => one.node === node);

/** What the plan as a whole waits for; else another node, whose wait stands for all of the same word. */
const planWait = ({ status }: PlanObject): Wait | undefined => {
  const all = status?.waiting ?? [];
  return all.find(({ node }) => node === undefined) ?? all[0];
};

const verdictText = (name: string, { node, verdict, completedAt, message, held }: NodeVerdict): string => {
  const at = `${timeText(completedAt)}${message === '' ? '' : `: ${message}`}`;
  if (verdict !== 'Failed') return `MaintenancePlan ${name} is over with it in this run (${verdict}), since ${at}.`;
  const stays = held ? ' The node stays held.' : '';
  return `MaintenancePlan ${name} has failed on it at ${at}.${stays} What helps: drydock plan retry ${name} ${node}.`;
};

/** Another plan undoes what this one does, perhaps on this node. */
const contestText = ({ conditions = [] }: MaintenancePlanStatus, { verdict }: NodeVerdict): string => {
  const contested = verdict === 'Done' ? conditions.find(({ type, status }) => type === 'Contested' && status === 'True') : undefined;
  return contested === undefined ? '' : ` Of its nodes, ${contested.message}.`;
};

type Known = { readonly plan: PlanObject; readonly node: Pick<Node, 'name' | 'uid'>; readonly verdict?: NodeVerdict };

/** What one plan that selects the node, or has it in flight, has to do with it. */
export const planSentence = ({ plan, node, verdict }: Known): string => {
  const { metadata, spec, status = {} } = plan;
  const { phase = 'Pending', message = 'no operator has reconciled it yet' } = status;
  const name = `MaintenancePlan ${metadata.name}`;
  const flying = status.inFlight?.find(one => one.nodeUID === node.uid);
  if (flying !== undefined) {
    const wait = ownWait(plan, node.name);
    return `${name} (${phase}) has it in flight: ${flying.state} since ${flying.since}.${wait === undefined ? '' : waitText(wait)}`;
  }
  if (verdict !== undefined && verdict.verdict !== 'Requeued')
    return `${verdictText(metadata.name, verdict)}${contestText(status, verdict)}`;
  const skipped = spec.skipNodes?.find(one => one.name === node.name);
  if (skipped !== undefined) return `${name} leaves it out${skipped.reason === undefined ? '' : ` (${skipped.reason})`}.`;
  if (phase === 'Complete') return `${name} selects it and is complete: the node was not due.`;
  const helps = atPhase(phase, message, metadata.name);
  if (helps !== undefined) return `${name} selects it, has not begun with it, and is ${phase}: ${message}. What helps: ${helps}.`;
  const wait = ownWait(plan, node.name) ?? planWait(plan);
  const own = wait === undefined ? ` The plan is ${phase}: ${message}.` : waitText(wait);
  return `${name} (${phase}) selects it and has not begun with it${placeOf(status, node.name)}.${own}`;
};

/** Where it stands in the order of its stage, as far as the status has that. */
const placeOf = ({ upNext = [], run }: MaintenancePlanStatus, node: string): string => {
  const place = upNext.indexOf(node);
  const stage = run?.stage === undefined ? '' : ` of stage ${run.stage}`;
  if (place >= 0) return `: it is number ${place + 1}${stage}`;
  return upNext.length < mostUpNext ? '' : `: ${mostUpNext} others${stage} come first, or its stage comes later`;
};

const isAbout = (plan: PlanObject, node: Node): boolean => {
  const { nodeSelector, controlPlane, inFlight } = readMaintenancePlan(plan);
  if (inFlight.some(({ uid }) => uid === node.uid)) return true;
  return matches(nodeSelector, node.labels) && (controlPlane !== 'Never' || !isControlPlane(node));
};

const verdictOn = async (api: Api, plan: PlanObject, { uid }: Node): Promise<NodeVerdict | undefined> => {
  const slices = ofThisRun(await recordsOf(api, plan), plan);
  const verdict = slices.flatMap(({ verdicts }) => verdicts).find(one => one.uid === uid);
  return verdict === undefined || isSetAside(verdict, readMaintenancePlan(plan)) ? undefined : verdict;
};

/** A hold whose plan is gone is nobody's: what the plan had come to on the node, no record says any more. */
const orphanedSentence = (plan: string, { name }: MaintenanceRequest): string =>
  `MaintenancePlan ${plan}, which made Maintenance ${name}, does not exist any more, and whether its work on the node had ended is not known. What helps: look at the node, then release it: kubectl delete maintenances.drydock.dev ${name}.`;

const orphansAmong = (requests: readonly MaintenanceRequest[], plans: readonly PlanObject[]): readonly string[] => {
  const known = new Set(plans.map(({ metadata }) => metadata.name));
  return requests.flatMap(request =>
    request.plan === undefined || known.has(request.plan) || request.deleting ? [] : [orphanedSentence(request.plan, request)],
  );
};

/**
 * A sentence for each plan that has the node in flight or selects it, and for each hold of a plan that is gone. `requests`: the maintenances of the node. Whoever may not
 * read plans, or has none, gets none.
 */
export const plansAbout = async (api: Api, node: Node, requests: readonly MaintenanceRequest[]): Promise<readonly string[]> => {
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
};
