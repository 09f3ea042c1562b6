import type { Case } from '../site.ts';
import { budget, configMap, pod, workload } from './things.ts';

function create(name: string, resource: string, body: object, query = ''): Case {
  return {
    name,
    run: async at => {
      await at.post(at.path(resource) + query, body);
    },
  };
}

function createBare(
  name: string,
  path: string,
  body: (at: { name(base: string): string }) => object,
): Case {
  return {
    name,
    bare: true,
    run: async at => {
      const made = await at.post(path, body(at));
      await at.get(`${path}/${made.body.metadata?.name ?? ''}`);
    },
  };
}

const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'j' } };
const jobTemplate = {
  spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x' }] },
};

/** Objects as they stand there after they were created, replaced and changed. */
export const objects: readonly Case[] = [
  create('a pod, with everything that is filled in', 'pods', pod('p')),
  create(
    'a pod with requests and limits',
    'pods',
    pod('p', {
      containers: [
        {
          name: 'm',
          image: 'a/b:latest',
          resources: { limits: { cpu: '1', memory: '1Gi' } },
          ports: [{ containerPort: 80 }],
        },
      ],
    }),
  ),
  create(
    'a burstable pod',
    'pods',
    pod('p', {
      containers: [{ name: 'm', image: 'host:5000/b', resources: { requests: { cpu: '100m' } } }],
    }),
  ),
  create(
    'a pod with volumes',
    'pods',
    pod('p', {
      volumes: [
        { name: 'a', emptyDir: {} },
        { name: 'b', configMap: { name: 'c' } },
        { name: 'd', hostPath: { path: '/x' } },
        { name: 'e' },
      ],
      containers: [{ name: 'm', image: 'x', volumeMounts: [{ name: 'a', mountPath: '/a' }] }],
    }),
  ),
  create(
    'a pod with probes and an environment',
    'pods',
    pod('p', {
      containers: [
        {
          name: 'm',
          image: 'x',
          readinessProbe: { httpGet: { port: 80 } },
          livenessProbe: { exec: { command: ['a'] } },
          env: [
            { name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            { name: 'B', value: '' },
          ],
        },
      ],
    }),
  ),
  create(
    'a pod with tolerations of its own',
    'pods',
    pod('p', { tolerations: [{ operator: 'Exists' }] }),
  ),
  create(
    'a pod that waits at a gate',
    'pods',
    pod('p', { schedulingGates: [{ name: 'example.com/gate' }] }),
  ),
  create(
    'a pod on a node',
    'pods',
    pod(
      'p',
      { nodeName: 'n', terminationGracePeriodSeconds: 0, hostNetwork: false, nodeSelector: {} },
      { labels: {}, annotations: { a: '' } },
    ),
  ),
  create('a pod whose status the client sends', 'pods', {
    ...pod('p'),
    status: { phase: 'Running' },
  }),
  create(
    'a pod of a priority class',
    'pods',
    pod('p', { priorityClassName: 'system-cluster-critical' }),
  ),
  create('a pod of a missing priority class', 'pods', pod('p', { priorityClassName: 'none' })),
  create('a pod with another priority than its class', 'pods', pod('p', { priority: 7 })),
  create('a pod in two namespaces at once', 'pods', pod('p', {}, { namespace: 'default' })),
  create(
    'a pod with unknown fields',
    'pods',
    pod('p', { foo: 1, containers: [{ name: 'm', image: 'x', bar: {} }] }),
  ),
  create('unknown fields, strictly', 'pods', pod('p', { foo: 1 }), '?fieldValidation=Strict'),
  create('unknown fields, ignored', 'pods', pod('p', { foo: 1 }), '?fieldValidation=Ignore'),
  create('a pod that is only tried', 'pods', pod('p'), '?dryRun=All'),
  create('a deployment', 'apps/v1/deployments', workload('Deployment', 'd')),
  create(
    'a deployment that is recreated',
    'apps/v1/deployments',
    workload('Deployment', 'd', { strategy: { type: 'Recreate' }, replicas: 0 }),
  ),
  create('a replica set', 'apps/v1/replicasets', workload('ReplicaSet', 'r', { replicas: 2 })),
  create(
    'a stateful set',
    'apps/v1/statefulsets',
    workload('StatefulSet', 's', { serviceName: 's', podManagementPolicy: 'Parallel' }),
  ),
  create('a daemon set', 'apps/v1/daemonsets', workload('DaemonSet', 'd')),
  create('a job', 'batch/v1/jobs', { ...job, spec: { template: jobTemplate } }),
  create('a job of several pods', 'batch/v1/jobs', {
    ...job,
    spec: { parallelism: 3, template: jobTemplate },
  }),
  create('a budget', 'policy/v1/poddisruptionbudgets', budget('b', { maxUnavailable: 1 })),
  create(
    'a budget in percent',
    'policy/v1/poddisruptionbudgets',
    budget('b', { minAvailable: '50%', unhealthyPodEvictionPolicy: 'AlwaysAllow' }),
  ),
  create('a lease', 'coordination.k8s.io/v1/leases', {
    metadata: { name: 'l' },
    spec: {
      holderIdentity: 'me',
      leaseDurationSeconds: 15,
      renewTime: '2026-01-01T00:00:00.123456Z',
      acquireTime: '2026-01-01T00:00:00.000000Z',
    },
  }),
  create('an event', 'events', {
    metadata: { name: 'e', namespace: undefined },
    involvedObject: { kind: 'Node', name: 'n' },
    reason: 'R',
    message: 'M',
    type: 'Normal',
  }),
  create('a secret', 'secrets', {
    metadata: { name: 's' },
    stringData: { a: 'b' },
    data: { c: 'ZA==' },
  }),
  create('a service account', 'serviceaccounts', { metadata: { name: 's' } }),
  create('a claim', 'persistentvolumeclaims', {
    metadata: { name: 'c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }),
  createBare('a node', '/api/v1/nodes', at => ({
    metadata: { name: at.name('node'), labels: { a: 'b' } },
    spec: { unschedulable: true },
  })),
  createBare('a namespace', '/api/v1/namespaces', at => ({
    metadata: { name: at.name('space'), labels: { a: 'b' } },
  })),
  createBare('a volume', '/api/v1/persistentvolumes', at => ({
    metadata: { name: at.name('pv') },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      hostPath: { path: '/x' },
    },
  })),
  createBare('a volume attachment', '/apis/storage.k8s.io/v1/volumeattachments', at => ({
    metadata: { name: at.name('va') },
    spec: { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'p' } },
  })),
  createBare('a priority class', '/apis/scheduling.k8s.io/v1/priorityclasses', at => ({
    metadata: { name: at.name('pc') },
    value: 10,
  })),
  {
    name: 'a name that is taken',
    run: async at => {
      await at.post(at.path('configmaps'), configMap('x'));
      await at.post(at.path('configmaps'), configMap('x'));
      await at.post(at.path('apps/v1/deployments'), workload('Deployment', 'x'));
      await at.post(at.path('apps/v1/deployments'), workload('Deployment', 'x'));
    },
  },
  {
    name: 'a name that the server makes',
    run: async at => {
      const { status, body } = await at.post(
        at.path('configmaps'),
        { metadata: { generateName: 'some-' } },
        { compared: false },
      );
      at.note('status', status);
      at.note('name', /^some-[bcdfghjklmnpqrstvwxz2456789]{5}$/.test(body.metadata?.name ?? ''));
    },
  },
  {
    name: 'a namespace that is not there',
    bare: true,
    run: async at => {
      await at.post('/api/v1/namespaces/nowhere/configmaps', configMap('x'));
      await at.post('/api/v1/namespaces/nowhere/pods', pod('x'));
    },
  },
  {
    name: 'an object replaced, with its version and without',
    run: async at => {
      const path = at.path('configmaps', 'x');
      const { body } = await at.post(at.path('configmaps'), configMap('x'));
      await at.put(path, { ...body, data: { a: '2' } });
      await at.put(path, configMap('x', { a: '3' }));
      await at.put(path, { ...body, data: { a: '4' } });
      await at.put(path, {
        ...configMap('x'),
        metadata: { name: 'x', uid: '11111111-1111-1111-1111-111111111111' },
      });
      await at.put(path, { ...configMap('x'), metadata: { name: 'x', resourceVersion: 'abc' } });
    },
  },
  {
    name: 'replaced under another name, and where nothing is',
    run: async at => {
      await at.has(at.path('configmaps'), configMap('x'));
      await at.put(at.path('configmaps', 'x'), configMap('y'));
      await at.put(at.path('configmaps', 'z'), configMap('z'));
      await at.put(at.path('configmaps', 'x'), { metadata: {} });
    },
  },
  {
    name: 'a replacement that changes nothing keeps the version',
    run: async at => {
      const made = await at.has(at.path('configmaps'), configMap('x'));
      const { body } = await at.put(at.path('configmaps', 'x'), made);
      at.note('same version', body.metadata?.resourceVersion === made.metadata?.resourceVersion);
    },
  },
  {
    name: 'generations count changes of the spec only',
    run: async at => {
      const path = at.path('apps/v1/deployments', 'd');
      await at.has(at.path('apps/v1/deployments'), workload('Deployment', 'd'));
      await at.patch(path, 'merge', { metadata: { labels: { a: 'b' } } });
      await at.patch(path, 'merge', { spec: { replicas: 3 } });
      await at.patch(`${path}/status`, 'merge', { status: { replicas: 3, observedGeneration: 2 } });
      await at.patch(path, 'merge', { status: { replicas: 9 } });
    },
  },
  {
    name: 'the status of a pod',
    run: async at => {
      const path = at.path('pods', 'p');
      await at.has(at.path('pods'), pod('p'));
      await at.patch(`${path}/status`, 'merge', {
        status: { phase: 'Running', podIP: '10.0.0.9', podIPs: [{ ip: '10.0.0.9' }] },
        spec: { nodeName: 'other' },
      });
      await at.patch(`${path}/status`, 'strategic-merge', {
        status: { conditions: [{ type: 'Ready', status: 'True' }] },
      });
      await at.patch(`${path}/status`, 'strategic-merge', {
        status: { conditions: [{ type: 'X', status: 'False', reason: 'R' }] },
      });
      await at.get(`${path}/status`);
    },
  },
  {
    name: 'the status of a node, and its spec',
    bare: true,
    run: async at => {
      const name = at.name('node');
      const path = `/api/v1/nodes/${name}`;
      await at.post('/api/v1/nodes', { metadata: { name }, status: { capacity: { cpu: '4' } } });
      await at.patch(`${path}/status`, 'strategic-merge', {
        status: {
          conditions: [{ type: 'Ready', status: 'True', reason: 'R' }],
          addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
        },
      });
      await at.patch(path, 'strategic-merge', { spec: { unschedulable: true } });
      await at.patch(path, 'strategic-merge', {
        spec: { unschedulable: null, taints: [{ key: 'a', effect: 'NoSchedule' }] },
      });
      await at.patch(path, 'merge', { spec: { taints: null } });
      await at.get(path);
    },
  },
  {
    name: 'a pod is bound to a node',
    run: async at => {
      const path = at.path('pods', 'p');
      await at.has(at.path('pods'), pod('p'));
      const binding = {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: 'p', annotations: { a: 'b' } },
        target: { kind: 'Node', name: 'n' },
      };
      await at.post(`${path}/binding`, { ...binding, metadata: { name: 'q' } });
      await at.post(`${path}/binding`, { ...binding, target: {} });
      await at.post(`${path}/binding`, binding);
      await at.get(path);
      await at.post(`${path}/binding`, binding);
      await at.post(at.path('pods', 'q', 'binding'), { ...binding, metadata: { name: 'q' } });
    },
  },
  {
    name: 'a pod that waits at a gate is not bound',
    run: async at => {
      await at.has(at.path('pods'), pod('p', { schedulingGates: [{ name: 'example.com/gate' }] }));
      await at.post(at.path('pods', 'p', 'binding'), {
        metadata: { name: 'p' },
        target: { kind: 'Node', name: 'n' },
      });
    },
  },
  {
    name: 'the scale of a deployment',
    run: async at => {
      const path = at.path('apps/v1/deployments', 'd');
      await at.has(at.path('apps/v1/deployments'), workload('Deployment', 'd'));
      const { body } = await at.get(`${path}/scale`);
      await at.put(`${path}/scale`, { ...body, spec: { replicas: 3 } });
      await at.put(`${path}/scale`, { ...body, spec: { replicas: 4 } });
      await at.patch(`${path}/scale`, 'merge', { spec: { replicas: 0 } });
      await at.patch(`${path}/scale`, 'merge', { spec: { replicas: -1 } });
      await at.get(path);
    },
  },
];
