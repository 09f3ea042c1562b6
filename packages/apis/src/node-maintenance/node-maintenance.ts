import {
  earliest,
  isBefore,
  type JsonObject,
  joinLimited,
  own,
  sameJson,
  secondsAfter,
  secondsBetween,
  timeText,
} from '@drydock/apimachinery';
import { percentOf } from '@drydock/core/drain';
import type { Marks } from '@drydock/core/node';
import {
  type KindAdapter,
  type LeaseName,
  type MaintenanceFailure,
  type MaintenanceRequest,
  type MaintenanceState,
  noHistory,
  type Report,
} from '@drydock/core/request';
import { ownLease, sharedLease } from '../leases.ts';
import { readCommon } from '../read.ts';
import type { NodeMaintenanceSpec, NodeMaintenanceStatus } from '../schema/node-maintenance.ts';

/**
 * The common part of all generations of NodeMaintenance; each generation is a small file with its
 * differences.
 */

const unschedulable = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** A generation of the kind. */
type Generation = {
  /** Name of the CRD: `plural.group`. */
  readonly name: string;
  readonly apiVersion: string;
  readonly finalizer?: string;
  readonly statusSubresource: boolean;
  readonly statusFields: readonly (keyof NodeMaintenanceStatus)[];
  /** Phase of a failed maintenance: the first generations had no word for it. */
  readonly failedPhase: 'Failed' | 'Running';
  /** Key of the taint for a node that is being drained, beside the taint of every cordon. */
  readonly drainTaint: string;
  readonly labels: Marks['labels'];
  readonly lease: (nodeName: string) => LeaseName | undefined;
  /** True if an object without spec.nodeName is named like its node. */
  readonly nameIsNode: boolean;
};

/**
 * Seconds of one attempt of the replaced operator: a pod that has not moved for as long counts as
 * an error in its status.
 */
const attemptSeconds = 30;

const phases: Readonly<Record<Exclude<MaintenanceState, 'Failed'>, string>> = {
  Pending: 'Running',
  Announced: 'Running',
  Cordoned: 'Running',
  Draining: 'Running',
  Detaching: 'Running',
  Releasing: 'Running',
  Drained: 'Succeeded',
};

const states: Readonly<Record<string, MaintenanceState>> = {
  Running: 'Draining',
  Succeeded: 'Drained',
  Failed: 'Failed',
};

/**
 * Message of the API server for a pod in several budgets, which is constant: the eviction need not
 * be sent.
 */
const severalBudgets =
  'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';

function blockerErrors({ blockers }: Report, now: Temporal.Instant): string | undefined {
  const lasting = blockers.filter(
    ({ since, reason }) =>
      reason === 'MultipleBudgets' || secondsBetween(since, now) >= attemptSeconds,
  );
  const texts = lasting.map(({ pod, reason, message }) =>
    pod
      ? `error when evicting pods/"${pod.name}" -n "${pod.namespace}": ${reason === 'MultipleBudgets' ? severalBudgets : message}`
      : message,
  );
  const unique = [...new Set(texts)];
  if (unique.length === 0) return undefined;
  return unique.length === 1 ? unique[0] : `[${joinLimited(unique)}]`;
}

function counts(report: Report, stored: NodeMaintenanceStatus): NodeMaintenanceStatus {
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
}

/** Returns only the fields that the generation has. */
function limitedTo(
  fields: readonly (keyof NodeMaintenanceStatus)[],
  status: NodeMaintenanceStatus,
): NodeMaintenanceStatus {
  return Object.fromEntries(
    Object.entries(status).filter(([field]) => (fields as readonly string[]).includes(field)),
  );
}

function statusOf(
  generation: Generation,
  report: Report,
  request: MaintenanceRequest,
  now: Temporal.Instant,
): JsonObject {
  const stored = request.status as NodeMaintenanceStatus;
  const lastError =
    report.problem?.message ??
    (report.state === 'Drained' ? undefined : blockerErrors(report, now));
  const status = limitedTo(generation.statusFields, {
    phase: report.state === 'Failed' ? generation.failedPhase : phases[report.state],
    ...counts(report, stored),
    lastError,
    errorOnLeaseCount: report.leaseErrors || undefined,
  });
  if (!generation.statusFields.includes('lastUpdate')) return { ...status };
  const { lastUpdate, ...before } = stored;
  const unchanged = lastUpdate !== undefined && sameJson(status, before);
  return { ...status, lastUpdate: unchanged ? lastUpdate : timeText(now) };
}

/** Returns the failure. The kind stores no cause; its texts are the contract. */
function failureOf({
  phase,
  lastError = '',
}: NodeMaintenanceStatus): MaintenanceFailure | undefined {
  if (phase !== 'Failed') return undefined;
  return /^nodes ".*" not found$/.test(lastError) ? 'NodeNotFound' : 'LeaseLost';
}

function nodeNameOf(
  { nameIsNode }: Generation,
  name: string,
  spec: NodeMaintenanceSpec | undefined,
): string | undefined {
  const { nodeName = '' } = spec ?? {};
  if (nodeName !== '') return nodeName;
  return nameIsNode ? name : undefined;
}

function read(
  raw: unknown,
  adapter: KindAdapter,
  generation: Generation,
): MaintenanceRequest | string {
  const {
    common,
    spec,
    status = {},
  } = readCommon<NodeMaintenanceSpec, NodeMaintenanceStatus>(raw, adapter);
  const nodeName = nodeNameOf(generation, common.name, spec);
  if (nodeName === undefined) return 'spec.nodeName is empty: name the node to maintain';
  const waiting = status.pendingPods?.length ?? 0;
  const toEvict = status.evictionPods ?? 0;
  const failure = failureOf(status);
  const state = own(states, status.phase ?? '');
  return {
    ...common,
    nodeName,
    ...(spec?.reason !== undefined && { reason: spec.reason }),
    history: {
      ...noHistory,
      toEvict,
      gone: Math.max(0, toEvict - waiting),
      leaseErrors: status.errorOnLeaseCount ?? 0,
      ...(state && { state }),
      ...(failure && { failure }),
    },
  };
}

/** Returns the kind adapter of one generation. */
function nodeMaintenance(generation: Generation): KindAdapter {
  const { name, apiVersion, finalizer, statusSubresource, drainTaint, labels, lease } = generation;
  const marks = {
    unschedulable: true,
    taints: [unschedulable, { key: drainTaint, effect: 'NoSchedule' }],
    labels,
  };
  const adapter: KindAdapter = {
    name,
    apiVersion,
    kind: 'NodeMaintenance',
    path: `/apis/${apiVersion}/nodemaintenances`,
    ...(finalizer !== undefined && { finalizer }),
    statusSubresource,
    quorum: 'on OpenShift',
    marks: () => marks,
    lease,
    component: 'NodeMaintenance',
    events: {
      begun: { reason: 'BeginMaintenance', message: 'Begin a node maintenance' },
      succeeded: { reason: 'SucceedMaintenance', message: 'Node maintenance was succeeded' },
      failed: { reason: 'FailedMaintenance', message: 'Failed a node maintenance' },
      removed: { reason: 'RemovedMaintenance', message: 'Removed a node maintenance' },
      uncordoned: { reason: 'UncordonNode', message: 'Uncordon a node' },
    },
    status: (report, request, now) => statusOf(generation, report, request, now),
    readsDifferentlyAt: ({ blockers }, now) =>
      earliest(
        blockers
          .map(({ since }) => secondsAfter(since, attemptSeconds))
          .filter(at => isBefore(now, at)),
      ),
    read: raw => read(raw, adapter, generation),
  };
  return adapter;
}

/** Generations of KubeVirt's operator, before it moved to medik8s (seed contract, chapter 10). */

const drainTaint = 'kubevirt.io/drain';
const finalizer = 'foregroundDeleteNodeMaintenance';

/**
 * Returns the adapter of nodemaintenance.kubevirt.io/v1beta1. Its leases are in the operator's own
 * namespace (OPERATOR_NAMESPACE).
 */
export function kubevirt(operatorNamespace: string): KindAdapter {
  return nodeMaintenance({
    name: 'nodemaintenances.nodemaintenance.kubevirt.io',
    apiVersion: 'nodemaintenance.kubevirt.io/v1beta1',
    finalizer,
    statusSubresource: true,
    statusFields: [
      'phase',
      'lastError',
      'pendingPods',
      'totalpods',
      'evictionPods',
      'errorOnLeaseCount',
    ],
    failedPhase: 'Failed',
    drainTaint,
    labels: {},
    lease: ownLease(operatorNamespace),
    nameIsNode: false,
  });
}

/**
 * Form in which the cluster serves `kubevirt.io` NodeMaintenances. The CRD that Drydock installs
 * has both versions; the one of the very first operator had v1alpha3 only, the next ones v1alpha1
 * only, both namespaced at first and not all with a status subresource.
 */
export type KubevirtAlpha = {
  readonly version: 'v1alpha1' | 'v1alpha3';
  readonly statusSubresource: boolean;
};

/** Form of the kind in this project's CRD. */
export const kubevirtAlphaOfOurs: KubevirtAlpha = { version: 'v1alpha1', statusSubresource: true };

/**
 * Returns the adapter of kubevirt.io NodeMaintenances: the name is the node's, unless spec.nodeName
 * is set. This generation has no leases. The first operator knew no finalizer and would never
 * remove ours, so an object that exists as v1alpha3 only gets none: the record on the node replaces
 * it.
 */
export function kubevirtAlpha({ version, statusSubresource }: KubevirtAlpha): KindAdapter {
  return nodeMaintenance({
    name: 'nodemaintenances.kubevirt.io',
    apiVersion: `kubevirt.io/${version}`,
    ...(version === 'v1alpha1' && { finalizer }),
    statusSubresource,
    statusFields: ['phase', 'lastError', 'pendingPods', 'totalpods', 'evictionPods'],
    failedPhase: 'Running',
    drainTaint,
    labels: {},
    lease: () => undefined,
    nameIsNode: true,
  });
}

/**
 * Returns the adapter of nodemaintenance.medik8s.io/v1beta1: the operator of medik8s, copied byte
 * for byte (seed contract, chapters 0 to 9).
 */
export function medik8s(leaseNamespace: string): KindAdapter {
  return nodeMaintenance({
    name: 'nodemaintenances.nodemaintenance.medik8s.io',
    apiVersion: 'nodemaintenance.medik8s.io/v1beta1',
    finalizer: 'foregroundDeleteNodeMaintenance',
    statusSubresource: true,
    statusFields: [
      'phase',
      'drainProgress',
      'lastUpdate',
      'lastError',
      'pendingPods',
      'pendingPodsRefs',
      'totalpods',
      'evictionPods',
      'errorOnLeaseCount',
    ],
    failedPhase: 'Failed',
    drainTaint: 'medik8s.io/drain',
    labels: { 'remediation.medik8s.io/exclude-from-remediation': 'true' },
    lease: sharedLease(leaseNamespace),
    nameIsNode: false,
  });
}
