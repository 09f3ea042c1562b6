import { planAnnotation } from '../../core/plan/plan.ts';
import type { WorkPod } from '../../core/plan/snapshot.ts';

/** What is kept of the objects that plans look at beside their own kinds. */

type RawMetadata = {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deletionTimestamp?: string;
  readonly annotations?: Readonly<Record<string, string>>;
};

type RawState = {
  readonly terminated?: { readonly exitCode?: number; readonly reason?: string; readonly message?: string };
  readonly waiting?: { readonly reason?: string; readonly message?: string };
};

type RawPod = {
  readonly metadata: RawMetadata;
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly containerStatuses?: readonly { readonly name: string; readonly state?: RawState }[];
    readonly initContainerStatuses?: readonly { readonly name: string; readonly state?: RawState }[];
  };
};

const phases: readonly WorkPod['phase'][] = ['Pending', 'Running', 'Succeeded', 'Failed'];

/** Characters of what a failed pod says: kubelet gives the end of the log. */
const longestMessage = 800;

const stateText = ({ name, state }: { readonly name: string; readonly state?: RawState }): readonly string[] => {
  const { terminated, waiting } = state ?? {};
  if (terminated !== undefined && terminated.exitCode !== 0) {
    const { exitCode, reason = 'ended', message = '' } = terminated;
    return [
      `container ${name}: ${reason}, exit code ${exitCode ?? '?'}${message === '' ? '' : `: ${message.trim().slice(-longestMessage)}`}`,
    ];
  }
  return waiting?.reason === undefined
    ? []
    : [`container ${name}: ${waiting.reason}${waiting.message === undefined ? '' : `: ${waiting.message}`}`];
};

const messageOf = ({ reason, message, initContainerStatuses = [], containerStatuses = [] }: NonNullable<RawPod['status']>): string => {
  const own = [reason, message].filter(text => text !== undefined && text !== '').join(': ');
  const all = [own, ...[...initContainerStatuses, ...containerStatuses].flatMap(stateText)].filter(text => text !== '');
  return all.join('; ').slice(0, 2 * longestMessage) || 'no reason is known';
};

/** kubelet gives no more. */
const longestOutput = 4096;

/** What the first of its containers that has something to say has said at its end. */
const outputOf = ({ phase, containerStatuses = [] }: NonNullable<RawPod['status']>): string | undefined =>
  phase === 'Succeeded'
    ? containerStatuses
        .map(({ state }) => state?.terminated?.message?.slice(0, longestOutput))
        .find(text => text !== undefined && text !== '')
    : undefined;

/** Reasons of kubelet for a pod that it has ended because its node shuts down. */
const shutdownReasons: readonly (string | undefined)[] = ['Terminated', 'NodeShutdown', 'Shutdown'];

/** Ended by a signal that asks for the end, or lost with its node, of which containerd says Unknown; not for want of memory. */
const isKilled = ({ state }: { readonly state?: RawState }): boolean => {
  const { exitCode = 0, reason } = state?.terminated ?? {};
  return exitCode === 143 || (exitCode === 137 && reason !== 'OOMKilled') || (exitCode === 255 && reason === 'Unknown');
};

const exitCodeOf = ({ initContainerStatuses = [], containerStatuses = [] }: NonNullable<RawPod['status']>): number | undefined =>
  [...initContainerStatuses, ...containerStatuses].map(({ state }) => state?.terminated?.exitCode ?? 0).find(code => code !== 0);

const wasKilled = ({ phase, reason, initContainerStatuses = [], containerStatuses = [] }: NonNullable<RawPod['status']>): boolean => {
  if (phase !== 'Failed' || reason !== undefined) return phase === 'Failed' && shutdownReasons.includes(reason);
  const failed = [...initContainerStatuses, ...containerStatuses].filter(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  return failed.length > 0 && failed.every(isKilled);
};

/** Reads the pod that works on a node. */
export const readWorkPod = (raw: unknown): WorkPod => {
  const { metadata, spec, status = {} } = raw as RawPod;
  const { name, namespace = '', uid, resourceVersion } = metadata;
  const [exitCode, output] = [exitCodeOf(status), outputOf(status)];
  return {
    key: `${namespace}/${name}`,
    name,
    namespace,
    uid,
    resourceVersion,
    nodeName: spec?.nodeName ?? '',
    plan: metadata.annotations?.[planAnnotation] ?? '',
    deleting: metadata.deletionTimestamp !== undefined,
    phase: phases.find(phase => phase === status.phase) ?? 'Unknown',
    killed: wasKilled(status),
    ...(exitCode !== undefined && { exitCode }),
    message: messageOf(status),
    ...(output !== undefined && { output }),
  };
};

/** The pod that this process runs in. */
export type OwnPod = { readonly key: string; readonly uid: string; readonly resourceVersion: string; readonly image?: string };

export const readOwnPod = (raw: unknown): OwnPod => {
  const { metadata, spec } = raw as {
    readonly metadata: RawMetadata;
    readonly spec?: { readonly containers?: readonly { readonly image?: string }[] };
  };
  const image = spec?.containers?.[0]?.image;
  return { key: metadata.name, uid: metadata.uid, resourceVersion: metadata.resourceVersion, ...(image !== undefined && { image }) };
};

/** The annotation of the leader's lease that stops all plans; its value says why. */
export const haltAnnotation = 'drydock.dev/halt';

export type Halt = { readonly key: string; readonly uid: string; readonly resourceVersion: string; readonly reason?: string };

export const readHalt = (raw: unknown): Halt => {
  const { metadata } = raw as { readonly metadata: RawMetadata };
  const reason = metadata.annotations?.[haltAnnotation];
  return { key: metadata.name, uid: metadata.uid, resourceVersion: metadata.resourceVersion, ...(reason !== undefined && { reason }) };
};
