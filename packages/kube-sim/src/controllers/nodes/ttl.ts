import type { Controller } from '../controller.ts';

/**
 * Sets for how long kubelets may cache secrets and config maps, by the size of the cluster
 * (k8s.io/kubernetes/pkg/controller/ttl).
 */

const annotation = 'node.alpha.kubernetes.io/ttl';

/**
 * Ranges of the number of nodes, with the TTL in seconds: they overlap, so that a single node more
 * or less changes nothing.
 */
const steps = [
  { least: 0, most: 100, seconds: 0 },
  { least: 90, most: 500, seconds: 15 },
  { least: 450, most: 1000, seconds: 30 },
  { least: 900, most: 2000, seconds: 60 },
  { least: 1800, most: Number.POSITIVE_INFINITY, seconds: 300 },
] as const;

/** Returns the controller; it remembers the current range. */
export function nodeTtlController(): Controller {
  let step = 0;
  return {
    name: 'ttl-controller',
    keysOf: ({ resource, type, object }) =>
      resource === 'nodes' && type !== 'removed' ? [object.metadata.name] : [],
    reconcile: (name, { store, writes }) => {
      const count = store.count('nodes');
      while (count > (steps[step]?.most ?? count)) step += 1;
      while (count < (steps[step]?.least ?? 0)) step -= 1;
      const node = store.get('nodes', '', name);
      const wanted = String(steps[step]?.seconds ?? 0);
      if (node === undefined || node.metadata.annotations?.[annotation] === wanted)
        return undefined;
      const annotations = { ...node.metadata.annotations, [annotation]: wanted };
      writes.update('nodes', { ...node, metadata: { ...node.metadata, annotations } });
      return undefined;
    },
  };
}
