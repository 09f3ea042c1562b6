import type { Request } from '../../request/request.ts';
import { secondsAfter } from '../../time.ts';
import { recall as callBack } from '../../vm/recall.ts';
import { type Course, isActive, type Step } from '../reconcile-context.ts';

/** Its pods may have been asked for. */
const hasBegun = ({ history: { drainStartedAt, state } }: Request): boolean =>
  drainStartedAt !== undefined || state === 'Draining' || state === 'Detaching' || state === 'Drained' || state === 'Failed';

/** The drain that asked the VMs to move has ended or pauses, and nobody else wants them gone as far as can be seen. */
const wantsThemBack = ({ picture: { node }, standings, leaving }: Course): boolean => {
  if (standings.some(isActive) || node === undefined) return false;
  if (standings.some(({ holds, paused, failure, request }) => holds && hasBegun(request) && (paused || failure !== undefined))) return true;
  // One that stays cordoned was so before: somebody else may be emptying it.
  return leaving.some(hasBegun) && node.before === undefined && !node.unschedulable;
};

/** An uncordon alone leaves the VMs marked: KubeVirt would go on to move them. What has not begun is called back; the rest is named. */
export const recall: Step = course => {
  const { vms, nodeName, notes } = course.picture;
  if (vms === undefined || !wantsThemBack(course)) return { done: true, course };
  const { writes, goingOn, asked, waits } = callBack(nodeName, vms, notes.recalled, course.now);
  const after: Course = { ...course, writes: [...course.writes, ...writes], stillMoving: goingOn, recalled: asked };
  if (!waits) return { done: true, course: after };
  const again = secondsAfter(course.now, 1);
  return { done: course.leaving.length === 0, course: { ...after, moments: [...course.moments, again] } };
};
