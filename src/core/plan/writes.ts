import { nameWith } from '../child-name.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import type { KubeEvent, Write } from '../maintenance/decision.ts';
import { maintenancesPath } from '../request/request.ts';
import { timeText } from '../time.ts';
import type { InFlight, NodeVerdict } from './in-flight.ts';
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
const nameOf = ({ name }: Pick<Plan, 'name'>, suffix: string): string => nameWith(name.replaceAll('.', '-'), suffix);

/**
 * Of the Maintenance that holds a node for a plan, or of the MachineMaintenance that replaces its machine. Of a long name only the beginning is in it, so what tells
 * it from others is of the whole name.
 */
export const childNameOf = (plan: Pick<Plan, 'name'>, nodeUid: string): string => nameOf(plan, short(`${plan.name}/${nodeUid}`));

/** Of the pod that works on a node: another one for each time that the plan begins with the node, and for each attempt. */
export const podNameOf = (plan: Pick<Plan, 'name' | 'uid'>, { uid, startedAt, attempt }: InFlight): string =>
  nameOf(plan, `${short(`${plan.uid}/${uid}/${timeText(startedAt)}`)}-${attempt}`);

type OfRun = Pick<Plan, 'name' | 'uid' | 'run'>;

const runTime = ({ run }: OfRun): string => (run === undefined ? '' : timeText(run.startedAt));

/** Of the pod that gets a node ready: once a run, unless somebody has it tried again. */
export const preparePodNameOf = (plan: OfRun, nodeUid: string): string =>
  nameOf(plan, `${short(`${plan.uid}/${nodeUid}/${runTime(plan)}`)}-ready`);

/** Of the pod of a hook, for what it is about. */
export const hookPodNameOf = (plan: OfRun, what: string, attempt: number): string =>
  nameOf(plan, `${short(`${plan.uid}/${runTime(plan)}/${what}`)}-hook-${attempt}`);

/** Of the pod of a rehearsal, which begins at this time. */
export const rehearsalPodNameOf = (plan: OfRun, specHash: string, since: Temporal.Instant, attempt: number): string =>
  nameOf(plan, `${short(`${plan.uid}/${runTime(plan)}/${specHash}/${timeText(since)}`)}-rehearsal-${attempt}`);

/** A few characters that stand for a text (FNV-1a, 64 bits, over its UTF-16 units). */
export const short = (text: string): string => {
  let hash = 0xcbf29ce484222325n;
  for (let at = 0; at < text.length; at += 1) hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(at))) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0');
};

/** The pod of the work stays on the node, and the drain does not wait for it. */
const workPods = ({ workNamespace }: PlanSettings): JsonObject => ({
  namespaces: [workNamespace],
  podSelector: { matchExpressions: [{ key: planAnnotation, operator: 'Exists' }] },
});

const drainOf = ({ drain }: Plan, settings: PlanSettings): JsonObject => {
  const given = drain['ignorePods'];
  const others = Array.isArray(given) ? (given as readonly Json[]) : [];
  return { ...drain, ignorePods: [...others, workPods(settings)] };
};

/** Drydock's own annotations say whose an object is: a plan does not choose them. */
const othersOnly = (annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(annotations).filter(([key]) => !/(^|\.)drydock\.dev\//.test(key)));

/** Creates the Maintenance that holds the node until the plan is done with it. */
export const createChildWrite = ({ plan, settings }: PlanSnapshot, { node, uid }: InFlight): Write => ({
  what: 'create the maintenance of the node',
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
  store: 'requests',
  adapter: 'maintenances.drydock.dev',
  announce: [announce(plan, 'Normal', 'NodeBegun', `Node ${node} is taken out of service`)],
});

const podsPath = (namespace: string): string => `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;

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
  readonly announces?: readonly KubeEvent[];
};

/** Creates the pod that works on the node: bound to it, past every taint, and never restarted. */
export const createPodWrite = (
  { plan, settings }: PlanSnapshot,
  { podSpec }: Pick<PodWork, 'podSpec'>,
  { name, node, environment = {}, what, announces = [] }: PodPlace,
): Write => ({
  what: `create the pod that ${what}`,
  method: 'POST',
  path: podsPath(settings.workNamespace),
  body: {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: { [planAnnotation]: labelOf(plan.name) },
      annotations: { [planAnnotation]: plan.name },
    },
    spec: {
      ...(node !== undefined && { priorityClassName: 'system-node-critical' }),
      ...podSpec,
      ...(node !== undefined && { nodeName: node, tolerations: [{ operator: 'Exists' }] }),
      restartPolicy: 'Never',
      containers: containersOf(podSpec['containers'], environment),
    },
  },
  store: 'planPods',
  announce: announces,
});

/** Labels have 63 characters at most. */
export const labelOf = (name: string): string => (name.length <= 63 ? name : short(name));

export const deletePodWrite = (pod: WorkPod): Write => ({
  what: 'delete the pod that has worked on the node',
  method: 'DELETE',
  path: `${podsPath(pod.namespace)}/${encodeURIComponent(pod.name)}`,
  body: { preconditions: { uid: pod.uid } },
  store: 'planPods',
  announce: [],
});

const verdictJson = ({ uid, node: _node, startedAt, completedAt, ...rest }: NodeVerdict): JsonObject => ({
  nodeUID: uid,
  ...rest,
  message: rest.message.slice(0, 1024),
  startTime: timeText(startedAt),
  completionTime: timeText(completedAt),
});

const recordNameOf = (plan: Plan, revision: string, slice: number): string =>
  nameOf(plan, `${short(`${plan.uid}/${plan.runId}/${revision}`)}-${slice}`);

/** Where a verdict is recorded: where the node has one, else in the first slice with room that has none of another node of its name. */
const sliceFor = (slices: readonly RecordSlice[], { node, uid }: NodeVerdict): RecordSlice | undefined =>
  slices.find(({ verdicts }) => verdicts.some(one => one.uid === uid)) ??
  slices.find(({ verdicts }) => verdicts.length < sliceSize && !verdicts.some(one => one.node === node));

/** Records a verdict. A node has one place in a run: the same again changes nothing. */
export const recordWrite = ({ plan, slices }: PlanSnapshot, verdict: NodeVerdict, revision: string): Write => {
  const slice = sliceFor(slices, verdict);
  const type = verdict.verdict === 'Failed' ? 'Warning' : 'Normal';
  const said = announce(plan, type, `Node${verdict.verdict}`, `Node ${verdict.node}: ${verdict.message}`);
  const json = verdictJson(verdict);
  const verdicts = { [verdict.node]: json };
  const common = { what: 'record the verdict', store: 'planRecords', announce: [said] } as const;
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
        ownerReferences: [{ apiVersion: planApi, kind: 'MaintenancePlan', name: plan.name, uid: plan.uid }],
      },
      spec: { planName: plan.name, planUID: plan.uid, runID: plan.run?.id ?? plan.runId, revision, slice: slices.length, verdicts },
    },
  };
};

/** Of the approval of a run, or of what follows one of its stages: whoever agrees twice has agreed once. */
export const approvalNameOf = (
  plan: Pick<Plan, 'name' | 'uid'>,
  run: Pick<Run, 'id' | 'revision'>,
  { stage = '', promote }: Pick<Approval, 'stage' | 'promote'>,
): string => nameOf(plan, short(`${plan.uid}/${run.id}/${run.revision}/${stage}${promote === undefined ? '' : `/${promote}`}`));

/** A MaintenanceApproval. It goes with its plan. */
export const approvalObject = (
  plan: Pick<Plan, 'name' | 'uid'>,
  run: Pick<Run, 'id' | 'revision'>,
  given: Pick<Approval, 'stage' | 'promote'>,
): JsonObject => {
  const { name, uid } = plan;
  return {
    apiVersion: planApi,
    kind: 'MaintenanceApproval',
    metadata: {
      name: approvalNameOf(plan, run, given),
      labels: { [planAnnotation]: labelOf(name) },
      ownerReferences: [{ apiVersion: planApi, kind: 'MaintenancePlan', name, uid }],
    },
    spec: { planName: name, runID: run.id, revision: run.revision, ...given },
  };
};

/** The record of a run so long ago that nobody asks for it. */
export const deleteRecordWrite = ({ name, uid }: RecordSlice): Write => ({
  what: 'delete the record of an old run',
  method: 'DELETE',
  path: `${recordsPath}/${name}`,
  body: { preconditions: { uid } },
  store: 'planRecords',
  announce: [],
});

/** A change of the plan itself. */
export const ownWrite = (plan: Plan, what: string, finalizers: readonly string[], said: readonly KubeEvent[]): Write => ({
  what,
  method: 'PATCH',
  style: 'merge',
  path: pathOfPlan(plan),
  body: { metadata: { finalizers, resourceVersion: plan.resourceVersion } },
  store: 'plans',
  announce: said,
});
