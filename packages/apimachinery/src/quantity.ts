import { isObject, type Json } from './json.ts';

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

/**
 * Compares two resourceVersions. They are decimal numbers of any length and comparable between
 * objects of one kind (KEP-5504, Kubernetes 1.35); earlier servers keep to the same form. Returns 0
 * if one of them is not a number: callers must not conclude anything then.
 */
export function compareVersions(one: string, other: string): number {
  if (!/^\d+$/.test(one) || !/^\d+$/.test(other)) return 0;
  if (one.length !== other.length) return one.length - other.length;
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** The release of an API server, from /version. */
export type KubernetesRelease = {
  /** Version: `v1.30.14`, possibly with a suffix of the provider. */
  readonly version: string;
  /** Minor version: 30 is 1.30. */
  readonly minor: number;
};

/** Oldest minor release that Drydock is tested on. */
export const oldestTested = 30;

/** A feature of Kubernetes that Drydock uses if the release has it. */
export type Feature = {
  readonly name: 'field selectors of custom resources';
  /** Minor release that has it by default. */
  readonly since: number;
  /** Function of Drydock that does not work without it. */
  readonly without: string;
};

const features: readonly Feature[] = [
  {
    name: 'field selectors of custom resources',
    since: 31,
    without: 'kubectl get nodemaintenances --field-selector spec.nodeName=NODE is refused',
  },
];

/** Returns the features that a release lacks. */
export function lacking({ minor }: Pick<KubernetesRelease, 'minor'>): readonly Feature[] {
  return features.filter(({ since }) => minor < since);
}

/**
 * Reads the response of /version; undefined if it contains no release. Providers write the minor as
 * `30+`.
 */
export function readRelease(body: unknown): KubernetesRelease | undefined {
  if (!isObject(body)) return undefined;
  const { major, minor, gitVersion } = body;
  const [, digits] = typeof minor === 'string' ? (/^(\d{1,4})\+?$/.exec(minor) ?? []) : [];
  if (major !== '1' || digits === undefined) return undefined;
  return {
    version: typeof gitVersion === 'string' ? gitVersion.slice(0, 64) : `v1.${digits}`,
    minor: Number(digits),
  };
}
