import { readFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import type { ControlPlane } from '../control-plane/types.ts';

/** The files of a node's disk. */

/** Who a node is: its number N gives it the address 10.SLOT.0.1N and its pods 10.SLOT.1N.0/24. */
export type NodeIdentity = {
  readonly name: string;
  readonly user: string;
  readonly address: string;
  readonly pods: string;
};

/**
 * Nobody can be made less likely to be killed for memory without this capability, and runc ends
 * with an EOF that says nothing of it.
 */
function lacksSysResource(): boolean {
  const [, effective = '0'] =
    /^CapEff:\s*(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return ((BigInt(`0x${effective}`) >> 24n) & 1n) === 0n;
}

function containerd(): string {
  return `version = 3
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = 'localhost/pause:1'
[plugins.'io.containerd.cri.v1.runtime']
  disable_apparmor = true
  restrict_oom_score_adj = ${lacksSysResource()}
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ['/opt/runtime/cni']
    conf_dir = '/etc/cni/net.d'
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = 'io.containerd.runc.v2'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      SystemdCgroup = false
`;
}

/**
 * With ptp every packet of a pod is routed: with a bridge, services between pods of one node need
 * br_netfilter.
 */
function network(pods: string): object {
  return {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        type: 'ptp',
        ipam: {
          type: 'host-local',
          dataDir: '/run/cni',
          ranges: [[{ subnet: pods }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
    ],
  };
}

const kubelet = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  // From 1.35 a kubelet refuses cgroup v1 unless it is told not to; 1.37 still runs on it, with a
  // warning.
  failCgroupV1: false,
  cgroupDriver: 'cgroupfs',
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: true },
    x509: { clientCAFile: '/etc/kubernetes/ca.crt' },
  },
  authorization: { mode: 'Webhook' },
  staticPodPath: '/etc/kubernetes/manifests',
  clusterDomain: 'cluster.local',
  // Nobody is there: pods find services by their addresses.
  clusterDNS: ['10.0.0.10'],
  resolvConf: '/etc/resolv.conf',
  failSwapOn: false,
  // Images cannot be pulled again, so they are never collected.
  imageGCHighThresholdPercent: 100,
  imageGCLowThresholdPercent: 99,
  evictionHard: {
    'memory.available': '100Mi',
    'nodefs.available': '1%',
    'imagefs.available': '1%',
  },
};

function proxy(name: string, cluster: string): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    clusterCIDR: cluster,
    hostnameOverride: name,
    clientConnection: { kubeconfig: '/etc/kubernetes/proxy.kubeconfig' },
    // The limits of connection tracking are the machine's.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  };
}

function kubeconfig(controlPlane: ControlPlane, user: string): string {
  return readFileSync(
    writeKubeconfig(`${controlPlane.folder}/${user}.kubeconfig`, user, controlPlane.accessOf(user)),
    'utf8',
  );
}

/** By path. */
export function nodeFiles(
  controlPlane: ControlPlane,
  { name, user, pods }: NodeIdentity,
): Readonly<Record<string, string>> {
  return {
    'etc/passwd':
      'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n',
    'etc/group': 'root:x:0:\nnogroup:x:65534:\n',
    'etc/hosts': '127.0.0.1 localhost\n',
    'etc/resolv.conf': '',
    'etc/os-release': 'PRETTY_NAME="Test node"\nID=debian\n',
    'etc/machine-id': `${Buffer.from(name.padEnd(16, '-').slice(0, 16)).toString('hex')}\n`,
    'etc/containerd/config.toml': containerd(),
    'etc/cni/net.d/10-pods.conflist': JSON.stringify(network(pods)),
    'etc/kubernetes/ca.crt': readFileSync(`${controlPlane.folder}/ca.crt`, 'utf8'),
    'etc/kubernetes/kubelet.kubeconfig': kubeconfig(controlPlane, user),
    'etc/kubernetes/proxy.kubeconfig': kubeconfig(controlPlane, 'kube-proxy'),
    'etc/kubernetes/kubelet.yaml': stringify(kubelet),
    'etc/kubernetes/kube-proxy.yaml': stringify(
      proxy(name, pods.replace(/\.\d+\.0\/24$/, '.0.0/16')),
    ),
  };
}
