import type { Place } from './place.ts';
import type { Scenario } from './sides.ts';
import { condition, isGoing } from './thing.ts';

async function started(
  at: Place,
  annotations: Readonly<Record<string, string>> = {},
  spec: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  await at.nodes(['n1']);
  const { metadata } = await at.pod('one', { annotations, pod: spec });
  await at.up(1);
  return metadata.uid;
}

export const kubelets: readonly Scenario[] = [
  {
    name: 'a pod starts, is deleted and ends',
    run: async at => {
      const uid = await started(at);
      await at.delete('pods', 'one');
      await at.until('the pod to be going', () => at.pods.every(isGoing));
      at.note(
        'grace',
        at.pods.map(
          ({ metadata }) => metadata['deletionGracePeriodSeconds' as keyof typeof metadata],
        ),
      );
      await at.gone(uid);
    },
  },
  {
    name: 'a pod that is deleted by force is gone at once',
    run: async at => {
      const uid = await started(at, { 'drydock.test/never-gone': 'true' });
      await at.delete('pods', 'one', { gracePeriodSeconds: 0 });
      await at.gone(uid);
    },
  },
  {
    name: 'a pod that hangs stays, also with a shorter grace, until it is deleted by force',
    run: async at => {
      const uid = await started(at, { 'drydock.test/never-gone': 'true' });
      await at.delete('pods', 'one');
      await at.until('the pod to be going', () => at.pods.every(isGoing));
      await at.delete('pods', 'one', { gracePeriodSeconds: 1 });
      await at.until('the shorter grace', () =>
        JSON.stringify(at.pods[0]?.metadata).includes('"deletionGracePeriodSeconds":1'),
      );
      await at.delete('pods', 'one', { gracePeriodSeconds: 0 });
      await at.gone(uid);
    },
  },
  {
    name: 'a pod with a finalizer ends and is still there',
    run: async at => {
      await at.nodes(['n1']);
      await at.pod('one', { metadata: { finalizers: ['example.test/hold'] } });
      await at.up(1);
      await at.delete('pods', 'one');
      await at.until('the grace to be over', () =>
        JSON.stringify(at.pods[0]?.metadata).includes('"deletionGracePeriodSeconds":0'),
      );
      await at.patch('pods', 'one', { metadata: { finalizers: null } });
      await at.until('the pod to go', () => at.pods.length === 0);
    },
  },
  {
    name: 'a pod without a node goes at once',
    run: async at => {
      await at.pod('one');
      await at.until('the pod to wait', () =>
        condition(at.find('pods', 'one'), 'PodScheduled').startsWith('False'),
      );
      await at.delete('pods', 'one');
      await at.until('the pod to go', () => at.pods.length === 0);
    },
    leaving: { events: ['FailedScheduling'] },
  },
  {
    name: 'a pod takes as long as it takes to start',
    run: async at => {
      await started(at, { 'drydock.test/ready-after': '2s' });
    },
  },
  {
    name: 'a pod that runs to its end',
    run: async at => {
      await at.nodes(['n1']);
      await at.pod('one', {
        annotations: { 'drydock.test/done-after': '300ms' },
        pod: { restartPolicy: 'Never' },
      });
      await at.until('its end', () =>
        at.pods.some(({ status }) => status?.['phase'] === 'Succeeded'),
      );
    },
  },
  {
    name: 'a pod is deleted before it has started',
    run: async at => {
      await at.nodes(['n1']);
      const { metadata } = await at.pod('one', {
        annotations: { 'drydock.test/never-ready': 'true' },
      });
      await at.until('a node', () => condition(at.find('pods', 'one'), 'PodScheduled') === 'True');
      await at.delete('pods', 'one');
      await at.gone(metadata.uid);
    },
  },
  {
    name: 'a pod on a node without a kubelet waits for ever, and stays when it is deleted',
    run: async at => {
      await at.nodes(['n1'], { kubelet: false });
      await at.pod('one', { pod: { nodeName: at.name('n1') } });
      await at.until('the pod', () => at.pods.length === 1);
      await at.delete('pods', 'one');
      await at.until('the pod to be going', () => at.pods.every(isGoing));
    },
  },
];
