import { earliest, isObject, type JsonObject, placementOf, readTime } from '@drydock/apimachinery';
import type { WorkPod } from '@drydock/core/plan';
import { planAnnotation } from '@drydock/core/plan';

/** Kept fields of the objects that plans read beside their own kinds. */

type RawMetadata = {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deletionTimestamp?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly {
    readonly apiVersion: string;
    readonly kind: string;
    readonly uid: string;
  }[];
};

/**
 * Annotation of the pods that kubelets create for static pods: kubernetes.io/config.mirror
 * (pkg/kubelet/types).
 */
const mirrorAnnotation = 'kubernetes.io/config.mirror';

function ownerUidOf({ ownerReferences = [] }: RawMetadata): string | undefined {
  return ownerReferences.find(
    ({ apiVersion, kind }) => kind === 'MaintenancePlan' && apiVersion.startsWith('drydock.dev/'),
  )?.uid;
}

type Terminated = {
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt?: string | null;
};

type RawState = {
  readonly running?: { readonly startedAt?: string | null };
  readonly terminated?: Terminated;
  readonly waiting?: { readonly reason?: string; readonly message?: string };
};

type RawContainer = {
  readonly name: string;
  readonly containerID?: string;
  readonly state?: RawState;
  readonly lastState?: RawState;
};

type RawStatus = {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason?: string;
    readonly message?: string;
  }[];
  readonly containerStatuses?: readonly RawContainer[];
  readonly initContainerStatuses?: readonly RawContainer[];
};

type RawPod = {
  readonly metadata: RawMetadata;
  readonly spec?: { readonly nodeName?: string };
  readonly status?: RawStatus;
};

const phases: readonly WorkPod['phase'][] = ['Pending', 'Running', 'Succeeded', 'Failed'];

/** Characters of a failed pod's message that are kept: kubelet gives the end of the log. */
const maxMessageLength = 800;

function containersOf({
  initContainerStatuses = [],
  containerStatuses = [],
}: RawStatus): readonly RawContainer[] {
  return [...initContainerStatuses, ...containerStatuses];
}

function reasonAnd(reason: string, message: string | undefined): string {
  return message === undefined || message.trim() === '' ? reason : `${reason}: ${message.trim()}`;
}

function stateText({ name, state }: RawContainer): readonly string[] {
  const { terminated, waiting } = state ?? {};
  if (terminated !== undefined && terminated.exitCode !== 0) {
    const { exitCode, reason = 'ended', message = '' } = terminated;
    return [
      `container ${name}: ${reasonAnd(`${reason}, exit code ${exitCode ?? '?'}`, message.trim().slice(-maxMessageLength))}`,
    ];
  }
  return waiting?.reason === undefined
    ? []
    : [`container ${name}: ${reasonAnd(waiting.reason, waiting.message)}`];
}

/**
 * Describes a pod that has not ended although some of its containers have: the containers that keep
 * it running.
 */
function runningOn({ containerStatuses = [] }: RawStatus): readonly string[] {
  const ended = containerStatuses.filter(({ state }) => state?.terminated !== undefined);
  const running = containerStatuses.filter(({ state }) => state?.running !== undefined);
  if (ended.length === 0 || running.length === 0) return [];
  const over = ended.map(
    ({ name, state }) => `container ${name} has ended with ${state?.terminated?.exitCode ?? '?'}`,
  );
  return [
    `${over.join(', ')}; ${running.map(({ name }) => name).join(', ')} ${running.length === 1 ? 'runs' : 'run'} on`,
  ];
}

/** Describes what removes the pod before its end: a preemption, an eviction, a taint. */
function disruption({ conditions = [] }: RawStatus): readonly string[] {
  return conditions.flatMap(({ type, status, reason = '', message }) =>
    type === 'DisruptionTarget' && status === 'True' ? [reasonAnd(reason, message)] : [],
  );
}

/** Describes why the pod is not scheduled, for pods that are bound to no node. */
function unscheduled({ conditions = [] }: RawStatus): readonly string[] {
  return conditions.flatMap(({ type, status, reason = '', message }) =>
    type === 'PodScheduled' && status === 'False' ? [reasonAnd(reason, message)] : [],
  );
}

function isEnd(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

function messageOf(status: RawStatus): string {
  const { phase, reason, message } = status;
  const own = [reason, message].filter(text => text !== undefined && text !== '').join(': ');
  const rest = isEnd(phase) ? [] : [...runningOn(status), ...unscheduled(status)];
  const all = [
    own,
    ...disruption(status),
    ...containersOf(status).flatMap(stateText),
    ...rest,
  ].filter(text => text !== '');
  const unknown = phase === 'Failed' ? 'no reason is known' : '';
  return [...new Set(all)].join('; ').slice(0, 2 * maxMessageLength) || unknown;
}

/**
 * Reason of kubelet for a container that it cannot find at the end of its pod: one that has run
 * keeps its ID.
 */
const lost = 'ContainerStatusUnknown';

/** Reasons for containers that the runtime has created, and could not start. */
const unbegun: readonly (string | undefined)[] = ['StartError', 'ContainerCannotRun'];

function hasRun({ containerID = '', state, lastState }: RawContainer): boolean {
  const ended = state?.terminated;
  if (unbegun.includes(ended?.reason)) return false;
  if (containerID !== '' || state?.running !== undefined || lastState?.terminated !== undefined)
    return true;
  return ended !== undefined && (ended.reason !== lost || typeof ended.startedAt === 'string');
}

/**
 * Reports whether a container has run: a pod whose containers have not started has changed nothing.
 */
function ranOf(status: RawStatus): boolean {
  return (
    status.phase === 'Running' || status.phase === 'Succeeded' || containersOf(status).some(hasRun)
  );
}

function ranAtOf(status: RawStatus): Temporal.Instant | undefined {
  return earliest(
    containersOf(status).flatMap(({ state, lastState }) =>
      [state?.running, state?.terminated, lastState?.terminated].map(one =>
        readTime(one?.startedAt),
      ),
    ),
  );
}

/** Longest termination message in characters: kubelet gives no more. */
const maxOutputLength = 4096;

/** Returns the first termination message among its containers. */
function outputOf({ phase, containerStatuses = [] }: RawStatus): string | undefined {
  return phase === 'Succeeded'
    ? containerStatuses
        .map(({ state }) => state?.terminated?.message?.slice(0, maxOutputLength))
        .find(text => text !== undefined && text !== '')
    : undefined;
}

/** Reasons of kubelet for a pod that it has ended because its node shuts down. */
const shutdownReasons: readonly (string | undefined)[] = ['Terminated', 'NodeShutdown', 'Shutdown'];

/**
 * Reports whether the container was ended by a signal, or lost with its node, for which containerd
 * has the reason Unknown; not for lack of memory.
 */
function isKilled({ state }: { readonly state?: RawState }): boolean {
  const { exitCode = 0, reason } = state?.terminated ?? {};
  return (
    exitCode === 143 ||
    (exitCode === 137 && reason !== 'OOMKilled') ||
    (exitCode === 255 && reason === 'Unknown')
  );
}

function exitCodeOf(status: RawStatus): number | undefined {
  return containersOf(status)
    .map(({ state }) => state?.terminated?.exitCode ?? 0)
    .find(code => code !== 0);
}

function wasKilled(status: RawStatus): boolean {
  const { phase, reason } = status;
  if (phase !== 'Failed' || reason !== undefined)
    return phase === 'Failed' && shutdownReasons.includes(reason);
  const failed = containersOf(status).filter(
    ({ state }) => (state?.terminated?.exitCode ?? 0) !== 0,
  );
  return failed.length > 0 && failed.every(isKilled);
}

/** Reads the pod that works on a node. */
export function readWorkPod(raw: unknown): WorkPod {
  const { metadata, spec, status = {} } = raw as RawPod;
  const { name, namespace = '', uid, resourceVersion } = metadata;
  const [exitCode, output, ownerUid, ranAt] = [
    exitCodeOf(status),
    outputOf(status),
    ownerUidOf(metadata),
    ranAtOf(status),
  ];
  return {
    key: `${namespace}/${name}`,
    name,
    namespace,
    uid,
    resourceVersion,
    nodeName: spec?.nodeName ?? '',
    plan: metadata.annotations?.[planAnnotation] ?? '',
    ...(ownerUid !== undefined && { ownerUid }),
    isMirror: metadata.annotations?.[mirrorAnnotation] !== undefined,
    deleting: metadata.deletionTimestamp !== undefined,
    phase: phases.find(phase => phase === status.phase) ?? 'Unknown',
    ran: ranOf(status),
    ...(ranAt && { ranAt }),
    ...(status.reason === 'DeadlineExceeded' && { exceeded: true }),
    killed: wasKilled(status),
    ...(exitCode !== undefined && { exitCode }),
    message: messageOf(status),
    ...(output !== undefined && { output }),
  };
}

/** The pod that this process runs in. */
export type OwnPod = {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly image?: string;
  /**
   * Placement of the operator's pods: only the nodes on which they may run may have their token.
   */
  readonly placement: JsonObject;
  /** Names of the Secrets that its images are pulled with. */
  readonly pullSecrets: readonly string[];
};

function pullSecretsOf({ imagePullSecrets }: JsonObject): readonly string[] {
  return Array.isArray(imagePullSecrets)
    ? imagePullSecrets.flatMap(one =>
        isObject(one) && typeof one['name'] === 'string' && one['name'] !== '' ? one['name'] : [],
      )
    : [];
}

export function readOwnPod(raw: unknown): OwnPod {
  const { metadata, spec = {} } = raw as {
    readonly metadata: RawMetadata;
    readonly spec?: JsonObject & { readonly containers?: readonly { readonly image?: string }[] };
  };
  const image = spec.containers?.[0]?.image;
  const { name: key, uid, resourceVersion } = metadata;
  return {
    key,
    uid,
    resourceVersion,
    placement: placementOf(spec),
    pullSecrets: pullSecretsOf(spec),
    ...(image !== undefined && { image }),
  };
}

/** Annotation of the leader's lease that stops all plans; its value is the reason. */
export const haltAnnotation = 'drydock.dev/halt';

export type Halt = {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly reason?: string;
};

export function readHalt(raw: unknown): Halt {
  const { metadata } = raw as { readonly metadata: RawMetadata };
  const reason = metadata.annotations?.[haltAnnotation];
  return {
    key: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    ...(reason !== undefined && { reason }),
  };
}
