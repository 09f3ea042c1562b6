import { isObject } from './json.ts';

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
