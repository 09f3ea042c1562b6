import { truncatedName } from '../child-name.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import { restoreChildWrite } from '../maintenance/child.ts';
import { type MaintenanceRequest, maintenancesPath } from '../request/request.ts';
import { labelOf, short } from '../short-hash.ts';
import { shortenedTo } from '../text.ts';
import { timeText } from '../time.ts';
import type { KubeEvent, Write } from '../write.ts';
import { type InFlight, maxVerdictMessageLength, type NodeVerdict } from './in-flight.ts';
import { type Plan, type PodWork, planAnnotation, planApi, plansPath, type Run } from './plan.ts';
import type { Approval, PlanSettings, PlanSnapshot, RecordSlice, WorkPod } from './snapshot.ts';

/** The objects that a plan makes, each under a name that is computed: what was begun is found again after a crash. */

export const recordsPath = `/apis/${planApi}/maintenanceplanrecords`;
export const approvalsPath = `/apis/${planApi}/maintenanceapprovals`;

/** Verdicts in one object: it stays far below what the API server stores. */
const sliceSize = 500;

export const pathOfPlan = ({ name }: Pick<Plan, 'name'>): string => `${plansPath}/${encodeURIComponent(name)}`;

export const announce = ({ name, uid, resourceVersion }: Plan, type: KubeEvent['type'], reason: string, message: string): KubeEvent => ({
  type,
  reason,
  message,
  component: 'drydock',
  about: { apiVersion: planApi, kind: 'MaintenancePlan', name, uid, resourceVersion },
});

/** Of an object that a plan makes: its own name without dots, and what tells it from the others. */
const nameOf = ({ name }: Pick<Plan, 'name'>, suffix: string): string => truncatedName(name.replaceAll('.', '-'), suffix);

/**
 * Of the Maintenance that holds a node for a plan, or of the MachineMaintenance that replaces its machine. Of a long name only the beginning is in it, so what tells
 * it from others is of the whole name.
 */
export const childNameOf = (plan: Pick<Plan, 'name'>, nodeUid: string): string => nameOf(plan, short(`${plan.name}/${nodeUid}`));

/** Of the Maintenance that holds a node in flight: the one that it was begun with, whatever Node object its machine has registered as since. */
export const holdNameOf = (plan: Pick<Plan, 'name'>, { uid, heldAs }: Pick<InFlight, 'uid' | 'heldAs'>): string =>
  childNameOf(plan, heldAs ?? uid);

type OfRun = Pick<Plan, 'name' | 'uid'> & { readonly run?: Pick<Run, 'startedAt'> };

const runTime = ({ run }: OfRun): string => (run === undefined ? '' : timeText(run.startedAt));

/**
 * What a pod is for: a hash, the same for as long as it is for the same, and the end of its name. Between them the name has random letters, which are stored before the
 * pod is made, so that nobody can make a pod of that name first.
 */
export type PodPurpose = { readonly hash: string; readonly end: string };

/** Of the pods that work on a node: another one for each time that the plan begins with the node, and for each attempt. */
export const workPurpose = (
  plan: Pick<Plan, 'uid'>,
  { uid, startedAt, attempt }: Pick<InFlight, 'uid' | 'startedAt' | 'attempt'>,
): PodPurpose => ({
  hash: short(`${plan.uid}/${uid}/${timeText(startedAt)}`),
  end: `${attempt}`,
});

/** Of the pod that gets a node ready: once a run, unless somebody has it tried again. */
export const preparePurpose = (plan: OfRun, nodeUid: string): PodPurpose => ({
  hash: short(`${plan.uid}/${nodeUid}/${runTime(plan)}`),
  end: 'ready',
});

/** Of the pod of a hook, for what it is about. */
export const hookPurpose = (plan: OfRun, what: string, attempt: number): PodPurpose => ({
  hash: short(`${plan.uid}/${runTime(plan)}/${what}`),
  end: `hook-${attempt}`,
});

/** Of the pod of a rehearsal, which begins at this time. */
export const rehearsalPurpose = (plan: OfRun, specHash: string, since: Temporal.Instant, attempt: number): PodPurpose => ({
  hash: short(`${plan.uid}/${runTime(plan)}/${specHash}/${timeText(since)}`),
  end: `rehearsal-${attempt}`,
});

type NamedPlan = { readonly plan: Pick<Plan, 'name'>; readonly nonce: string };

/** The name of a pod for this purpose. */
export const podNameFor = ({ plan, nonce }: NamedPlan, { hash, end }: PodPurpose): string => nameOf(plan, `${hash}-${nonce}-${end}`);

/** Whether a name was made for this purpose. */
export const isNamedFor = (podName: string, { hash, end }: PodPurpose): boolean =>
  podName.includes(`-${hash}-`) && podName.endsWith(`-${end}`);

/** The object that a write is about, by its path. */
export const targetOf = ({ method, path, body: { metadata } }: Write): string =>
  method === 'POST' && isObject(metadata) && typeof metadata['name'] === 'string' ? `${path}/${metadata['name']}` : path;

/** Whether a pod of this name works on a node: it does not get it ready, is no hook, and rehearses nothing. */
export const isWorkName = (podName: string): boolean => /-\d+$/.test(podName) && !/-(hook|rehearsal)-\d+$/.test(podName);

/** The pod of the work stays on the node, and the drain does not wait for it. */
const workPods = ({ workNamespace }: PlanSettings): JsonObject => ({
  namespaces: [workNamespace],
  podSelector: { matchExpressions: [{ key: planAnnotation, operator: 'Exists' }] },
});

/** `spec.drain` of the Maintenances that the plan makes. */
export const drainOf = ({ drain }: Pick<Plan, 'drain'>, settings: PlanSettings): JsonObject => {
  const given = drain['ignorePods'];
  const others = Array.isArray(given) ? (given as readonly Json[]) : [];
  return { ...drain, ignorePods: [...others, workPods(settings)] };
};

/** Drydock's own annotations say whose an object is: a plan does not choose them. */
const othersOnly = (annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(annotations).filter(([key]) => !/(^|\.)drydock\.dev\//.test(key)));

/** Creates the Maintenance that holds the node until the plan is done with it. */
export const createChildWrite = ({ plan, settings }: PlanSnapshot, { node, uid }: InFlight): Write => ({
  description: 'create the maintenance of the node',
  method: 'POST',
  path: maintenancesPath,
  body: {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'Maintenance',
    metadata: {
      name: childNameOf(plan, uid),
      annotations: { ...(plan.work.kind === 'external' && othersOnly(plan.work.annotations)), [planAnnotation]: plan.name },
    },
    spec: {
      nodeName: node,
      reason: (plan.reason ?? `MaintenancePlan ${plan.name}`).slice(0, 1024),
      requester: planAnnotation,
      start: { windows: 'Ignore' },
      drain: drainOf(plan, settings),
    },
  },
  cache: 'requests',
  adapter: 'maintenances.drydock.dev',
  events: [announce(plan, 'Normal', 'NodeBegun', `Node ${node} is taken out of service`)],
});

const podsPath = (namespace: string): string => `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;

/** The pod of this name, as what a write is about. */
export const podTarget = ({ workNamespace }: PlanSettings, name: string): string => `${podsPath(workNamespace)}/${name}`;

/** The end of a log says why it has failed, without a right to read logs. */
const containersOf = (containers: Json | undefined, environment: Readonly<Record<string, string>>): readonly Json[] =>
  (Array.isArray(containers) ? (containers as readonly Json[]) : []).map(container =>
    isObject(container)
      ? { terminationMessagePolicy: 'FallbackToLogsOnError', ...container, ...withEnvironment(container, environment) }
      : container,
  );

const withEnvironment = ({ env }: JsonObject, environment: Readonly<Record<string, string>>): JsonObject => {
  const added = Object.entries(environment).map(([name, value]) => ({ name, value }));
  return added.length === 0 ? {} : { env: [...(Array.isArray(env) ? (env as readonly Json[]) : []), ...added] };
};

type PodPlace = {
  readonly name: string;
  /** Missing: any node. */
  readonly node?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** What it does there, as a part of a sentence. */
  readonly what: string;
  /** Seconds after which its kubelet ends it, whatever has become of the operator. */
  readonly deadlineSeconds: number;
  readonly announces?: readonly KubeEvent[];
};

/** What the author of the plan allows it, and no more than the plan waits for. */
const deadlineOf = ({ activeDeadlineSeconds: own }: JsonObject, deadlineSeconds: number): number =>
  typeof own === 'number' && own > 0 ? Math.min(own, deadlineSeconds) : deadlineSeconds;

/** What somebody has changed of the drain of the plan's Maintenance is put back: the node is drained as the plan says, and as its author was allowed to say. */
export const childDrainWrite = ({ plan, settings }: PlanSnapshot, child: MaintenanceRequest): Write =>
  restoreChildWrite(child, drainOf(plan, settings), [
    announce(plan, 'Warning', 'MaintenanceChanged', `Somebody has changed the drain of Maintenance ${child.name}; restored`),
  ]);

const ownerOf = ({ name, uid }: Pick<Plan, 'name' | 'uid'>): JsonObject => ({ apiVersion: planApi, kind: 'MaintenancePlan', name, uid });

/** What the operator's image is pulled with; a kubelet passes over those that are not there. */
const pulled = ({ pullSecrets = [] }: PlanSettings): JsonObject =>
  pullSecrets.length === 0 ? {} : { imagePullSecrets: pullSecrets.map(name => ({ name })) };

/**
 * Creates the pod that works on the node: bound to it, past every taint, and never restarted. It is owned by the plan, and ended by its kubelet at the end of its time:
 * it outlives neither.
 */
export const createPodWrite = (
  { plan, settings }: PlanSnapshot,
  { podSpec }: Pick<PodWork, 'podSpec'>,
  { name, node, environment = {}, what, deadlineSeconds, announces = [] }: PodPlace,
): Write => ({
  description: `create the pod that ${what}`,
  method: 'POST',
  path: podsPath(settings.workNamespace),
  body: {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: { [planAnnotation]: labelOf(plan.name) },
      annotations: { [planAnnotation]: plan.name },
      ownerReferences: [ownerOf(plan)],
    },
    spec: {
      ...(node !== undefined && { priorityClassName: 'system-node-critical' }),
      ...pulled(settings),
      ...podSpec,
      ...(node !== undefined && { nodeName: node, tolerations: [{ operator: 'Exists' }] }),
      restartPolicy: 'Never',
      activeDeadlineSeconds: deadlineOf(podSpec, deadlineSeconds),
      containers: containersOf(podSpec['containers'], environment),
    },
  },
  cache: 'planPods',
  events: announces,
});

/** Deletes a pod that the plan has made; `as seen`: not if anything has become of it since. */
export const deletePodWrite = (
  { name, namespace, uid, resourceVersion }: WorkPod,
  which: 'unconditional' | 'unchanged' = 'unconditional',
): Write => ({
  description: 'delete the pod that has worked on the node',
  method: 'DELETE',
  path: `${podsPath(namespace)}/${encodeURIComponent(name)}`,
  body: { preconditions: { uid, ...(which === 'unchanged' && { resourceVersion }) } },
  cache: 'planPods',
  events: [],
});

const verdictJson = ({ uid, node: _node, startedAt, completedAt, ...rest }: NodeVerdict): JsonObject => ({
  nodeUID: uid,
  ...rest,
  message: shortenedTo(rest.message, maxVerdictMessageLength),
  startTime: timeText(startedAt),
  completionTime: timeText(completedAt),
});

const recordNameOf = (plan: Plan, revision: string, slice: number): string =>
  nameOf(plan, `${short(`${plan.uid}/${plan.runId}/${revision}`)}-${slice}`);

/** It counts for nothing any more when its node is gone. */
const isIdle = ({ verdict }: NodeVerdict): boolean => verdict === 'Gone' || verdict === 'Requeued' || verdict === 'Skipped';

/**
 * Where a verdict is recorded: where the node has one, or a node of its name before it that nothing was done to; else in the first slice with room that has none of another node
 * of its name.
 */
const sliceFor = (slices: readonly RecordSlice[], { node, uid }: NodeVerdict): RecordSlice | undefined =>
  slices.find(({ verdicts }) => verdicts.some(one => one.uid === uid)) ??
  slices.find(({ verdicts }) => verdicts.some(one => one.node === node && isIdle(one))) ??
  slices.find(({ verdicts }) => verdicts.length < sliceSize && !verdicts.some(one => one.node === node));

/** Records a verdict. A node has one place in a run: the same again changes nothing. */
export const recordWrite = ({ plan, slices }: PlanSnapshot, verdict: NodeVerdict, revision: string): Write => {
  const slice = sliceFor(slices, verdict);
  const type = verdict.verdict === 'Failed' ? 'Warning' : 'Normal';
  const said = announce(plan, type, `Node${verdict.verdict}`, `Node ${verdict.node}: ${verdict.message}`);
  const json = verdictJson(verdict);
  const verdicts = { [verdict.node]: json };
  const common = { description: 'record the verdict', cache: 'planRecords', events: [said] } as const;
  if (slice !== undefined) {
    return {
      ...common,
      method: 'PATCH',
      style: 'merge',
      path: `${recordsPath}/${slice.name}`,
      // What the verdict before had measured says nothing of this one.
      body: {
        metadata: { resourceVersion: slice.resourceVersion },
        spec: { verdicts: { [verdict.node]: { workSeconds: null, rebootSeconds: null, ...json } } },
      },
    };
  }
  const name = recordNameOf(plan, revision, slices.length);
  return {
    ...common,
    method: 'POST',
    path: recordsPath,
    body: {
      apiVersion: planApi,
      kind: 'MaintenancePlanRecord',
      metadata: {
        name,
        labels: { [planAnnotation]: labelOf(plan.name) },
        ownerReferences: [ownerOf(plan)],
      },
      spec: { planName: plan.name, planUID: plan.uid, runID: plan.run?.id ?? plan.runId, revision, slice: slices.length, verdicts },
    },
  };
};

/** A plan as far as an approval names it. */
type ApprovedPlan = Pick<Plan, 'name' | 'uid' | 'specHash'>;

/** Of the approval of a run, or of what follows one of its stages: whoever agrees twice has agreed once. */
export const approvalNameOf = (
  plan: ApprovedPlan,
  run: Pick<Run, 'id' | 'revision'>,
  { stage = '', promote }: Pick<Approval, 'stage' | 'promote'>,
): string =>
  nameOf(plan, short(`${plan.uid}/${run.id}/${run.revision}/${plan.specHash}/${stage}${promote === undefined ? '' : `/${promote}`}`));

/** A MaintenanceApproval. It goes with its plan. */
export const approvalObject = (
  plan: ApprovedPlan,
  run: Pick<Run, 'id' | 'revision'>,
  given: Pick<Approval, 'stage' | 'promote'>,
): JsonObject => {
  const { name, specHash } = plan;
  return {
    apiVersion: planApi,
    kind: 'MaintenanceApproval',
    metadata: {
      name: approvalNameOf(plan, run, given),
      labels: { [planAnnotation]: labelOf(name) },
      ownerReferences: [ownerOf(plan)],
    },
    spec: { planName: name, runID: run.id, revision: run.revision, specHash, ...given },
  };
};

/** The record of a run so long ago that nobody asks for it. */
export const deleteRecordWrite = ({ name, uid }: RecordSlice): Write => ({
  description: 'delete the record of an old run',
  method: 'DELETE',
  path: `${recordsPath}/${name}`,
  body: { preconditions: { uid } },
  cache: 'planRecords',
  events: [],
});

/** A change of the plan itself. */
export const ownWrite = (plan: Plan, what: string, finalizers: readonly string[], said: readonly KubeEvent[]): Write => ({
  description: what,
  method: 'PATCH',
  style: 'merge',
  path: pathOfPlan(plan),
  body: { metadata: { finalizers, resourceVersion: plan.resourceVersion } },
  cache: 'plans',
  events: said,
});
