import { type JsonObject, timeText } from '@drydock/apimachinery';
import {
  badRequest,
  conflict,
  invalid,
  modifiedMeanwhile,
  notFound,
  unnamed,
  wrong,
} from '../failure.ts';
import { shownSelector } from '../kinds/cells.ts';
import { type Kind, named, type ScalePaths } from '../kinds/kind.ts';
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
  without,
} from '../object.ts';
import { withCondition } from './evict.ts';
import { type Refused, refused, type WriteOptions, type WriteResult } from './managed.ts';
import type { RegistryContext } from './metadata.ts';
import { change } from './update.ts';

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

/**
 * Replaces a namespace's finalizers in the spec: the namespace controller does so when it has
 * emptied it. Removing the last one removes a terminating namespace. Upstream: FinalizeREST of
 * pkg/registry/core/namespace/storage.
 */
export function finalize(
  registry: RegistryContext,
  name: string,
  body: Draft,
  dryRun = false,
): WriteResult {
  const before = registry.store.get('namespaces', '', name);
  if (before === undefined || text(body, 'metadata', 'name') !== name) {
    return refused(notFound({ group: '', resource: 'namespaces' }, name));
  }
  const finalizers = at(body, 'spec', 'finalizers');
  const left = Array.isArray(finalizers) ? finalizers : [];
  const spec = left.length > 0 ? { ...part(before, 'spec'), finalizers: left } : {};
  const after: Stored = { ...before, spec };
  if (dryRun) return { kind: 'done', object: after, created: false, warnings: [] };
  const isDone = left.length === 0 && before.metadata.deletionTimestamp !== undefined;
  if (!isDone || (before.metadata.finalizers ?? []).length > 0) {
    return {
      kind: 'done',
      object: registry.store.put('namespaces', after),
      created: false,
      warnings: [],
    };
  }
  registry.store.remove('namespaces', '', name);
  return { kind: 'done', object: after, created: false, warnings: [] };
}

export type Scaled =
  | { readonly kind: 'scaled'; readonly scale: Draft; readonly warnings: readonly string[] }
  | Refused;

function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** Returns the selector as text; a CRD names the path of one. */
function selectorOf(object: Stored, { selector: path }: ScalePaths, kind: Kind): string {
  if (path !== undefined) return text(object, ...path);
  return kind.shape.kind === 'go' ? shownSelector(object) : '';
}

/**
 * Returns the Scale of an object: wanted and present replicas. Upstream: ScaleREST of each kind.
 */
export function scaleOf(kind: Kind, paths: ScalePaths, object: Stored): Draft {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const shown = selectorOf(object, paths, kind);
  const wanted = count(at(object, ...paths.spec));
  return {
    metadata: without({ name, namespace, uid, resourceVersion, creationTimestamp }),
    spec: wanted === 0 ? {} : { replicas: wanted },
    status: {
      replicas: count(at(object, ...paths.status)),
      ...(shown === '' ? {} : { selector: shown }),
    },
  };
}

function put(
  object: JsonObject,
  [key = '', ...rest]: readonly string[],
  value: number,
): JsonObject {
  return {
    ...object,
    [key]: rest.length === 0 ? value : put(part(object, key), rest, value),
  };
}

/** Changes the number of replicas through the Scale, by `edit`. */
export function rescale(
  registry: RegistryContext,
  kind: Kind,
  paths: ScalePaths,
  namespace: string,
  name: string,
  edit: (scale: Draft) => { readonly kind: 'edited'; readonly draft: Draft } | Refused,
  options: WriteOptions,
): Scaled {
  if (registry.store.get(kind.resource, namespace, name) === undefined)
    return refused(notFound(named(kind), name));
  const outcome = change(
    registry,
    kind,
    namespace,
    name,
    current => {
      const edited = edit(scaleOf(kind, paths, current));
      if (edited.kind === 'refused') return edited;
      const replicas = count(at(edited.draft, 'spec', 'replicas'));
      if (replicas < 0) {
        const cause = wrong('spec.replicas', replicas, 'must be greater than or equal to 0');
        return refused(invalid({ group: 'autoscaling', resource: 'Scale' }, name, [cause]));
      }
      const { uid, resourceVersion } = metaOf(edited.draft);
      if (typeof uid === 'string' && uid !== '' && uid !== current.metadata.uid) {
        const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid}`;
        return refused(
          conflict({ group: kind.group, resource: `${kind.plural}/scale` }, name, why),
        );
      }
      const version =
        typeof resourceVersion === 'string' && resourceVersion !== ''
          ? resourceVersion
          : current.metadata.resourceVersion;
      const scaled = put(current, paths.spec, replicas);
      return {
        kind: 'edited',
        draft: { ...scaled, metadata: { ...current.metadata, resourceVersion: version } },
      };
    },
    options,
  );
  if (outcome.kind === 'refused') return outcome;
  return {
    kind: 'scaled',
    scale: scaleOf(kind, paths, outcome.object),
    warnings: outcome.warnings,
  };
}
