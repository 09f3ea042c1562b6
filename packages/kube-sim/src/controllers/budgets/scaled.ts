import type { Json } from '@drydock/apimachinery';

/**
 * Returns an int-or-percent of a total (apimachinery intstr.GetScaledValueFromIntOrPercent);
 * undefined for other values.
 */
export function scaled(
  value: Json | undefined,
  whole: number,
  round: 'up' | 'down',
): number | undefined {
  if (typeof value === 'number') return value;
  const percent = typeof value === 'string' ? /^(\d+)%$/.exec(value)?.[1] : undefined;
  if (percent === undefined) return undefined;
  const share = (Number(percent) * whole) / 100;
  return round === 'up' ? Math.ceil(share) : Math.floor(share);
}
