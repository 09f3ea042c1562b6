import { isTerminating } from '../../pod/pod.ts';
import { isHeldAlready } from '../held.ts';
import type { ReconcileContext, ReconcileStep } from '../reconcile-context.ts';
import type { Self } from '../snapshot.ts';

/**
 * Reports whether the operator's own pod has been deleted: its process runs for some seconds more.
 */
function isGoing(self: Self | undefined): boolean {
  return self?.pods?.some(pod => pod.key === self.pod && isTerminating(pod)) === true;
}

function barredFor({ pod }: Self): {
  readonly barred: true;
  readonly problem: { readonly reason: string; readonly message: string };
} {
  const message = `waits for the next operator: pod ${pod} of this one is being deleted`;
  return { barred: true, problem: { reason: 'OperatorGoes', message } };
}

/**
 * Bars new nodes while the operator's pod terminates: such a node may be the only one left on which
 * the next operator could run.
 */
export const succession: ReconcileStep = (context: ReconcileContext) => {
  const { node, self } = context.snapshot;
  if (node === undefined || self === undefined || !isGoing(self)) return { done: true, context };
  const barred = barredFor(self);
  const progresses = context.progresses.map(progress =>
    progress.request.level === 'Announce' || isHeldAlready(node, progress.request)
      ? progress
      : { ...progress, ...barred },
  );
  return { done: true, context: { ...context, progresses } };
};
