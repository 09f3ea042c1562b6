import type { Labels } from '@drydock/apimachinery';
import { instantAt, isBefore, readTime, secondsAfter, truncate } from '@drydock/apimachinery';

/** Kept fields of a pod: the few that decide about it. */
export type Pod = {
  /** Key `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly nodeName: string;
  readonly labels: Labels;
  readonly phase: string;
  readonly ready: boolean;
  /** True if the condition Ready is Unknown. */
  readonly readyUnknown?: true;
  /** Value of the priority class; 0 without one. */
  readonly priority: number;
  /** Controller that manages the pod. */
  readonly owner?: {
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
    readonly apiVersion: string;
  };
  /** Owner that is not marked as the controller: kubectl drain counts such a pod as unmanaged. */
  readonly otherOwner?: string;
  /** Message of the scheduler for a pod that is on no node. */
  readonly unschedulable?: string;
  /** True for the mirror of a static pod in the API: only its kubelet can stop it. */
  readonly mirror: boolean;
  /** True if it has an emptyDir volume, whose data is deleted with the pod. */
  readonly localData: boolean;
  /** Names of the PersistentVolumeClaims that it mounts. */
  readonly claims: readonly string[];
  /** Time by which it must be gone: set at its deletion, grace period included. */
  readonly deletionTimestamp?: Temporal.Instant;
  readonly deletionGraceSeconds: number;
  /** Grace period of the pod in seconds. */
  readonly graceSeconds: number;
  readonly createdAt: Temporal.Instant;
  readonly finalizers: readonly string[];
  /** True if it names responders that move its work away before it is evicted (KEP-4563). */
  readonly hasResponders?: true;
};

type RawPod = {
  readonly metadata: {
    readonly namespace?: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp?: string;
    readonly labels?: Labels;
    readonly annotations?: Labels;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly (NonNullable<Pod['owner']> & {
      readonly controller?: boolean;
    })[];
  };
  readonly spec?: {
    readonly nodeName?: string;
    readonly priority?: number;
    readonly terminationGracePeriodSeconds?: number;
    readonly evictionResponders?: readonly unknown[];
    readonly schedulingGroup?: unknown;
    readonly volumes?: readonly {
      readonly emptyDir?: unknown;
      readonly persistentVolumeClaim?: { readonly claimName: string };
      readonly name?: string;
      readonly ephemeral?: unknown;
    }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
};

function claimsOf({ metadata, spec }: RawPod): readonly string[] {
  return (spec?.volumes ?? []).flatMap(volume => {
    if (volume.persistentVolumeClaim !== undefined) return [volume.persistentVolumeClaim.claimName];
    // A generic ephemeral volume's claim is named after the pod and the volume.
    return volume.ephemeral === undefined ? [] : [`${metadata.name}-${volume.name ?? ''}`];
  });
}

function ownerOf({ metadata }: RawPod): Pod['owner'] {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return (
    owner && { kind: owner.kind, name: owner.name, uid: owner.uid, apiVersion: owner.apiVersion }
  );
}

function otherOwnerOf({ metadata }: RawPod): string | undefined {
  const [first] = metadata.ownerReferences ?? [];
  return first && truncate(`${first.kind} ${first.name}`, maxReasonLength);
}

/** Characters of texts about the pod that are kept. */
const maxReasonLength = 1000;

function unschedulableOf({ spec, status }: RawPod): string | undefined {
  if (spec?.nodeName !== undefined && spec.nodeName !== '') return undefined;
  const condition = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return condition?.status === 'False' && condition.reason === 'Unschedulable'
    ? truncate(condition.message ?? '', maxReasonLength)
    : undefined;
}

/**
 * Returns the end of a pod that is being deleted, however far away it is: a grace period may reach
 * past the years that a time can be written in.
 */
function deletionOf({ deletionTimestamp }: RawPod['metadata']): Temporal.Instant | undefined {
  return deletionTimestamp === undefined
    ? undefined
    : (readTime(deletionTimestamp) ?? instantAt(Number.POSITIVE_INFINITY));
}

/**
 * Reports whether its eviction can be requested of responders. They act for single pods: the
 * eviction of one that belongs to a scheduling group cannot be requested.
 */
function hasResponders({ spec }: RawPod): boolean {
  return (
    (spec?.evictionResponders ?? []).length > 0 &&
    (spec?.schedulingGroup ?? undefined) === undefined
  );
}

/** Reads the needed fields of a Pod. */
export function readPod(raw: unknown): Pod {
  const pod = raw as RawPod;
  const { metadata, spec, status } = pod;
  const namespace = metadata.namespace ?? 'default';
  const owner = ownerOf(pod);
  const deletionTimestamp = deletionOf(metadata);
  const otherOwner = owner === undefined ? otherOwnerOf(pod) : undefined;
  const unschedulable = unschedulableOf(pod);
  const readiness = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  return {
    key: `${namespace}/${metadata.name}`,
    namespace,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    nodeName: spec?.nodeName ?? '',
    labels: metadata.labels ?? {},
    phase: status?.phase ?? 'Pending',
    ready: readiness === 'True',
    ...(readiness === 'Unknown' && { readyUnknown: true }),
    priority: spec?.priority ?? 0,
    ...(owner && { owner }),
    ...(otherOwner !== undefined && { otherOwner }),
    ...(unschedulable !== undefined && { unschedulable }),
    mirror: metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined,
    localData:
      spec?.volumes?.some(({ emptyDir }) => emptyDir !== undefined && emptyDir !== null) ?? false,
    claims: claimsOf(pod),
    ...(deletionTimestamp && { deletionTimestamp }),
    createdAt: readTime(metadata.creationTimestamp) ?? Temporal.Instant.fromEpochMilliseconds(0),
    deletionGraceSeconds: metadata.deletionGracePeriodSeconds ?? 0,
    graceSeconds: spec?.terminationGracePeriodSeconds ?? 30,
    finalizers: metadata.finalizers ?? [],
    ...(hasResponders(pod) && { hasResponders: true }),
  };
}

/** Query of a list of pods that are on no node. */
export const onNoNode = { fieldSelector: 'spec.nodeName=' } as const;

/** Reports whether the scheduler finds no node for it. */
export function findsNoNode({ unschedulable }: Pod): boolean {
  return unschedulable !== undefined;
}

/** Reports whether it has ended, successfully or not. */
export function isFinished(pod: Pod): boolean {
  return pod.phase === 'Succeeded' || pod.phase === 'Failed';
}

/** Reports whether it was deleted and is terminating. */
export function isTerminating(pod: Pod): boolean {
  return pod.deletionTimestamp !== undefined;
}

/**
 * Reports whether its controller is a DaemonSet of the apps group, as kubectl drain's filter does.
 */
export function isDaemonSetPod(pod: Pod): boolean {
  return pod.owner?.kind === 'DaemonSet' && pod.owner.apiVersion.startsWith('apps/');
}

/**
 * Reports whether budgets apply to its eviction: the API server deletes pods of the other phases,
 * and terminating ones, without checking any.
 */
export function isGuarded(pod: Pod): boolean {
  return pod.phase !== 'Pending' && !isFinished(pod) && !isTerminating(pod);
}

/** Seconds of rounding: times of objects are whole seconds. */
const rounding = 1;

/**
 * Returns the time by which it is to be gone, its grace period over. With an extreme grace period
 * the API server's own sum overflows (one of 9e12 seconds resulted in a deletionTimestamp of 1963):
 * if the deletion would have begun before the pod was created, the timestamp is invalid, and the
 * pod is waited for without end.
 */
export function goneBy(pod: Pod): Temporal.Instant | undefined {
  if (pod.deletionTimestamp === undefined) return undefined;
  const since = secondsAfter(pod.deletionTimestamp, -pod.deletionGraceSeconds);
  return isBefore(since, secondsAfter(pod.createdAt, -rounding))
    ? instantAt(Number.POSITIVE_INFINITY)
    : pod.deletionTimestamp;
}

/** Compares pods for lists that people read. */
export function byKey(one: Pod, other: Pod): number {
  return one.key < other.key ? -1 : one.key > other.key ? 1 : 0;
}
