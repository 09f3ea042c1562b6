import { isBefore, type JsonObject, secondsAfter } from '@drydock/apimachinery';
import type { Write } from '../../write.ts';
import type { InFlight } from '../in-flight.ts';
import type { Plan } from '../plan.ts';
import type { PlanSnapshot, WaitReason, WorkPod } from '../snapshot.ts';
import { deletePodWrite, isNamedFor, isWorkName, podTarget, workPurpose } from '../writes.ts';
import type { PodTask } from './hook.ts';

/**
 * Reports whether the plan has created the pod: it is owned by the plan's uid. A kubelet may create
 * mirror pods in any namespace, with any name and annotation, but names no owner except its Node
 * (NodeRestriction).
 */
export function isOwnPod({ ownerUid, isMirror }: WorkPod, { uid }: Pick<Plan, 'uid'>): boolean {
  return ownerUid === uid && !isMirror;
}

/** Returns the text for a foreign pod that has the name of a pod to create. */
export function foreignPodText({ namespace, name }: Pick<WorkPod, 'namespace' | 'name'>): string {
  return `Pod ${namespace}/${name} exists and was not made by this plan: delete it`;
}

/**
 * Pods that work on a node: at most one may run, and only as long as the plan is entitled to it.
 */

/** Reports whether no container of it runs, or ever will again. */
export function isOver({ phase }: WorkPod): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** Returns the pods of all attempts of this turn of the node. */
export function podsOfTurn({ plan, pods }: PlanSnapshot, one: InFlight): readonly WorkPod[] {
  const purposes = Array.from({ length: one.attempt }, (_, index) =>
    workPurpose(plan, { ...one, attempt: index + 1 }),
  );
  return [...pods.values()].filter(
    pod =>
      isOwnPod(pod, plan) &&
      pod.nodeName === one.node &&
      purposes.some(purpose => isNamedFor(pod.name, purpose)),
  );
}

/** Returns the pods of any turn of a node of this name that may run. */
export function workPodsOn({ plan, pods }: PlanSnapshot, node: string): readonly WorkPod[] {
  return [...pods.values()].filter(
    pod => pod.nodeName === node && isOwnPod(pod, plan) && isWorkName(pod.name) && !isOver(pod),
  );
}

/** Returns these pods except the pod of the present attempt: none of them may run beside it. */
export function podsOfOtherAttempts(
  snapshot: PlanSnapshot,
  { node, pod: own }: InFlight,
): readonly WorkPod[] {
  return workPodsOn(snapshot, node).filter(({ name }) => name !== own);
}

/** Returns the wait for the end of these pods, which keeps `what` from happening. */
export function waitForPods(
  [first, ...others]: readonly WorkPod[],
  node: string,
  what: string,
): WaitReason {
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  const message = `pod ${first?.name ?? ''}${more} of the work has to end before ${what}`;
  return { reason: 'Releasing', message, node };
}

/**
 * Deletes the pods that are not being deleted yet. A pod that has not run a container is deleted
 * only in the version that was read: it may have started since.
 */
export function deletions(pods: readonly WorkPod[]): readonly Write[] {
  return pods
    .filter(({ deleting }) => !deleting)
    .map(pod => deletePodWrite(pod, isOver(pod) || pod.ran ? 'unconditional' : 'unchanged'));
}

/**
 * Returns the pod that reboots its node: as root among the processes of the node, without a single
 * capability, because the kernel lets root signal root. It signals systemd, the first process, to
 * reboot (SIGRTMIN+5, systemd(1)); AppArmor and SELinux forbid that to ordinary containers.
 */
export function rebootPodSpec(image: string): JsonObject {
  return {
    hostPID: true,
    terminationGracePeriodSeconds: 5,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    containers: [
      {
        name: 'reboot',
        image,
        args: ['reboot-node'],
        securityContext: {
          runAsUser: 0,
          runAsGroup: 0,
          runAsNonRoot: false,
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
          seccompProfile: { type: 'RuntimeDefault' },
          appArmorProfile: { type: 'Unconfined' },
          seLinuxOptions: { type: 'spc_t' },
        },
      },
    ],
  };
}

/** A pod that is to run to its end once, beside the work itself, and its state. */

/** State of a task. `missing`: the pod is to be created. `seen`: its uid is to be stored. */
export type PodTaskState =
  | { readonly kind: 'missing' }
  /** `idle`: no container has run, for longer than a pod needs to start. */
  | { readonly kind: 'running'; readonly idle: boolean }
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'seen'; readonly podUid: string }
  | { readonly kind: 'failed'; readonly message: string; readonly exitCode?: number };

const maxMessageLength = 300;

/** Seconds that a pod may take to start before it counts as unable to. */
const idleAfterSeconds = 60;

/**
 * Seconds within which a pod on a node has to start, unless its own limit is shorter: its node is
 * out of service for nothing meanwhile.
 */
const maxStartSeconds = 600;

export function startSeconds(timeoutSeconds: number): number {
  return Math.min(timeoutSeconds, maxStartSeconds);
}

/**
 * Returns why it has not started or ended: the message of its pod, or the API server's refusal to
 * create it.
 */
export function troubleOf(
  snapshot: Pick<PlanSnapshot, 'pods' | 'plan' | 'refusals' | 'settings'>,
  task: PodTask,
): string {
  const pod = podOfTask(snapshot, task);
  const refusal = snapshot.refusals.get(podTarget(snapshot.settings, task.pod));
  if (pod === undefined)
    return refusal === undefined ? '' : `the API server refuses its pod: ${refusal}`;
  return pod.message.slice(0, maxMessageLength);
}

function because(text: string): string {
  return text === '' ? '' : `: ${text}`;
}

/** Returns the pod of this name, if the plan has created it. */
export function podOfTask(
  { pods, plan }: Pick<PlanSnapshot, 'pods' | 'plan'>,
  { pod: name }: Pick<PodTask, 'pod'>,
): WorkPod | undefined {
  const pod = pods.get(name);
  return pod !== undefined && isOwnPod(pod, plan) ? pod : undefined;
}

/** Returns the state of a task, computed from its pod. */
export function stateOfTask(
  snapshot: Pick<PlanSnapshot, 'pods' | 'plan' | 'refusals' | 'settings'>,
  task: PodTask,
  timeoutSeconds: number,
  now: Temporal.Instant,
): PodTaskState {
  const { podUid, since } = task;
  const named = snapshot.pods.get(task.pod);
  // A foreign pod proves nothing about the task, and prevents the creation of its pod.
  if (named !== undefined && !isOwnPod(named, snapshot.plan))
    return { kind: 'failed', message: foreignPodText(named) };
  const pod = podUid === undefined || named?.uid === podUid ? named : undefined;
  if (podUid !== undefined && pod?.phase === 'Succeeded') return { kind: 'succeeded' };
  if (podUid !== undefined && pod?.phase === 'Failed') {
    const { message, exitCode } = pod;
    return {
      kind: 'failed',
      message: message.slice(0, maxMessageLength),
      ...(exitCode !== undefined && { exitCode }),
    };
  }
  if (!isBefore(now, secondsAfter(since, timeoutSeconds)))
    return {
      kind: 'failed',
      message: `it has not ended within ${timeoutSeconds} s${because(troubleOf(snapshot, task))}`,
    };
  if (pod !== undefined && podUid === undefined) return { kind: 'seen', podUid: pod.uid };
  if (pod !== undefined)
    return {
      kind: 'running',
      idle: !pod.ran && !isBefore(now, secondsAfter(since, idleAfterSeconds)),
    };
  return podUid === undefined
    ? { kind: 'missing' }
    : { kind: 'failed', message: 'somebody has deleted its pod' };
}

/** Returns the times at which the state changes by time alone. */
export function momentsOf(
  { since }: PodTask,
  timeoutSeconds: number,
  now: Temporal.Instant,
): readonly Temporal.Instant[] {
  return [idleAfterSeconds, startSeconds(timeoutSeconds), timeoutSeconds]
    .map(seconds => secondsAfter(since, seconds))
    .filter(moment => isBefore(now, moment));
}
