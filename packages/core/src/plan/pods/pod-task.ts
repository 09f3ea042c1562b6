import { isBefore, secondsAfter } from '@drydock/apimachinery';
import type { PlanSnapshot, WorkPod } from '../snapshot.ts';
import { podTarget } from '../writes.ts';
import type { PodTask } from './hook.ts';
import { foreignPodText, isOwnPod } from './own-pod.ts';

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
