import { map } from './config-maps.ts';
import type { Scenario } from './sides.ts';
import { condition, conditionsOf, isGoing, isUp } from './thing.ts';

export const namespaces: readonly Scenario[] = [
  {
    name: 'a namespace that is deleted is emptied, pods first, and goes last',
    run: async at => {
      await at.nodes(['n1']);
      await at.deployment('web', { replicas: 2, pod: { terminationGracePeriodSeconds: 1 } });
      await map(at, 'settings');
      await at.up(2);
      await at.delete('namespaces', at.namespace);
      await at.until('the pods to go', () => at.pods.length === 0);
      await at.until(
        'the namespace to go',
        () => at.find('namespaces', at.namespace) === undefined,
      );
    },
    // Between the pods' end and the namespace's their owners try to make new ones.
    leaving: { events: 'all' },
  },
  {
    name: 'nothing new comes into a namespace that goes',
    run: async at => {
      await map(at, 'held', { finalizers: ['example.test/hold'] });
      await at.delete('namespaces', at.namespace);
      const body = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'late', namespace: at.namespace },
      };
      const { status } = await at.api.call('POST', at.path('configmaps'), body);
      at.note('answer', status);
      await at.until(
        'what is left',
        () =>
          condition(at.find('namespaces', at.namespace), 'NamespaceFinalizersRemaining') ===
          'True SomeFinalizersRemain',
      );
      at.note(
        'conditions',
        conditionsOf(
          at.find('namespaces', at.namespace) ?? {
            metadata: { name: '', uid: '', creationTimestamp: '' },
          },
        ),
      );
      await at.patch('configmaps', 'held', { metadata: { finalizers: null } });
      await at.until(
        'the namespace to go',
        () => at.find('namespaces', at.namespace) === undefined,
      );
    },
    leaving: { events: 'all' },
  },
  {
    name: 'evictions in a namespace that goes',
    run: async at => {
      await at.nodes(['n1']);
      await at.deployment('web', { replicas: 1, pod: { terminationGracePeriodSeconds: 2 } });
      await at.up(1);
      await at.budget('web', { maxUnavailable: 0 });
      await at.delete('namespaces', at.namespace);
      await at.until('the namespace to be going', () => at.all('namespaces').some(isGoing));
      const [pod] = at.pods;
      at.note('answer', (await at.evict(pod?.metadata.name ?? '')).slice(0, 3));
      at.note('the pod', pod !== undefined && isUp(pod));
      await at.until(
        'the namespace to go',
        () => at.find('namespaces', at.namespace) === undefined,
      );
    },
    leaving: { events: 'all' },
  },
];
