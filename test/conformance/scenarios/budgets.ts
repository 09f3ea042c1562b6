import type { BudgetOptions } from '../../control-plane/objects/manifests.ts';
import type { Place } from './place.ts';
import type { Scenario } from './sides.ts';
import { condition, conditionsOf, count, isCurrent, isGoing, type Thing } from './thing.ts';

/**
 * The controller may learn later than we do that a pod is ready: where nothing is allowed only the
 * number of healthy ones tells that it knows.
 */
function seen(at: Place, name: string, allowed: number, healthy?: number): Promise<Thing> {
  return at.until(`${name} to allow ${allowed}`, () => {
    const budget = at.find('budgets', name);
    const isCounted = healthy === undefined || count(budget, 'currentHealthy') === healthy;
    return isCurrent(budget) && isCounted && count(budget, 'disruptionsAllowed') === allowed
      ? budget
      : undefined;
  });
}

function numbers(budget: Thing): readonly unknown[] {
  return [
    ...['expectedPods', 'desiredHealthy', 'currentHealthy', 'disruptionsAllowed'].map(field =>
      count(budget, field),
    ),
    conditionsOf(budget).map(({ type, status, reason }) => `${type} ${status} ${reason}`),
  ];
}

async function deployed(at: Place, replicas: number): Promise<void> {
  await at.nodes(['n1', 'n2']);
  await at.deployment('web', { replicas });
  await at.up(replicas);
}

/** Four replicas under a budget, and what it makes of them. */
function counts(name: string, options: BudgetOptions, allowed: number, replicas = 4): Scenario {
  return {
    name,
    run: async at => {
      await deployed(at, replicas);
      await at.budget('web', options);
      at.note('numbers', numbers(await seen(at, 'web', allowed, replicas)));
    },
  };
}

async function sick(at: Place, name: string): Promise<void> {
  await at.patchStatus('pods', name, {
    status: { conditions: ['Ready', 'ContainersReady'].map(type => ({ type, status: 'False' })) },
  });
}

function first(at: Place): string {
  return at.pods.map(({ metadata }) => metadata.name).toSorted()[0] ?? '';
}

/** Asks for all pods, one after the other. */
async function evictAll(at: Place): Promise<readonly string[]> {
  const answers: string[] = [];
  for (const { metadata } of at.pods.filter(pod => !isGoing(pod)))
    answers.push(await at.evict(metadata.name));
  return answers;
}

function policy(
  unhealthyPodEvictionPolicy: 'IfHealthyBudget' | 'AlwaysAllow',
  expected: string,
): Scenario {
  return {
    name: `a pod that is not ready, under ${unhealthyPodEvictionPolicy}: ${expected}`,
    run: async at => {
      await deployed(at, 2);
      await at.budget('web', { minAvailable: 2, unhealthyPodEvictionPolicy });
      await seen(at, 'web', 0, 2);
      const victim = first(at);
      await sick(at, victim);
      await at.until(
        'one that is not healthy',
        () => count(at.find('budgets', 'web'), 'currentHealthy') === 1,
      );
      at.note('answer', (await at.evict(victim)).replaceAll(victim, 'victim'));
    },
    // What becomes of the pod afterwards is the replica set's affair.
    leaving: { final: ['pods'], courses: ['pods'], events: 'all' },
  };
}

export const budgets: readonly Scenario[] = [
  counts('maxUnavailable as a number', { maxUnavailable: 1 }, 1),
  counts('maxUnavailable of none', { maxUnavailable: 0 }, 0),
  counts('maxUnavailable in percent is rounded up', { maxUnavailable: '30%' }, 2),
  counts('maxUnavailable of all', { maxUnavailable: '100%' }, 4),
  counts('minAvailable as a number', { minAvailable: 3 }, 1),
  counts('minAvailable in percent is rounded up', { minAvailable: '30%' }, 2),
  counts('more available than there are', { minAvailable: 9 }, 0),
  {
    name: 'no pods: nothing is allowed, and an event says why',
    run: async at => {
      await at.budget('web', { maxUnavailable: 1 });
      await at.until(
        'the condition',
        () =>
          condition(at.find('budgets', 'web'), 'DisruptionAllowed') === 'False InsufficientPods',
      );
    },
  },
  {
    name: 'pods that nobody controls: minAvailable as a number counts them',
    run: async at => {
      await at.nodes(['n1']);
      for (const name of ['one', 'two', 'three']) await at.pod(name, { labels: { app: 'web' } });
      await at.up(3);
      await at.budget('web', { minAvailable: 2 });
      at.note('numbers', numbers(await seen(at, 'web', 1)));
    },
  },
  {
    name: 'pods that nobody controls: maxUnavailable cannot count them',
    run: async at => {
      await at.nodes(['n1']);
      for (const name of ['one', 'two']) await at.pod(name, { labels: { app: 'web' } });
      await at.up(2);
      await at.budget('web', { maxUnavailable: 1 });
      await at.until('a count', () => count(at.find('budgets', 'web'), 'currentHealthy') === 2);
      at.note('numbers', numbers(await seen(at, 'web', 0)));
    },
  },
  {
    name: 'pods of a controller that cannot be scaled: SyncFailed',
    run: async at => {
      await at.nodes(['n1']);
      await at.daemonSet('web');
      await at.up(1);
      await at.budget('web', { maxUnavailable: 1 });
      await at.until(
        'the failure',
        () => condition(at.find('budgets', 'web'), 'DisruptionAllowed') === 'False SyncFailed',
      );
      at.note('answer', (await at.evict(first(at))).replaceAll(first(at), 'victim'));
    },
  },
  {
    name: 'pods of a job: SyncFailed',
    run: async at => {
      await at.nodes(['n1']);
      await at.job('web', {});
      await at.up(1);
      await at.budget('web', { minAvailable: '50%' });
      await at.until(
        'the failure',
        () => condition(at.find('budgets', 'web'), 'DisruptionAllowed') === 'False SyncFailed',
      );
    },
  },
  {
    name: 'one budget over several controllers counts the scale of each',
    run: async at => {
      await at.nodes(['n1', 'n2']);
      const labels = { tier: 'front' };
      await at.deployment('web', { replicas: 2, labels });
      await at.replicaSet('api', { replicas: 3, labels });
      await at.statefulSet('db', { replicas: 1, labels });
      await at.up(6);
      await at.budget('all', { maxUnavailable: '50%', matchLabels: labels });
      at.note('numbers', numbers(await seen(at, 'all', 3)));
    },
  },
  {
    name: 'a new size of the Deployment is a new number of expected pods',
    run: async at => {
      await deployed(at, 2);
      await at.budget('web', { maxUnavailable: 1 });
      await seen(at, 'web', 1);
      await at.scale('deployments', 'web', 4);
      await at.up(4);
      await at.until(
        'four to be expected',
        () => count(at.find('budgets', 'web'), 'expectedPods') === 4,
      );
      at.note('numbers', numbers(await seen(at, 'web', 1)));
    },
  },
  {
    name: 'a budget is changed: its status follows',
    run: async at => {
      await deployed(at, 3);
      await at.budget('web', { maxUnavailable: 1 });
      await seen(at, 'web', 1);
      await at.patch('budgets', 'web', { spec: { maxUnavailable: 2 } });
      at.note('numbers', numbers(await seen(at, 'web', 2)));
    },
  },
  {
    name: 'as many evictions are granted as are allowed, and another one when the successor is ready',
    run: async at => {
      await deployed(at, 3);
      await at.budget('web', { maxUnavailable: 1 });
      await seen(at, 'web', 1);
      const before = at.pods;
      // Nowhere to go before all have been asked: on a slow machine the successor is ready before
      // the second one is.
      for (const node of ['n1', 'n2']) await at.cordon(node);
      const answers = await evictAll(at);
      at.note(
        'answers',
        answers.map(answer => answer.slice(0, 3)),
      );
      await seen(at, 'web', 0);
      for (const node of ['n1', 'n2']) await at.cordon(node, false);
      await at.until(
        'the successor',
        () =>
          at.pods.length === 3 &&
          at.pods.filter(pod => before.some(({ metadata }) => metadata.uid === pod.metadata.uid))
            .length === 2,
      );
      await at.up(3);
      await seen(at, 'web', 1);
      at.note('another one', await at.evict(first(at)));
      await at.up(3);
      await seen(at, 'web', 1);
    },
    leaving: { events: ['FailedScheduling'] },
  },
  {
    name: 'what a budget answers when nothing is allowed',
    run: async at => {
      await deployed(at, 2);
      await at.budget('web', { minAvailable: 2 });
      await seen(at, 'web', 0, 2);
      at.note('answer', (await at.evict(first(at))).replaceAll(first(at), 'victim'));
    },
  },
  {
    name: 'two budgets over one pod: it cannot be evicted',
    run: async at => {
      await deployed(at, 2);
      await at.budget('one', { maxUnavailable: 1, matchLabels: { app: 'web' } });
      await at.budget('two', { maxUnavailable: 1, matchLabels: { app: 'web' } });
      await at.until(
        'both',
        () => at.all('budgets').length === 2 && at.all('budgets').every(one => isCurrent(one)),
      );
      at.note('answer', (await at.evict(first(at))).slice(0, 60));
    },
    // With two of them the controller keeps the status of one: which is chance.
    leaving: { final: ['budgets'], events: 'all' },
  },
  policy('IfHealthyBudget', 'the budget is not met, so it stays'),
  policy('AlwaysAllow', 'it may go'),
  {
    name: 'a pod that is not running goes whatever the budget says',
    run: async at => {
      await at.nodes(['n1']);
      await at.deployment('web', {
        replicas: 1,
        annotations: { 'drydock.test/never-ready': 'true' },
      });
      await at.until('a pod with a node', () =>
        at.pods.some(pod => condition(pod, 'PodScheduled') === 'True'),
      );
      await at.budget('web', { minAvailable: 1 });
      await seen(at, 'web', 0);
      at.note('answer', await at.evict(first(at)));
    },
    leaving: { final: ['pods'], courses: ['pods'], events: 'all' },
  },
  {
    name: 'a pod that is not ready does not count, and counts again when it is',
    run: async at => {
      await deployed(at, 2);
      await at.budget('web', { maxUnavailable: 1 });
      await seen(at, 'web', 1);
      await sick(at, first(at));
      await seen(at, 'web', 0);
      await at.patchStatus('pods', first(at), {
        status: {
          conditions: ['Ready', 'ContainersReady'].map(type => ({ type, status: 'True' })),
        },
      });
      await seen(at, 'web', 1);
    },
    // The embedded kubelet would have said so itself.
    leaving: { courses: ['pods'] },
  },
  {
    name: 'an evicted pod that takes its time is told in the status until it goes',
    run: async at => {
      await at.nodes(['n1']);
      await at.deployment('web', { replicas: 2, annotations: { 'drydock.test/gone-after': '2s' } });
      await at.up(2);
      await at.budget('web', { maxUnavailable: 1 });
      await seen(at, 'web', 1);
      at.note('answer', await at.evict(first(at)));
      await seen(at, 'web', 0);
      await at.until('three pods', () => at.pods.length === 3);
      await at.up(2);
      await seen(at, 'web', 1);
    },
  },
];
