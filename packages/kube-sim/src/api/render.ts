import {
  type Json,
  type JsonObject,
  type LabelSelector,
  matches,
  parseSelector,
} from '@drydock/apimachinery';
import { badRequest, type Failure } from '../failure.ts';
import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import { at, type Draft, metaOf, objects, type Stored } from '../object.ts';

/** Selection of objects in a collection. */
export type Selection = {
  /** Namespace; undefined for all namespaces. */
  readonly namespace: string | undefined;
  readonly labels: LabelSelector | undefined;
  readonly fields: readonly FieldRequirement[];
};

type FieldRequirement = { readonly field: string; readonly equal: boolean; readonly value: string };

type Parsed<T> =
  | { readonly kind: 'parsed'; readonly value: T }
  | { readonly kind: 'refused'; readonly failure: Failure };

function parsed<T>(value: T): Parsed<T> {
  return { kind: 'parsed', value };
}

export function parseLabels(text: string | undefined): Parsed<LabelSelector | undefined> {
  if (text === undefined || text === '') return parsed(undefined);
  const selector = parseSelector(text);
  if (selector !== undefined) return parsed(selector);
  return { kind: 'refused', failure: badRequest(`unable to parse requirement: ${text}`) };
}

const requirement = /^([^=!,]+)(==|=|!=)([^=]*)$/;

/** Parses field selectors, which support only equality: k8s.io/apimachinery/pkg/fields. */
export function parseFields(
  text: string | undefined,
  kind: Kind,
): Parsed<readonly FieldRequirement[]> {
  const terms = text === undefined || text === '' ? [] : text.split(',');
  const found: FieldRequirement[] = [];
  for (const term of terms) {
    const [, field, operator, value = ''] = requirement.exec(term) ?? [];
    if (field === undefined)
      return {
        kind: 'refused',
        failure: badRequest(`invalid selector: '${text}'; can't understand '${term}'`),
      };
    if (!isSelectable(kind, field))
      return { kind: 'refused', failure: badRequest(unsupported(kind, field)) };
    found.push({ field, equal: operator !== '!=', value });
  }
  return parsed(found);
}

/** Fields with another name in old clients. */
const legacy: Readonly<Record<string, readonly string[]>> = {
  nodes: [],
  namespaces: ['name'],
  persistentvolumes: ['name'],
  persistentvolumeclaims: ['name'],
};

function isSelectable(kind: Kind, field: string): boolean {
  return (
    field === 'metadata.name' ||
    // Nodes and other cluster-scoped built-in kinds accept it as well, unless their own conversion
    // rejects it.
    (field === 'metadata.namespace' && (kind.namespaced || kind.selectable.length === 0)) ||
    kind.selectable.includes(field) ||
    (legacy[kind.resource] ?? []).includes(field)
  );
}

const ownConversion = new Set([
  'pods',
  'nodes',
  'namespaces',
  'events',
  'secrets',
  'jobs.batch',
  'replicasets.apps',
]);

function unsupported(kind: Kind, field: string): string {
  if (kind.shape.kind === 'schema') return `field label not supported: ${field}`;
  if (ownConversion.has(kind.resource)) return `field label not supported: ${field}`;
  return `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`;
}

const zeros: Readonly<Record<string, string>> = {
  'spec.unschedulable': 'false',
  'spec.hostNetwork': 'false',
  'status.replicas': '0',
  'status.successful': '0',
};

const special: Readonly<Record<string, (object: Stored) => Json | undefined>> = {
  name: object => object.metadata.name,
  source: object => at(object, 'source', 'component') ?? at(object, 'reportingComponent'),
  'status.podIP': object => objects(at(object, 'status', 'podIPs'))[0]?.['ip'],
  'status.successful': object => at(object, 'status', 'succeeded'),
};

/** Returns the value of a field as selectors compare it. */
function fieldValue(object: Stored, field: string): string {
  const value = special[field]?.(object) ?? at(object, ...field.split('.'));
  if (value === undefined || value === null) return zeros[field] ?? '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function isSelected(object: Stored, { namespace, labels, fields }: Selection): boolean {
  return (
    (namespace === undefined || (object.metadata.namespace ?? '') === namespace) &&
    (labels === undefined || matches(labels, object.metadata.labels ?? {})) &&
    fields.every(({ field, equal, value }) => (fieldValue(object, field) === value) === equal)
  );
}

/** Returns the required value of an indexed field, where the selection has one. */
export function indexedValue({ fields }: Selection, index: string): string | undefined {
  return fields.find(({ field, equal }) => field === index && equal)?.value;
}

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
