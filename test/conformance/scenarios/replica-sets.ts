import { map, ownedBy } from './config-maps.ts';
import type { Place } from './place.ts';
import type { Scenario } from './sides.ts';
import { condition, count, isCurrent, isGoing, type Thing } from './thing.ts';

function settled(at: Place, name: string, replicas: number): Promise<Thing> {
  return at.until(`${replicas} replicas of ${name}`, () => {
    const set = at.find('replicasets', name);
    const isFull = ['replicas', 'readyReplicas', 'availableReplicas'].every(
      field => count(set, field) === replicas,
    );
    return isCurrent(set) && isFull && count(set, 'terminatingReplicas') === 0 ? set : undefined;
  });
}

async function up(
  at: Place,
  replicas: number,
  nodes: readonly string[] = ['n1', 'n2'],
): Promise<void> {
  await at.nodes(nodes);
  await at.replicaSet('web', { replicas });
  await settled(at, 'web', replicas);
}

function named(at: Place, app = 'web'): readonly Thing[] {
  return at.pods.filter(({ metadata }) => metadata.labels?.['app'] === app);
}

/**
 * Waits until the controller has seen what was changed of pods where its status does not show it:
 * its watch is not ours, and may be behind. A pod of another set is deleted after the changes, and
 * the controller replaces it.
 */
async function controllerIsUpToDate(at: Place): Promise<void> {
  await at.replicaSet('probe', { replicas: 1 });
  await settled(at, 'probe', 1);
  const [first] = named(at, 'probe');
  await at.delete('pods', first?.metadata.name ?? '', { gracePeriodSeconds: 0 });
  await at.until('the pod of the probe to be replaced', () =>
    named(at, 'probe').some(({ metadata }) => metadata.uid !== first?.metadata.uid),
  );
}

/** Scales down and tells which pods have gone, by the mark that they were given. */
async function whoGoes(at: Place, to: number): Promise<void> {
  const before = named(at);
  await at.scale('replicasets', 'web', to);
  await settled(at, 'web', to);
  await at.until('the others to be gone', () => named(at).length === to);
  const gone = before.filter(
    ({ metadata }) => !at.pods.some(pod => pod.metadata.uid === metadata.uid),
  );
  at.note('gone', gone.map(({ metadata }) => metadata.annotations?.['mark'] ?? '').toSorted());
}

/** Waits until it is seen. */
async function mark(
  at: Place,
  pod: Thing | undefined,
  annotations: Readonly<Record<string, string>>,
): Promise<void> {
  const { name = '' } = pod?.metadata ?? {};
  await at.patch('pods', name, { metadata: { annotations } });
  await at.until(
    `the mark of ${name}`,
    () => at.find('pods', name)?.metadata.annotations?.['mark'] !== undefined,
  );
}

function unready(at: Place, pod: Thing | undefined): Promise<unknown> {
  return at.patchStatus('pods', pod?.metadata.name ?? '', {
    status: { conditions: ['Ready', 'ContainersReady'].map(type => ({ type, status: 'False' })) },
  });
}

export const replicaSets: readonly Scenario[] = [
  {
    name: 'scaling up and down',
    run: async at => {
      await up(at, 2);
      for (const replicas of [4, 1, 0]) {
        await at.scale('replicasets', 'web', replicas);
        await settled(at, 'web', replicas);
      }
    },
  },
  {
    name: 'a pod that is deleted is replaced at once, and counts as terminating until it is gone',
    run: async at => {
      await up(at, 2);
      const [pod] = at.pods;
      await at.delete('pods', pod?.metadata.name ?? '');
      await at.until(
        'a pod that terminates',
        () => count(at.find('replicasets', 'web'), 'terminatingReplicas') === 1,
      );
      at.note('pods', at.pods.length);
      await settled(at, 'web', 2);
    },
    // When the successor is seen is chance.
    leaving: { notes: ['pods'] },
  },
  {
    name: 'deletion order: a pod that is not ready goes before those that are',
    run: async at => {
      await up(at, 3);
      const [one] = at.pods;
      await mark(at, one, { mark: 'sick' });
      await unready(at, one);
      await at.until(
        'one that is not ready',
        () => count(at.find('replicasets', 'web'), 'readyReplicas') === 2,
      );
      await whoGoes(at, 2);
    },
  },
  {
    name: 'deletion order: a pod without a node goes first',
    run: async at => {
      await at.nodes(['n1'], { pods: 2 });
      await at.replicaSet('web', { replicas: 3 });
      await at.until(
        'two that are up',
        () => count(at.find('replicasets', 'web'), 'readyReplicas') === 2,
      );
      await at.until('one without a node', () =>
        at.pods.find(pod => condition(pod, 'PodScheduled') === 'False Unschedulable'),
      );
      for (const pod of at.pods)
        await mark(at, pod, { mark: pod.spec?.['nodeName'] === undefined ? 'unbound' : 'bound' });
      await whoGoes(at, 2);
    },
  },
  {
    name: 'deletion order: the lowest cost first',
    run: async at => {
      await up(at, 3, ['n1']);
      for (const [index, pod] of at.pods.entries())
        await mark(at, pod, {
          mark: `cost ${index}`,
          'controller.kubernetes.io/pod-deletion-cost': String([5, -1, 3][index]),
        });
      await controllerIsUpToDate(at);
      await whoGoes(at, 1);
    },
  },
  {
    name: 'deletion order: of the node with most of them',
    run: async at => {
      await at.nodes(['n1']);
      await at.replicaSet('web', { replicas: 3 });
      // Pods on a node are counted for a set that has a controller only, as those of a deployment
      // have.
      await at.patch('replicasets', 'web', {
        metadata: ownedBy(await map(at, 'owner'), { controller: true }),
      });
      await settled(at, 'web', 3);
      await at.cordon('n1');
      await at.nodes(['n2']);
      await at.scale('replicasets', 'web', 4);
      await settled(at, 'web', 4);
      for (const pod of at.pods) await mark(at, pod, { mark: String(pod.spec?.['nodeName']) });
      await whoGoes(at, 2);
    },
    leaving: { nodes: true },
  },
  {
    name: 'deletion order: the youngest first',
    run: async at => {
      await up(at, 1, ['n1']);
      await mark(at, at.pods[0], { mark: 'old' });
      // Ages count by powers of two.
      await at.pod('clock', { annotations: { 'drydock.test/ready-after': '4s' } });
      await at.up(1, 'clock');
      await at.scale('replicasets', 'web', 2);
      await settled(at, 'web', 2);
      await whoGoes(at, 1);
    },
  },
  {
    name: 'a pod that its selector picks and that nobody controls is taken up',
    run: async at => {
      await at.nodes(['n1']);
      await at.pod('lone', { labels: { app: 'web' } });
      await at.up(1);
      await at.replicaSet('web', { replicas: 2 });
      await settled(at, 'web', 2);
      at.note('owner', at.find('pods', 'lone')?.metadata.ownerReferences?.[0]?.kind);
    },
  },
  {
    name: 'a pod too many that is taken up goes again',
    run: async at => {
      await up(at, 1, ['n1']);
      await at.pod('lone', { labels: { app: 'web' } });
      await at.until(
        'two pods',
        () => [...at.scope.courses.values()].filter(({ what }) => what === 'pods').length === 2,
      );
      await at.until('one pod', () => at.pods.length === 1);
      await settled(at, 'web', 1);
    },
    // Whether it has been bound by then is chance.
    leaving: { courses: ['pods'], events: ['Scheduled', 'FailedScheduling'] },
  },
  {
    name: 'a pod whose label is changed is let go, and replaced',
    run: async at => {
      await up(at, 2, ['n1']);
      const [pod] = at.pods;
      await at.patch('pods', pod?.metadata.name ?? '', { metadata: { labels: { app: 'other' } } });
      await at.until('three pods', () => at.pods.length === 3);
      await settled(at, 'web', 2);
      await at.until('the pod to be free', () =>
        named(at, 'other').every(({ metadata }) => metadata.ownerReferences === undefined),
      );
    },
  },
  {
    name: 'a set that is gone leaves its pods alone when it was told to, and the next one takes them up',
    run: async at => {
      await up(at, 2, ['n1']);
      const before = at.pods.map(({ metadata }) => metadata.uid);
      await at.delete('replicasets', 'web', { propagationPolicy: 'Orphan' });
      await at.until('the pods to be free', () =>
        at.pods.every(({ metadata }) => metadata.ownerReferences === undefined),
      );
      await at.until('the set to go', () => at.all('replicasets').length === 0);
      await at.replicaSet('web', { replicas: 2 });
      await settled(at, 'web', 2);
      at.note(
        'the same pods',
        at.pods.every(({ metadata }) => before.includes(metadata.uid)),
      );
    },
  },
  {
    name: 'pods that the API server refuses: ReplicaFailure, until they can be made',
    run: async at => {
      await at.nodes(['n1']);
      await at.replicaSet('web', { replicas: 2, pod: { priorityClassName: at.name('late') } });
      await at.until(
        'the failure',
        () => condition(at.find('replicasets', 'web'), 'ReplicaFailure') === 'True FailedCreate',
      );
      await at.api.post('/apis/scheduling.k8s.io/v1/priorityclasses', {
        apiVersion: 'scheduling.k8s.io/v1',
        kind: 'PriorityClass',
        metadata: { name: at.name('late') },
        value: 7,
      });
      await settled(at, 'web', 2);
      at.note('conditions', at.find('replicasets', 'web')?.status?.['conditions']);
    },
  },
  {
    name: 'minReadySeconds: a pod is available when it has been ready for so long',
    run: async at => {
      await at.nodes(['n1']);
      await at.replicaSet('web', { replicas: 1, spec: { minReadySeconds: 2 } });
      await at.until(
        'a pod that is ready',
        () => count(at.find('replicasets', 'web'), 'readyReplicas') === 1,
      );
      at.note('available at first', count(at.find('replicasets', 'web'), 'availableReplicas'));
      await settled(at, 'web', 1);
    },
  },
  {
    name: 'a pod that ends is replaced and stays',
    run: async at => {
      await at.nodes(['n1']);
      await at.replicaSet('web', { replicas: 1 });
      await settled(at, 'web', 1);
      const [pod] = at.pods;
      await at.patchStatus('pods', pod?.metadata.name ?? '', {
        status: { phase: 'Failed', reason: 'Evicted' },
      });
      await at.until('a second pod', () => at.pods.length === 2);
      await settled(at, 'web', 1);
    },
  },
  {
    name: 'a set that is deleted in the foreground goes after its pods',
    run: async at => {
      await up(at, 2, ['n1']);
      await at.delete('replicasets', 'web', { propagationPolicy: 'Foreground' });
      await at.until('the set to wait', () => at.all('replicasets').every(isGoing));
      await at.until(
        'nothing to be left',
        () => at.pods.length + at.all('replicasets').length === 0,
      );
    },
  },
];
