import { at, type Stored, strings, text } from '@drydock/kube-sim';
import { controllerReference, templateOf } from '@drydock/kube-sim/controllers';
import { newUid, type RegistryContext } from '@drydock/kube-sim/registry';

/**
 * Recreates ControllerRevisions, which are not copied because they contain whole templates. The
 * current one of a set is created from the set itself, under the name in its pods' labels, so that
 * no pod counts as outdated.
 */

function revisionOf(
  registry: RegistryContext,
  set: Stored,
  kind: string,
  name: string,
  hash: string,
  revision: number,
): Stored {
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
}

/**
 * Returns the hash of a DaemonSet's revision: the most frequent one among its pods, which is that
 * of the newest.
 */
function hashOf(registry: RegistryContext, set: Stored): string {
  const counts = new Map<string, number>();
  for (const { metadata } of registry.store.indexed('pods', 'owner', set.metadata.uid)) {
    const hash = metadata.labels?.['controller-revision-hash'] ?? '';
    counts.set(hash, (counts.get(hash) ?? 0) + 1);
  }
  return [...counts].toSorted(([, one], [, other]) => other - one)[0]?.[0] ?? '';
}

/** Creates the revisions of all loaded sets. */
export function makeRevisions(registry: RegistryContext): void {
  const { store } = registry;
  for (const set of store.list('statefulsets.apps')) {
    const name = text(set, 'status', 'updateRevision');
    const hash = name.slice(set.metadata.name.length + 1);
    if (name !== '')
      store.put(
        'controllerrevisions.apps',
        revisionOf(registry, set, 'StatefulSet', name, hash, 1),
      );
  }
  for (const set of store.list('daemonsets.apps')) {
    const hash = hashOf(registry, set);
    if (hash !== '')
      store.put(
        'controllerrevisions.apps',
        revisionOf(registry, set, 'DaemonSet', `${set.metadata.name}-${hash}`, hash, 1),
      );
  }
}
