/** The longest duration of Go, 292 years, in seconds. */
const maxLength = 9_223_372_036;

/**
 * So many seconds as Go's time.Duration keeps them, in milliseconds: int64 nanoseconds, of which API server and kubelet make a negative or another number when
 * somebody gives a pod centuries to end.
 */
export const durationMs = (seconds: number): number =>
  Math.abs(seconds) <= maxLength ? seconds * 1000 : Number(BigInt.asIntN(64, BigInt(Math.trunc(seconds)) * 1_000_000_000n) / 1_000_000n);
