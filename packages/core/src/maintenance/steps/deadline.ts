import type { ReconcileStep } from '../reconcile-context.ts';
import { isDraining } from '../reconcile-context.ts';
import { outOfTime } from './drain/escalation.ts';
import { rungOf } from './drain/view.ts';

/**
 * Applies the time limit of a drain, which bounds all of it: pods that leave, volumes that are
 * detached, servers of a hypervisor that move. The step `drain` reports it while pods are left;
 * this step reports it for the phases after that.
 */
export const deadline: ReconcileStep = context => ({
  done: true,
  context: {
    ...context,
    progresses: context.progresses.map(progress => {
      const isOpen =
        isDraining(progress) &&
        !progress.paused &&
        progress.failure === undefined &&
        progress.drain?.complete === false;
      return isOpen ? { ...progress, ...outOfTime(rungOf(progress, context.now)) } : progress;
    }),
  },
});
