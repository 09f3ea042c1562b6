import { join } from 'node:path';
import { type Built, ensureBuilt, type GoBuild } from '../control-plane/build/go-build.ts';

export type HelmMajor = '3' | '4';

/** Helm itself, from Go modules. */
export const helmBuild = (major: HelmMajor): GoBuild => ({
  name: `helm-${major}`,
  module: join(import.meta.dirname, `helm-${major}`),
  salt: '',
  announcement: `building Helm ${major} for the tests, a few minutes the first time,`,
  build: (to, go) => go(['build', '-o', join(to, 'helm'), '-ldflags', '-s -w', `helm.sh/helm/v${major}/cmd/helm`]),
});

export const helmBuilt = (major: HelmMajor): Promise<Built> => ensureBuilt(helmBuild(major));
