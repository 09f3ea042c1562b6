/** Longest duration in Go, 292 years, in seconds. */
const maxLength = 9_223_372_036;

/**
 * Converts seconds to milliseconds with the overflow of Go's time.Duration: int64 nanoseconds,
 * which become negative or another number in API server and kubelet when a pod has a grace period
 * of centuries.
 */
export function durationMs(seconds: number): number {
  return Math.abs(seconds) <= maxLength
    ? seconds * 1000
    : Number(BigInt.asIntN(64, BigInt(Math.trunc(seconds)) * 1_000_000_000n) / 1_000_000n);
}
