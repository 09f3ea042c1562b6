import definitions from './types.json' with { type: 'json' };

/**
 * The types of the served kinds, as Go defines them: generated from the API server's own OpenAPI
 * document and the Go sources by test/conformance/types, which also checks types.json. A field has
 * a type and flags:
 *
 * - types: `string`, `int32`, `bool`, … , `core.PodSpec` (a struct), `[T]` (a list), `{T}` (a map
 *   with string keys), `any`
 * - `pointer`: a zero value is kept; without it (and without `always`) Go omits it from the JSON
 * - `always`: present in the JSON even when unset
 * - `merge=key`: a strategic merge patch merges its elements by this key, or as a set when the key
 *   is empty; `retain`: and keeps only the named members of the element
 * - `keys=a+b`, `set`, `atomic`: the list type for server-side apply
 */
export type FieldType =
  | { readonly kind: 'scalar'; readonly name: Scalar }
  | { readonly kind: 'struct'; readonly name: string }
  | { readonly kind: 'list'; readonly of: FieldType }
  | { readonly kind: 'map'; readonly of: FieldType };

type Scalar =
  | 'string'
  | 'int32'
  | 'int64'
  | 'number'
  | 'bool'
  | 'time'
  | 'microtime'
  | 'bytes'
  | 'quantity'
  | 'intstr'
  | 'any';

export type Field = {
  readonly type: FieldType;
  readonly pointer: boolean;
  readonly always: boolean;
  readonly merge?: string;
  readonly retain: boolean;
  readonly keys?: readonly string[];
  readonly set: boolean;
  readonly atomic: boolean;
};

export type Struct = {
  readonly name: string;
  readonly fields: ReadonlyMap<string, Field>;
  /** Fields in the JSON of every such struct. */
  readonly filled: readonly (readonly [key: string, field: Field])[];
};

const scalars = new Set<string>([
  'string',
  'int32',
  'int64',
  'number',
  'bool',
  'time',
  'microtime',
  'bytes',
  'quantity',
  'intstr',
  'any',
] satisfies readonly Scalar[]);

function typeIn(text: string): FieldType {
  if (text.startsWith('[')) return { kind: 'list', of: typeIn(text.slice(1, -1)) };
  if (text.startsWith('{')) return { kind: 'map', of: typeIn(text.slice(1, -1)) };
  return scalars.has(text)
    ? { kind: 'scalar', name: text as Scalar }
    : { kind: 'struct', name: text };
}

function fieldIn(text: string): Field {
  const [type = 'any', ...flags] = text.split(' ');
  const valueOf = (flag: string): string | undefined =>
    flags.find(one => one.startsWith(`${flag}=`))?.slice(flag.length + 1);
  const merge = valueOf('merge');
  const keys = valueOf('keys')?.split('+');
  return {
    type: typeIn(type),
    pointer: flags.includes('pointer'),
    always: flags.includes('always'),
    retain: flags.includes('retain'),
    set: flags.includes('set'),
    atomic: flags.includes('atomic'),
    ...(merge === undefined ? {} : { merge }),
    ...(keys === undefined ? {} : { keys }),
  };
}

const texts: Readonly<Record<string, Readonly<Record<string, string>> | undefined>> = definitions;
const known = new Map<string, Struct>();

/** Returns whether Go writes the field even when it is empty: structs that are not pointers. */
function isFilled({ type, pointer, always }: Field): boolean {
  return always || (type.kind === 'struct' && !pointer);
}

/**
 * Returns the struct with this name, which must exist: names come from the table of kinds and from
 * other structs.
 */
export function structNamed(name: string): Struct {
  const found = known.get(name);
  if (found !== undefined) return found;
  const fields = texts[name];
  if (fields === undefined) throw new Error(`types.json has no type ${name}`);
  const entries = Object.entries(fields).map(([key, field]) => [key, fieldIn(field)] as const);
  const struct: Struct = {
    name,
    fields: new Map(entries),
    filled: entries.filter(([, field]) => isFilled(field)),
  };
  known.set(name, struct);
  return struct;
}
