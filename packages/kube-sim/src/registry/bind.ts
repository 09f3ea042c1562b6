import { timeText } from '@drydock/apimachinery';
import { badRequest, conflict, modifiedMeanwhile, notFound, unnamed } from '../failure.ts';
import { topologyLabels } from '../kinds/pods.ts';
import {
  at,
  type Draft,
  items,
  metaOf,
  objects,
  part,
  type Stored,
  strings,
  text,
} from '../object.ts';
import type { RegistryContext } from './context.ts';
import { withCondition } from './evict.ts';
import { type Refused, refused } from './outcome.ts';

const what = { group: '', resource: 'pods/binding' };

/** Returns why a pod cannot be bound to a node. */
function obstacle(pod: Stored): string | undefined {
  const { name, deletionTimestamp } = pod.metadata;
  const node = text(pod, 'spec', 'nodeName');
  if (deletionTimestamp !== undefined)
    return `pod ${name} is being deleted, cannot be assigned to a host`;
  if (node !== '') return `pod ${name} is already assigned to node "${node}"`;
  return items(at(pod, 'spec', 'schedulingGates')).length > 0
    ? `pod ${name} has non-empty .spec.schedulingGates`
    : undefined;
}

function unlike(pod: Stored, binding: Draft): Refused | undefined {
  const { uid, resourceVersion } = metaOf(binding);
  const { name } = pod.metadata;
  if (typeof uid === 'string' && uid !== '' && uid !== pod.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${pod.metadata.uid}`;
    return refused(conflict({ group: '', resource: 'pods' }, name, why));
  }
  if (
    typeof resourceVersion === 'string' &&
    resourceVersion !== '' &&
    resourceVersion !== pod.metadata.resourceVersion
  ) {
    return refused(conflict({ group: '', resource: 'pods' }, name, modifiedMeanwhile));
  }
  return undefined;
}

/**
 * Binds a pod to a node. `body` is the Binding. Upstream: BindingREST of
 * pkg/registry/core/pod/storage.
 */
export function bind(
  registry: RegistryContext,
  namespace: string,
  name: string,
  body: Draft,
  dryRun = false,
): Refused | { readonly kind: 'bound'; readonly pod: Stored } {
  if (text(body, 'metadata', 'name') !== name)
    return refused(badRequest('name in URL does not match name in Binding object'));
  const node = text(body, 'target', 'name');
  if (node === '') return refused(unnamed(500, 'target.name: Required value'));
  const pod = registry.store.get('pods', namespace, name);
  if (pod === undefined) return refused(notFound({ group: '', resource: 'pods' }, name));
  const other = unlike(pod, body);
  if (other !== undefined) return other;
  const why = obstacle(pod);
  if (why !== undefined) return refused(conflict(what, name, why));
  const scheduled = { type: 'PodScheduled', status: 'True', lastProbeTime: null };
  const annotations = { ...pod.metadata.annotations, ...strings(metaOf(body)['annotations']) };
  const labels = {
    ...pod.metadata.labels,
    ...strings(metaOf(body)['labels']),
    ...topologyLabels(registry.store, node),
  };
  const { nominatedNodeName: _nominated, ...status } = part(pod, 'status');
  const bound: Stored = {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
    },
    spec: { ...part(pod, 'spec'), nodeName: node },
    status: {
      ...status,
      conditions: withCondition(
        objects(status['conditions']),
        scheduled,
        timeText(registry.clock.now()),
      ),
    },
  };
  return { kind: 'bound', pod: dryRun ? bound : registry.store.put('pods', bound) };
}
