import { join } from 'node:path';
import { type Built, ensureBuilt } from '../control-plane/go-build.ts';

/** Helm, built from its own sources. */
export const helmBuilt = (major: '3' | '4'): Promise<Built> =>
  ensureBuilt({
    name: `helm-${major}`,
    module: join(import.meta.dirname, `helm-${major}`),
    salt: '',
    announcement: `building Helm ${major} for the tests, a few minutes the first time,`,
    build: (to, go) => go(['build', '-o', join(to, 'helm'), '-ldflags', '-s -w', `helm.sh/helm/v${major}/cmd/helm`]),
  });
