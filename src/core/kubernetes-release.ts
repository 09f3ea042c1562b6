import { isObject } from './json.ts';

/** What an API server says of itself at /version. */
export type KubernetesRelease = {
  /** `v1.30.14`, or with what a provider adds to it. */
  readonly version: string;
  /** 30 is 1.30. */
  readonly minor: number;
};

/** The oldest minor release that Drydock is tested on. */
export const oldestTested = 30;

/** Something that Drydock uses where the release has it. */
export type Feature = {
  readonly name: 'field selectors of custom resources';
  /** The minor release that has it without anybody's doing. */
  readonly since: number;
  /** What does not work without it. */
  readonly without: string;
};

const features: readonly Feature[] = [
  {
    name: 'field selectors of custom resources',
    since: 31,
    without: 'kubectl get nodemaintenances --field-selector spec.nodeName=NODE is refused',
  },
];

/** The features that a release lacks. */
export const lacking = ({ minor }: Pick<KubernetesRelease, 'minor'>): readonly Feature[] => features.filter(({ since }) => minor < since);

/** Reads the answer of /version; undefined when it says no release. Providers write the minor as `30+`. */
export const readRelease = (body: unknown): KubernetesRelease | undefined => {
  if (!isObject(body)) return undefined;
  const { major, minor, gitVersion } = body;
  const [, digits] = typeof minor === 'string' ? (/^(\d{1,4})\+?$/.exec(minor) ?? []) : [];
  if (major !== '1' || digits === undefined) return undefined;
  return { version: typeof gitVersion === 'string' ? gitVersion.slice(0, 64) : `v1.${digits}`, minor: Number(digits) };
};
