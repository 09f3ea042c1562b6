/** Ranges of the types `int` and `uint`. */
const smallestInt = -(2n ** 63n);
const largestInt = 2n ** 63n - 1n;
const largestUint = 2n ** 64n - 1n;

export function isInt(value: bigint): boolean {
  return value >= smallestInt && value <= largestInt;
}
export function isUint(value: bigint): boolean {
  return value >= 0n && value <= largestUint;
}
