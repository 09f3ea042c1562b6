import type { ReconcileStep } from '../reconcile-context.ts';

/** A node that does not exist cannot be held; its requests fail until it appears, and those that want to go may go. */
export const missingNode: ReconcileStep = context => {
  const { node, nodeName } = context.snapshot;
  if (node !== undefined) return { done: true, context };
  return {
    done: true,
    context: {
      ...context,
      // One whose node was to go has nothing more to say.
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
