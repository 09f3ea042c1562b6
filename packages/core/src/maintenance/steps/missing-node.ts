import type { ReconcileStep } from '../reconcile-context.ts';

/**
 * Fails the requests of a node that does not exist, until it appears; requests that are being
 * deleted may go.
 */
export const missingNode: ReconcileStep = context => {
  const { node, nodeName } = context.snapshot;
  if (node !== undefined) return { done: true, context };
  return {
    done: true,
    context: {
      ...context,
      // A request of a machine maintenance reports nothing more: its node was meant to go.
      progresses: context.progresses
        .filter(({ request }) => request.part === undefined)
        .map(progress => ({
          ...progress,
          failure: 'NodeNotFound',
          problem: { reason: 'NodeNotFound', message: `nodes "${nodeName}" not found` },
        })),
    },
  };
};
