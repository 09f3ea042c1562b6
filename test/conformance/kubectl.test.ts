import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startBoth } from './both.ts';
import { budget, pod, ready, workload } from './cases/things.ts';
import { type Kubectl, kubectlAt, printed } from './kubectl.ts';
import type { Site } from './site.ts';

const both = await startBoth();
const skip = both.kind === 'left-out' ? `control plane left out: ${both.why}` : false;

/**
 * A command line; what it is given on its standard input; whether its output is compared or only
 * how it ended.
 */
type Step =
  | readonly string[]
  | { readonly args: readonly string[]; readonly input?: string; readonly compared?: 'code' };
type Story = {
  readonly name: string;
  readonly prepare?: (at: Site) => Promise<void>;
  readonly steps: (at: Site) => readonly (Step | ((at: Site, kubectl: Kubectl) => Promise<void>))[];
};

const nodeStatus = {
  status: {
    capacity: { cpu: '4', memory: '8Gi', pods: '110' },
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'KubeletReady',
        message: 'fine',
        lastTransitionTime: '2026-01-01T00:00:00Z',
        lastHeartbeatTime: '2026-01-01T00:00:00Z',
      },
    ],
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    nodeInfo: {
      kubeletVersion: 'v1.37.2',
      osImage: 'Linux',
      kernelVersion: '6',
      containerRuntimeVersion: 'c://1',
      architecture: 'amd64',
      operatingSystem: 'linux',
      bootID: 'b',
      kubeProxyVersion: '',
      machineID: 'm',
      systemUUID: 's',
    },
  },
};

async function withNode(at: Site): Promise<void> {
  const name = at.name('node');
  await at.has('/api/v1/nodes', {
    metadata: { name, labels: { l: 'm', 'node-role.kubernetes.io/worker': '' } },
  });
  await at.patch(`/api/v1/nodes/${name}/status`, 'strategic-merge', nodeStatus);
  await at.patch(`/api/v1/nodes/${name}`, 'merge', { spec: { taints: null } });
}

async function withPods(at: Site): Promise<void> {
  await withNode(at);
  await at.has(at.path('apps/v1/replicasets'), workload('ReplicaSet', 'app'));
  const { body } = await at.get(at.path('apps/v1/replicasets', 'app'));
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: 'app',
    uid: body.metadata?.uid,
    controller: true,
  };
  for (const name of ['a', 'b']) {
    await at.has(
      at.path('pods'),
      pod(
        name,
        { nodeName: at.name('node') },
        { labels: { app: 'app' }, ownerReferences: [owner] },
      ),
    );
    await at.patch(at.path('pods', name, 'status'), 'merge', ready());
  }
}

function manifest(at: Site, image: string, more: object = {}): string {
  return JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: at.namespace, ...more },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'main', image, env: [{ name: 'A', value: '1' }] }] },
      },
    },
  });
}

function firstOnes(at: Site): readonly object[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'c', namespace: at.namespace },
      data: { a: 'b' },
    },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: at.name('other') } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 's', namespace: at.namespace } },
    {
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name: at.name('pc') },
      value: 5,
    },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'b', namespace: at.namespace },
      spec: { minAvailable: 1 },
    },
  ];
}

async function gone(at: Site, name: string): Promise<void> {
  await at.delete(at.path('pods', name), { gracePeriodSeconds: 0 });
}

/** The kubelet: pods that are on their way out are gone a moment later. */
async function kubelet(at: Site, work: Promise<unknown>): Promise<void> {
  const done = work.then(
    () => true,
    () => true,
  );
  while (
    !(await Promise.race([
      done,
      new Promise<false>(resolve => setTimeout(() => resolve(false), 50)),
    ]))
  ) {
    const { body } = await at.get(at.path('pods'));
    for (const one of body['items'] as readonly {
      readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
    }[])
      if (one.metadata.deletionTimestamp !== undefined) await gone(at, one.metadata.name);
  }
  await work;
}

const stories: readonly Story[] = [
  {
    // kubectl sends what it makes itself as protobuf.
    name: 'kubectl create: the whole family',
    steps: at => [
      ['create', 'namespace', at.name('made')],
      [
        'create',
        'deployment',
        'web',
        '--image=example.test/web:1',
        '--replicas=2',
        '--port=80',
        '-n',
        at.namespace,
      ],
      ['create', 'configmap', 'c', '--from-literal=a=b', '--from-literal=c=d', '-n', at.namespace],
      ['create', 'secret', 'generic', 's', '--from-literal=password=x y', '-n', at.namespace],
      [
        'create',
        'secret',
        'docker-registry',
        'r',
        '--docker-username=u',
        '--docker-password=p',
        '-n',
        at.namespace,
      ],
      ['create', 'serviceaccount', 'sa', '-n', at.namespace],
      ['create', 'job', 'j', '--image=example.test/job:1', '-n', at.namespace, '--', 'sleep', '1'],
      [
        'create',
        'poddisruptionbudget',
        'b',
        '--selector=app=web',
        '--min-available=50%',
        '-n',
        at.namespace,
      ],
      [
        'create',
        'role',
        'reader',
        '--verb=get,list',
        '--resource=pods,deployments.apps',
        '-n',
        at.namespace,
      ],
      [
        'create',
        'rolebinding',
        'readers',
        '--role=reader',
        `--serviceaccount=${at.namespace}:sa`,
        '-n',
        at.namespace,
      ],
      ['create', 'clusterrole', at.name('reader'), '--verb=get', '--resource=nodes'],
      ['create', 'clusterrole', at.name('sum'), '--aggregation-rule=a=b'],
      [
        'create',
        'clusterrolebinding',
        at.name('readers'),
        `--clusterrole=${at.name('reader')}`,
        '--user=u',
        '--group=g',
      ],
      [
        'create',
        'priorityclass',
        at.name('high'),
        '--value=1000',
        '--description=above',
        '--preemption-policy=Never',
      ],
      [
        'run',
        'one',
        '--image=example.test/app:1',
        '--labels=app=one',
        '--env=A=b',
        '--restart=Never',
        '-n',
        at.namespace,
      ],
      ['get', 'deploy,cm,secret,sa,job,pdb,role,rolebinding,pod', '-n', at.namespace, '-o', 'name'],
      ['get', 'deploy', 'web', '-n', at.namespace, '-o', 'jsonpath={.spec}'],
      ['get', 'secret', 's', '-n', at.namespace, '-o', 'jsonpath={.data}'],
      ['get', 'pdb', 'b', '-n', at.namespace, '-o', 'jsonpath={.spec}'],
      ['create', 'deployment', 'web', '--image=example.test/web:1', '-n', at.namespace],
      ['create', 'configmap', 'Not_A_Name', '-n', at.namespace],
      [
        'create',
        'deployment',
        'dry',
        '--image=example.test/web:1',
        '--dry-run=server',
        '-o',
        'name',
        '-n',
        at.namespace,
      ],
      ['delete', 'namespace', at.name('made'), '--wait=false'],
    ],
  },
  {
    name: 'get nodes: tables, names, forms, selectors',
    prepare: withNode,
    steps: at => [
      ['get', 'node', at.name('node')],
      ['get', 'no', at.name('node'), '-o', 'wide'],
      [
        'get',
        'nodes',
        '-l',
        'l=m,!x',
        '-o',
        'name',
        '--field-selector',
        `metadata.name=${at.name('node')}`,
      ],
      ['get', 'node', at.name('node'), '-o', 'json'],
      ['get', 'node', at.name('node'), '-o', 'yaml'],
      ['get', 'node', at.name('node'), '-o', 'jsonpath={.status.conditions[0].type}'],
      ['get', 'node', at.name('node'), '--show-labels', '--no-headers'],
      ['get', 'node', 'none'],
      ['get', 'nothing'],
    ],
  },
  {
    name: 'get pods',
    prepare: withPods,
    steps: at => [
      ['get', 'pods', '-n', at.namespace],
      ['get', 'po', '-n', at.namespace, '-o', 'wide'],
      [
        'get',
        'pods',
        '-n',
        at.namespace,
        '--field-selector',
        `spec.nodeName=${at.name('node')},status.phase=Running`,
        '-o',
        'name',
      ],
      ['get', 'pods', '-n', at.namespace, '-l', 'app in (app),other notin (x)'],
      ['get', 'pod/a', 'rs/app', '-n', at.namespace],
      ['get', 'pods', '-n', at.namespace, '--chunk-size', '1', '-o', 'name'],
      ['get', 'pods', '-n', 'nowhere'],
      ['get', 'all', '-n', 'nowhere'],
    ],
  },
  {
    name: 'describe a node and a pod',
    prepare: withPods,
    steps: at => [
      ['describe', 'node', at.name('node')],
      ['describe', 'pod', 'a', '-n', at.namespace],
    ],
  },
  {
    name: 'label, annotate, taint',
    prepare: withNode,
    steps: at => [
      ['label', 'node', at.name('node'), 'x=y', 'l-'],
      ['label', 'node', at.name('node'), 'x=z'],
      ['label', 'node', at.name('node'), 'x=z', '--overwrite'],
      ['annotate', 'node', at.name('node'), 'n=o'],
      ['taint', 'node', at.name('node'), 'k=v:NoSchedule'],
      ['taint', 'node', at.name('node'), 'k=w:NoSchedule'],
      ['taint', 'node', at.name('node'), 'k:NoSchedule-'],
      ['label', 'node', 'none', 'x=y'],
      ['get', 'node', at.name('node'), '-o', 'yaml'],
    ],
  },
  {
    name: 'cordon, uncordon, patch',
    prepare: withNode,
    steps: at => [
      ['cordon', at.name('node')],
      ['cordon', at.name('node')],
      ['get', 'node', at.name('node')],
      ['uncordon', at.name('node')],
      ['uncordon', at.name('node')],
      ['patch', 'node', at.name('node'), '-p', '{"spec":{"unschedulable":true}}'],
      [
        'patch',
        'node',
        at.name('node'),
        '--type',
        'json',
        '-p',
        '[{"op":"remove","path":"/spec/unschedulable"}]',
      ],
      [
        'patch',
        'node',
        at.name('node'),
        '--type',
        'merge',
        '-p',
        '{"metadata":{"labels":{"p":"q"}}}',
        '-o',
        'jsonpath={.metadata.labels.p}',
      ],
      ['patch', 'node', 'none', '-p', '{}'],
    ],
  },
  {
    name: 'apply from the client side',
    steps: at => [
      { args: ['apply', '-f', '-'], input: manifest(at, 'x:1', { labels: { a: 'b' } }) },
      { args: ['apply', '-f', '-'], input: manifest(at, 'x:1', { labels: { a: 'b' } }) },
      { args: ['apply', '-f', '-'], input: manifest(at, 'x:2') },
      { args: ['diff', '-f', '-'], input: manifest(at, 'x:2') },
      ['scale', 'deployment', 'web', '-n', at.namespace, '--replicas', '3'],
      ['get', 'deployment', 'web', '-n', at.namespace, '-o', 'yaml'],
      ['get', 'deploy', '-n', at.namespace, '-o', 'wide'],
      // The message shows the patch in Go's notation.
      { args: ['apply', '-f', '-'], input: manifest(at, 'x:3', { nothing: 1 }), compared: 'code' },
      { args: ['apply', '-f', '-', '--dry-run=server'], input: manifest(at, 'x:4') },
      { args: ['create', '-f', '-'], input: manifest(at, 'x:1') },
      { args: ['replace', '-f', '-'], input: manifest(at, 'x:5') },
      ['set', 'image', 'deployment/web', 'main=x:6', '-n', at.namespace],
      ['delete', 'deployment', 'web', '-n', at.namespace, '--wait=false'],
    ],
  },
  {
    name: 'apply on the server side',
    steps: at => [
      {
        args: ['apply', '--server-side', '-f', '-'],
        input: manifest(at, 'x:1', { labels: { a: 'b' } }),
      },
      { args: ['apply', '--server-side', '-f', '-'], input: manifest(at, 'x:2') },
      {
        args: ['apply', '--server-side', '--field-manager', 'other', '-f', '-'],
        input: manifest(at, 'x:3'),
      },
      {
        args: [
          'apply',
          '--server-side',
          '--field-manager',
          'other',
          '--force-conflicts',
          '-f',
          '-',
        ],
        input: manifest(at, 'x:3'),
      },
      [
        'get',
        'deployment',
        'web',
        '-n',
        at.namespace,
        '-o',
        'jsonpath={.spec.template.spec.containers[0].image} {.metadata.labels}',
      ],
    ],
  },
  {
    name: 'create, wait, delete',
    steps: at => [
      ...firstOnes(at).map(one => ({ args: ['create', '-f', '-'], input: JSON.stringify(one) })),
      [
        'wait',
        '--for',
        'jsonpath={.status.phase}=Active',
        `namespace/${at.name('other')}`,
        '--timeout',
        '5s',
      ],
      ['wait', '--for', 'condition=Ready', 'pod/none', '-n', at.namespace, '--timeout', '1s'],
      [
        'get',
        'cm,sa,pdb',
        '-n',
        at.namespace,
        '-o',
        'name',
        '--field-selector',
        'metadata.name!=kube-root-ca.crt',
      ],
      ['delete', 'configmap', 'c', '-n', at.namespace],
      ['delete', 'configmap', 'c', '-n', at.namespace],
      ['delete', 'configmap', 'c', '-n', at.namespace, '--ignore-not-found'],
      ['wait', '--for', 'delete', 'configmap/c', '-n', at.namespace, '--timeout', '5s'],
    ],
  },
  {
    name: 'drain, with a budget in the way at first',
    prepare: async at => {
      await withPods(at);
      await at.has(at.path('policy/v1/poddisruptionbudgets'), budget('b', { maxUnavailable: 1 }));
      await at.patch(at.path('policy/v1/poddisruptionbudgets', 'b', 'status'), 'merge', {
        status: {
          currentHealthy: 2,
          desiredHealthy: 1,
          expectedPods: 2,
          disruptionsAllowed: 2,
          observedGeneration: 1,
        },
      });
    },
    steps: at => [
      { args: ['drain', at.name('node'), '--dry-run=server'], compared: 'code' },
      (site, kubectl) => kubelet(site, kubectl(['drain', at.name('node'), '--timeout', '20s'])),
      ['get', 'pods', '-n', at.namespace],
      ['get', 'node', at.name('node')],
      ['drain', at.name('node')],
      ['get', 'pdb', '-n', at.namespace],
    ],
  },
  {
    name: 'drain, refused',
    prepare: async at => {
      await withPods(at);
      await at.has(at.path('pods'), pod('lonely', { nodeName: at.name('node') }));
      await at.has(at.path('policy/v1/poddisruptionbudgets'), budget('b', { maxUnavailable: 0 }));
      await at.patch(at.path('policy/v1/poddisruptionbudgets', 'b', 'status'), 'merge', {
        status: {
          currentHealthy: 2,
          desiredHealthy: 2,
          expectedPods: 2,
          disruptionsAllowed: 0,
          observedGeneration: 1,
        },
      });
    },
    steps: at => [
      ['drain', at.name('node')],
      // Two pods are evicted at a time, and either may be told of first.
      {
        args: ['drain', at.name('node'), '--force', '--timeout', '1s', '--pod-selector', 'app=app'],
        compared: 'code',
      },
    ],
  },
];

describe('kubectl sees the same at both', { skip, timeout: 180_000, concurrency: 3 }, () => {
  after(async () => {
    if (both.kind === 'started') await both.stop();
  });

  /** One side of a story: how each command ended and what it printed. */
  const play = async (
    side: 'real' | 'embedded',
    story: Story,
    id: string,
  ): Promise<readonly unknown[]> => {
    if (both.kind !== 'started') return [];
    const site = both.site(side, id);
    const kubectl = kubectlAt(both, side);
    await site.has('/api/v1/namespaces', { metadata: { name: site.namespace } });
    await story.prepare?.(site);
    const seen: unknown[] = [];
    for (const step of story.steps(site)) {
      if (typeof step === 'function') {
        await step(site, kubectl);
        continue;
      }
      const { args, input, compared } =
        'args' in step
          ? { input: undefined, compared: undefined, ...step }
          : { args: step, input: undefined, compared: undefined };
      const { code, stdout, stderr } = await kubectl(args, input);
      if (compared === 'code') seen.push({ args: args.join(' '), code });
      else
        seen.push({
          args: args.join(' '),
          code,
          stdout: printed(stdout, site).split('\n'),
          stderr: printed(stderr, site).split('\n'),
        });
    }
    return seen;
  };

  for (const [index, story] of stories.entries()) {
    test(story.name, async () => {
      const [wanted, got] = await Promise.all([
        play('real', story, `kubectl-${index}`),
        play('embedded', story, `kubectl-${index}`),
      ]);
      for (const [step, outcome] of wanted.entries()) assert.deepEqual(got[step], outcome);
    });
  }
});
