import { isObject, type Json, type JsonObject } from '../../core/json.ts';

/** Annotations that decide something here; the others are anybody's, passwords among them. */
const telling = /^([a-z0-9.-]*[.-])?(kubernetes\.io|k8s\.io|drydock\.dev|medik8s\.io|kubevirt\.io|openshift\.io)\//;

/** Annotations that hold a whole object as somebody applied it, values of variables included. */
const lastApplied = ['kubectl.kubernetes.io/last-applied-configuration', 'objectset.rio.cattle.io/applied'];

/** What containers are started with, and what probes and hooks send or run: passwords stand there too, and nothing in a rehearsal looks. */
const started = new Set(['args', 'command', 'httpHeaders']);

/** What a VM is told at its first start: passwords and keys more often than not. */
const secretive = new Set(['userData', 'userDataBase64', 'networkData', 'networkDataBase64']);

const variables = (env: readonly Json[]): readonly Json[] =>
  env.map(one => (isObject(one) && one['value'] !== undefined ? { name: one['name'] ?? '' } : one));

const isKept = (key: string): boolean => telling.test(key) && !lastApplied.includes(key);

const picked = (annotations: JsonObject, isKept: (key: string) => boolean): JsonObject =>
  Object.fromEntries(Object.entries(annotations).filter(([key]) => isKept(key)));

const clean = (value: Json): Json => {
  if (Array.isArray(value)) return (value as readonly Json[]).map(clean);
  if (!isObject(value)) return value;
  const kept: Record<string, Json> = {};
  for (const key in value) {
    const member = value[key];
    if (member === undefined || secretive.has(key) || (started.has(key) && Array.isArray(member))) continue;
    if (key === 'env' && Array.isArray(member)) kept[key] = variables(member as readonly Json[]);
    else kept[key] = key === 'annotations' && isObject(member) ? picked(member, isKept) : clean(member);
  }
  return kept;
};

/** Any annotation of a node may be a signal that a MachineEventSource looks for. */
const metadata = (meta: JsonObject, kind: Json | undefined): JsonObject => {
  const { managedFields: _managed, annotations, ...rest } = meta;
  if (!isObject(annotations)) return rest;
  return { ...rest, annotations: picked(annotations, kind === 'Node' ? key => !lastApplied.includes(key) : isKept) };
};

/** The object without what a rehearsal does not need and nobody should carry around: values of variables, arguments, headers of probes, annotations of others, managed fields. */
export const trimmed = (object: JsonObject): JsonObject => ({
  ...object,
  metadata: metadata(isObject(object['metadata']) ? object['metadata'] : {}, object['kind']),
  ...(object['spec'] !== undefined && { spec: clean(object['spec']) }),
});
