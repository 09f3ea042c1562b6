import { isBefore, secondsAfter } from '../../time.ts';
import type { PlanSnapshot, WorkPod } from '../snapshot.ts';
import { podTarget } from '../writes.ts';
import type { PodTask } from './hook.ts';
import { foreignPodText, isOwnPod } from './own-pod.ts';

/** A pod that is to run to its end once, beside the work itself: what has become of it. */

/** `missing`: it is to be made. `seen`: its uid is to be stored. */
export type PodTaskState =
  | { readonly kind: 'missing' }
  /** `idle`: no container has run, for longer than a pod needs to begin. */
  | { readonly kind: 'running'; readonly idle: boolean }
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'seen'; readonly podUid: string }
  | { readonly kind: 'failed'; readonly message: string; readonly exitCode?: number };

const maxMessageLength = 300;

/** Seconds that a pod may take to begin before it is taken for one that cannot. */
const idleAfterSeconds = 60;

/** Seconds within which a pod on a node has to begin, where its own limit is not shorter: its node waits for nothing meanwhile. */
const maxStartSeconds = 600;

export const startSeconds = (timeoutSeconds: number): number => Math.min(timeoutSeconds, maxStartSeconds);

/** Why it has not begun or ended: what its pod says, or why the API server refuses it. */
export const troubleOf = (snapshot: Pick<PlanSnapshot, 'pods' | 'plan' | 'refusals' | 'settings'>, task: PodTask): string => {
  const pod = podOfTask(snapshot, task);
  const refusal = snapshot.refusals.get(podTarget(snapshot.settings, task.pod));
  if (pod === undefined) return refusal === undefined ? '' : `the API server refuses its pod: ${refusal}`;
  return pod.message.slice(0, maxMessageLength);
};

const because = (text: string): string => (text === '' ? '' : `: ${text}`);

/** The pod of this name, if the plan has made it. */
export const podOfTask = (
  { pods, plan }: Pick<PlanSnapshot, 'pods' | 'plan'>,
  { pod: name }: Pick<PodTask, 'pod'>,
): WorkPod | undefined => {
  const pod = pods.get(name);
  return pod !== undefined && isOwnPod(pod, plan) ? pod : undefined;
};

/** What has become of it, by its pod. */
export const stateOfTask = (
  snapshot: Pick<PlanSnapshot, 'pods' | 'plan' | 'refusals' | 'settings'>,
  task: PodTask,
  timeoutSeconds: number,
  now: Temporal.Instant,
): PodTaskState => {
  const { podUid, since } = task;
  const named = snapshot.pods.get(task.pod);
  // One that somebody else has made says nothing of the task, and keeps its pod from being made.
  if (named !== undefined && !isOwnPod(named, snapshot.plan)) return { kind: 'failed', message: foreignPodText(named) };
  const pod = podUid === undefined || named?.uid === podUid ? named : undefined;
  if (podUid !== undefined && pod?.phase === 'Succeeded') return { kind: 'succeeded' };
  if (podUid !== undefined && pod?.phase === 'Failed') {
    const { message, exitCode } = pod;
    return { kind: 'failed', message: message.slice(0, maxMessageLength), ...(exitCode !== undefined && { exitCode }) };
  }
  if (!isBefore(now, secondsAfter(since, timeoutSeconds)))
    return { kind: 'failed', message: `it has not ended within ${timeoutSeconds} s${because(troubleOf(snapshot, task))}` };
  if (pod !== undefined && podUid === undefined) return { kind: 'seen', podUid: pod.uid };
  if (pod !== undefined) return { kind: 'running', idle: !pod.ran && !isBefore(now, secondsAfter(since, idleAfterSeconds)) };
  return podUid === undefined ? { kind: 'missing' } : { kind: 'failed', message: 'somebody has deleted its pod' };
};

/** When it is another matter by time alone. */
export const momentsOf = ({ since }: PodTask, timeoutSeconds: number, now: Temporal.Instant): readonly Temporal.Instant[] =>
  [idleAfterSeconds, startSeconds(timeoutSeconds), timeoutSeconds]
    .map(seconds => secondsAfter(since, seconds))
    .filter(moment => isBefore(now, moment));
