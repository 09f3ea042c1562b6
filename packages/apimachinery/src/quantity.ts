import type { Json } from './json.ts';

const factors: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Returns a quantity (apimachinery resource.Quantity) as a number; 0 for an invalid one. */
export function amount(quantity: Json | undefined): number {
  if (typeof quantity === 'number') return quantity;
  if (typeof quantity !== 'string') return 0;
  const [, digits = '', suffix = ''] =
    /^([+-]?[0-9.]+(?:[eE][+-]?\d+)?)(m|k|[MGTPE]|[KMGTPE]i)?$/.exec(quantity) ?? [];
  return digits === '' ? 0 : Number(digits) * (factors[suffix] ?? 1);
}
