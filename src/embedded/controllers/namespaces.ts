import { part, type Stored } from '../object.ts';
import type { Cluster, Controller } from './controller.ts';

/** Namespaces that are being deleted are emptied and then let go (k8s.io/kubernetes/pkg/controller/namespace). */

/** Everything of a namespace, by resource. `resources` are those that the cluster serves with namespaces. */
const contentOf = (cluster: Cluster, resources: readonly string[], namespace: string): readonly (readonly [string, Stored])[] =>
  resources.flatMap(resource => cluster.store.list(resource, namespace).map(object => [resource, object] as const));

/** How often a namespace that is not empty yet is looked at, in milliseconds; what leaves it tells by itself as well. */
const againMs = 1000;

/** The controller, for these resources. */
export const namespaceController = (resources: () => readonly string[], finalize: (namespace: Stored) => void): Controller => ({
  name: 'namespace-controller',
  keysOf: ({ resource, type, object }) => (resource === 'namespaces' && type !== 'removed' ? [object.metadata.name] : []),
  reconcile: (name, cluster) => {
    const namespace = cluster.store.get('namespaces', '', name);
    if (namespace?.metadata.deletionTimestamp === undefined) return undefined;
    const content = contentOf(cluster, resources(), name);
    for (const [resource, { metadata }] of content) {
      if (metadata.deletionTimestamp === undefined) cluster.writes.remove(resource, name, metadata.name, { uid: metadata.uid });
    }
    if (contentOf(cluster, resources(), name).length > 0) return againMs;
    if (Array.isArray(part(namespace, 'spec')['finalizers'])) finalize(namespace);
    return undefined;
  },
});
