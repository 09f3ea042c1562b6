import type { Case } from '../site.ts';
import { configMap, pod, workload } from './things.ts';

type Kind = 'json' | 'merge' | 'strategic-merge';

function ofConfigMap(name: string, kind: Kind, patch: unknown): Case {
  return {
    name: `${kind}: ${name}`,
    run: async at => {
      await at.has(
        at.path('configmaps'),
        configMap('x', { a: '1', b: '2' }, { labels: { l: 'm' }, finalizers: undefined }),
      );
      await at.patch(at.path('configmaps', 'x'), kind, patch);
    },
  };
}

const taints = [
  { key: 'a', effect: 'NoSchedule' },
  { key: 'b', value: 'v', effect: 'NoExecute' },
];

function ofNode(name: string, kind: Kind, patch: unknown): Case {
  return {
    name: `${kind} of a node: ${name}`,
    bare: true,
    run: async at => {
      const node = at.name('node');
      await at.has('/api/v1/nodes', {
        metadata: { name: node, labels: { a: 'b' } },
        spec: { taints },
      });
      await at.patch(`/api/v1/nodes/${node}`, kind, patch);
    },
  };
}

const containers = [
  {
    name: 'one',
    image: 'x:1',
    env: [
      { name: 'A', value: '1' },
      { name: 'B', value: '2' },
    ],
    ports: [{ containerPort: 80 }],
  },
  { name: 'two', image: 'y:1' },
];

function ofDeployment(name: string, kind: Kind, patch: unknown): Case {
  return {
    name: `${kind} of a deployment: ${name}`,
    run: async at => {
      await at.has(
        at.path('apps/v1/deployments'),
        workload('Deployment', 'd', {
          template: { metadata: { labels: { app: 'd' } }, spec: { containers } },
        }),
      );
      await at.patch(at.path('apps/v1/deployments', 'd'), kind, patch);
    },
  };
}

function inTemplate(spec: unknown): unknown {
  return { spec: { template: { spec } } };
}

/** Patches of the first three kinds; server-side apply has its own chapter. */
export const patches: readonly Case[] = [
  ofConfigMap('add, replace, remove', 'json', [
    { op: 'add', path: '/data/c', value: '3' },
    { op: 'replace', path: '/data/a', value: '9' },
    { op: 'remove', path: '/data/b' },
  ]),
  ofConfigMap('a test that holds', 'json', [
    { op: 'test', path: '/data/a', value: '1' },
    { op: 'replace', path: '/data/a', value: '2' },
  ]),
  ofConfigMap('a test that fails', 'json', [
    { op: 'test', path: '/data/a', value: '7' },
    { op: 'replace', path: '/data/a', value: '2' },
  ]),
  ofConfigMap('escaped names', 'json', [
    { op: 'add', path: '/metadata/annotations', value: {} },
    { op: 'add', path: '/metadata/annotations/e.com~1x', value: 'y' },
  ]),
  ofConfigMap('copy and move', 'json', [
    { op: 'copy', from: '/data/a', path: '/data/z' },
    { op: 'move', from: '/data/b', path: '/data/y' },
  ]),
  ofConfigMap('removing what is not there', 'json', [{ op: 'remove', path: '/data/none' }]),
  ofConfigMap('a path that is not there', 'json', [{ op: 'add', path: '/none/a', value: 1 }]),
  ofConfigMap('no list of operations', 'json', { a: 1 }),
  ofConfigMap('an unknown operation', 'json', [{ op: 'dance', path: '/data/a' }]),
  ofConfigMap('null removes', 'merge', { data: { a: null, c: '3' } }),
  ofConfigMap('a list replaces', 'merge', { metadata: { finalizers: ['example.com/a'] } }),
  ofConfigMap('a version that is past', 'merge', {
    metadata: { resourceVersion: '1' },
    data: { a: '5' },
  }),
  ofConfigMap('another uid', 'merge', {
    metadata: { uid: '11111111-1111-1111-1111-111111111111' },
  }),
  ofConfigMap('another name', 'merge', { metadata: { name: 'y' } }),
  ofConfigMap('another namespace', 'merge', { metadata: { namespace: 'default' } }),
  ofConfigMap('no object', 'merge', [1]),
  ofConfigMap('unknown fields', 'merge', { foo: 1 }),
  ofConfigMap('nothing', 'merge', {}),
  ofConfigMap('null removes', 'strategic-merge', { data: { a: null } }),
  ofConfigMap('finalizers are merged as a set', 'strategic-merge', {
    metadata: { finalizers: ['example.com/a', 'example.com/a'] },
  }),
  ofNode('taints are replaced as a whole', 'strategic-merge', {
    spec: { taints: [{ key: 'c', effect: 'NoSchedule' }] },
  }),
  ofNode('a taint replaced by index', 'json', [
    { op: 'replace', path: '/spec/taints/0', value: { key: 'z', effect: 'NoSchedule' } },
  ]),
  ofNode('a taint appended', 'json', [
    { op: 'add', path: '/spec/taints/-', value: { key: 'z', effect: 'NoSchedule' } },
  ]),
  ofNode('an index that is not there', 'json', [{ op: 'remove', path: '/spec/taints/9' }]),
  ofNode('a label of every kind', 'strategic-merge', {
    metadata: { labels: { a: null, b: '', 'x.y/z': 'w' } },
  }),
  ofNode('twice the same taint', 'merge', { spec: { taints: [...taints, ...taints] } }),
  ofNode('a bad effect', 'merge', { spec: { taints: [{ key: 'a', effect: 'Never' }] } }),
  ofNode('a bad label', 'merge', { metadata: { labels: { 'bad key': 'v' } } }),
  ofNode('a bad label value', 'merge', { metadata: { labels: { a: 'no spaces' } } }),
  ofDeployment(
    'a container by its name',
    'strategic-merge',
    inTemplate({ containers: [{ name: 'two', image: 'y:2' }] }),
  ),
  ofDeployment(
    'a container more',
    'strategic-merge',
    inTemplate({ containers: [{ name: 'three', image: 'z:1' }] }),
  ),
  ofDeployment(
    'a container less',
    'strategic-merge',
    inTemplate({ containers: [{ name: 'two', $patch: 'delete' }] }),
  ),
  ofDeployment(
    'containers replaced',
    'strategic-merge',
    inTemplate({ containers: [{ $patch: 'replace' }, { name: 'only', image: 'o' }] }),
  ),
  ofDeployment(
    'an environment',
    'strategic-merge',
    inTemplate({
      containers: [
        {
          name: 'one',
          env: [
            { name: 'B', value: null },
            { name: 'C', value: '3' },
          ],
        },
      ],
    }),
  ),
  ofDeployment(
    'an order',
    'strategic-merge',
    inTemplate({
      '$setElementOrder/containers': [{ name: 'two' }, { name: 'one' }],
      containers: [{ name: 'one', image: 'x:2' }],
    }),
  ),
  ofDeployment('only what is kept', 'strategic-merge', {
    spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } },
  }),
  ofDeployment(
    'an element without its key',
    'strategic-merge',
    inTemplate({ containers: [{ image: 'y:2' }] }),
  ),
  ofDeployment(
    'lists replaced by a merge patch',
    'merge',
    inTemplate({ containers: [{ name: 'one', image: 'q' }] }),
  ),
  ofDeployment('an immutable selector', 'merge', {
    spec: { selector: { matchLabels: { app: 'other' } } },
  }),
  {
    name: 'strategic-merge of a pod: owners and finalizers',
    run: async at => {
      const owner = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: 'o',
        uid: '22222222-2222-2222-2222-222222222222',
      };
      await at.has(
        at.path('pods'),
        pod('p', {}, { finalizers: ['example.com/a', 'example.com/b'], ownerReferences: [owner] }),
      );
      await at.patch(at.path('pods', 'p'), 'strategic-merge', {
        metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a'] },
      });
      await at.patch(at.path('pods', 'p'), 'strategic-merge', {
        metadata: { ownerReferences: [{ uid: owner.uid, name: 'renamed' }] },
      });
      await at.patch(at.path('pods', 'p'), 'strategic-merge', {
        metadata: { ownerReferences: [{ $patch: 'delete', uid: owner.uid }] },
      });
    },
  },
  {
    name: 'a patch that is only tried',
    run: async at => {
      await at.has(at.path('configmaps'), configMap('x'));
      await at.patch(`${at.path('configmaps', 'x')}?dryRun=All`, 'merge', { data: { a: '5' } });
      await at.get(at.path('configmaps', 'x'));
    },
  },
  {
    name: 'merge: what cannot be read',
    run: async at => {
      await at.has(at.path('configmaps'), configMap('x'));
      for (const patch of [{ data: { a: 1 } }, { kind: 'Pod' }, { apiVersion: 'v2' }]) {
        const { status, body } = await at.patch(at.path('configmaps', 'x'), 'merge', patch, {
          compared: false,
        });
        // The message holds the whole document, managedFields and all.
        at.note('refused', [
          status,
          body['reason'],
          String(body['message']).slice(0, 30),
          String(body['message']).split('}": ').at(-1),
        ]);
      }
    },
  },
  {
    name: 'a patch of nothing',
    run: async at => {
      await at.patch(at.path('configmaps', 'none'), 'merge', { data: { a: '5' } });
    },
  },
];
