import type { Place } from './place.ts';
import type { Scenario } from './sides.ts';
import { condition, conditionsOf, isGoing, isUp, type Thing } from './thing.ts';

function zone(at: Place): { readonly labels: Readonly<Record<string, string>> } {
  return { labels: { 'topology.kubernetes.io/zone': at.id } };
}

/** A node with a zone of its own: how fast nodes of one zone are tainted has a limit. */
function alone(at: Place): Promise<void> {
  return at.nodes(['n1'], zone(at));
}

function node(at: Place): Thing | undefined {
  return at.find('nodes', at.name('n1'));
}

function taintsOf(thing: Thing | undefined): readonly string[] {
  return (
    (thing?.spec?.['taints'] ?? []) as readonly { readonly key: string; readonly effect: string }[]
  )
    .filter(({ key }) => key !== 'scenario')
    .map(({ key, effect }) => `${key}:${effect}`)
    .toSorted();
}

function tainted(at: Place, ...wanted: readonly string[]): Promise<unknown> {
  return at.until(`the taints ${wanted.join()}`, () => taintsOf(node(at)).join() === wanted.join());
}

/** What kwok and the embedded kubelet say no more; somebody else does. */
function silence(at: Place): Promise<Thing> {
  return at.patch('nodes', at.name('n1'), {
    metadata: { annotations: { 'drydock.test/dead': 'true' } },
  });
}

function say(at: Place, type: string, status: string): Promise<unknown> {
  return at.patchStatus('nodes', at.name('n1'), {
    status: { conditions: [{ type, status, reason: 'Test', message: 'test' }] },
  });
}

function tolerating(key: string, tolerationSeconds?: number): object {
  return {
    key,
    operator: 'Exists',
    effect: 'NoExecute',
    ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
  };
}

const notReady = 'node.kubernetes.io/not-ready';
const unreachable = 'node.kubernetes.io/unreachable';

export const nodes: readonly Scenario[] = [
  { name: 'a new node is tainted until its kubelet says that it is ready', run: alone },
  {
    name: 'a cordon is a taint as well',
    run: async at => {
      await alone(at);
      await at.cordon('n1');
      await tainted(at, 'node.kubernetes.io/unschedulable:NoSchedule');
      await at.cordon('n1', false);
      await tainted(at);
    },
  },
  {
    name: 'pressure is a taint, as long as it lasts',
    run: async at => {
      await alone(at);
      for (const [type, key] of [
        ['MemoryPressure', 'memory-pressure'],
        ['DiskPressure', 'disk-pressure'],
        ['PIDPressure', 'pid-pressure'],
      ] as const) {
        await say(at, type, 'True');
        await tainted(at, `node.kubernetes.io/${key}:NoSchedule`);
        await say(at, type, 'False');
        await tainted(at);
      }
    },
  },
  {
    name: 'a node that is not ready: two taints, its pods stay for as long as they tolerate that, and it comes back',
    run: async at => {
      await alone(at);
      await at.pod('short', { pod: { tolerations: [tolerating(notReady, 1)] } });
      await at.pod('patient');
      await at.pod('none', { pod: { tolerations: [tolerating(notReady, 0)] } });
      await at.up(3);
      await silence(at);
      await say(at, 'Ready', 'False');
      await tainted(at, `${notReady}:NoExecute`, `${notReady}:NoSchedule`);
      await at.until('two to go', () => at.pods.length === 1);
      await say(at, 'Ready', 'True');
      await tainted(at);
      at.note(
        'left',
        at.pods.map(({ metadata }) => metadata.name),
      );
    },
  },
  {
    name: 'a node of which nothing is known: other taints, and pods go',
    run: async at => {
      await alone(at);
      await at.pod('short', { pod: { tolerations: [tolerating(unreachable, 1)] } });
      await at.up(1);
      await silence(at);
      await say(at, 'Ready', 'Unknown');
      await tainted(at, `${unreachable}:NoExecute`, `${unreachable}:NoSchedule`);
      await at.until('the pod to go', () => at.pods.length === 0);
    },
  },
  {
    name: 'not-ready makes place for unreachable: a pod keeps the time that it was given first',
    run: async at => {
      await alone(at);
      await at.pod('patient', { pod: { tolerations: [tolerating(unreachable, 1)] } });
      await at.pod('clock', { pod: { tolerations: [tolerating(notReady, 4)] } });
      await at.up(2);
      await silence(at);
      await say(at, 'Ready', 'False');
      await tainted(at, `${notReady}:NoExecute`, `${notReady}:NoSchedule`);
      await say(at, 'Ready', 'Unknown');
      await tainted(at, `${unreachable}:NoExecute`, `${unreachable}:NoSchedule`);
      await at.until('the clock to go', () => at.find('pods', 'clock') === undefined);
      at.note(
        'left',
        at.pods.map(({ metadata }) => metadata.name),
      );
    },
  },
  {
    name: 'a node that is not heard of any more is Unknown, and its pods are not ready',
    run: async at => {
      await at.nodes(['n1'], { ...zone(at), kubelet: false });
      const conditions = ['Ready', 'MemoryPressure'].map(type => ({
        type,
        status: type === 'Ready' ? 'True' : 'False',
        reason: 'Test',
        message: 'test',
      }));
      await at.patchStatus('nodes', at.name('n1'), { status: { conditions } });
      await tainted(at);
      await at.pod('here');
      await at.until('the pod to have a node', () =>
        at.pods.some(pod => condition(pod, 'PodScheduled') === 'True'),
      );
      const ready = ['Ready', 'ContainersReady'].map(type => ({ type, status: 'True' }));
      await at.patchStatus('pods', 'here', { status: { phase: 'Running', conditions: ready } });
      await at.until(
        'the node to be Unknown',
        () => condition(node(at), 'Ready') === 'Unknown NodeStatusUnknown',
      );
      await tainted(at, `${unreachable}:NoExecute`, `${unreachable}:NoSchedule`);
      await at.until('the pod not to be ready', () => at.pods.every(pod => !isUp(pod)));
      at.note(
        'conditions',
        node(at) === undefined
          ? []
          : conditionsOf(node(at) as Thing).map(({ type, status, reason }) => [
              type,
              status,
              reason,
            ]),
      );
    },
  },
  {
    name: 'a NoExecute taint: who does not tolerate it goes at once, who does for a while goes later, who does for ever stays',
    run: async at => {
      await alone(at);
      await at.pod('none');
      await at.pod('while', { pod: { tolerations: [tolerating('out', 2)] } });
      await at.pod('ever', { pod: { tolerations: [tolerating('out')] } });
      await at.up(3);
      await at.taint('n1', { key: 'out', effect: 'NoExecute' });
      await at.until('the first to go', () => at.find('pods', 'none') === undefined);
      at.note('the second', at.find('pods', 'while') !== undefined);
      await at.until('the second to go', () => at.find('pods', 'while') === undefined);
      at.note(
        'the third',
        at.pods.map(({ metadata }) => metadata.name),
      );
    },
    leaving: { notes: ['the second'] },
  },
  {
    name: 'the taint is taken back in time: nobody goes, and an event says so',
    run: async at => {
      await alone(at);
      await at.pod('while', { pod: { tolerations: [tolerating('out', 30)] } });
      await at.pod('brief', { pod: { tolerations: [tolerating('out', 1)] } });
      await at.up(2);
      await at.taint('n1', { key: 'out', effect: 'NoExecute' });
      await at.until(
        'the one with little patience to go',
        () => at.find('pods', 'brief') === undefined,
      );
      await at.taint('n1');
      await at.until('the event', () =>
        at.all('events').some(event => String(event['message']).startsWith('Cancelling')),
      );
    },
  },
  {
    name: 'a node that is out of service: pods that nobody ends are taken away',
    run: async at => {
      await alone(at);
      await at.pod('stuck', { annotations: { 'drydock.test/never-gone': 'true' } });
      await at.up(1);
      await silence(at);
      await say(at, 'Ready', 'False');
      await tainted(at, `${notReady}:NoExecute`, `${notReady}:NoSchedule`);
      await at.delete('pods', 'stuck');
      await at.until('the pod to be going', () => at.pods.every(isGoing));
      // What is there stays with its times: a controller that had to write its taints once more may
      // do so on one side only.
      const outOfService = {
        key: 'node.kubernetes.io/out-of-service',
        value: 'nodeshutdown',
        effect: 'NoSchedule',
      };
      await at.patch('nodes', at.name('n1'), {
        spec: {
          taints: [...((node(at)?.spec?.['taints'] ?? []) as readonly object[]), outOfService],
        },
      });
      await at.until('the pod to go', () => at.pods.length === 0);
    },
  },
  {
    name: 'a node that is deleted leaves its pods behind, for a while',
    run: async at => {
      await at.nodes(['n1', 'n2']);
      await at.deployment('web', {
        replicas: 2,
        pod: { topologySpreadConstraints: [spread('kubernetes.io/hostname', 'web')] },
      });
      await at.up(2);
      await at.delete('nodes', at.name('n1'));
      await at.until('the node to go', () => node(at) === undefined);
      at.note('pods', at.pods.length);
    },
    leaving: { nodes: true },
  },
  {
    name: 'the labels of old follow those of today',
    run: async at => {
      await at.nodes(['n1'], { labels: { 'kubernetes.io/arch': 'arm64' } });
      await at.until(
        'the old label',
        () => node(at)?.metadata.labels?.['beta.kubernetes.io/arch'] === 'arm64',
      );
    },
  },
];

function spread(topologyKey: string, app: string): object {
  return {
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { app } },
  };
}
