import type { Place } from './place.ts';
import type { Scenario } from './sides.ts';
import { condition, count, isCurrent, isGoing, isTrue, type Thing } from './thing.ts';

function isDone(one: Thing | undefined): boolean {
  return (
    isCurrent(one) &&
    condition(one, 'Progressing') === 'True NewReplicaSetAvailable' &&
    count(one, 'unavailableReplicas') === 0
  );
}

/** Waits for the end of a rollout. */
function rolledOut(at: Place, name: string, replicas: number): Promise<Thing> {
  return at.until(`a rollout of ${name}`, () => {
    const found = at.find('deployments', name);
    const isFull =
      Number(found?.spec?.['replicas']) === replicas &&
      count(found, 'updatedReplicas') === replicas;
    return isDone(found) && isFull && count(found, 'replicas') === replicas ? found : undefined;
  });
}

/** What a user does: the template, seen by the controller. */
async function roll(at: Place, name: string, image: string): Promise<void> {
  const { metadata } = await at.roll('deployments', name, image);
  await at.until(
    'the new template to be seen',
    () => count(at.find('deployments', name), 'observedGeneration') >= (metadata.generation ?? 0),
  );
}

function strategy(
  maxSurge: number | string,
  maxUnavailable: number | string,
): Readonly<Record<string, unknown>> {
  return {
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
  };
}

const second = 'example.test/none:2';
const third = 'example.test/none:3';
const first = 'example.test/none:1';

/** A rollout that cannot end: its new pods never become ready. */
function stuck(at: Place, name: string): Promise<Thing> {
  return at.patch('deployments', name, {
    spec: { template: { metadata: { annotations: { 'drydock.test/never-ready': 'true' } } } },
  });
}

function sizes(at: Place): readonly string[] {
  return at
    .all('replicasets')
    .map(
      ({ metadata, spec }) =>
        `${metadata.annotations?.['deployment.kubernetes.io/revision']}: ${String(spec?.['replicas'])}`,
    )
    .toSorted();
}

/** Over all replica sets: what the pods' watch tells may be ahead of what that of the sets does. */
function sharedOut(at: Place): number {
  return at.all('replicasets').reduce((sum, { spec }) => sum + Number(spec?.['replicas'] ?? 0), 0);
}

function rolling(
  name: string,
  replicas: number,
  maxSurge: number | string,
  maxUnavailable: number | string,
): Scenario {
  return {
    name,
    run: async at => {
      await at.nodes(['n1', 'n2']);
      await at.deployment('web', { replicas, spec: strategy(maxSurge, maxUnavailable) });
      await rolledOut(at, 'web', replicas);
      await at.roll('deployments', 'web', second);
      await rolledOut(at, 'web', replicas);
      await at.up(replicas);
    },
  };
}

async function up(
  at: Place,
  replicas: number,
  spec: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await at.nodes(['n1', 'n2']);
  await at.deployment('web', { replicas, spec });
  await rolledOut(at, 'web', replicas);
}

export const deployments: readonly Scenario[] = [
  { name: 'a Deployment comes up', run: at => up(at, 3) },
  rolling('a new template rolls out, one more at a time', 3, 1, 0),
  rolling('a new template rolls out, one fewer at a time', 3, 0, 1),
  rolling('a new template rolls out, both ways', 2, 1, 1),
  rolling('a new template rolls out all at once', 3, '100%', '100%'),
  rolling('percents of a rollout are rounded, surge up and unavailable down', 3, '30%', '30%'),
  rolling('with room for nothing one pod may be unavailable', 2, 0, '10%'),
  {
    name: 'recreation: all old pods go before the first new one comes',
    run: async at => {
      await up(at, 2, { strategy: { type: 'Recreate' } });
      const old = await at.up(2);
      await at.roll('deployments', 'web', second);
      await Promise.all(old.map(({ metadata }) => at.gone(metadata.uid)));
      const { metadata, status } = await rolledOut(at, 'web', 2);
      at.note('in the end', [
        metadata.annotations?.['deployment.kubernetes.io/revision'],
        status?.['updatedReplicas'],
        status?.['readyReplicas'],
      ]);
    },
    // The new set is made while the end of the old pods is being counted. If both writes of the
    // status meet, the real controller never tells of the new set: its next pass finds the set
    // there, and as many updated pods as there are pods, which it takes for a rollout that is over.
    leaving: { courses: ['deployments'], final: ['deployments'] },
  },
  {
    name: 'scaling up, down, to nothing and up again',
    run: async at => {
      await up(at, 2);
      for (const replicas of [4, 1, 0, 2]) {
        await at.scale('deployments', 'web', replicas);
        await rolledOut(at, 'web', replicas);
        await at.up(replicas);
      }
    },
  },
  {
    name: 'a Deployment is paused: a new template waits, a new size does not, and after that it goes on',
    run: async at => {
      await up(at, 2);
      await at.patch('deployments', 'web', { spec: { paused: true } });
      await at.until(
        'the pause',
        () =>
          condition(at.find('deployments', 'web'), 'Progressing') === 'Unknown DeploymentPaused',
      );
      await roll(at, 'web', second);
      await at.scale('deployments', 'web', 3);
      await at.up(3);
      at.note('while it is paused', sizes(at));
      await at.patch('deployments', 'web', { spec: { paused: null } });
      await rolledOut(at, 'web', 3);
    },
  },
  {
    name: 'a Deployment is made paused',
    run: async at => {
      await at.nodes(['n1']);
      await at.deployment('web', { replicas: 1, spec: { paused: true } });
      await at.until(
        'the pause',
        () =>
          condition(at.find('deployments', 'web'), 'Progressing') === 'Unknown DeploymentPaused',
      );
      await at.patch('deployments', 'web', { spec: { paused: null } });
      await rolledOut(at, 'web', 1);
    },
  },
  {
    name: 'back to an earlier template: its replica set is the newest again and remembers what it was',
    run: async at => {
      await up(at, 2);
      for (const image of [second, first, second]) {
        await roll(at, 'web', image);
        await rolledOut(at, 'web', 2);
      }
      await at.up(2);
    },
  },
  {
    name: 'a third template comes while the second rolls out',
    run: async at => {
      await up(at, 3, strategy(1, 0));
      await stuck(at, 'web');
      await at.until(
        'the second set',
        () => at.pods.filter(pod => isTrue(pod, 'PodScheduled')).length === 4,
      );
      const containers = [{ name: 'main', image: third }];
      const metadata = { annotations: { 'drydock.test/never-ready': null } };
      await at.patch('deployments', 'web', {
        spec: { template: { metadata, spec: { containers } } },
      });
      await rolledOut(at, 'web', 3);
      await at.up(3);
    },
    // Whether the condition of a new set meets another write of the status is chance.
    leaving: { courses: ['deployments'] },
  },
  {
    name: 'a new size in the middle of a rollout is shared out in proportion',
    run: async at => {
      await up(at, 4, strategy(1, 1));
      await stuck(at, 'web');
      await at.until('a rollout that is stuck', () => sizes(at).join() === '1: 3,2: 2');
      await at.scale('deployments', 'web', 10);
      await at.until(
        'the new size',
        () => sharedOut(at) === 11 && at.pods.filter(pod => !isGoing(pod)).length === 11,
      );
      at.note('larger', sizes(at));
      await at.scale('deployments', 'web', 5);
      await at.until('the new size', () => sharedOut(at) === 6 && at.pods.length === 6);
      at.note('smaller', sizes(at));
    },
    leaving: { courses: ['pods'] },
  },
  {
    name: 'a rollout that makes no progress says so',
    run: async at => {
      await up(at, 1, { progressDeadlineSeconds: 2 });
      await stuck(at, 'web');
      await at.until(
        'the deadline',
        () =>
          condition(at.find('deployments', 'web'), 'Progressing') ===
          'False ProgressDeadlineExceeded',
      );
    },
    // Whether the first pod is counted as progress before time is up depends on how writes of the
    // status meet.
    leaving: { courses: ['deployments'] },
  },
  {
    name: 'as many old replica sets are kept as the limit says',
    run: async at => {
      await up(at, 1, { revisionHistoryLimit: 1 });
      for (const image of [second, third]) {
        await roll(at, 'web', image);
        await rolledOut(at, 'web', 1);
      }
      await at.until('the first set to go', () => at.all('replicasets').length === 2);
      await at.up(1);
    },
  },
  {
    name: 'a replica set that loses its owner is taken up again',
    run: async at => {
      await up(at, 2);
      const [set] = at.all('replicasets');
      await at.patch('replicasets', set?.metadata.name ?? '', {
        metadata: { ownerReferences: null },
      });
      await at.until(
        'an owner',
        () =>
          (at.all('replicasets')[0]?.metadata.ownerReferences ?? []).length === 1 &&
          at.scope.courses.size > 0,
      );
      await rolledOut(at, 'web', 2);
    },
    leaving: { courses: ['replicasets'] },
  },
  {
    name: 'a Deployment takes up a replica set of its template that was there before',
    run: async at => {
      await up(at, 1);
      await at.delete('deployments', 'web', { propagationPolicy: 'Orphan' });
      await at.until(
        'the set to be alone',
        () =>
          at.all('deployments').length === 0 &&
          at.all('replicasets')[0]?.metadata.ownerReferences === undefined,
      );
      await at.deployment('web', { replicas: 1 });
      await rolledOut(at, 'web', 1);
      at.note('sets', at.all('replicasets').length);
      at.note('pods', at.pods.length);
    },
  },
  {
    name: 'minReadySeconds of a Deployment: pods count when they have been ready for so long',
    run: async at => {
      await at.nodes(['n1']);
      await at.deployment('web', { replicas: 2, spec: { minReadySeconds: 2, ...strategy(1, 0) } });
      await at.until(
        'pods that are ready',
        () => count(at.find('deployments', 'web'), 'readyReplicas') === 2,
      );
      at.note('available at first', count(at.find('deployments', 'web'), 'availableReplicas'));
      await rolledOut(at, 'web', 2);
      await at.patch('deployments', 'web', { spec: { minReadySeconds: 0 } });
      await at.until(
        'the replica set to follow',
        () => at.all('replicasets')[0]?.spec?.['minReadySeconds'] === undefined,
      );
      await rolledOut(at, 'web', 2);
    },
  },
  {
    name: 'annotations of a Deployment are passed on to its newest replica set',
    run: async at => {
      await up(at, 1);
      await at.patch('deployments', 'web', {
        metadata: { annotations: { 'kubernetes.io/change-cause': 'because' } },
      });
      await at.until(
        'the annotation',
        () =>
          at.all('replicasets')[0]?.metadata.annotations?.['kubernetes.io/change-cause'] ===
          'because',
      );
    },
  },
  {
    name: 'pods that cannot be made: the Deployment says why',
    run: async at => {
      await at.nodes(['n1']);
      await at.deployment('web', { replicas: 1, pod: { priorityClassName: 'missing' } });
      await at.until(
        'the failure',
        () => condition(at.find('deployments', 'web'), 'ReplicaFailure') === 'True FailedCreate',
      );
    },
  },
  {
    name: 'a Deployment is deleted with all that it made',
    run: async at => {
      await up(at, 2);
      await at.delete('deployments', 'web', { propagationPolicy: 'Background' });
      await at.until(
        'nothing to be left',
        () => at.pods.length + at.all('replicasets').length + at.all('deployments').length === 0,
      );
    },
  },
];
