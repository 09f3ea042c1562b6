import type { Clock } from '../clock.ts';

/** Time passes only in sleep, and then at once; time limits never come, but are remembered. */
export function quickClock(
  start = '2030-01-10T00:00:00Z',
): Clock & { readonly slept: number[]; readonly limits: number[] } {
  let now = Temporal.Instant.from(start);
  const slept: number[] = [];
  const limits: number[] = [];
  return {
    slept,
    limits,
    now: () => now,
    sleep: async milliseconds => {
      slept.push(milliseconds);
      now = now.add({ milliseconds: Math.round(milliseconds) });
      await new Promise(resolve => setImmediate(resolve));
    },
    after: milliseconds => {
      limits.push(milliseconds);
      return () => {};
    },
  };
}
