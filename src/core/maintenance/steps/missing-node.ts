import type { Step } from '../reconcile-context.ts';

/** A node that does not exist cannot be held; its requests fail until it appears, and those that want to go may go. */
export const missingNode: Step = course => {
  const { node, nodeName } = course.picture;
  if (node !== undefined) return { done: true, course };
  return {
    done: true,
    course: {
      ...course,
      // One whose node was to go has nothing more to say.
      standings: course.standings
        .filter(({ request }) => request.part === undefined)
        .map(standing => ({
          ...standing,
          failure: 'NodeNotFound',
          problem: { reason: 'NodeNotFound', message: `nodes "${nodeName}" not found` },
        })),
    },
  };
};
