import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Built, ensureBuilt, type GoBuild } from '../control-plane/build/go-build.ts';
import { ensureDebian } from './debian.ts';

/** What runs on a node, by folder. */
export type NodePrograms = {
  readonly kind: 'ready';
  /** kubelet and kube-proxy, in one binary `node`. */
  readonly kubernetes: string;
  /** containerd, its shim, ctr, and the network plugins in `cni`. */
  readonly runtime: string;
  /** Ours: `boot` and `workload`. */
  readonly own: string;
  /** runc and nft. */
  readonly debian: string;
};

const containerd = 'github.com/containerd/containerd/v2';
const plugins = 'github.com/containernetworking/plugins/plugins';

/** What a module's go.mod pins of another: `v1.37.2`. */
function pinned(module: string, dependency: string): string {
  const lines = readFileSync(join(import.meta.dirname, module, 'go.mod'), 'utf8').split('\n');
  const [, version] =
    lines.map(line => line.trim().split(' ')).find(([name]) => name === dependency) ?? [];
  if (version === undefined)
    throw new Error(`test/nodes/${module}/go.mod requires no ${dependency}`);
  return version;
}

const version = pinned('kubernetes', 'k8s.io/kubernetes');
const static_ = { CGO_ENABLED: '0' };

const variables = [
  `k8s.io/component-base/version.gitVersion=${version}`,
  'k8s.io/component-base/version.gitMajor=1',
  `k8s.io/component-base/version.gitMinor=${version.split('.')[1] ?? ''}`,
  `k8s.io/client-go/pkg/version.gitVersion=${version}`,
];

const kubernetes: GoBuild = {
  name: 'node-kubernetes',
  module: join(import.meta.dirname, 'kubernetes'),
  // With cgo as the control plane is: what both have in common is compiled once.
  salt: `${variables.join()} cgo`,
  announcement: 'building kubelet and kube-proxy for the tests, about five minutes the first time,',
  build: (to, go) =>
    go([
      'build',
      '-o',
      join(to, 'node'),
      '-ldflags',
      `-s -w ${variables.map(one => `-X ${one}`).join(' ')}`,
      '.',
    ]),
};

const runtime: GoBuild = {
  name: 'node-runtime',
  module: join(import.meta.dirname, 'runtime'),
  salt: 'containerd, ptp',
  announcement: 'building containerd for the tests, about a minute the first time,',
  build: async (to, go) => {
    const [flags, commands] = [
      `-s -w -X ${containerd}/version.Version=${pinned('runtime', containerd).slice(1)}`,
      ['containerd', 'containerd-shim-runc-v2', 'ctr'],
    ];
    await go(
      [
        'build',
        '-o',
        `${to}/`,
        '-ldflags',
        flags,
        ...commands.map(name => `${containerd}/cmd/${name}`),
      ],
      static_,
    );
    for (const name of ['ipam/host-local', 'main/loopback', 'main/ptp'])
      await go(
        ['build', '-o', `${join(to, 'cni')}/`, '-ldflags', '-s -w', `${plugins}/${name}`],
        static_,
      );
  },
};

const own: GoBuild = {
  name: 'node-own',
  module: join(import.meta.dirname, 'own'),
  salt: '',
  announcement: 'building what boots the nodes of the tests, a few seconds,',
  build: (to, go) => go(['build', '-o', `${to}/`, '-ldflags', '-s -w', './...'], static_),
};

type LeftOut = Extract<Built, { readonly kind: 'left-out' }>;

/** All of them, built and fetched once. */
export async function ensureNodePrograms(): Promise<NodePrograms | LeftOut> {
  const folders: string[] = [];
  for (const wanted of [own, runtime, kubernetes]) {
    const built = await ensureBuilt(wanted);
    if (built.kind === 'left-out') return built;
    folders.push(built.folder);
  }
  const [ours = '', containers = '', node = ''] = folders;
  return {
    kind: 'ready',
    own: ours,
    runtime: containers,
    kubernetes: node,
    debian: await ensureDebian(),
  };
}
