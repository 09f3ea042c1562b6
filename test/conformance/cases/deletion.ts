import type { Case, Site } from '../site.ts';
import { configMap, pod, workload } from './things.ts';

function ofPod(
  name: string,
  spec: Readonly<Record<string, unknown>>,
  options: unknown,
  metadata = {},
): Case {
  return {
    name: `a pod: ${name}`,
    run: async at => {
      await at.has(at.path('pods'), pod('p', spec, metadata));
      await at.delete(at.path('pods', 'p'), options);
      await at.get(at.path('pods', 'p'));
    },
  };
}

function ofDeployment(name: string, options: unknown, query = ''): Case {
  return {
    name: `a deployment: ${name}`,
    run: async at => {
      await at.has(at.path('apps/v1/deployments'), workload('Deployment', 'd'));
      await at.delete(at.path('apps/v1/deployments', 'd') + query, options);
      await at.get(at.path('apps/v1/deployments', 'd'));
    },
  };
}

async function held(at: Site): Promise<string> {
  await at.has(
    at.path('configmaps'),
    configMap('x', {}, { finalizers: ['example.com/a', 'example.com/b'] }),
  );
  return at.path('configmaps', 'x');
}

/** The ends of objects. */
export const deletion: readonly Case[] = [
  ofPod('nobody runs it', {}, undefined),
  ofPod(
    'on a node, with its own grace',
    { nodeName: 'n', terminationGracePeriodSeconds: 45 },
    undefined,
  ),
  ofPod('on a node, with the default grace', { nodeName: 'n' }, undefined),
  ofPod('on a node, with the grace of the client', { nodeName: 'n' }, { gracePeriodSeconds: 5 }),
  ofPod(
    'on a node, with a grace of centuries',
    { nodeName: 'n', terminationGracePeriodSeconds: 9_000_000_000_000 },
    undefined,
  ),
  ofPod('on a node, at once', { nodeName: 'n' }, { gracePeriodSeconds: 0 }),
  ofPod('only tried', { nodeName: 'n' }, { dryRun: ['All'] }),
  ofPod(
    'held by a finalizer',
    { nodeName: 'n' },
    { gracePeriodSeconds: 0 },
    { finalizers: ['example.com/hold'] },
  ),
  ofPod(
    'of another uid',
    { nodeName: 'n' },
    { preconditions: { uid: '11111111-1111-1111-1111-111111111111' } },
  ),
  ofPod('of another version', { nodeName: 'n' }, { preconditions: { resourceVersion: '1' } }),
  {
    name: 'a pod: the grace becomes shorter, never longer',
    run: async at => {
      await at.has(at.path('pods'), pod('p', { nodeName: 'n' }));
      for (const gracePeriodSeconds of [20, 25, 10])
        await at.delete(at.path('pods', 'p'), { gracePeriodSeconds });
      await at.delete(at.path('pods', 'p'));
      await at.delete(at.path('pods', 'p'), { gracePeriodSeconds: 0 });
      await at.get(at.path('pods', 'p'));
    },
  },
  {
    name: 'a finished pod goes at once',
    run: async at => {
      await at.has(at.path('pods'), pod('p', { nodeName: 'n' }));
      await at.patch(at.path('pods', 'p', 'status'), 'merge', { status: { phase: 'Succeeded' } });
      await at.delete(at.path('pods', 'p'));
      await at.get(at.path('pods', 'p'));
    },
  },
  {
    name: 'options in the query',
    run: async at => {
      await at.has(at.path('pods'), pod('p', { nodeName: 'n' }));
      await at.delete(`${at.path('pods', 'p')}?gracePeriodSeconds=7`);
      await at.delete(`${at.path('pods', 'p')}?gracePeriodSeconds=0`);
    },
  },
  {
    name: 'an object of a kind that shows only that it is gone',
    run: async at => {
      await at.has(at.path('configmaps'), configMap('x'));
      await at.delete(at.path('configmaps', 'x'));
      await at.delete(at.path('configmaps', 'x'));
      await at.has(at.path('secrets'), { metadata: { name: 's' } });
      await at.delete(at.path('secrets', 's'));
      await at.has(at.path('serviceaccounts'), { metadata: { name: 's' } });
      await at.delete(at.path('serviceaccounts', 's'));
      await at.has(at.path('coordination.k8s.io/v1/leases'), { metadata: { name: 'l' } });
      await at.delete(at.path('coordination.k8s.io/v1/leases', 'l'));
    },
  },
  {
    name: 'finalizers: held, changed, let go one after the other',
    run: async at => {
      const path = await held(at);
      await at.delete(path);
      await at.delete(path);
      await at.patch(path, 'merge', {
        metadata: { finalizers: ['example.com/a', 'example.com/c'] },
      });
      await at.patch(path, 'merge', { data: { still: 'changes' } });
      await at.patch(path, 'merge', { metadata: { finalizers: ['example.com/b'] } });
      await at.patch(path, 'merge', { metadata: { finalizers: [] } });
      await at.get(path);
    },
  },
  {
    name: 'a finalizer taken away from what is not deleted',
    run: async at => {
      const path = await held(at);
      await at.patch(path, 'json', [{ op: 'remove', path: '/metadata/finalizers' }]);
      await at.get(path);
    },
  },
  {
    name: 'a bad finalizer',
    run: async at => {
      await at.post(at.path('configmaps'), configMap('x', {}, { finalizers: ['not good'] }));
    },
  },
  ofDeployment('as it comes', undefined),
  ofDeployment('in the background', { propagationPolicy: 'Background' }),
  ofDeployment('in the foreground', { propagationPolicy: 'Foreground' }),
  ofDeployment('leaving its dependents', { propagationPolicy: 'Orphan' }),
  ofDeployment('leaving its dependents, the old way', { orphanDependents: true }),
  ofDeployment('in the foreground, by the query', undefined, '?propagationPolicy=Foreground'),
  {
    name: 'foreground, then background after all',
    run: async at => {
      await at.has(at.path('apps/v1/deployments'), workload('Deployment', 'd'));
      await at.delete(at.path('apps/v1/deployments', 'd'), { propagationPolicy: 'Foreground' });
      await at.delete(at.path('apps/v1/deployments', 'd'), { propagationPolicy: 'Background' });
      await at.get(at.path('apps/v1/deployments', 'd'));
    },
  },
  {
    name: 'a collection',
    run: async at => {
      for (const name of ['a', 'b', 'c'])
        await at.has(
          at.path('configmaps'),
          configMap(name, {}, { labels: { odd: String(name !== 'b') } }),
        );
      await at.delete(`${at.path('configmaps')}?labelSelector=odd%3Dtrue`);
      const { body } = await at.get(at.path('configmaps'), { compared: false });
      at.note(
        'left',
        (body['items'] as readonly { readonly metadata: { readonly name: string } }[]).map(
          ({ metadata }) => metadata.name,
        ),
      );
    },
  },
  {
    name: 'the pods of a namespace',
    run: async at => {
      await at.has(at.path('pods'), pod('a', { nodeName: 'n' }));
      await at.has(at.path('pods'), pod('b'));
      await at.delete(at.path('pods'), { gracePeriodSeconds: 3 });
      await at.get(at.path('pods'));
    },
  },
  {
    name: 'a namespace: terminating, closed to new things, finalized',
    bare: true,
    run: async at => {
      const name = at.name('space');
      const path = `/api/v1/namespaces/${name}`;
      await at.post('/api/v1/namespaces', { metadata: { name } });
      await at.has(`${path}/configmaps`, configMap('x'));
      await at.delete(path);
      await at.post(`${path}/configmaps`, configMap('y'));
      await at.post(`${path}/pods`, pod('y'));
      await at.delete(path);
      const { body } = await at.get(path);
      await at.put(`${path}/finalize`, { ...body, spec: {} });
      await at.get(path);
    },
  },
  {
    name: 'namespaces that may not go',
    bare: true,
    run: async at => {
      for (const name of ['default', 'kube-system', 'kube-public'])
        await at.delete(`/api/v1/namespaces/${name}`);
    },
  },
  {
    name: 'a node',
    bare: true,
    run: async at => {
      const name = at.name('node');
      await at.has('/api/v1/nodes', { metadata: { name } });
      await at.delete(`/api/v1/nodes/${name}`);
      await at.delete(`/api/v1/nodes/${name}`);
    },
  },
];
