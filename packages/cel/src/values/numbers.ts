/** Ranges of the types `int` and `uint`. */
const smallestInt = -(2n ** 63n);
const largestInt = 2n ** 63n - 1n;
const largestUint = 2n ** 64n - 1n;

export const isInt = (value: bigint): boolean => value >= smallestInt && value <= largestInt;
export const isUint = (value: bigint): boolean => value >= 0n && value <= largestUint;
