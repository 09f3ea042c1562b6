import type { JsonObject } from '@drydock/apimachinery';
import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import { type Draft, metaOf, type Stored } from '../object.ts';

/** Form of objects that a client requests. */
export type Form = 'object' | 'table' | 'metadata';

const wants = /application\/json;(?:[^,]*;)?as=(\w+)/;

/** Reads an Accept header; the first known form counts. */
export function formOf(accept: string): Form {
  for (const one of accept.split(',')) {
    const as = wants.exec(one.replaceAll(' ', ''))?.[1];
    if (as === 'Table') return 'table';
    if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return 'metadata';
    if (as === undefined) return 'object';
  }
  return 'object';
}

/** Returns an object as the API returns it alone. */
export function shown(kind: Kind, object: Draft): JsonObject {
  return { kind: kind.kind, apiVersion: apiVersionOf(kind), ...object };
}

const metaVersion = 'meta.k8s.io/v1';

export function onlyMetadata(object: Draft): JsonObject {
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: metaVersion,
    metadata: metaOf(object),
  };
}

export type ListHead = {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
};

/**
 * Returns a list. Elements of built-in kinds lack apiVersion and kind; those of custom resources
 * have them.
 */
export function listOf(kind: Kind, head: ListHead, objects: readonly Stored[]): JsonObject {
  return {
    kind: kind.listKind,
    apiVersion: apiVersionOf(kind),
    metadata: kind.shape.kind === 'schema' ? { continue: '', ...head } : head,
    items: kind.shape.kind === 'schema' ? objects.map(object => shown(kind, object)) : objects,
  };
}

export function metadataListOf(head: ListHead, objects: readonly Stored[]): JsonObject {
  return {
    kind: 'PartialObjectMetadataList',
    apiVersion: metaVersion,
    metadata: head,
    items: objects.length === 0 ? null : objects.map(onlyMetadata),
  };
}

/** Contents of the column `Object` of a table: includeObject of metav1.TableOptions. */
export type Included = 'None' | 'Metadata' | 'Object';

export type TableOptions = {
  readonly include: Included;
  readonly heads: boolean;
  readonly now: Temporal.Instant;
};

/** Returns a table; upstream apiserver/pkg/endpoints/handlers/response.go asTable. */
export function tableOf(
  kind: Kind,
  head: ListHead,
  objects: readonly Stored[],
  { include, heads, now }: TableOptions,
): JsonObject {
  return {
    kind: 'Table',
    apiVersion: metaVersion,
    metadata: head,
    columnDefinitions: heads
      ? kind.columns.map(({ name, type, format, description, priority }) => ({
          name,
          type,
          format,
          description,
          priority,
        }))
      : null,
    rows: objects.map(object => ({
      cells: kind.columns.map(({ cell }) => cell(object, now)),
      ...conditions(kind, object),
      object:
        include === 'None'
          ? null
          : include === 'Object'
            ? shown(kind, object)
            : onlyMetadata(object),
    })),
  };
}

/**
 * Returns the conditions of a row: finished pods are marked, so that clients may leave them out.
 */
function conditions(kind: Kind, object: Stored): JsonObject {
  if (kind.resource !== 'pods') return {};
  const phase = (object['status'] as { readonly phase?: string } | undefined)?.phase;
  if (phase !== 'Succeeded' && phase !== 'Failed') return {};
  const message = phase === 'Succeeded' ? 'The pod has completed successfully.' : 'The pod failed.';
  return { conditions: [{ type: 'Completed', status: 'True', reason: phase, message }] };
}
