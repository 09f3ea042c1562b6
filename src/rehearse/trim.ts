import { isObject, type Json, type JsonObject } from '../core/json.ts';

/** Annotations that hold a whole object as somebody applied it, values of variables included. */
const lastApplied = ['kubectl.kubernetes.io/last-applied-configuration', 'objectset.rio.cattle.io/applied'];

/** What a VM is told at its first start: passwords and keys more often than not. */
const secretive = new Set(['userData', 'userDataBase64', 'networkData', 'networkDataBase64']);

const variables = (env: readonly Json[]): readonly Json[] =>
  env.map(one => (isObject(one) && one['value'] !== undefined ? { name: one['name'] ?? '' } : one));

const clean = (value: Json): Json => {
  if (Array.isArray(value)) return (value as readonly Json[]).map(clean);
  if (!isObject(value)) return value;
  const kept: Record<string, Json> = {};
  for (const key in value) {
    const member = value[key];
    if (member === undefined || secretive.has(key)) continue;
    kept[key] = key === 'env' && Array.isArray(member) ? variables(member as readonly Json[]) : clean(member);
  }
  return kept;
};

const metadata = (meta: JsonObject): JsonObject => {
  const { managedFields: _managed, annotations, ...rest } = meta;
  if (!isObject(annotations)) return rest;
  const kept = Object.fromEntries(Object.entries(annotations).filter(([key]) => !lastApplied.includes(key)));
  return { ...rest, annotations: kept };
};

/** The object without what a rehearsal does not need and nobody should carry around: values of variables, last-applied objects, managed fields. */
export const trimmed = (object: JsonObject): JsonObject => ({
  ...object,
  metadata: metadata(isObject(object['metadata']) ? object['metadata'] : {}),
  ...(object['spec'] !== undefined && { spec: clean(object['spec']) }),
});
