import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A release of Kubernetes that the control plane can be built from. Its go.mod pins every module,
 * etcd included.
 */
export type Release = {
  /** `1.37`. */
  readonly name: string;
  readonly minor: number;
  /** `v1.37.2`. */
  readonly version: string;
  readonly goMod: string;
};

const older = join(import.meta.dirname, 'releases');

function readRelease(goMod: string): Release {
  const [, version = '', name = '', minor] =
    /^\s*k8s\.io\/kubernetes (v(1\.(\d+))\.\d+)$/m.exec(readFileSync(goMod, 'utf8')) ?? [];
  if (version === '') throw new Error(`${goMod} requires no release of k8s.io/kubernetes`);
  return { name, minor: Number(minor), version, goMod };
}

/** What the tests run on unless told otherwise, and what the embedded cluster is held to. */
export const newest = readRelease(join(import.meta.dirname, 'go.mod'));

/**
 * All, the oldest first. 1.31 and 1.32 are not among them: of some of their staging modules
 * (endpointslice, kube-controller-manager, csi-translation-lib) the Go module proxy has no archive.
 */
export const releases: readonly Release[] = [
  ...readdirSync(older).map(name => readRelease(join(older, name, 'go.mod'))),
  newest,
].toSorted((one, other) => one.minor - other.minor);

/**
 * The release of that name, `1.30`. Throws, with the names there are, for one that there is not.
 */
export function releaseNamed(name: string): Release {
  const release = releases.find(one => one.name === name);
  if (release !== undefined) return release;
  throw new Error(
    `no control plane can be built for Kubernetes "${name}"; there are ${releases.map(one => one.name).join(', ')}`,
  );
}

/** The one that DRYDOCK_TEST_KUBERNETES names, else the newest. */
export function wantedRelease(): Release {
  const name = process.env['DRYDOCK_TEST_KUBERNETES'];
  return name === undefined || name === '' ? newest : releaseNamed(name);
}
