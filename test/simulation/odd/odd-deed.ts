import { seeded } from '@drydock/kube-sim';
import type { SimulatedCluster } from '../cluster/simulated-cluster.ts';
import { oddObject } from './odd-objects.ts';
import { oddNamespace } from './odd-parts.ts';

/** Somebody makes an object that is odd, in the middle of a story. */

/**
 * Kinds of which an odd one changes nothing that the story asks for. Maintenances, plans, windows,
 * machines, what is announced about them and what responders evict have to come to their ends by
 * the audit's rules, which know what a story makes of them.
 */
export const bystanders: readonly string[] = [
  'pods',
  'poddisruptionbudgets.policy',
  'volumeattachments.storage.k8s.io',
  'maintenanceapprovals.drydock.dev',
  'maintenanceplanrecords.drydock.dev',
  'virtualmachineinstances.kubevirt.io',
  'virtualmachineinstancemigrations.kubevirt.io',
];

/** Tries before somebody gives up: most of what is odd is refused. */
const tries = 30;

/** `/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME`. */
function resourceOf(path: string): string {
  const parts = path.split('/');
  const plural = parts.at(-2) ?? '';
  return parts[1] === 'apis' ? `${plural}.${parts[2]}` : plural;
}

/** Makes one, whichever the API server takes. */
export function makeOdd({ cluster, writes, odds }: SimulatedCluster, seed: number): void {
  const chance = seeded(seed);
  for (let turn = 0; turn < tries; turn += 1) {
    const [path, { metadata, status, ...rest }] = oddObject(chance, Math.floor(chance() * 40), 0);
    const resource = resourceOf(path);
    if (
      !bystanders.includes(resource) ||
      !cluster.registry.kinds.all().some(kind => kind.resource === resource)
    )
      continue;
    const namespace = path.includes('/namespaces/') ? { namespace: oddNamespace } : {};
    const written = writes.create(resource, {
      ...rest,
      metadata: { ...(metadata as object), ...namespace },
    });
    if (written.kind === 'refused') continue;
    if (status !== undefined) writes.update(resource, { ...written.object, status }, 'status');
    odds.push({ resource, object: written.object });
    return;
  }
}

/** Somebody takes all of them away, whatever their finalizers and kubelets say. */
export function removeOdd({ cluster, writes, odds }: SimulatedCluster): void {
  for (const { resource, object } of odds) {
    const { namespace = '', name, uid } = object.metadata;
    const found = cluster.registry.store.get(resource, namespace, name);
    if (found?.metadata.uid !== uid) continue;
    writes.update(resource, { ...found, metadata: { ...found.metadata, finalizers: [] } });
    writes.remove(resource, namespace, name, { gracePeriodSeconds: 0 });
  }
}
