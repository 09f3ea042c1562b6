import type { Case } from '../site.ts';
import { budget, configMap, pod, template, workload } from './things.ts';

function refuses(name: string, resource: string, body: object): Case {
  return {
    name,
    run: async at => {
      await at.post(at.path(resource), body);
    },
  };
}

const budgets = 'policy/v1/poddisruptionbudgets';
const deployments = 'apps/v1/deployments';
const container = { name: 'm', image: 'x' };

/** What is refused, and in which words. */
export const validation: readonly Case[] = [
  refuses('no name', 'pods', { spec: { containers: [container] } }),
  refuses('no containers', 'pods', { metadata: { name: 'p' } }),
  refuses('a bad name', 'pods', pod('Bad_Name')),
  refuses('a container without a name and an image', 'pods', pod('p', { containers: [{}] })),
  refuses('a bad container name', 'pods', pod('p', { containers: [{ ...container, name: 'A' }] })),
  refuses('twice the same container', 'pods', pod('p', { containers: [container, container] })),
  refuses('a bad restart policy', 'pods', pod('p', { restartPolicy: 'Sometimes' })),
  refuses(
    'a mount of a missing volume',
    'pods',
    pod('p', { containers: [{ ...container, volumeMounts: [{ name: 'none', mountPath: '/x' }] }] }),
  ),
  refuses('a negative grace', 'pods', pod('p', { terminationGracePeriodSeconds: -1 })),
  refuses('a bad label key', 'configmaps', configMap('x', {}, { labels: { '-bad': 'x' } })),
  refuses('a bad label value', 'configmaps', configMap('x', {}, { labels: { a: 'b c' } })),
  refuses(
    'a bad annotation key',
    'configmaps',
    configMap('x', {}, { annotations: { 'a/b/c': 'x' } }),
  ),
  refuses(
    'annotations that are too large',
    'configmaps',
    configMap('x', {}, { annotations: { a: 'x'.repeat(262_145) } }),
  ),
  refuses(
    'owners without uid and kind',
    'configmaps',
    configMap('x', {}, { ownerReferences: [{ apiVersion: '', kind: '', name: '', uid: '' }] }),
  ),
  refuses(
    'two controllers',
    'configmaps',
    configMap(
      'x',
      {},
      {
        ownerReferences: ['a', 'b'].map(name => ({
          apiVersion: 'v1',
          kind: 'Pod',
          name,
          uid: `u-${name}`,
          controller: true,
        })),
      },
    ),
  ),
  refuses(
    'a text where a number belongs',
    deployments,
    workload('Deployment', 'd', { replicas: 'three' }),
  ),
  refuses('a number where a text belongs', 'pods', pod('p', { nodeName: 5 })),
  refuses('an object where a list belongs', 'pods', pod('p', { containers: {} })),
  refuses('a list where an object belongs', 'pods', { metadata: { name: 'p' }, spec: [] }),
  refuses('a text where a truth belongs', 'pods', pod('p', { hostNetwork: 'yes' })),
  refuses('a deployment without a selector', deployments, {
    metadata: { name: 'd' },
    spec: { template: template({ a: 'b' }) },
  }),
  refuses(
    'a selector that does not match',
    deployments,
    workload('Deployment', 'd', { selector: { matchLabels: { app: 'x' } } }),
  ),
  refuses('negative replicas', deployments, workload('Deployment', 'd', { replicas: -1 })),
  refuses(
    'a deployment of pods that end',
    deployments,
    workload('Deployment', 'd', { template: template({ app: 'd' }, { restartPolicy: 'Never' }) }),
  ),
  refuses('a job of pods that never end', 'batch/v1/jobs', {
    metadata: { name: 'j' },
    spec: { template: { spec: { containers: [container] } } },
  }),
  refuses('a budget with two bounds', budgets, budget('b', { minAvailable: 1, maxUnavailable: 1 })),
  refuses('a budget with a negative bound', budgets, budget('b', { minAvailable: -1 })),
  refuses('a budget with a bad percentage', budgets, budget('b', { maxUnavailable: 'half' })),
  refuses('a budget of more than all', budgets, budget('b', { minAvailable: '101%' })),
  refuses(
    'a budget with an unknown policy',
    budgets,
    budget('b', { minAvailable: 1, unhealthyPodEvictionPolicy: 'Never' }),
  ),
  refuses('a lease of no time', 'coordination.k8s.io/v1/leases', {
    metadata: { name: 'l' },
    spec: { leaseDurationSeconds: 0 },
  }),
  refuses('a lease renewed at a time without microseconds', 'coordination.k8s.io/v1/leases', {
    metadata: { name: 'l' },
    spec: { renewTime: '2026-01-01T00:00:00Z' },
  }),
  refuses('a lease renewed at no time', 'coordination.k8s.io/v1/leases', {
    metadata: { name: 'l' },
    spec: { renewTime: 'yesterday' },
  }),
  refuses('an event of another namespace', 'events', {
    metadata: { name: 'e' },
    involvedObject: { kind: 'Pod', namespace: 'other', name: 'p' },
  }),
  refuses('a claim without anything', 'persistentvolumeclaims', {
    metadata: { name: 'c' },
    spec: {},
  }),
  {
    name: 'what may not change of a pod',
    run: async at => {
      const path = at.path('pods', 'p');
      await at.has(at.path('pods'), pod('p', { nodeName: 'n' }));
      const tried = async (spec: object): Promise<void> => {
        const { status, body } = await at.patch(path, 'merge', { spec }, { compared: false });
        // The real message goes on with a diff in Go's notation.
        at.note('refused', [status, body['reason'], String(body['message']).split('\n')[0]]);
      };
      await tried({ nodeName: 'other' });
      await tried({ restartPolicy: 'Never' });
      await at.patch(path, 'strategic-merge', {
        spec: { containers: [{ name: 'main', image: 'example.test/app:2' }] },
      });
      await at.patch(path, 'merge', { spec: { activeDeadlineSeconds: 5 } });
    },
  },
  {
    name: 'what may not change of other kinds',
    run: async at => {
      await at.has(at.path('secrets'), { metadata: { name: 's' }, type: 'example.com/a' });
      await at.patch(at.path('secrets', 's'), 'merge', { type: 'example.com/b' });
      const name = at.name('pc');
      await at.has('/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name }, value: 5 });
      await at.patch(`/apis/scheduling.k8s.io/v1/priorityclasses/${name}`, 'merge', { value: 6 });
      await at.has(at.path('configmaps'), { ...configMap('x'), immutable: true });
      await at.patch(at.path('configmaps', 'x'), 'merge', { data: { a: '2' } });
    },
  },
  {
    name: 'a priority class that is too high',
    bare: true,
    run: async at => {
      await at.post('/apis/scheduling.k8s.io/v1/priorityclasses', {
        metadata: { name: at.name('pc') },
        value: 1_000_000_001,
      });
    },
  },
  {
    name: 'a namespace with a bad name',
    bare: true,
    run: async at => {
      await at.post('/api/v1/namespaces', { metadata: { name: 'a.b' } });
      await at.post('/api/v1/nodes', { metadata: { name: 'A' } });
      await at.post('/api/v1/nodes', { metadata: { name: at.name('n'), namespace: 'x' } });
    },
  },
];
