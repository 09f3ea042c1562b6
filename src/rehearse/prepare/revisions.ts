import { controllerReference } from '../../embedded/controllers/pods.ts';
import { templateOf } from '../../embedded/controllers/workload.ts';
import { at, type Stored, strings, text } from '../../embedded/object.ts';
import { newUid, type RegistryContext } from '../../embedded/registry/context.ts';

/**
 * ControllerRevisions are not copied: they hold whole templates. The one that a set is at is made again from the set itself, under the name
 * that its pods bear, so that no pod is taken for an old one.
 */

const revisionOf = (registry: RegistryContext, set: Stored, kind: string, name: string, hash: string, revision: number): Stored => {
  const template = templateOf(set);
  const labels = {
    ...strings(at(template, 'metadata', 'labels')),
    'controller.kubernetes.io/hash': hash,
    'controller-revision-hash': hash,
  };
  return {
    metadata: {
      name,
      namespace: set.metadata.namespace ?? '',
      uid: newUid(registry.random),
      resourceVersion: '',
      creationTimestamp: set.metadata.creationTimestamp,
      labels,
      ownerReferences: [controllerReference('apps/v1', kind, set)],
    },
    data: { spec: { template: { ...template, $patch: 'replace' } } },
    revision,
  };
};

/** Pods of a DaemonSet bear the hash of its revision; most of them that of the newest. */
const hashOf = (registry: RegistryContext, set: Stored): string => {
  const counts = new Map<string, number>();
  for (const { metadata } of registry.store.indexed('pods', 'owner', set.metadata.uid)) {
    const hash = metadata.labels?.['controller-revision-hash'] ?? '';
    counts.set(hash, (counts.get(hash) ?? 0) + 1);
  }
  return [...counts].toSorted(([, one], [, other]) => other - one)[0]?.[0] ?? '';
};

/** Makes the revisions of all sets that were loaded. */
export const makeRevisions = (registry: RegistryContext): void => {
  const { store } = registry;
  for (const set of store.list('statefulsets.apps')) {
    const name = text(set, 'status', 'updateRevision');
    const hash = name.slice(set.metadata.name.length + 1);
    if (name !== '') store.put('controllerrevisions.apps', revisionOf(registry, set, 'StatefulSet', name, hash, 1));
  }
  for (const set of store.list('daemonsets.apps')) {
    const hash = hashOf(registry, set);
    if (hash !== '') store.put('controllerrevisions.apps', revisionOf(registry, set, 'DaemonSet', `${set.metadata.name}-${hash}`, hash, 1));
  }
};
