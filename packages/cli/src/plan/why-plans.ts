import { type JsonObject, labelOf, matches, timeText } from '@drydock/apimachinery';
import { readMaintenancePlan, readPlanRecord } from '@drydock/apis';
import type { MaintenancePlanSpec, MaintenancePlanStatus } from '@drydock/apis/schema';
import type { Node } from '@drydock/core/node';
import {
  isSetAside,
  maxUpNext,
  type NodeVerdict,
  pathOfPlan,
  planAnnotation,
  plansPath,
  type RecordSlice,
  recordsPath,
} from '@drydock/core/plan';
import { isControlPlane } from '@drydock/core/quorum';
import type { MaintenanceRequest } from '@drydock/core/request';
import { type Api, type ApiCall, type ApiResponse, listAll } from '@drydock/kube-client';
import { systemClock } from '@drydock/utils';
import { ApiError, refusedError } from '../shared/requests.ts';

/** A MaintenancePlan as stored in the API server. */
export type PlanObject = {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
  };
  readonly spec: MaintenancePlanSpec;
  readonly status?: MaintenancePlanStatus;
};

/** Error for a cluster without the kind, with a remedy. */
export const notServed =
  'error: the cluster does not serve MaintenancePlans; install its CRDs: drydock install --apply';

/** Returns the plan's title, as kubectl prints it. */
export function titleOfPlan(name: string): string {
  return `maintenanceplan.drydock.dev/${name}`;
}

/** Throws an ApiError unless the cluster serves the kind. */
async function refuseMissingKind(api: Api): Promise<void> {
  if ((await api.call({ method: 'GET', path: plansPath, query: { limit: 1 } })).status === 404)
    throw new ApiError(notServed);
}

/** Returns all plans, by name. Throws an error that names what could not be read. */
export async function plansOf(api: Api): Promise<readonly PlanObject[]> {
  const found = (await listAll(api, plansPath, {}, 'empty')) as readonly PlanObject[];
  if (found.length === 0) await refuseMissingKind(api);
  return found.toSorted((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1));
}

/** Returns one plan. Throws an ApiError in kubectl's words when it does not exist. */
export async function planNamed(api: Api, name: string): Promise<PlanObject> {
  const response = await api.call({ method: 'GET', path: pathOfPlan({ name }) });
  if (response.status === 404) {
    await refuseMissingKind(api);
    throw new ApiError(`${refusedError(response).message}; drydock plan status lists the plans`);
  }
  if (response.status !== 200) throw refusedError(response);
  return response.body as PlanObject;
}

/** Returns the records of all runs of a plan. */
export async function recordsOf(
  api: Api,
  { metadata }: Pick<PlanObject, 'metadata'>,
): Promise<readonly RecordSlice[]> {
  const all = await listAll(
    api,
    recordsPath,
    { labelSelector: `${planAnnotation}=${labelOf(metadata.name)}` },
    'empty',
  );
  return all.map(readPlanRecord).filter(({ planUid }) => planUid === metadata.uid);
}

/** Returns the slices of the run in the status. */
export function ofThisRun(
  slices: readonly RecordSlice[],
  { status }: PlanObject,
): readonly RecordSlice[] {
  return slices.filter(
    ({ run, revision }) => run === status?.run?.id && revision === status.run.revision,
  );
}

/** Returns what a plan still does although it starts no more nodes. */
export function goesOn({ status }: PlanObject): string | undefined {
  const many = status?.inFlight?.length ?? 0;
  return many === 0
    ? undefined
    : `${many} ${many === 1 ? 'node' : 'nodes'} in flight: the plan finishes what it has begun`;
}

/** Returns whether the status reflects the current spec. */
export function isUpToDate({ metadata, status }: PlanObject): boolean {
  return status?.observedGeneration === metadata.generation;
}

const maxTries = 6;

/** An object as read, and the call that changes it; undefined when no change is needed. */
type Attempt<T> = { readonly read: T; readonly call?: ApiCall };

/**
 * Changes an object that others change too: `attempt` reads it and builds the patch, which contains
 * the version that was read. A conflict is retried from the start. Resolves with the object as read
 * before the change. Throws an ApiError with the server's message.
 */
export async function changed<T>(
  what: string,
  api: Api,
  attempt: () => Promise<Attempt<T>>,
): Promise<T> {
  let last: ApiResponse | undefined;
  for (let tries = 0; tries < maxTries; tries += 1) {
    if (tries > 0) await systemClock.sleep(50 * 2 ** tries);
    const { read, call } = await attempt();
    if (call === undefined) return read;
    last = await api.call(call);
    if (last.status === 200) return read;
    if (last.status !== 409) throw refusedError(last);
  }
  throw new ApiError(
    `error: ${what} changes faster than it can be written; try again${last === undefined ? '' : ` (${refusedError(last).message})`}`,
  );
}

/**
 * Changes the spec of a plan; `patch` returns the change, or undefined when none is needed.
 * Resolves with the plan as it was before.
 */
export function changePlan(
  api: Api,
  name: string,
  patch: (plan: PlanObject) => JsonObject | undefined,
): Promise<PlanObject> {
  return changed(`MaintenancePlan ${name}`, api, async () => {
    const plan = await planNamed(api, name);
    const spec = patch(plan);
    if (spec === undefined) return { read: plan };
    const { uid, resourceVersion } = plan.metadata;
    return {
      read: plan,
      call: {
        method: 'PATCH',
        path: pathOfPlan({ name }),
        query: { fieldManager: 'drydock' },
        contentType: 'application/merge-patch+json',
        body: { metadata: { uid, resourceVersion }, spec },
      },
    };
  });
}

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
