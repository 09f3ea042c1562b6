import type { Place, WorkloadOptions } from './place.ts';
import type { Scenario } from './sides.ts';
import { count, isCurrent, isGoing, isUp, type Thing } from './thing.ts';

function settled(at: Place, replicas: number): Promise<Thing> {
  return at.until(`${replicas} replicas`, () => {
    const set = at.find('statefulsets', 'db');
    const isFull = ['replicas', 'readyReplicas', 'availableReplicas'].every(
      field => count(set, field) === replicas,
    );
    // The set and its pods are told by different watches.
    const pods = at.pods.filter(({ metadata }) => /^db-\d+$/.test(metadata.name));
    return isCurrent(set) && isFull && pods.length === replicas && pods.every(isUp)
      ? set
      : undefined;
  });
}

/** All of the newest template. */
function rolled(at: Place, replicas: number): Promise<unknown> {
  return at.until('a rollout', () => {
    const set = at.find('statefulsets', 'db');
    const isDone =
      set?.status?.['currentRevision'] === set?.status?.['updateRevision'] &&
      count(set, 'updatedReplicas') === replicas;
    return (
      isDone &&
      isCurrent(set) &&
      at.pods.length === replicas &&
      at.pods.every(isUp) &&
      at.pods.every(pod => imageOf(pod) === second)
    );
  });
}

async function up(at: Place, options: WorkloadOptions): Promise<void> {
  await at.nodes(['n1', 'n2']);
  await at.statefulSet('db', options);
  await settled(at, options.replicas ?? 1);
}

const second = 'example.test/none:2';

function imageOf(pod: Thing | undefined): string {
  const [container] = (pod?.spec?.['containers'] ?? []) as readonly { readonly image: string }[];
  return container?.image ?? '';
}

function images(at: Place): readonly string[] {
  return at.pods.map(pod => `${pod.metadata.name} ${imageOf(pod)}`).toSorted();
}

/** In which order pods of one name or another came, and in which they went. */
function order(at: Place): void {
  const names = [...at.scope.courses.values()]
    .filter(({ what }) => what === 'pods')
    .map(({ states }) => states[0]?.metadata.name);
  at.note('in the order of their coming', names);
}

const parallel = { podManagementPolicy: 'Parallel' };

const claimTemplate = {
  metadata: { name: 'data' },
  spec: {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    storageClassName: 'none',
  },
};

export const statefulSets: readonly Scenario[] = [
  {
    name: 'pods come one after the other, and go in the opposite order',
    run: async at => {
      await up(at, { replicas: 3 });
      await at.scale('statefulsets', 'db', 1);
      await settled(at, 1);
      order(at);
    },
  },
  {
    name: 'in parallel all come and go at once',
    run: async at => {
      await up(at, { replicas: 3, spec: parallel });
      await at.scale('statefulsets', 'db', 0);
      await settled(at, 0);
      await at.until('no pods', () => at.pods.length === 0);
    },
  },
  {
    name: 'a pod that is deleted comes again under its name, when it is gone',
    run: async at => {
      await up(at, { replicas: 2 });
      const before = at.find('pods', 'db-1');
      await at.delete('pods', 'db-1');
      await at.gone(before?.metadata.uid ?? '');
      await at.until('its successor', () => {
        const pod = at.find('pods', 'db-1');
        return pod !== undefined && isUp(pod);
      });
      await settled(at, 2);
    },
  },
  {
    name: 'the first pod is deleted: the others stay',
    run: async at => {
      await up(at, { replicas: 3 });
      const before = at.find('pods', 'db-0');
      await at.delete('pods', 'db-0');
      await at.gone(before?.metadata.uid ?? '');
      await settled(at, 3);
      at.note(
        'pods in all',
        [...at.scope.courses.values()].filter(({ what }) => what === 'pods').length,
      );
    },
  },
  {
    name: 'the next pod waits for one that does not become ready',
    run: async at => {
      await at.nodes(['n1']);
      await at.statefulSet('db', {
        replicas: 3,
        annotations: { 'drydock.test/never-ready': 'true' },
      });
      await at.until('a pod with a node', () =>
        at.pods.some(pod => pod.spec?.['nodeName'] !== undefined),
      );
      await at.until('the status', () => count(at.find('statefulsets', 'db'), 'replicas') === 1);
      at.note('pods', at.pods.length);
    },
  },
  {
    name: 'a rolling update: from the last to the first, one at a time',
    run: async at => {
      await up(at, { replicas: 3 });
      await at.roll('statefulsets', 'db', second);
      await rolled(at, 3);
      order(at);
    },
  },
  {
    name: 'a rolling update in parallel still takes one at a time',
    run: async at => {
      await up(at, { replicas: 2, spec: parallel });
      await at.roll('statefulsets', 'db', second);
      await rolled(at, 2);
      order(at);
    },
    leaving: { notes: [] },
  },
  {
    name: 'maxUnavailable is behind a gate that is closed: one at a time all the same',
    run: async at => {
      const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2 } };
      await up(at, { replicas: 3, spec: { ...parallel, updateStrategy } });
      await at.roll('statefulsets', 'db', second);
      await rolled(at, 3);
    },
  },
  {
    name: 'a partition keeps the lower ordinals as they are, also when they come again',
    run: async at => {
      const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 2 } };
      await up(at, { replicas: 3, spec: { updateStrategy } });
      await at.roll('statefulsets', 'db', second);
      await at.until('the last to be new', () => imageOf(at.find('pods', 'db-2')) === second);
      await settled(at, 3);
      at.note('after the update', images(at));
      const before = at.find('pods', 'db-0');
      await at.delete('pods', 'db-0');
      await at.gone(before?.metadata.uid ?? '');
      await settled(at, 3);
      at.note('after one came again', images(at));
      await at.patch('statefulsets', 'db', {
        spec: { updateStrategy: { rollingUpdate: { partition: 0 } } },
      });
      await rolled(at, 3);
    },
  },
  {
    name: 'OnDelete: pods are new when somebody has deleted them',
    run: async at => {
      await up(at, { replicas: 2, spec: { updateStrategy: { type: 'OnDelete' } } });
      await at.roll('statefulsets', 'db', second);
      await at.until('the revision', () => {
        const { status } = at.find('statefulsets', 'db') ?? {};
        return status?.['updateRevision'] !== status?.['currentRevision'];
      });
      at.note('nothing has changed', images(at));
      const before = at.find('pods', 'db-1');
      await at.delete('pods', 'db-1');
      await at.gone(before?.metadata.uid ?? '');
      await settled(at, 2);
      at.note('one has', images(at));
    },
  },
  {
    name: 'back to the template before: its revision is the newest again',
    run: async at => {
      await up(at, { replicas: 1 });
      await at.roll('statefulsets', 'db', second);
      await rolled(at, 1);
      await at.roll('statefulsets', 'db', 'example.test/none:1');
      await at.until('the first again', () => imageOf(at.find('pods', 'db-0')) !== second);
      await settled(at, 1);
      at.note('revisions', at.all('revisions').length);
    },
  },
  {
    name: 'as many old revisions are kept as the limit says',
    run: async at => {
      await up(at, { replicas: 1, spec: { revisionHistoryLimit: 0 } });
      await at.roll('statefulsets', 'db', second);
      await rolled(at, 1);
      await at.until('one revision', () => at.all('revisions').length === 1);
    },
  },
  {
    name: 'ordinals begin where they are told to',
    run: async at => {
      await up(at, { replicas: 2, spec: { ordinals: { start: 3 } } });
      order(at);
    },
  },
  {
    name: 'minReadySeconds: the next pod waits for that as well',
    run: async at => {
      await up(at, { replicas: 2, spec: { minReadySeconds: 1 } });
      order(at);
    },
  },
  {
    name: 'a pod that ends is deleted and comes again',
    run: async at => {
      await up(at, { replicas: 1 });
      const before = at.find('pods', 'db-0');
      await at.patchStatus('pods', 'db-0', { status: { phase: 'Failed' } });
      await at.gone(before?.metadata.uid ?? '');
      await settled(at, 1);
    },
  },
  {
    name: 'a lone pod of a fitting name and label is taken up, one of another name is not',
    run: async at => {
      await at.nodes(['n1']);
      await at.pod('db-1', { labels: { app: 'db' } });
      await at.pod('other', { labels: { app: 'db' } });
      await at.up(2);
      await at.statefulSet('db', { replicas: 2 });
      await settled(at, 2);
      at.note('owner of the other', at.find('pods', 'other')?.metadata.ownerReferences ?? 'none');
    },
  },
  {
    name: 'claims are made for each pod and stay when it goes',
    run: async at => {
      await at.nodes(['n1']);
      await at.statefulSet('db', {
        replicas: 2,
        spec: { ...parallel, volumeClaimTemplates: [claimTemplate] },
      });
      await at.until(
        'two pods with claims',
        () => at.pods.length === 2 && at.all('claims').length === 2,
      );
      await at.until('the status', () => count(at.find('statefulsets', 'db'), 'replicas') === 2);
      await at.scale('statefulsets', 'db', 1);
      await at.until('one pod', () => at.pods.length === 1);
      await at.until('the status', () => count(at.find('statefulsets', 'db'), 'replicas') === 1);
      at.note(
        'claims',
        at
          .all('claims')
          .map(({ metadata }) => metadata.name)
          .toSorted(),
      );
    },
    // Nothing binds the claims, and the embedded scheduler does not wait for that.
    leaving: {
      events: [
        'FailedScheduling',
        'FailedBinding',
        'WaitForFirstConsumer',
        'ProvisioningFailed',
        'Scheduled',
      ],
      final: ['pods', 'claims', 'statefulsets'],
      courses: ['pods'],
    },
  },
  {
    name: 'claims go with the set when the policy says so',
    run: async at => {
      await at.nodes(['n1']);
      const persistentVolumeClaimRetentionPolicy = { whenDeleted: 'Delete', whenScaled: 'Retain' };
      await at.statefulSet('db', {
        replicas: 1,
        spec: { persistentVolumeClaimRetentionPolicy, volumeClaimTemplates: [claimTemplate] },
      });
      await at.until(
        'a claim with an owner',
        () => at.all('claims')[0]?.metadata.ownerReferences?.[0]?.kind === 'StatefulSet',
      );
      await at.delete('statefulsets', 'db', { propagationPolicy: 'Background' });
      await at.until(
        'nothing to be left',
        () => at.all('claims').length + at.pods.length + at.all('statefulsets').length === 0,
      );
    },
    leaving: {
      events: [
        'FailedScheduling',
        'FailedBinding',
        'WaitForFirstConsumer',
        'ProvisioningFailed',
        'Scheduled',
      ],
      courses: ['pods', 'statefulsets'],
    },
  },
  {
    name: 'a set that is deleted takes its pods along',
    run: async at => {
      await up(at, { replicas: 2 });
      await at.delete('statefulsets', 'db', { propagationPolicy: 'Foreground' });
      await at.until('the set to wait', () => at.all('statefulsets').every(isGoing));
      await at.until(
        'nothing to be left',
        () => at.pods.length + at.all('statefulsets').length === 0,
      );
    },
  },
];
