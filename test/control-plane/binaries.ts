import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt, type GoBuild } from './build/go-build.ts';
import { type Release, wantedRelease } from './releases.ts';

/** The programs a control plane is made of, or why this machine has none. */
export type Binaries =
  | {
      readonly kind: 'ready';
      readonly release: Release;
      readonly controlplane: string;
      readonly kubectl: string;
      /** Missing where it was not asked for. */
      readonly kwok: string | undefined;
      readonly attend: string;
    }
  | { readonly kind: 'left-out'; readonly why: string };

const kwokModule = 'sigs.k8s.io/kwok/cmd/kwok@v0.8.0';

/**
 * kubectl and the API server say their version; without these flags it is v0.0.0-master and both
 * warn.
 */
function versionFlags({ version, minor }: Release): readonly string[] {
  return [
    `k8s.io/component-base/version.gitVersion=${version}`,
    'k8s.io/component-base/version.gitMajor=1',
    `k8s.io/component-base/version.gitMinor=${minor}`,
    `k8s.io/client-go/pkg/version.gitVersion=${version}`,
  ];
}

function buildOf(release: Release): GoBuild {
  const { version, goMod } = release;
  const linkerFlags = `-s -w ${versionFlags(release)
    .map(flag => `-X ${flag}`)
    .join(' ')}`;
  const modules = ['-modfile', goMod];
  return {
    name: 'control-plane',
    module: import.meta.dirname,
    goMod,
    salt: linkerFlags,
    announcement: `building Kubernetes ${version} for the tests, 5 to 10 minutes the first time,`,
    build: async (folder, go) => {
      await go([
        'build',
        ...modules,
        '-o',
        join(folder, 'attend'),
        '-ldflags',
        '-s -w',
        './attend',
      ]);
      await go([
        'build',
        ...modules,
        '-o',
        join(folder, 'controlplane'),
        '-ldflags',
        linkerFlags,
        '.',
      ]);
      symlinkSync('controlplane', join(folder, 'kubectl'));
    },
  };
}

/**
 * One for all releases. Its module has other versions of everything, so that it takes minutes of
 * its own: real nodes do without.
 */
const kwokBuild: GoBuild = {
  name: 'kwok',
  module: import.meta.dirname,
  salt: kwokModule,
  announcement: 'building kwok for the tests, 2 to 3 minutes the first time,',
  build: (folder, go) => go(['install', '-ldflags', '-s -w', kwokModule], { GOBIN: folder }),
};

/**
 * Builds the control plane of a release from Go modules, once, or says why this machine cannot.
 * `kwok: false` leaves kwok out.
 */
export async function ensureBinaries(
  release = wantedRelease(),
  { kwok = true } = {},
): Promise<Binaries> {
  const built = await ensureBuilt(buildOf(release));
  if (built.kind === 'left-out') return built;
  const kubelets = kwok ? await ensureBuilt(kwokBuild) : undefined;
  if (kubelets?.kind === 'left-out') return kubelets;
  const at = (name: string): string => join(built.folder, name);
  return {
    kind: 'ready',
    release,
    controlplane: at('controlplane'),
    kubectl: at('kubectl'),
    kwok: kubelets && join(kubelets.folder, 'kwok'),
    attend: at('attend'),
  };
}
