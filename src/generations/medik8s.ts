import { fewOf } from '../core/drain/blocker.ts';
import { percentOf } from '../core/drain/tally.ts';
import { type JsonObject, sameJson } from '../core/json.ts';
import type { Report } from '../core/phase/report.ts';
import { type Dialect, noHistory, type Request } from '../core/request/request.ts';
import type { Failure, State } from '../core/request/words.ts';
import { earliest, isBefore, secondsAfter, secondsBetween, timeText } from '../core/time.ts';
import { readCommon } from './read.ts';
import type { NodeMaintenanceSpec, NodeMaintenanceStatus } from './schema/node-maintenance.ts';

/** nodemaintenance.medik8s.io/v1beta1: the operator of medik8s, taken over byte for byte (seed contract, chapters 0 to 9). */

const unschedulable = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
const drainTaint = { key: 'medik8s.io/drain', effect: 'NoSchedule' };

/** A pod that has not moved for as long as one attempt of the replaced operator took is an error to it, in seconds. */
const attemptSeconds = 30;

const phases: Readonly<Record<State, string>> = {
  Pending: 'Running',
  Announced: 'Running',
  Cordoned: 'Running',
  Draining: 'Running',
  Detaching: 'Running',
  Releasing: 'Running',
  Drained: 'Succeeded',
  Failed: 'Failed',
};

const states: Readonly<Record<string, State>> = { Running: 'Draining', Succeeded: 'Drained', Failed: 'Failed' };

const blockerErrors = ({ blockers }: Report, now: Temporal.Instant): string | undefined => {
  const late = blockers.filter(({ since }) => secondsBetween(since, now) >= attemptSeconds);
  const texts = late.map(({ pod, message }) =>
    pod ? `error when evicting pods/"${pod.name}" -n "${pod.namespace}": ${message}` : message,
  );
  const unique = [...new Set(texts)];
  if (unique.length === 0) return undefined;
  return unique.length === 1 ? unique[0] : `[${fewOf(unique)}]`;
};

const counts = (report: Report, stored: NodeMaintenanceStatus): NodeMaintenanceStatus => {
  const { pods, waiting, state } = report;
  if (pods === undefined) {
    const { drainProgress, pendingPods, pendingPodsRefs, totalpods, evictionPods } = stored;
    return { drainProgress, pendingPods, pendingPodsRefs, totalpods, evictionPods };
  }
  return {
    drainProgress: state === 'Drained' ? 100 : percentOf(pods) || undefined,
    pendingPods: waiting.length === 0 ? undefined : waiting.map(({ name }) => name),
    pendingPodsRefs: waiting.length === 0 ? undefined : [...waiting],
    totalpods: pods.total || undefined,
    evictionPods: pods.toEvict || undefined,
  };
};

const statusOf = (report: Report, request: Request, now: Temporal.Instant): JsonObject => {
  const stored = request.status as NodeMaintenanceStatus;
  const lastError = report.problem?.message ?? (report.state === 'Drained' ? undefined : blockerErrors(report, now));
  const status = {
    phase: phases[report.state],
    ...counts(report, stored),
    lastError,
    errorOnLeaseCount: report.leaseErrors || undefined,
  };
  const { lastUpdate, ...before } = stored;
  const unchanged = lastUpdate !== undefined && sameJson(status, before);
  return { ...status, lastUpdate: unchanged ? lastUpdate : timeText(now) };
};

/** The kind stores no cause; its texts are the contract. */
const failureOf = ({ phase, lastError = '' }: NodeMaintenanceStatus): Failure | undefined => {
  if (phase !== 'Failed') return undefined;
  return /^nodes ".*" not found$/.test(lastError) ? 'NodeNotFound' : 'LeaseLost';
};

const read = (raw: unknown, dialect: Dialect): Request | string => {
  const { common, spec, status = {} } = readCommon<NodeMaintenanceSpec, NodeMaintenanceStatus>(raw, dialect);
  if (spec === undefined || spec.nodeName === '') return 'spec.nodeName is empty: name the node to maintain';
  const waiting = status.pendingPods?.length ?? 0;
  const toEvict = status.evictionPods ?? 0;
  const failure = failureOf(status);
  const state = states[status.phase ?? ''];
  return {
    ...common,
    nodeName: spec.nodeName,
    ...(spec.reason !== undefined && { reason: spec.reason }),
    history: {
      ...noHistory,
      toEvict,
      gone: Math.max(0, toEvict - waiting),
      leaseErrors: status.errorOnLeaseCount ?? 0,
      ...(state && { state }),
      ...(failure && { failure }),
    },
  };
};

/** The served kind, with its leases in the namespace that its operators agree on (LEASE_NAMESPACE). */
export const medik8s = (leaseNamespace: string): Dialect => {
  const dialect: Dialect = {
    name: 'nodemaintenances.nodemaintenance.medik8s.io',
    apiVersion: 'nodemaintenance.medik8s.io/v1beta1',
    kind: 'NodeMaintenance',
    path: '/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances',
    finalizer: 'foregroundDeleteNodeMaintenance',
    marks: () => ({
      unschedulable: true,
      taints: [unschedulable, drainTaint],
      labels: { 'remediation.medik8s.io/exclude-from-remediation': 'true' },
    }),
    lease: nodeName => ({ namespace: leaseNamespace, name: `node-${nodeName.toLowerCase()}`, holder: 'node-maintenance' }),
    component: 'NodeMaintenance',
    events: {
      begun: { reason: 'BeginMaintenance', message: 'Begin a node maintenance' },
      succeeded: { reason: 'SucceedMaintenance', message: 'Node maintenance was succeeded' },
      failed: { reason: 'FailedMaintenance', message: 'Failed a node maintenance' },
      removed: { reason: 'RemovedMaintenance', message: 'Removed a node maintenance' },
      uncordoned: { reason: 'UncordonNode', message: 'Uncordon a node' },
    },
    status: statusOf,
    readsDifferentlyAt: ({ blockers }, now) =>
      earliest(blockers.map(({ since }) => secondsAfter(since, attemptSeconds)).filter(at => isBefore(now, at))),
    read: raw => read(raw, dialect),
  };
  return dialect;
};
