import type { Place, WorkloadOptions } from './place.ts';
import type { Scenario } from './sides.ts';
import { count, isCurrent, isGoing, isUp, type Thing } from './thing.ts';

/** On so many nodes, and all of them up. */
function settled(at: Place, nodes: number): Promise<Thing> {
  return at.until(`pods on ${nodes} nodes`, () => {
    const set = at.find('daemonsets', 'agent');
    const counts = [
      'desiredNumberScheduled',
      'currentNumberScheduled',
      'numberReady',
      'numberAvailable',
    ];
    const isFull = counts.every(field => count(set, field) === nodes);
    return isCurrent(set) && isFull && at.pods.length === nodes && at.pods.every(isUp)
      ? set
      : undefined;
  });
}

async function up(
  at: Place,
  nodes: readonly string[],
  options: WorkloadOptions = {},
): Promise<void> {
  await at.nodes(nodes);
  await at.daemonSet('agent', options);
  await settled(at, nodes.length);
}

function imageOf(pod: Thing): string {
  return (
    ((pod.spec?.['containers'] ?? []) as readonly { readonly image: string }[])[0]?.image ?? ''
  );
}

const second = 'example.test/none:2';

async function rolled(at: Place, nodes: number): Promise<void> {
  await at.until(
    'a rollout',
    () =>
      count(at.find('daemonsets', 'agent'), 'updatedNumberScheduled') === nodes &&
      at.pods.every(pod => imageOf(pod) === second),
  );
  await settled(at, nodes);
}

function where(at: Place): readonly string[] {
  return at.pods.map(({ spec }) => String(spec?.['nodeName'])).toSorted();
}

function update(rollingUpdate: object): WorkloadOptions {
  return { spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate } } };
}

export const daemonSets: readonly Scenario[] = [
  {
    name: 'a pod on every node that it may run on, and on those that come',
    run: async at => {
      await up(at, ['n1', 'n2']);
      await at.nodes(['n3']);
      await settled(at, 3);
      at.note('where', where(at));
    },
    leaving: { nodes: true },
  },
  {
    name: 'cordons do not matter to it',
    run: async at => {
      await at.nodes(['n1'], { unschedulable: true });
      await at.daemonSet('agent');
      await settled(at, 1);
    },
  },
  {
    name: 'a node gets the label that it looks for, and loses it',
    run: async at => {
      await at.nodes(['n1', 'n2']);
      await at.daemonSet('agent', { pod: { nodeSelector: { role: 'edge' } } });
      await at.until('the status', () => isCurrent(at.find('daemonsets', 'agent')));
      at.note('at first', at.pods.length);
      await at.patch('nodes', at.name('n1'), { metadata: { labels: { role: 'edge' } } });
      await settled(at, 1);
      at.note('where', where(at));
      await at.patch('nodes', at.name('n1'), { metadata: { labels: { role: null } } });
      await settled(at, 0);
    },
    leaving: { nodes: true },
  },
  {
    name: 'a taint that keeps new pods away drives none out',
    run: async at => {
      await up(at, ['n1', 'n2']);
      await at.taint('n1', { key: 'new', effect: 'NoSchedule' });
      await at.until('the taint', () =>
        JSON.stringify(at.find('nodes', at.name('n1'))?.spec).includes('"new"'),
      );
      const pod = at.pods.find(({ spec }) => spec?.['nodeName'] === at.name('n1'));
      await at.delete('pods', pod?.metadata.name ?? '');
      await settled(at, 1);
      at.note('after it has gone', where(at));
      await at.taint('n1');
      await settled(at, 2);
    },
    leaving: { nodes: true },
  },
  {
    name: 'a NoExecute taint drives its pods out',
    run: async at => {
      await up(at, ['n1', 'n2']);
      await at.taint('n1', { key: 'out', effect: 'NoExecute' });
      await settled(at, 1);
      at.note('where', where(at));
    },
    // The set and the taint eviction both delete the pod: who comes first is chance.
    leaving: {
      nodes: true,
      events: ['TaintManagerEviction', 'SuccessfulDelete'],
      courses: ['pods'],
    },
  },
  {
    name: 'its pods stay on nodes that are not ready',
    run: async at => {
      await up(at, ['n1']);
      await at.patch('nodes', at.name('n1'), {
        metadata: { annotations: { 'drydock.test/dead': 'true' } },
      });
      await at.patchStatus('nodes', at.name('n1'), {
        status: { conditions: [{ type: 'Ready', status: 'False', reason: 'Test' }] },
      });
      await at.until('the taint', () =>
        JSON.stringify(at.find('nodes', at.name('n1'))?.spec).includes('not-ready'),
      );
      await at.until('the other taint', () =>
        JSON.stringify(at.find('nodes', at.name('n1'))?.spec).includes('NoExecute'),
      );
      at.note('pods', at.pods.map(isUp));
    },
    // The taint asks for no new count, and whether something else does is chance.
    leaving: { final: ['daemonsets'] },
  },
  {
    name: 'a rolling update: one node after the other',
    run: async at => {
      await up(at, ['n1', 'n2', 'n3']);
      await at.roll('daemonsets', 'agent', second);
      await rolled(at, 3);
    },
  },
  {
    name: 'a rolling update of several nodes at once',
    run: async at => {
      await up(at, ['n1', 'n2'], update({ maxUnavailable: '100%' }));
      await at.roll('daemonsets', 'agent', second);
      await rolled(at, 2);
    },
  },
  {
    name: 'a rolling update with a surge: the new pod comes beside the old one',
    run: async at => {
      await up(at, ['n1', 'n2'], update({ maxSurge: 1, maxUnavailable: 0 }));
      await at.roll('daemonsets', 'agent', second);
      await rolled(at, 2);
    },
  },
  {
    name: 'OnDelete: pods are new when somebody has deleted them',
    run: async at => {
      await up(at, ['n1', 'n2'], { spec: { updateStrategy: { type: 'OnDelete' } } });
      await at.roll('daemonsets', 'agent', second);
      await at.until(
        'the status',
        () =>
          isCurrent(at.find('daemonsets', 'agent')) &&
          count(at.find('daemonsets', 'agent'), 'updatedNumberScheduled') === 0,
      );
      await at.delete('pods', at.pods[0]?.metadata.name ?? '');
      await at.until(
        'one that is new',
        () => count(at.find('daemonsets', 'agent'), 'updatedNumberScheduled') === 1,
      );
      await settled(at, 2);
    },
  },
  {
    name: 'a pod that is deleted is replaced when it is gone',
    run: async at => {
      await up(at, ['n1']);
      const [pod] = at.pods;
      await at.delete('pods', pod?.metadata.name ?? '');
      await at.gone(pod?.metadata.uid ?? '');
      await settled(at, 1);
    },
  },
  {
    name: 'a pod that fails is deleted, with an event that says so',
    run: async at => {
      await up(at, ['n1']);
      const [pod] = at.pods;
      await at.patchStatus('pods', pod?.metadata.name ?? '', { status: { phase: 'Failed' } });
      await at.gone(pod?.metadata.uid ?? '');
      await settled(at, 1);
    },
  },
  {
    name: 'minReadySeconds of a daemon set',
    run: async at => {
      await at.nodes(['n1']);
      await at.daemonSet('agent', { spec: { minReadySeconds: 2 } });
      await at.until(
        'a pod that is ready',
        () => count(at.find('daemonsets', 'agent'), 'numberReady') === 1,
      );
      at.note('available at first', count(at.find('daemonsets', 'agent'), 'numberAvailable'));
      await settled(at, 1);
    },
  },
  {
    name: 'a set that is deleted takes its pods along',
    run: async at => {
      await up(at, ['n1', 'n2']);
      await at.delete('daemonsets', 'agent', { propagationPolicy: 'Foreground' });
      await at.until('the set to wait', () => at.all('daemonsets').every(isGoing));
      await at.until(
        'nothing to be left',
        () => at.pods.length + at.all('daemonsets').length === 0,
      );
    },
  },
];
