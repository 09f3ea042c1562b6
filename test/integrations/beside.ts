import type { LeftOut } from './builds.ts';

/** What a neighbour stands on: it is stopped when the neighbour cannot be had. */
type Ground = { readonly kind: 'started' | 'ready'; stop(): Promise<void> };

/** Both, or why this machine cannot have them. */
export type Beside<G, N> =
  | { readonly kind: 'started'; readonly ground: G; readonly neighbour: N }
  | LeftOut;

/**
 * Starts a neighbour on a ground that has been started. Nothing is left of the ground when the
 * neighbour is left out, or fails to start.
 */
export async function startBeside<G extends Ground, N extends { readonly kind: 'started' }>(
  ground: G | LeftOut,
  start: (ground: G) => Promise<N | LeftOut>,
): Promise<Beside<G, N>> {
  if (ground.kind === 'left-out') return ground;
  try {
    const neighbour = await start(ground);
    if (neighbour.kind === 'started') return { kind: 'started', ground, neighbour };
    await ground.stop();
    return neighbour;
  } catch (error) {
    await ground.stop();
    throw error;
  }
}
