import type { Place, WorkloadOptions } from './place.ts';
import type { Scenario } from './sides.ts';
import { condition, isUp, type Thing } from './thing.ts';

function asking(cpu: string): WorkloadOptions {
  return {
    pod: {
      containers: [
        { name: 'main', image: 'example.test/none:1', resources: { requests: { cpu } } },
      ],
    },
  };
}

function waits(at: Place, name: string): Promise<Thing> {
  return at.until(`${name} to be unschedulable`, () => {
    const pod = at.find('pods', name);
    return condition(pod, 'PodScheduled') === 'False Unschedulable' ? pod : undefined;
  });
}

function runs(at: Place, name: string): Promise<unknown> {
  return at.until(`${name} to run`, () => {
    const pod = at.find('pods', name);
    return pod !== undefined && isUp(pod);
  });
}

function nodeOf(at: Place, name: string): string {
  const found = at.find('pods', name)?.spec?.['nodeName'];
  return typeof found === 'string' ? found.replace(`-${at.id}`, '') : 'none';
}

function where(at: Place): readonly string[] {
  return at.pods.map(({ metadata }) => `${metadata.name} ${nodeOf(at, metadata.name)}`).toSorted();
}

function perNode(at: Place): readonly number[] {
  const counts = new Map<unknown, number>();
  for (const { spec } of at.pods)
    counts.set(spec?.['nodeName'], (counts.get(spec?.['nodeName']) ?? 0) + 1);
  return [...counts.values()].toSorted((one, other) => one - other);
}

function inZone(zone: string): { readonly labels: Readonly<Record<string, string>> } {
  return { labels: { zone } };
}

function affinity(
  kind: 'podAffinity' | 'podAntiAffinity',
  app: string,
  topologyKey = 'kubernetes.io/hostname',
): object {
  return {
    [kind]: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey, labelSelector: { matchLabels: { app } } },
      ],
    },
  };
}

function nodeAffinity(...matchExpressions: readonly object[]): object {
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
    },
  };
}

function spread(topologyKey: string, app: string): object {
  return {
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { app } },
  };
}

/**
 * A class of priority. The API server admits pods of it when its own watch has told of it: a dry
 * run shows when that is.
 */
async function priority(at: Place, name: string, value: number, more: object = {}): Promise<void> {
  const metadata = { name: at.name(name) };
  await at.api.post('/apis/scheduling.k8s.io/v1/priorityclasses', {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata,
    value,
    ...more,
  });
  const containers = [{ name: 'main', image: 'example.test/none:1' }];
  const probe = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'probe' },
    spec: { containers, priorityClassName: metadata.name },
  };
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const { status } = await at.api.call('POST', `${at.path('pods')}?dryRun=All`, probe);
    if (status === 201) return;
  }
  throw new Error(`no pod of ${metadata.name} is admitted`);
}

export const scheduler: readonly Scenario[] = [
  {
    name: 'too little left: the pod waits until another one has gone',
    run: async at => {
      await at.nodes(['n1']);
      await at.pod('big', asking('600'));
      await runs(at, 'big');
      await at.pod('late', asking('500'));
      await waits(at, 'late');
      await at.delete('pods', 'big');
      await runs(at, 'late');
    },
  },
  {
    name: 'more than any node could ever give',
    run: async at => {
      await at.nodes(['n1', 'n2']);
      await at.pod('huge', asking('2k'));
      await waits(at, 'huge');
    },
  },
  {
    name: 'several things are short at once',
    run: async at => {
      await at.nodes(['n1'], { pods: 1 });
      await at.pod('big', asking('600'));
      await runs(at, 'big');
      await at.pod('late', asking('500'));
      await waits(at, 'late');
    },
  },
  {
    name: 'a node selector that fits nowhere, until a node gets the label',
    run: async at => {
      await at.nodes(['n1', 'n2']);
      await at.pod('picky', { pod: { nodeSelector: { disk: 'fast' } } });
      await waits(at, 'picky');
      await at.patch('nodes', at.name('n2'), { metadata: { labels: { disk: 'fast' } } });
      await runs(at, 'picky');
      at.note('where', where(at));
    },
    leaving: { nodes: true },
  },
  {
    name: 'node affinity in all its operators',
    run: async at => {
      await at.nodes(['n1'], { labels: { size: '1', kind: 'a' } });
      await at.nodes(['n2'], { labels: { size: '5', kind: 'b', extra: '' } });
      const terms: readonly (readonly [string, object])[] = [
        ['in', { key: 'kind', operator: 'In', values: ['a'] }],
        ['notin', { key: 'kind', operator: 'NotIn', values: ['a'] }],
        ['exists', { key: 'extra', operator: 'Exists' }],
        ['missing', { key: 'extra', operator: 'DoesNotExist' }],
        ['greater', { key: 'size', operator: 'Gt', values: ['3'] }],
        ['less', { key: 'size', operator: 'Lt', values: ['3'] }],
      ];
      for (const [name, term] of terms)
        await at.pod(name, { pod: { affinity: nodeAffinity(term) } });
      await at.up(terms.length);
      at.note('where', where(at));
    },
    leaving: { nodes: true },
  },
  {
    name: 'a taint keeps pods away until it is taken off',
    run: async at => {
      await at.nodes(['n1']);
      await at.taint('n1', { key: 'away', effect: 'NoSchedule' });
      await at.until('the taint', () =>
        JSON.stringify(at.find('nodes', at.name('n1'))?.spec).includes('away'),
      );
      await at.pod('tolerant', { pod: { tolerations: [{ key: 'away', operator: 'Exists' }] } });
      await runs(at, 'tolerant');
      await at.pod('other');
      await waits(at, 'other');
      await at.taint('n1');
      await runs(at, 'other');
    },
  },
  {
    name: 'a cordoned node takes nobody',
    run: async at => {
      await at.nodes(['n1', 'n2']);
      await at.cordon('n1');
      await at.until(
        'the taint',
        () =>
          JSON.stringify(at.find('nodes', at.name('n1'))?.spec).includes('unschedulable:') ||
          JSON.stringify(at.find('nodes', at.name('n1'))?.spec).includes(
            'node.kubernetes.io/unschedulable',
          ),
      );
      await at.replicaSet('web', { replicas: 3 });
      await at.up(3);
      at.note('per node', perNode(at));
      await at.cordon('n2');
      await at.until('the other taint', () =>
        JSON.stringify(at.find('nodes', at.name('n2'))?.spec).includes(
          'node.kubernetes.io/unschedulable',
        ),
      );
      await at.pod('late');
      await waits(at, 'late');
      await at.cordon('n1', false);
      await runs(at, 'late');
    },
  },
  {
    name: 'pods that keep away from each other: one a node, the rest waits',
    run: async at => {
      await at.nodes(['n1', 'n2']);
      await at.replicaSet('web', {
        replicas: 3,
        pod: { affinity: affinity('podAntiAffinity', 'web') },
      });
      await at.until('one that waits', () =>
        at.pods.some(pod => condition(pod, 'PodScheduled') === 'False Unschedulable'),
      );
      await at.until('two that run', () => at.pods.filter(isUp).length === 2);
      at.note('per node', perNode(at));
    },
  },
  {
    name: 'a pod that is there keeps others away',
    run: async at => {
      await at.nodes(['n1']);
      await at.pod('hermit', { pod: { affinity: affinity('podAntiAffinity', 'other') } });
      await runs(at, 'hermit');
      await at.pod('other');
      await waits(at, 'other');
    },
  },
  {
    name: 'a pod that wants company waits for it, and goes where it is',
    run: async at => {
      await at.nodes(['n1', 'n2']);
      await at.pod('fan', { pod: { affinity: affinity('podAffinity', 'star') } });
      await waits(at, 'fan');
      await at.pod('star', { pod: { nodeName: at.name('n2') } });
      await runs(at, 'fan');
      at.note('where', where(at));
    },
    leaving: { nodes: true },
  },
  {
    name: 'the first of a company goes anywhere, the others follow it',
    run: async at => {
      await at.nodes(['n1', 'n2', 'n3']);
      await at.replicaSet('web', {
        replicas: 3,
        pod: { affinity: affinity('podAffinity', 'web') },
      });
      await at.up(3);
      at.note('per node', perNode(at));
    },
  },
  {
    name: 'pods are spread over zones',
    run: async at => {
      await at.nodes(['n1'], inZone('a'));
      await at.nodes(['n2'], inZone('b'));
      await at.replicaSet('web', {
        replicas: 5,
        pod: { topologySpreadConstraints: [spread('zone', 'web')] },
      });
      await at.up(5);
      at.note('per node', perNode(at));
    },
  },
  {
    name: 'a zone that is full holds up the spread',
    run: async at => {
      await at.nodes(['n1'], { ...inZone('a'), pods: 1 });
      await at.nodes(['n2'], inZone('b'));
      await at.replicaSet('web', {
        replicas: 4,
        pod: { topologySpreadConstraints: [spread('zone', 'web')] },
      });
      await at.until('three that run', () => at.pods.filter(isUp).length === 3);
      await at.until('one that waits', () =>
        at.pods.some(pod => condition(pod, 'PodScheduled') === 'False Unschedulable'),
      );
      at.note('per node', perNode(at));
    },
  },
  {
    name: 'nodes without the label of a spread take nobody',
    run: async at => {
      await at.nodes(['n1']);
      await at.pod('web', { pod: { topologySpreadConstraints: [spread('zone', 'web')] } });
      await waits(at, 'web');
    },
  },
  {
    name: 'a pod that would push nobody out says so',
    run: async at => {
      await at.nodes(['n1'], { pods: 1 });
      await at.pod('first');
      await runs(at, 'first');
      await priority(at, 'modest', 1000, { preemptionPolicy: 'Never' });
      await at.pod('modest', { pod: { priorityClassName: at.name('modest') } });
      await waits(at, 'modest');
    },
  },
  {
    name: 'a pod that is given its node asks no scheduler',
    run: async at => {
      await at.nodes(['n1'], { unschedulable: true });
      await at.pod('direct', { pod: { nodeName: at.name('n1') } });
      await runs(at, 'direct');
    },
  },
  {
    name: 'gates hold a pod back',
    run: async at => {
      await at.nodes(['n1']);
      await at.pod('gated', { pod: { schedulingGates: [{ name: 'example.test/wait' }] } });
      await at.until(
        'the condition',
        () => condition(at.find('pods', 'gated'), 'PodScheduled') === 'False SchedulingGated',
      );
      await at.patch('pods', 'gated', { spec: { schedulingGates: [] } });
      await runs(at, 'gated');
    },
  },
  {
    name: 'a pod of another scheduler is left to that',
    run: async at => {
      await at.nodes(['n1']);
      await at.pod('foreign', { pod: { schedulerName: 'other' } });
      await at.pod('own');
      await runs(at, 'own');
      at.note('foreign', nodeOf(at, 'foreign'));
    },
  },
];
