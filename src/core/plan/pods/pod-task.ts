import { isBefore, secondsAfter } from '../../time.ts';
import type { PlanSnapshot, WorkPod } from '../snapshot.ts';
import type { PodTask } from './hook.ts';

/** A pod that is to run to its end once, beside the work itself: what has become of it. */

/** `missing`: it is to be made. `seen`: its uid is to be stored. */
export type PodTaskState =
  | { readonly kind: 'missing' }
  | { readonly kind: 'running' }
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'seen'; readonly podUid: string }
  | { readonly kind: 'failed'; readonly message: string; readonly exitCode?: number };

const longestMessage = 300;

/** The pod of this name, if it is the plan's. */
export const podOfTask = ({ pods, plan }: Pick<PlanSnapshot, 'pods' | 'plan'>, { pod: name }: PodTask): WorkPod | undefined => {
  const pod = pods.get(name);
  return pod?.plan === plan.name ? pod : undefined;
};

/** What has become of it, by its pod. */
export const stateOfTask = (
  { podUid, since }: PodTask,
  pod: WorkPod | undefined,
  timeoutSeconds: number,
  now: Temporal.Instant,
): PodTaskState => {
  if (podUid !== undefined && pod?.phase === 'Succeeded') return { kind: 'succeeded' };
  if (podUid !== undefined && pod?.phase === 'Failed') {
    const { message, exitCode } = pod;
    return { kind: 'failed', message: message.slice(0, longestMessage), ...(exitCode !== undefined && { exitCode }) };
  }
  if (!isBefore(now, secondsAfter(since, timeoutSeconds)))
    return { kind: 'failed', message: `it has not ended within ${timeoutSeconds} s` };
  if (pod !== undefined) return podUid === undefined ? { kind: 'seen', podUid: pod.uid } : { kind: 'running' };
  return podUid === undefined ? { kind: 'missing' } : { kind: 'failed', message: 'somebody has deleted its pod' };
};
