import type { KubeEvent } from '@drydock/apimachinery';
import {
  isObject,
  type Json,
  type JsonObject,
  labelOf,
  pathSegment,
  short,
  shortenedTo,
  timeText,
  truncatedName,
} from '@drydock/apimachinery';
import { restoreChildWrite } from '../maintenance/decide.ts';
import { planAnnotation } from '../plan-annotation.ts';
import { type MaintenanceRequest, maintenancesPath } from '../request/request.ts';
import type { Write } from '../write.ts';
import { type InFlight, maxVerdictMessageLength, type NodeVerdict } from './in-flight.ts';
import { type Plan, type PodWork, planApi, plansPath, type Run } from './plan.ts';
import type { Approval, PlanSettings, PlanSnapshot, RecordSlice, WorkPod } from './snapshot.ts';

/**
 * Objects that a plan creates, each under a computed name: an object that was created is found
 * again after a crash.
 */

export const recordsPath = `/apis/${planApi}/maintenanceplanrecords`;
export const approvalsPath = `/apis/${planApi}/maintenanceapprovals`;

/** Number of verdicts in one object: it stays far below what the API server stores. */
const sliceSize = 500;

export function pathOfPlan({ name }: Pick<Plan, 'name'>): string {
  return `${plansPath}/${pathSegment(name)}`;
}

export function announce(
  { name, uid, resourceVersion }: Plan,
  type: KubeEvent['type'],
  reason: string,
  message: string,
): KubeEvent {
  return {
    type,
    reason,
    message,
    component: 'drydock',
    about: { apiVersion: planApi, kind: 'MaintenancePlan', name, uid, resourceVersion },
  };
}

/**
 * Returns the name of an object that a plan creates: the plan's name without dots, and a suffix
 * that distinguishes it from the others.
 */
function nameOf({ name }: Pick<Plan, 'name'>, suffix: string): string {
  return truncatedName(name.replaceAll('.', '-'), suffix);
}

/**
 * Returns the name of the Maintenance that holds a node for a plan, or of the MachineMaintenance
 * that replaces its machine. It contains only the beginning of a long name, so the hash is over the
 * whole name.
 */
export function childNameOf(plan: Pick<Plan, 'name'>, nodeUid: string): string {
  return nameOf(plan, short(`${plan.name}/${nodeUid}`));
}

/**
 * Returns the name of the Maintenance that holds a node in flight: the one that it began with, even
 * if its machine has registered as another Node object since.
 */
export function holdNameOf(
  plan: Pick<Plan, 'name'>,
  { uid, heldAs }: Pick<InFlight, 'uid' | 'heldAs'>,
): string {
  return childNameOf(plan, heldAs ?? uid);
}

type OfRun = Pick<Plan, 'name' | 'uid'> & { readonly run?: Pick<Run, 'startedAt'> };

function runTime({ run }: OfRun): string {
  return run === undefined ? '' : timeText(run.startedAt);
}

/**
 * Purpose of a pod: a hash, which is the same for the same purpose, and the end of its name.
 * Between them the name has random letters, which are stored before the pod is created, so that no
 * other client can create a pod of that name first.
 */
export type PodPurpose = { readonly hash: string; readonly end: string };

/**
 * Returns the purpose of the pods that work on a node: a new one for each time that the plan begins
 * with the node, and for each attempt.
 */
export function workPurpose(
  plan: Pick<Plan, 'uid'>,
  { uid, startedAt, attempt }: Pick<InFlight, 'uid' | 'startedAt' | 'attempt'>,
): PodPurpose {
  return {
    hash: short(`${plan.uid}/${uid}/${timeText(startedAt)}`),
    end: `${attempt}`,
  };
}

/** Returns the purpose of the pod that prepares a node: once a run, unless a user retries it. */
export function preparePurpose(plan: OfRun, nodeUid: string): PodPurpose {
  return {
    hash: short(`${plan.uid}/${nodeUid}/${runTime(plan)}`),
    end: 'ready',
  };
}

/** Returns the purpose of the pod of a hook, for its scope. */
export function hookPurpose(plan: OfRun, what: string, attempt: number): PodPurpose {
  return {
    hash: short(`${plan.uid}/${runTime(plan)}/${what}`),
    end: `hook-${attempt}`,
  };
}

/** Returns the purpose of the pod of a rehearsal that begins at this time. */
export function rehearsalPurpose(
  plan: OfRun,
  specHash: string,
  since: Temporal.Instant,
  attempt: number,
): PodPurpose {
  return {
    hash: short(`${plan.uid}/${runTime(plan)}/${specHash}/${timeText(since)}`),
    end: `rehearsal-${attempt}`,
  };
}

type NamedPlan = { readonly plan: Pick<Plan, 'name'>; readonly nonce: string };

/** Returns the name of a pod for this purpose. */
export function podNameFor({ plan, nonce }: NamedPlan, { hash, end }: PodPurpose): string {
  return nameOf(plan, `${hash}-${nonce}-${end}`);
}

/** Reports whether a name was created for this purpose. */
export function isNamedFor(podName: string, { hash, end }: PodPurpose): boolean {
  return podName.includes(`-${hash}-`) && podName.endsWith(`-${end}`);
}

/** Returns the path of the object that a write is about. */
export function targetOf({ method, path, body: { metadata } }: Write): string {
  return method === 'POST' && isObject(metadata) && typeof metadata['name'] === 'string'
    ? `${path}/${metadata['name']}`
    : path;
}

/**
 * Reports whether a pod of this name works on a node: it is neither a preparation, nor a hook, nor
 * a rehearsal.
 */
export function isWorkName(podName: string): boolean {
  return /-\d+$/.test(podName) && !/-(hook|rehearsal)-\d+$/.test(podName);
}

/**
 * Returns the pick of the work's pods: they stay on the node, and the drain does not wait for them.
 */
function workPods({ workNamespace }: PlanSettings): JsonObject {
  return {
    namespaces: [workNamespace],
    podSelector: { matchExpressions: [{ key: planAnnotation, operator: 'Exists' }] },
  };
}

/** Returns `spec.drain` of the Maintenances that the plan creates. */
export function drainOf({ drain }: Pick<Plan, 'drain'>, settings: PlanSettings): JsonObject {
  const given = drain['ignorePods'];
  const others = Array.isArray(given) ? (given as readonly Json[]) : [];
  return { ...drain, ignorePods: [...others, workPods(settings)] };
}

/**
 * Returns the annotations without Drydock's own, which show who owns an object: a plan cannot set
 * them.
 */
function othersOnly(
  annotations: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(annotations).filter(([key]) => !/(^|\.)drydock\.dev\//.test(key)),
  );
}

/** Creates the Maintenance that holds the node until the plan is done with it. */
export function createChildWrite({ plan, settings }: PlanSnapshot, { node, uid }: InFlight): Write {
  return {
    description: 'create the maintenance of the node',
    method: 'POST',
    path: maintenancesPath,
    body: {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'Maintenance',
      metadata: {
        name: childNameOf(plan, uid),
        annotations: {
          ...(plan.work.kind === 'external' && othersOnly(plan.work.annotations)),
          [planAnnotation]: plan.name,
        },
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
  };
}

function podsPath(namespace: string): string {
  return `/api/v1/namespaces/${pathSegment(namespace)}/pods`;
}

/** Returns the path of the pod of this name, as the target of a write. */
export function podTarget({ workNamespace }: PlanSettings, name: string): string {
  return `${podsPath(workNamespace)}/${name}`;
}

/**
 * Sets the termination message of the containers to the end of their logs, which shows why they
 * failed without a right to read logs.
 */
function containersOf(
  containers: Json | undefined,
  environment: Readonly<Record<string, string>>,
): readonly Json[] {
  return (Array.isArray(containers) ? (containers as readonly Json[]) : []).map(container =>
    isObject(container)
      ? {
          terminationMessagePolicy: 'FallbackToLogsOnError',
          ...container,
          ...withEnvironment(container, environment),
        }
      : container,
  );
}

function withEnvironment(
  { env }: JsonObject,
  environment: Readonly<Record<string, string>>,
): JsonObject {
  const added = Object.entries(environment).map(([name, value]) => ({ name, value }));
  return added.length === 0
    ? {}
    : { env: [...(Array.isArray(env) ? (env as readonly Json[]) : []), ...added] };
}

type PodPlace = {
  readonly name: string;
  /** Name of the node; missing: any node. */
  readonly node?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Purpose of the pod, as a part of a sentence. */
  readonly what: string;
  /** Seconds after which its kubelet ends it, regardless of the operator. */
  readonly deadlineSeconds: number;
  readonly announces?: readonly KubeEvent[];
};

/** Returns the deadline that the author of the plan sets, bounded by how long the plan waits. */
function deadlineOf({ activeDeadlineSeconds: own }: JsonObject, deadlineSeconds: number): number {
  return typeof own === 'number' && own > 0 ? Math.min(own, deadlineSeconds) : deadlineSeconds;
}

/**
 * Restores the drain of the plan's Maintenance after a change: the node is drained as the plan
 * demands, and as its author had the right to.
 */
export function childDrainWrite(
  { plan, settings }: PlanSnapshot,
  child: MaintenanceRequest,
): Write {
  return restoreChildWrite(child, drainOf(plan, settings), [
    announce(
      plan,
      'Warning',
      'MaintenanceChanged',
      `Somebody has changed the drain of Maintenance ${child.name}; restored`,
    ),
  ]);
}

function ownerOf({ name, uid }: Pick<Plan, 'name' | 'uid'>): JsonObject {
  return { apiVersion: planApi, kind: 'MaintenancePlan', name, uid };
}

/** Returns the pull secrets of the operator's image; a kubelet ignores missing ones. */
function pulled({ pullSecrets = [] }: PlanSettings): JsonObject {
  return pullSecrets.length === 0 ? {} : { imagePullSecrets: pullSecrets.map(name => ({ name })) };
}

/**
 * Creates the pod that works on the node: bound to it, past every taint, and never restarted. It is
 * owned by the plan, and ended by its kubelet at its deadline: it outlives neither.
 */
export function createPodWrite(
  { plan, settings }: PlanSnapshot,
  { podSpec }: Pick<PodWork, 'podSpec'>,
  { name, node, environment = {}, what, deadlineSeconds, announces = [] }: PodPlace,
): Write {
  return {
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
  };
}

/** Deletes a pod that the plan has created; `unchanged`: only in the version that was read. */
export function deletePodWrite(
  { name, namespace, uid, resourceVersion }: WorkPod,
  which: 'unconditional' | 'unchanged' = 'unconditional',
): Write {
  return {
    description: 'delete the pod that has worked on the node',
    method: 'DELETE',
    path: `${podsPath(namespace)}/${pathSegment(name)}`,
    body: { preconditions: { uid, ...(which === 'unchanged' && { resourceVersion }) } },
    cache: 'planPods',
    events: [],
  };
}

function verdictJson({
  uid,
  node: _node,
  startedAt,
  completedAt,
  ...rest
}: NodeVerdict): JsonObject {
  return {
    nodeUID: uid,
    ...rest,
    message: shortenedTo(rest.message, maxVerdictMessageLength),
    startTime: timeText(startedAt),
    completionTime: timeText(completedAt),
  };
}

function recordNameOf(plan: Plan, revision: string, slice: number): string {
  return nameOf(plan, `${short(`${plan.uid}/${plan.runId}/${revision}`)}-${slice}`);
}

/** Reports whether the verdict does not count any more when its node is gone. */
function isIdle({ verdict }: NodeVerdict): boolean {
  return verdict === 'Gone' || verdict === 'Requeued' || verdict === 'Skipped';
}

/**
 * Returns the slice for a verdict: the one that has a verdict of the node, or of an earlier node of
 * its name to which nothing was done; otherwise the first one with room and without another node of
 * its name.
 */
function sliceFor(
  slices: readonly RecordSlice[],
  { node, uid }: NodeVerdict,
): RecordSlice | undefined {
  return (
    slices.find(({ verdicts }) => verdicts.some(one => one.uid === uid)) ??
    slices.find(({ verdicts }) => verdicts.some(one => one.node === node && isIdle(one))) ??
    slices.find(
      ({ verdicts }) => verdicts.length < sliceSize && !verdicts.some(one => one.node === node),
    )
  );
}

/** Records a verdict. A node has one place in a run: the same verdict again changes nothing. */
export function recordWrite(
  { plan, slices }: PlanSnapshot,
  verdict: NodeVerdict,
  revision: string,
): Write {
  const slice = sliceFor(slices, verdict);
  const type = verdict.verdict === 'Failed' ? 'Warning' : 'Normal';
  const event = announce(
    plan,
    type,
    `Node${verdict.verdict}`,
    `Node ${verdict.node}: ${verdict.message}`,
  );
  const json = verdictJson(verdict);
  const verdicts = { [verdict.node]: json };
  const common = {
    description: 'record the verdict',
    cache: 'planRecords',
    events: [event],
  } as const;
  if (slice !== undefined) {
    return {
      ...common,
      method: 'PATCH',
      style: 'merge',
      path: `${recordsPath}/${slice.name}`,
      // Measurements of the previous verdict do not apply to this one.
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
      spec: {
        planName: plan.name,
        planUID: plan.uid,
        runID: plan.run?.id ?? plan.runId,
        revision,
        slice: slices.length,
        verdicts,
      },
    },
  };
}

/** Parts of a plan that an approval names. */
type ApprovedPlan = Pick<Plan, 'name' | 'uid' | 'specHash'>;

/**
 * Returns the name of the approval of a run, or of what follows one of its stages: a second
 * approval has the same name.
 */
export function approvalNameOf(
  plan: ApprovedPlan,
  run: Pick<Run, 'id' | 'revision'>,
  { stage = '', promote }: Pick<Approval, 'stage' | 'promote'>,
): string {
  return nameOf(
    plan,
    short(
      `${plan.uid}/${run.id}/${run.revision}/${plan.specHash}/${stage}${promote === undefined ? '' : `/${promote}`}`,
    ),
  );
}

/** Returns a MaintenanceApproval, which is deleted with its plan. */
export function approvalObject(
  plan: ApprovedPlan,
  run: Pick<Run, 'id' | 'revision'>,
  given: Pick<Approval, 'stage' | 'promote'>,
): JsonObject {
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
}

/** Deletes the record of a run that is too old to be needed. */
export function deleteRecordWrite({ name, uid }: RecordSlice): Write {
  return {
    description: 'delete the record of an old run',
    method: 'DELETE',
    path: `${recordsPath}/${name}`,
    body: { preconditions: { uid } },
    cache: 'planRecords',
    events: [],
  };
}

/** Changes the plan itself. */
export function ownWrite(
  plan: Plan,
  what: string,
  finalizers: readonly string[],
  events: readonly KubeEvent[],
): Write {
  return {
    description: what,
    method: 'PATCH',
    style: 'merge',
    path: pathOfPlan(plan),
    body: { metadata: { finalizers, resourceVersion: plan.resourceVersion } },
    cache: 'plans',
    events,
  };
}
