import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt, type GoBuild } from './go-build.ts';

/** The programs a control plane is made of, or why this machine has none. */
export type Binaries =
  | { readonly kind: 'ready'; readonly controlplane: string; readonly kubectl: string; readonly kwok: string; readonly attend: string }
  | { readonly kind: 'left-out'; readonly why: string };

export const kubernetesVersion = 'v1.36.3';
const kwokModule = 'sigs.k8s.io/kwok/cmd/kwok@v0.8.0';

/** kubectl and the API server say their version; without these flags it is v0.0.0-master and both warn. */
const versionFlags = [
  `k8s.io/component-base/version.gitVersion=${kubernetesVersion}`,
  'k8s.io/component-base/version.gitMajor=1',
  'k8s.io/component-base/version.gitMinor=36',
  `k8s.io/client-go/pkg/version.gitVersion=${kubernetesVersion}`,
];
const linkerFlags = `-s -w ${versionFlags.map(flag => `-X ${flag}`).join(' ')}`;

const controlPlane: GoBuild = {
  name: 'control-plane',
  module: import.meta.dirname,
  salt: `${linkerFlags}\n${kwokModule}`,
  announcement: `building Kubernetes ${kubernetesVersion} for the tests, about 5 minutes the first time,`,
  build: async (folder, go) => {
    await go(['build', '-o', join(folder, 'attend'), '-ldflags', '-s -w', './attend']);
    await go(['build', '-o', join(folder, 'controlplane'), '-ldflags', linkerFlags, '.']);
    await go(['install', '-ldflags', '-s -w', kwokModule], { GOBIN: folder });
    symlinkSync('controlplane', join(folder, 'kubectl'));
  },
};

/** Builds the control plane from Go modules, once, or says why this machine cannot. */
export const ensureBinaries = async (): Promise<Binaries> => {
  const built = await ensureBuilt(controlPlane);
  if (built.kind === 'left-out') return built;
  const at = (name: string): string => join(built.folder, name);
  return { kind: 'ready', controlplane: at('controlplane'), kubectl: at('kubectl'), kwok: at('kwok'), attend: at('attend') };
};
