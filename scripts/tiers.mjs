// The tiers of the tests, in the order in which they run, each with what it needs.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './bootstrap.mjs';

function testsIn(...folder) {
  return readdirSync(join(root, ...folder), { recursive: true })
    .filter(name => name.endsWith('.test.ts'))
    .map(name => join(...folder, name))
    .sort();
}

/** All but the client, whose tests are the tier `faults`. */
const packages = readdirSync(join(root, 'packages'), { withFileTypes: true })
  .filter(entry => entry.isDirectory() && entry.name !== 'kube-client')
  .map(({ name }) => name);

/**
 * What holds on every release of Kubernetes: the operator, the commands, rights, installing and
 * taking over.
 */
const contract = ['control-plane', 'deploy', 'operator', 'security', 'predecessors'].flatMap(
  folder => testsIn('test', folder),
);

/**
 * Where the version of a system stands: in a go.mod, in a list of Python packages, in the packages
 * of Debian that are pinned or installed.
 */
function goModule(folder, module) {
  return { file: join('test', folder, 'go.mod'), module };
}
function releaseFolder(release) {
  return release === '1.37' ? 'control-plane' : join('control-plane', 'releases', release);
}
function kubernetes(release) {
  return {
    [`Kubernetes ${release}`]: goModule(releaseFolder(release), 'k8s.io/kubernetes'),
    [`etcd of ${release}`]: goModule(releaseFolder(release), 'go.etcd.io/etcd/server/v3'),
  };
}

function onRelease(release) {
  return {
    name: `kubernetes ${release}`,
    what: `the operator, the commands, rights, installing and taking over on Kubernetes ${release}`,
    files: contract,
    concurrency: 2,
    needs: 'Go on PATH',
    environment: { DRYDOCK_TEST_KUBERNETES: release },
    // Each release is built once, in 5 to 10 minutes, and takes as long to test.
    asked: 'npm run test:versions',
    // The newest is what the tier `control plane` runs on, at every turn.
    ...(release !== '1.37' && { neighbour: { minutes: 12, systems: kubernetes(release) } }),
  };
}

/**
 * `concurrency`: test files at a time. `environment`: what the tests see beside the usual.
 * `asked`: it runs only when it is named; the command for that. `longerMinutes`: it may take so
 * much longer than the others.
 * `neighbour`: it runs real systems, and CI runs it when it is its turn: `minutes` is what the
 * tests take when all is built, `systems` where the versions of the real ones stand.
 */
export const tiers = [
  {
    name: 'unit',
    what: 'the pure core in tables and laws, each module by itself, and what the documents promise',
    files: [
      ...packages.flatMap(name => testsIn('packages', name)),
      ...testsIn('test', 'packages'),
      ...testsIn('test', 'docs'),
      ...testsIn('test', 'mutation'),
      ...testsIn('test', 'kubevirt').filter(file => file.includes('embedded')),
    ],
    concurrency: 2,
  },
  {
    name: 'simulation',
    what: 'a thousand maintenances of random clusters in simulated time while everything goes wrong, and the audit that watches them',
    files: testsIn('test', 'simulation'),
    concurrency: 2,
  },
  {
    name: 'faults',
    what: 'the client against a server that misbehaves',
    files: testsIn('packages', 'kube-client'),
    concurrency: 2,
  },
  {
    name: 'browser',
    what: 'the dashboard in a real browser, on the cluster of drydock demo',
    files: testsIn('test', 'browser'),
    concurrency: 1,
    needs: 'Chromium on PATH or in CHROME_PATH',
  },
  {
    name: 'control plane',
    what: 'the operator, as it is installed, against real etcd, API server, controllers and kwok, killed at every write; every command of the documents',
    files: [
      'control-plane',
      'conformance',
      'clients',
      'monitoring',
      'deploy',
      'commands',
      'operator',
      'security',
      'predecessors',
      'kill',
      'workflows',
    ].flatMap(folder => testsIn('test', folder)),
    // Most of the time is spent waiting, for controllers and for what the tests do on purpose; a
    // cluster of one's own is shared by nobody.
    concurrency: process.env.DRYDOCK_TEST_KUBECONFIG === undefined ? 2 : 1,
    needs: 'Go on PATH, or a cluster in DRYDOCK_TEST_KUBECONFIG',
    // A dozen programs are built once, in a quarter of an hour where nothing else runs.
    longerMinutes: 20,
  },
  {
    name: 'release',
    what: 'what a release is made of, installed from it on a machine and on the control plane',
    files: testsIn('test', 'release'),
    // They make it in one folder.
    concurrency: 1,
    needs: 'Go on PATH',
    longerMinutes: 20,
  },
  {
    name: 'embedded',
    what: 'the same tests of the operator, unchanged, on the embedded cluster, killed at every write of a maintenance and taking over there too, and with VMs',
    // Installing is left to the real one: it is about Services, ResourceQuotas and pod security,
    // which the embedded one has not. It has no etcd to be restored either.
    // Plans are killed at every write on the real one, which takes long enough once.
    files: [
      ...['operator', 'kill', 'predecessors']
        .flatMap(folder => testsIn('test', folder))
        .filter(file => !/migrate|restored|kill.plans/.test(file)),
      join('test', 'kubevirt', 'maintenance.test.ts'),
    ],
    concurrency: 2,
    environment: { DRYDOCK_TEST_CLUSTER: 'embedded' },
  },
  {
    name: 'integrations',
    what: 'real systems beside it: the machine controllers of Cluster API and OpenShift, an EC2 with events and its metadata service, Prometheus and Alertmanager',
    files: testsIn('test', 'integrations'),
    concurrency: 1,
    needs: 'Go and Python 3 with venv on PATH',
    // A quarter of an hour to build, once, and thirteen minutes to run.
    asked: 'npm run test:machines',
    neighbour: {
      minutes: 13,
      systems: {
        'Cluster API': goModule('integrations/capi', 'sigs.k8s.io/cluster-api'),
        'machine-api-operator': goModule(
          'integrations/openshift',
          'github.com/openshift/machine-api-operator',
        ),
        moto: { file: 'test/integrations/ec2/requirements.txt', python: 'moto' },
        'amazon-ec2-metadata-mock': goModule(
          'integrations/ec2/metadata-mock',
          'github.com/aws/amazon-ec2-metadata-mock',
        ),
        Prometheus: goModule(
          'integrations/monitoring/prometheus',
          'github.com/prometheus/prometheus',
        ),
        Alertmanager: goModule(
          'integrations/monitoring/alertmanager',
          'github.com/prometheus/alertmanager',
        ),
      },
    },
  },
  {
    name: 'kubevirt',
    what: "KubeVirt's own virt-api and virt-controller: what a drain of nodes with VMs gets from them",
    files: testsIn('test', 'kubevirt').filter(file => !file.includes('embedded')),
    concurrency: 1,
    needs: 'Go on PATH',
    // Three to nine minutes to build, once, and four to run.
    asked: 'npm run test:kubevirt',
    neighbour: { minutes: 8, systems: { KubeVirt: goModule('kubevirt', 'kubevirt.io/kubevirt') } },
  },
  {
    name: 'nova',
    what: 'a real OpenStack (Keystone, Placement, Neutron, Nova with its own fake hypervisor): servers of nodes that are drained',
    files: testsIn('test', 'nova'),
    concurrency: 1,
    needs: 'Debian 12, root (packages are installed), Go on PATH',
    // Two minutes to install, once, and ten to run.
    asked: 'npm run test:nova',
    neighbour: {
      minutes: 10,
      systems: {
        Nova: { installed: 'python3-nova' },
        Placement: { installed: 'python3-placement' },
        Keystone: { installed: 'python3-keystone' },
        Neutron: { installed: 'python3-neutron' },
      },
    },
  },
  {
    name: 'olm',
    what: 'the bundles and catalogs of a release by opm, and installed by the Operator Lifecycle Manager itself, versions 0 and 1, in place of an older operator too',
    files: testsIn('test', 'olm'),
    concurrency: 1,
    needs: 'Go on PATH',
    // Five to fifteen minutes to build, once, and two to run.
    asked: 'npm run test:olm',
    neighbour: {
      minutes: 4,
      systems: {
        'OLM 0': goModule(
          'olm/controllers',
          'github.com/operator-framework/operator-lifecycle-manager',
        ),
        'OLM 1': goModule('olm/controllers-1', 'github.com/operator-framework/operator-controller'),
        opm: goModule('olm/opm', 'github.com/operator-framework/operator-registry'),
      },
    },
  },
  {
    name: 'nodes',
    what: 'nodes with real kubelets, containers and networks: the released image installed on them, drained, rebooted, killed and cut off',
    files: testsIn('test', 'nodes'),
    // Most of their time is kubelets' and leases' waiting; each has nodes and a network of its own.
    concurrency: 2,
    needs: 'Debian 12 on x86-64, root, Go on PATH',
    // A quarter of an hour to build, once, and five minutes to run.
    asked: 'npm run test:nodes',
    neighbour: {
      minutes: 6,
      systems: {
        'kubelet and kube-proxy': goModule('nodes/kubernetes', 'k8s.io/kubernetes'),
        containerd: goModule('nodes/runtime', 'github.com/containerd/containerd/v2'),
        'network plugins': goModule('nodes/runtime', 'github.com/containernetworking/plugins'),
        runc: { file: 'test/nodes/debian-packages.json', debian: 'runc' },
        nftables: { file: 'test/nodes/debian-packages.json', debian: 'nftables' },
      },
    },
    longerMinutes: 60 * Number(process.env.DRYDOCK_TEST_HOURS ?? 0),
  },
  ...['1.30', '1.34', '1.37'].map(onRelease),
  {
    name: 'upgrade',
    what: 'Kubernetes upgraded from 1.30 to 1.37 under a running operator, with maintenances in every phase',
    files: testsIn('test', 'versions'),
    concurrency: 1,
    needs: 'Go on PATH',
    asked: 'npm run test:versions',
    neighbour: {
      minutes: 5,
      systems: { ...kubernetes('1.30'), ...kubernetes('1.34'), ...kubernetes('1.37') },
    },
  },
];
