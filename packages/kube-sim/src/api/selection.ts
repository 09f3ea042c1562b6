import type { Json } from '@drydock/apimachinery';
import { type LabelSelector, matches, parseSelector } from '@drydock/apimachinery';
import { badRequest, type Failure } from '../failure.ts';
import type { Kind } from '../kinds/kind.ts';
import { at, objects, type Stored } from '../object.ts';

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
