import { instantAt } from '@drydock/apimachinery';

/** A counter of the pods of one maintenance over its life, restarts included. */
export type DrainCounter = {
  /** Number of pods that left before this process looked. */
  readonly base: number;
  /** uids of all pods that were to leave since, without those that stay after all. */
  readonly seen: ReadonlySet<string>;
};

/**
 * Numbers for people: `gone` never decreases, `toEvict` is `gone` plus the pods that still wait.
 */
export type DrainCounts = {
  readonly toEvict: number;
  readonly gone: number;
  readonly waiting: number;
};

/** Continues from the stored numbers: pods that left while no process looked have left. */
export function startCounter(
  stored: { readonly toEvict: number; readonly gone: number },
  waiting: number,
): DrainCounter {
  return {
    base: Math.max(stored.gone, stored.toEvict - waiting, 0),
    seen: new Set(),
  };
}

/**
 * Returns the counter with the pods that have to leave at this moment, and without the present pods
 * that need not leave any more: they have not left.
 */
export function updateCounter(
  { base, seen }: DrainCounter,
  waiting: readonly string[],
  staying: readonly string[],
): DrainCounter {
  return {
    base,
    seen: new Set([...seen, ...waiting]).difference(new Set(staying)),
  };
}

export function countOf({ base, seen }: DrainCounter, waiting: number): DrainCounts {
  return {
    toEvict: base + seen.size,
    gone: base + seen.size - waiting,
    waiting,
  };
}

/**
 * Returns the percentage of the pods that have left: whole, 0 to 100, and 100 only when all have
 * (seed contract, chapter 6, clamped).
 */
export function percentOf({ toEvict, gone }: Pick<DrainCounts, 'toEvict' | 'gone'>): number {
  return toEvict <= 0 ? 0 : Math.min(100, Math.max(0, Math.trunc((gone * 100) / toEvict)));
}

/**
 * Estimates the end of the drain if the rest leaves at the rate seen so far; undefined while too
 * few pods have left.
 */
export function estimateEnd(
  startedAt: Temporal.Instant,
  now: Temporal.Instant,
  { gone, waiting }: DrainCounts,
): Temporal.Instant | undefined {
  const elapsed = now.epochMilliseconds - startedAt.epochMilliseconds;
  if (gone < 3 || elapsed <= 0 || waiting === 0) return undefined;
  return instantAt(now.epochMilliseconds + Math.ceil((elapsed * waiting) / gone));
}
