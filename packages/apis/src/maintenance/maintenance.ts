import type { JsonObject, LabelSelector } from '@drydock/apimachinery';
import { joinLimited, readTime, secondsBetween, timeText } from '@drydock/apimachinery';
import {
  type Blocker,
  blockerId,
  countedByReason,
  type DrainPolicy,
  type PodPick,
  percentOf,
  type Rung,
} from '@drydock/core/drain';
import { parentAnnotation } from '@drydock/core/machine';
import type { Marks } from '@drydock/core/node';
import { planAnnotation } from '@drydock/core/plan';
import {
  type History,
  type KindAdapter,
  type MaintenanceLevel,
  type MaintenanceRequest,
  maintenancesPath,
  noHistory,
  type Report,
  type RequestedStart,
  withContest,
  withStay,
} from '@drydock/core/request';
import { defaultServerPolicy, plainVmPolicy } from '@drydock/core/vm';
import { sharedLease } from '../leases.ts';
import { readCommon } from '../read.ts';
import type { MaintenanceSpec, MaintenanceStatus } from '../schema/maintenance.ts';
import { maintenanceConditions, readVms, vmsStatus } from './maintenance-conditions.ts';

/**
 * drydock.dev/v1alpha1 Maintenance: the full policy and the full status; the model that all other
 * kinds are read into.
 */

/** Number of blockers that are stored; the number of all is stored beside them. */
const maxBlockers = 20;

/** Seconds by which a new estimate has to differ to be worth a write. */
const estimateStep = 3;

function marks(level: MaintenanceLevel): Marks {
  const unschedulable = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
  const draining = { key: 'drydock.dev/drain', effect: 'NoSchedule' };
  return {
    unschedulable: level !== 'Announce',
    taints:
      level === 'Announce' ? [] : level === 'Cordon' ? [unschedulable] : [unschedulable, draining],
    labels:
      level === 'Announce' ? {} : { 'remediation.medik8s.io/exclude-from-remediation': 'true' },
  };
}

type RawDrain = NonNullable<MaintenanceSpec['drain']>;

function ladderOf({ ladder, timeoutSeconds = 0 }: RawDrain): readonly Rung[] {
  const rungs = (ladder ?? []) as readonly Rung[];
  const timeout: readonly Rung[] =
    timeoutSeconds > 0 ? [{ afterSeconds: timeoutSeconds, action: 'Fail' }] : [];
  return [...rungs, ...timeout].toSorted((one, other) => one.afterSeconds - other.afterSeconds);
}

/** Returns the given values, and the defaults for missing ones. */
function definedOver<T extends object>(
  defaults: T,
  given: { readonly [Field in keyof T]?: T[Field] | undefined } | undefined,
): T {
  return {
    ...defaults,
    ...(Object.fromEntries(
      Object.entries(given ?? {}).filter(([, value]) => value !== undefined),
    ) as Partial<T>),
  };
}

/**
 * Reads the policy with the defaults of the CRD: objects that were stored before a field existed
 * have them as well.
 */
export function drainPolicy(drain: RawDrain): DrainPolicy {
  return {
    ...(drain.podSelector && { podSelector: drain.podSelector as LabelSelector }),
    // 0 would forget pods while their containers still run; the CRD refuses it.
    gracePeriodSeconds: drain.gracePeriodSeconds === 0 ? 1 : (drain.gracePeriodSeconds ?? -1),
    ...(drain.maxGracePeriodSeconds !== undefined && {
      maxGracePeriodSeconds: drain.maxGracePeriodSeconds,
    }),
    deleteEmptyDirData: drain.deleteEmptyDirData ?? false,
    force: drain.force ?? false,
    ignoreDaemonSets: drain.ignoreDaemonSets ?? true,
    disableEviction: drain.disableEviction ?? false,
    skipWaitForDeleteTimeoutSeconds: drain.skipWaitForDeleteTimeoutSeconds ?? 0,
    waves: (drain.waves ?? []) as readonly PodPick[],
    ignorePods: (drain.ignorePods ?? []) as readonly PodPick[],
    awaitPods: (drain.awaitPods ?? []) as readonly PodPick[],
    ladder: ladderOf(drain),
    waitForVolumeDetach: drain.waitForVolumeDetach ?? true,
    virtualMachines: definedOver(plainVmPolicy, drain.virtualMachines),
    servers: definedOver(defaultServerPolicy, drain.servers),
  };
}

function makerOf(
  raw: unknown,
  drain: RawDrain,
): Pick<MaintenanceRequest, 'part' | 'plan' | 'storedDrain'> {
  const { metadata } = raw as {
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  };
  const of = metadata.annotations?.[parentAnnotation];
  const plan = metadata.annotations?.[planAnnotation];
  return {
    ...(of !== undefined && { part: { of } }),
    ...(plan !== undefined && { plan }),
    ...((of !== undefined || plan !== undefined) && { storedDrain: drain }),
  };
}

function startOf({
  notBefore,
  deadline,
  windows = 'Respect',
  expectedSeconds,
}: NonNullable<MaintenanceSpec['start']>): RequestedStart {
  const [from, by] = [readTime(notBefore), readTime(deadline)];
  return {
    windows,
    ...(from && { notBefore: from }),
    ...(by && { deadline: by }),
    ...(expectedSeconds !== undefined && { expectedSeconds }),
  };
}

function historyOf(status: MaintenanceStatus): History {
  const drainStartedAt = readTime(status.startTime);
  const drainedAt = readTime(status.completionTime);
  const since = (status.blockers ?? []).flatMap(blocker => {
    const at = readTime(blocker.startTime);
    return at ? [[blockerId(blocker as Parameters<typeof blockerId>[0]), at] as const] : [];
  });
  return {
    ...noHistory,
    toEvict: status.pods?.toEvict ?? 0,
    gone: status.pods?.gone ?? 0,
    leaseErrors: status.leaseErrors ?? 0,
    blockedSince: new Map(since),
    ...(status.blockerCount !== undefined && { blockerCount: status.blockerCount }),
    ...(status.phase && { state: status.phase }),
    ...(drainStartedAt && { drainStartedAt }),
    ...(drainedAt && { drainedAt }),
    ...(status.failure && { failure: status.failure }),
    ...(status.virtualMachines && { vms: readVms(status.virtualMachines) }),
  };
}

function read(raw: unknown, adapter: KindAdapter): MaintenanceRequest | string {
  const {
    common,
    spec,
    status = {},
  } = readCommon<MaintenanceSpec, MaintenanceStatus>(raw, adapter);
  if (spec === undefined || spec.nodeName === '')
    return 'spec.nodeName is empty: name the node to maintain';
  return {
    ...common,
    nodeName: spec.nodeName,
    ...(spec.reason !== undefined && { reason: spec.reason }),
    ...(spec.requester !== undefined && { requester: spec.requester }),
    level: spec.level ?? 'Drain',
    start: startOf(spec.start ?? {}),
    ...makerOf(raw, spec.drain ?? {}),
    policy: drainPolicy(spec.drain ?? {}),
    history: historyOf(status),
  };
}

const goesBySelf: readonly Blocker['reason'][] = ['Terminating', 'EarlierWave'];
const moves: readonly Blocker['reason'][] = ['Evacuating', 'MigrationQueued', 'ServerMoving'];

/**
 * Returns the numbers of what still has to leave: VMs that are being moved, and other pods that are
 * blocked.
 */
function waiting(blockers: readonly Blocker[]): string {
  const moving = blockers.filter(({ reason }) => moves.includes(reason)).length;
  const stuck = blockers.filter(
    ({ reason }) => !moves.includes(reason) && !goesBySelf.includes(reason),
  ).length;
  const vms = moving === 0 ? '' : `, ${moving} VM${moving === 1 ? '' : 's'} to be moved`;
  return `${vms}${stuck > 0 ? `, ${stuck} cannot go yet` : ''}`;
}

function stateText(report: Report): string {
  const { state, pods, blockers } = report;
  switch (state) {
    case 'Pending':
      return 'Waits to begin';
    case 'Announced':
      return 'Announced on the node; nothing else is done at this level';
    case 'Cordoned':
      return 'The node is cordoned';
    case 'Draining':
      return `${pods?.gone ?? 0} of ${pods?.toEvict ?? 0} pods gone${waiting(blockers)}`;
    case 'Detaching':
      return `All pods gone; still attached: ${joinLimited(blockers.flatMap(({ volume }) => volume ?? []))}`;
    case 'Drained':
      return 'The node is drained and held';
    case 'Releasing':
      return 'The node is being released';
    case 'Failed':
      return 'The maintenance has failed';
    default:
      return state satisfies never;
  }
}

function sentence(report: Report): string {
  return report.problem?.message ?? withContest(withStay(stateText(report), report), report);
}

/**
 * Returns the estimate; the stored one as long as the new one is about the same: a status is not
 * written again for a second.
 */
function estimateOf({ estimatedEnd }: Report, stored: MaintenanceStatus): string | undefined {
  if (estimatedEnd === undefined) return undefined;
  const before = readTime(stored.estimatedCompletionTime);
  const same =
    before !== undefined && Math.abs(secondsBetween(before, estimatedEnd)) < estimateStep;
  return same ? stored.estimatedCompletionTime : timeText(estimatedEnd);
}

/**
 * Bytes of all blockers together: an object with a status of a mebibyte cannot be stored, and a
 * much smaller one is not readable any more.
 */
const maxBytes = 98_304;

/** Returns as many as fit: the number of all is stored beside them. */
function storable<T>(blockers: readonly T[]): readonly T[] {
  let left = maxBytes;
  return blockers.filter(blocker => (left -= Buffer.byteLength(JSON.stringify(blocker))) > 0);
}

/** Counts the blockers by reason, including those that are not stored. */
function blockerReasonsOf({ blockers }: Report): MaintenanceStatus['blockerReasons'] {
  return blockers.length === 0 ? undefined : countedByReason(blockers).map(one => ({ ...one }));
}

function statusOf(report: Report, request: MaintenanceRequest, now: Temporal.Instant): JsonObject {
  const stored = request.status as MaintenanceStatus;
  const pods = report.pods ?? stored.pods;
  const known = report.pods !== undefined;
  const isBlocked = known || report.blockers.length > 0;
  // The blockers of a drain are dropped when there is no drain: it is not requested any more, waits
  // for its time, or has failed.
  const kept = report.state === 'Draining' || report.state === 'Detaching' ? stored : {};
  const blockers = storable(
    report.blockers
      .slice(0, maxBlockers)
      .map(({ since, ...blocker }) => ({ ...blocker, startTime: timeText(since) })),
  );
  const status = {
    phase: report.state,
    message: sentence(report),
    observedGeneration: request.generation,
    scheduledTime: report.startsAt && timeText(report.startsAt),
    startTime: report.drainStartedAt && timeText(report.drainStartedAt),
    completionTime: report.drainedAt && timeText(report.drainedAt),
    estimatedCompletionTime: estimateOf(report, stored),
    pods: pods && { ...pods },
    virtualMachines: known ? vmsStatus(report) : stored.virtualMachines,
    progress: report.state === 'Drained' ? 100 : known ? percentOf(report.pods) : stored.progress,
    blockers: isBlocked ? (blockers.length > 0 ? blockers : undefined) : kept.blockers,
    blockerCount: isBlocked ? report.blockers.length || undefined : kept.blockerCount,
    blockerReasons: isBlocked ? blockerReasonsOf(report) : kept.blockerReasons,
    failure: report.failure,
    leaseErrors: report.leaseErrors || undefined,
    conditions: maintenanceConditions(report, stored, request.generation, now),
  } satisfies { readonly [Field in keyof MaintenanceStatus]: unknown };
  return status;
}

/**
 * Returns the adapter of the served kind. Its leases are the ones that medik8s' operators agree on:
 * all operators that work on a node use the same one.
 */
export function maintenance(leaseNamespace: string): KindAdapter {
  const adapter: KindAdapter = {
    name: 'maintenances.drydock.dev',
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'Maintenance',
    path: maintenancesPath,
    finalizer: 'drydock.dev/maintenance',
    statusSubresource: true,
    quorum: 'everywhere',
    namesBlockers: true,
    marks,
    lease: sharedLease(leaseNamespace),
    component: 'drydock',
    events: {
      begun: { reason: 'MaintenanceBegun', message: 'The maintenance has begun' },
      succeeded: {
        reason: 'NodeDrained',
        message: 'The node is drained and stays held until this object is deleted',
      },
      failed: {
        reason: 'MaintenanceFailed',
        message: 'The maintenance has failed: see its status',
      },
      removed: { reason: 'MaintenanceEnded', message: 'The node has been released' },
      uncordoned: { reason: 'UncordonNode', message: 'Uncordon a node' },
    },
    status: statusOf,
    readsDifferentlyAt: () => undefined,
    read: raw => read(raw, adapter),
  };
  return adapter;
}
