import type { JsonObject } from '@drydock/apimachinery';
import { conflict, invalid, notFound, wrong } from '../failure.ts';
import { shownSelector } from '../kinds/cells.ts';
import { type Kind, named, type ScalePaths } from '../kinds/kind.ts';
import { at, type Draft, metaOf, part, type Stored, text, without } from '../object.ts';
import type { RegistryContext } from './context.ts';
import { type Refused, refused, type WriteOptions } from './outcome.ts';
import { change } from './update.ts';

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
