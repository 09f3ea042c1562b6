import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import type { Kept } from './kept.ts';
import { keptFields, keptOfAll } from './kept-fields.ts';

/**
 * Annotations that determine decisions of the control plane, KubeVirt and Drydock; others may
 * contain anything, including passwords.
 */
const deciding = [
  /^(batch|controller|deployment|descheduler\.alpha|node\.alpha|pv|storageclass|volume|volume\.beta)\.kubernetes\.io\//,
  /^kubernetes\.io\/config\.(mirror|source|seen|hash)$/,
  /^imperative-eviction\.k8s\.io\//,
  /^([a-z0-9.-]+\.)?drydock\.dev\//,
  /^([a-z0-9.-]+\.)?medik8s\.io\//,
  /^kubevirt\.io\//,
  /^(machine\.openshift|([a-z0-9-]+\.)?cluster\.x-k8s)\.io\//,
];

/**
 * Annotations that contain a whole applied object, or the arguments of a node agent: including
 * values of variables and tokens.
 */
const carriers = /\/(last-applied-configuration|applied|node-args|node-env)$/;

/**
 * Returns whether an annotation is kept; expressions of plans may read any annotation of a node.
 */
function isKept(key: string, kind: Json | undefined): boolean {
  return !carriers.test(key) && (kind === 'Node' || deciding.some(one => one.test(key)));
}

function withAnnotations(metadata: JsonObject, kind: Json | undefined): JsonObject {
  const { annotations, ...rest } = metadata;
  if (!isObject(annotations)) return rest;
  return {
    ...rest,
    annotations: Object.fromEntries(
      Object.entries(annotations).filter(([key]) => isKept(key, kind)),
    ),
  };
}

function fieldsOf(
  object: JsonObject,
  fields: Readonly<Record<string, Kept>>,
  kind?: Json,
): JsonObject {
  const result: Record<string, Json> = {};
  for (const key of Object.keys(object)) {
    const [value, kept] = [object[key], Object.hasOwn(fields, key) ? fields[key] : undefined];
    if (value === undefined || kept === undefined) continue;
    const trimmedValue = valueOf(value, kept);
    result[key] =
      key === 'metadata' && isObject(trimmedValue)
        ? withAnnotations(trimmedValue, kind)
        : trimmedValue;
  }
  return result;
}

function valueOf(value: Json, kept: Kept): Json {
  if (kept === 'whole') return value;
  if (kept === 'empty') return '';
  if (Array.isArray(value)) return (value as readonly Json[]).map(one => valueOf(one, kept));
  // A value of another type than an object is dropped.
  if (!isObject(value)) return null;
  if ('fields' in kept) return fieldsOf(value, kept.fields);
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      one === undefined ? undefined : valueOf(one, kept.each),
    ]),
  );
}

const byKind = new Map<Json | undefined, Readonly<Record<string, Kept>>>(
  Object.entries(keptFields).map(([kind, fields]) => [kind, { ...keptOfAll, ...fields }]),
);

/**
 * Returns the fields of an object that a rehearsal needs (kept-fields.ts); for a kind that is not
 * copied, only its name.
 */
export function redacted(object: JsonObject): JsonObject {
  return fieldsOf(object, byKind.get(object['kind']) ?? keptOfAll, object['kind']);
}

/** Returns the fields that another list keeps of an object, with its name. */
export function trimmedBy(fields: Readonly<Record<string, Kept>>, object: JsonObject): JsonObject {
  return fieldsOf(object, { ...keptOfAll, ...fields }, object['kind']);
}
