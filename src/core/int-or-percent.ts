/** A number, or a percent of something, as `maxUnavailable` and its like are written: `3` or `"10%"`. */
export type IntOrPercent = number | string;

/**
 * What an amount is of `total`: a percent is rounded down, to at least 1, so that a small set of nodes goes on too; a number stays as it is, and 0 is nothing.
 * Undefined where it can be read as neither.
 */
export const resolveAmount = (amount: IntOrPercent, total: number): number | undefined => {
  if (typeof amount === 'number') return Number.isInteger(amount) && amount >= 0 ? amount : undefined;
  const [, digits] = /^(\d{1,3})%$/.exec(amount) ?? [];
  if (digits === undefined) return /^\d{1,9}$/.test(amount) ? Number(amount) : undefined;
  const percent = Number(digits);
  if (percent < 1 || percent > 100) return undefined;
  return Math.max(1, Math.floor((total * percent) / 100));
};

/** What `concurrency` allows of `total` nodes to be out of service: of a share and a number the lower one. Undefined: it sets no limit. */
export const unavailableLimit = (
  { maxUnavailable, maxUnavailableAbsolute }: { readonly maxUnavailable?: IntOrPercent; readonly maxUnavailableAbsolute?: number },
  total: number,
): number | undefined => {
  const share = maxUnavailable === undefined ? undefined : resolveAmount(maxUnavailable, total);
  if (share === undefined || maxUnavailableAbsolute === undefined) return share ?? maxUnavailableAbsolute;
  return Math.min(share, maxUnavailableAbsolute);
};
