import { map, ownedBy } from './config-maps.ts';
import type { Place } from './place.ts';
import type { Scenario } from './sides.ts';
import { isGoing } from './thing.ts';

function names(at: Place): readonly string[] {
  return at
    .all('configmaps')
    .map(({ metadata }) => metadata.name)
    .filter(name => name !== 'kube-root-ca.crt')
    .toSorted();
}

function left(at: Place, ...wanted: readonly string[]): Promise<unknown> {
  return at.until(`${wanted.join()} to be left`, () => names(at).join() === wanted.join());
}

export const garbage: readonly Scenario[] = [
  {
    name: 'in the background: the owner goes at once, and what depends on it after it',
    run: async at => {
      const owner = await map(at, 'owner');
      const child = await map(at, 'child', ownedBy(owner));
      await map(at, 'grandchild', ownedBy(child));
      await at.delete('configmaps', 'owner', { propagationPolicy: 'Background' });
      await left(at);
    },
  },
  {
    name: 'in the foreground: the owner waits for those that block it',
    run: async at => {
      const owner = await map(at, 'owner');
      await map(at, 'child', {
        ...ownedBy(owner, { blockOwnerDeletion: true }),
        finalizers: ['example.test/hold'],
      });
      await at.delete('configmaps', 'owner', { propagationPolicy: 'Foreground' });
      await at.until(
        'the child to be going',
        () => at.all('configmaps').filter(isGoing).length === 2,
      );
      at.note('finalizers', at.find('configmaps', 'owner')?.metadata.finalizers);
      await at.patch('configmaps', 'child', { metadata: { finalizers: null } });
      await left(at);
    },
  },
  {
    name: 'in the foreground: the owner does not wait for those that do not block it',
    run: async at => {
      const owner = await map(at, 'owner');
      await map(at, 'child', { ...ownedBy(owner), finalizers: ['example.test/hold'] });
      await at.delete('configmaps', 'owner', { propagationPolicy: 'Foreground' });
      await left(at, 'child');
      await at.until('the child to be going', () => at.all('configmaps').some(isGoing));
      await at.patch('configmaps', 'child', { metadata: { finalizers: null } });
      await left(at);
    },
  },
  {
    name: 'in the foreground, all the way down',
    run: async at => {
      const owner = await map(at, 'owner');
      const child = await map(at, 'child', ownedBy(owner, { blockOwnerDeletion: true }));
      await map(at, 'grandchild', {
        ...ownedBy(child, { blockOwnerDeletion: true }),
        finalizers: ['example.test/hold'],
      });
      await at.delete('configmaps', 'owner', { propagationPolicy: 'Foreground' });
      await at.until('all to be going', () => at.all('configmaps').filter(isGoing).length === 3);
      await at.patch('configmaps', 'grandchild', { metadata: { finalizers: null } });
      await left(at);
    },
  },
  {
    name: 'orphans keep on living, without their owner',
    run: async at => {
      const owner = await map(at, 'owner');
      await map(at, 'child', ownedBy(owner));
      await at.delete('configmaps', 'owner', { propagationPolicy: 'Orphan' });
      await left(at, 'child');
      await at.until(
        'the child to be free',
        () => at.find('configmaps', 'child')?.metadata.ownerReferences === undefined,
      );
    },
  },
  {
    name: 'one of two owners goes: the other one keeps it',
    run: async at => {
      const [one, other] = [await map(at, 'one'), await map(at, 'other')];
      const references = [one, other].map(({ metadata: { name, uid } }) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name,
        uid,
      }));
      await map(at, 'child', { ownerReferences: references });
      await at.delete('configmaps', 'one', { propagationPolicy: 'Background' });
      await at.until(
        'one owner',
        () => at.find('configmaps', 'child')?.metadata.ownerReferences?.length === 1,
      );
      await at.delete('configmaps', 'other', { propagationPolicy: 'Background' });
      await left(at);
    },
  },
  {
    name: 'an owner that was never there',
    run: async at => {
      const ownerReferences = [
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          name: 'nobody',
          uid: '11111111-2222-3333-4444-555555555555',
        },
      ];
      await map(at, 'child', { ownerReferences });
      await at.until('the child to have been', () =>
        [...at.scope.courses.values()].some(({ states }) => states[0]?.metadata.name === 'child'),
      );
      await left(at);
    },
  },
  {
    name: 'an owner of the same name that is another one',
    run: async at => {
      const owner = await map(at, 'owner');
      await map(
        at,
        'child',
        ownedBy({
          ...owner,
          metadata: { ...owner.metadata, uid: '11111111-2222-3333-4444-555555555555' },
        }),
      );
      await at.until('the child to have been', () =>
        [...at.scope.courses.values()].some(({ states }) => states[0]?.metadata.name === 'child'),
      );
      await left(at, 'owner');
    },
  },
  {
    name: 'an owner of a kind that is not served keeps it',
    run: async at => {
      const ownerReferences = [
        {
          apiVersion: 'example.test/v1',
          kind: 'Thing',
          name: 'nobody',
          uid: '11111111-2222-3333-4444-555555555555',
        },
      ];
      await map(at, 'child', { ownerReferences });
      const owner = await map(at, 'owner');
      await map(at, 'other', ownedBy(owner));
      await at.delete('configmaps', 'owner', { propagationPolicy: 'Background' });
      await left(at, 'child');
    },
  },
  {
    name: 'a pod may own, and takes along what it owns',
    run: async at => {
      await at.nodes(['n1']);
      const pod = await at.pod('owner');
      await at.up(1);
      await map(at, 'child', {
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'owner', uid: pod.metadata.uid }],
      });
      await at.delete('pods', 'owner');
      await at.until('the pod to go', () => at.pods.length === 0);
      await left(at);
    },
  },
];
