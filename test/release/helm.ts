import { join } from 'node:path';
import { type Built, ensureBuilt, type GoBuild } from '../control-plane/build/go-build.ts';

export type HelmMajor = '3' | '4';

/** Helm itself, from Go modules. */
export function helmBuild(major: HelmMajor): GoBuild {
  return {
    name: `helm-${major}`,
    module: join(import.meta.dirname, `helm-${major}`),
    salt: '',
    announcement: `building Helm ${major} for the tests, a few minutes the first time,`,
    build: (to, go) =>
      go(['build', '-o', join(to, 'helm'), '-ldflags', '-s -w', `helm.sh/helm/v${major}/cmd/helm`]),
  };
}

export function helmBuilt(major: HelmMajor): Promise<Built> {
  return ensureBuilt(helmBuild(major));
}
