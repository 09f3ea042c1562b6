import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { auditPolicy } from './audit.ts';
import { filesOf, frontProxy, reachableServer } from './certificates.ts';
import type { Program } from './processes/process.ts';

/** The parts of a control plane, in the order in which they start. */
export const componentNames = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kwok',
] as const;
export type ComponentName = (typeof componentNames)[number];

/** What is needed to write a component's command line. */
export type Site = {
  readonly folder: string;
  /** Of Kubernetes: 37 is 1.37. */
  readonly minor: number;
  readonly controlplane: string;
  readonly kwok: string | undefined;
  readonly etcdPort: number;
  readonly peerPort: number;
  readonly apiPort: number;
  /** Where the API server listens when there are real nodes, which reach it there. */
  readonly address?: string;
  readonly audit: boolean;
  readonly aggregation: boolean;
  readonly flags: Readonly<Partial<Record<ComponentName, readonly string[]>>>;
  /** The kubeconfig that a component works with; each has a user of its own. */
  kubeconfigOf(user: string): string;
};

function etcd(site: Site): readonly string[] {
  const [client, peer] = [site.etcdPort, site.peerPort].map(port => `http://127.0.0.1:${port}`);
  return [
    `--data-dir=${join(site.folder, 'etcd')}`,
    // Nothing here outlives the test, so nothing has to reach the disk.
    '--unsafe-no-fsync',
    '--log-level=error',
    // etcd 3.7 cannot read what 3.5 has written into its log: by an early snapshot it need not.
    ...(site.minor < 37 ? ['--snapshot-count=100'] : []),
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ];
}

function auditFlags(site: Site): readonly string[] {
  if (!site.audit) return [];
  const policy = join(site.folder, 'audit-policy.json');
  writeFileSync(policy, JSON.stringify(auditPolicy(componentNames)));
  return [
    `--audit-policy-file=${policy}`,
    `--audit-log-path=${join(site.folder, 'audit.log')}`,
    '--audit-log-maxsize=4000',
  ];
}

/** As whom the API server speaks for its callers to API servers behind it. */
function aggregationFlags({ aggregation, folder }: Site): readonly string[] {
  if (!aggregation) return [];
  const { authority, certificate, key } = filesOf(folder, frontProxy);
  return [
    `--requestheader-client-ca-file=${authority}`,
    `--requestheader-allowed-names=${frontProxy}`,
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${certificate}`,
    `--proxy-client-key-file=${key}`,
  ];
}

/** Of the certificate that the API server shows: `attend` makes one for 127.0.0.1. */
function serverFiles({ address, folder }: Site): {
  readonly certificate: string;
  readonly key: string;
} {
  return address === undefined
    ? { certificate: join(folder, 'server.crt'), key: join(folder, 'server.key') }
    : filesOf(folder, reachableServer);
}

/** For pods that nobody runs. */
const withoutNodes: readonly string[] = [
  '--bind-address=127.0.0.1',
  '--advertise-address=127.0.0.1',
  // 1.37 refuses to advertise a loopback address, unless nothing advertises it.
  '--endpoint-reconciler-type=none',
  // Pods would have to wait for the token of their service account, which nothing here uses.
  '--disable-admission-plugins=ServiceAccount',
];

/** For nodes with kubelets and pods that are processes. */
function withNodes(address: string, folder: string): readonly string[] {
  return [
    `--bind-address=${address}`,
    `--advertise-address=${address}`,
    `--kubelet-client-certificate=${join(folder, 'client.crt')}`,
    `--kubelet-client-key=${join(folder, 'client.key')}`,
    '--kubelet-preferred-address-types=InternalIP',
    // The API server has no kube-proxy beside it: it calls webhooks at the addresses of their pods.
    '--enable-aggregator-routing=true',
  ];
}

function apiServer(site: Site): readonly string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${site.etcdPort}`,
    ...(site.address === undefined ? withoutNodes : withNodes(site.address, site.folder)),
    `--secure-port=${site.apiPort}`,
    `--tls-cert-file=${serverFiles(site).certificate}`,
    `--tls-private-key-file=${serverFiles(site).key}`,
    `--client-ca-file=${join(site.folder, 'ca.crt')}`,
    `--token-auth-file=${join(site.folder, 'tokens.csv')}`,
    // As every installer sets it up: a kubelet has the rights of its own node, and is held to them.
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    `--service-account-key-file=${join(site.folder, 'sa.key')}`,
    `--service-account-signing-key-file=${join(site.folder, 'sa.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--allow-privileged=true',
    ...auditFlags(site),
    ...aggregationFlags(site),
  ];
}

/** With the default 20 and 50 requests a second the controllers would be what a bench measures. */
const limits = ['--kube-api-qps=500', '--kube-api-burst=1000'];

/** Until 1.36 it has controllers of clouds; naming one that it has not ends it. */
function controllersOff({ minor }: Site): string {
  return `*,-nodeipam${minor < 37 ? ',-service-lb-controller,-node-route-controller,-cloud-node-lifecycle-controller' : ''}`;
}

function controllerManager(site: Site): readonly string[] {
  return [
    `--kubeconfig=${site.kubeconfigOf('kube-controller-manager')}`,
    `--service-account-private-key-file=${join(site.folder, 'sa.key')}`,
    ...(site.address === undefined ? [] : [`--root-ca-file=${join(site.folder, 'ca.crt')}`]),
    '--leader-elect=false',
    '--secure-port=0',
    ...limits,
    '--concurrent-replicaset-syncs=20',
    `--controllers=${controllersOff(site)}`,
  ];
}

function scheduler(site: Site): readonly string[] {
  return [
    `--kubeconfig=${site.kubeconfigOf('kube-scheduler')}`,
    '--leader-elect=false',
    '--secure-port=0',
    ...limits,
  ];
}

function kwok(site: Site): readonly string[] {
  return [
    `--kubeconfig=${site.kubeconfigOf('kwok')}`,
    '--manage-all-nodes=false',
    '--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake',
    `--config=${join(import.meta.dirname, 'stages', 'pods.yaml')}`,
    `--config=${join(import.meta.dirname, 'stages', 'nodes.yaml')}`,
    '--node-ip=127.0.0.1',
    '--node-lease-duration-seconds=40',
  ];
}

const flagsOf: Readonly<Record<ComponentName, (site: Site) => readonly string[]>> = {
  etcd,
  'kube-apiserver': apiServer,
  'kube-controller-manager': controllerManager,
  'kube-scheduler': scheduler,
  kwok,
};

/** The command line of a component. Flags given by a test come last, where they win. */
export function programOf(site: Site, name: ComponentName): Program {
  const args = [...flagsOf[name](site), ...(site.flags[name] ?? [])];
  if (name !== 'kwok') return { name, command: site.controlplane, args: [name, ...args] };
  if (site.kwok === undefined) throw new Error('this control plane was started without kwok');
  return { name, command: site.kwok, args };
}
