/** A number, or a percentage, as in `maxUnavailable` and similar fields: `3` or `"10%"`. */
export type IntOrPercent = number | string;

/**
 * Resolves an amount of `total`: a percentage is rounded down, to at least 1, so that a small set
 * of nodes goes on too; a number stays as it is, and 0 is nothing. Undefined if it is neither.
 */
export function resolveAmount(amount: IntOrPercent, total: number): number | undefined {
  if (typeof amount === 'number')
    return Number.isInteger(amount) && amount >= 0 ? amount : undefined;
  const [, digits] = /^(\d{1,3})%$/.exec(amount) ?? [];
  if (digits === undefined) return /^\d{1,9}$/.test(amount) ? Number(amount) : undefined;
  const percent = Number(digits);
  if (percent < 1 || percent > 100) return undefined;
  return Math.max(1, Math.floor((total * percent) / 100));
}

/**
 * Returns how many of `total` nodes `concurrency` allows to be out of service: the lower one of a
 * share and a number. Undefined: it sets no limit.
 */
export function unavailableLimit(
  {
    maxUnavailable,
    maxUnavailableAbsolute,
  }: { readonly maxUnavailable?: IntOrPercent; readonly maxUnavailableAbsolute?: number },
  total: number,
): number | undefined {
  const share = maxUnavailable === undefined ? undefined : resolveAmount(maxUnavailable, total);
  if (share === undefined || maxUnavailableAbsolute === undefined)
    return share ?? maxUnavailableAbsolute;
  return Math.min(share, maxUnavailableAbsolute);
}
