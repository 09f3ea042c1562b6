import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What is needed of an API server's /openapi/v2. */
export type Swagger = { readonly definitions: Readonly<Record<string, Definition>> };

type Definition = Property & {
  readonly properties?: Readonly<Record<string, Property>>;
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
};

type Property = {
  readonly type?: string;
  readonly format?: string;
  readonly $ref?: string;
  readonly items?: Property;
  readonly additionalProperties?: Property;
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-patch-merge-key'?: string;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
};

/**
 * The types that the embedded API server decodes, each with its fields; see
 * packages/kube-sim/src/kinds/types.ts for the notation.
 */
export type Compact = Readonly<Record<string, Readonly<Record<string, string>>>>;

type GoField = {
  readonly omitted: boolean;
  readonly pointer: boolean /** Of the field in protobuf. */;
  readonly number?: number;
};

const scalars: Readonly<Record<string, string>> = {
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': 'time',
  'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime': 'microtime',
  'io.k8s.apimachinery.pkg.api.resource.Quantity': 'quantity',
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': 'intstr',
  'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1': 'any',
  'io.k8s.apimachinery.pkg.runtime.RawExtension': 'any',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON': 'any',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps': 'any',
};

/**
 * Folder and package of a definition: `io.k8s.api.core.v1.Pod` is `core.Pod` and comes from
 * k8s.io/api/core/v1.
 */
function nameOf(definition: string): string {
  const parts = definition.split('.');
  const type = parts.at(-1) ?? '';
  const group = parts.at(-3) ?? '';
  return `${group}.${type}`;
}

function sourceOf(definition: string): readonly [module: string, folder: string] {
  const parts = definition.split('.').slice(2, -1);
  const [module = '', ...folder] = parts;
  return [`k8s.io/${module}`, folder.join('/')];
}

const structPattern = /^type (\w+) struct \{\n([\s\S]*?)^\}/gm;
const fieldPattern = /^\t(?:(\w+)\s+)?(\S+)\s+`.*?json:"([^"]*)".*`/gm;
const numberPattern = /protobuf:"\w+,(\d+),/;

/** A time is a struct, which omitempty never leaves out: it is written as null. */
function isOmitted(type: string, options: readonly string[]): boolean {
  return (
    options.includes('omitzero') ||
    (options.includes('omitempty') && !/^(metav1\.)?(Micro)?Time$/.test(type))
  );
}

/**
 * Fields of every struct in a Go file, by their JSON names; embedded structs under their type's
 * name with a leading `+`.
 */
function structsIn(text: string): ReadonlyMap<string, ReadonlyMap<string, GoField>> {
  return new Map(
    [...text.matchAll(structPattern)].map(([, name = '', body = '']) => [
      name,
      new Map(
        [...body.matchAll(fieldPattern)].map(([line, fieldName, type = '', tag = '']) => {
          const [json = '', ...options] = tag.split(',');
          const key =
            options.includes('inline') || (json === '' && fieldName === undefined)
              ? `+${type.split('.').at(-1) ?? type}`
              : json;
          const number = numberPattern.exec(line)?.[1];
          const wire = number === undefined ? {} : { number: Number(number) };
          return [
            key,
            { omitted: isOmitted(type, options), pointer: type.startsWith('*'), ...wire },
          ] as const;
        }),
      ),
    ]),
  );
}

/** Reads Go sources below the folders of their modules. */
export class GoTypes {
  readonly #folderOf: (module: string) => string;
  readonly #known = new Map<string, ReadonlyMap<string, ReadonlyMap<string, GoField>>>();

  constructor(folderOf: (module: string) => string) {
    this.#folderOf = folderOf;
  }

  /** How Go has a field; undefined when the sources do not say. */
  field(definition: string, json: string): GoField | undefined {
    const [module, folder] = sourceOf(definition);
    return this.#find(this.#structs(module, folder), definition.split('.').at(-1) ?? '', json);
  }

  /**
   * The fields of a definition by their numbers in protobuf; embedded structs under their type's
   * name with a leading `+`.
   */
  numbers(definition: string): readonly (readonly [number: number, key: string])[] {
    const [module, folder] = sourceOf(definition);
    const fields =
      this.#structs(module, folder).get(definition.split('.').at(-1) ?? '') ??
      new Map<string, GoField>();
    return [...fields].flatMap(([key, { number }]) =>
      number === undefined ? [] : [[number, key] as const],
    );
  }

  #find(
    structs: ReadonlyMap<string, ReadonlyMap<string, GoField>>,
    type: string,
    json: string,
  ): GoField | undefined {
    const fields = structs.get(type);
    const own = fields?.get(json);
    if (own !== undefined || fields === undefined) return own;
    for (const key of fields.keys()) {
      const inner = key.startsWith('+') ? this.#find(structs, key.slice(1), json) : undefined;
      if (inner !== undefined) return inner;
    }
    return undefined;
  }

  #structs(module: string, folder: string): ReadonlyMap<string, ReadonlyMap<string, GoField>> {
    const key = `${module}/${folder}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const files = ['types.go', 'types_jsonschema.go'].map(file => {
      try {
        return readFileSync(join(this.#folderOf(module), folder, file), 'utf8');
      } catch {
        // Most packages have one of the two files only.
        return '';
      }
    });
    const structs = structsIn(files.join('\n'));
    this.#known.set(key, structs);
    return structs;
  }
}

function refOf({ $ref }: Property): string | undefined {
  return $ref?.replace('#/definitions/', '');
}

function scalarOf(property: Property): string {
  if (property.type === 'string' && property.format === 'byte') return 'bytes';
  if (property.type === 'string') return 'string';
  if (property.type === 'integer') return property.format === 'int64' ? 'int64' : 'int32';
  if (property.type === 'number') return 'number';
  if (property.type === 'boolean') return 'bool';
  return 'any';
}

function typeOf(property: Property, swagger: Swagger, need: (definition: string) => void): string {
  const ref = refOf(property);
  if (ref !== undefined) {
    const scalar = scalars[ref];
    if (scalar !== undefined) return scalar;
    if (swagger.definitions[ref]?.properties === undefined) return 'any';
    need(ref);
    return nameOf(ref);
  }
  if (property.type === 'array') return `[${typeOf(property.items ?? {}, swagger, need)}]`;
  if (property.type === 'object' && property.additionalProperties !== undefined)
    return `{${typeOf(property.additionalProperties, swagger, need)}}`;
  return scalarOf(property);
}

function flagsOf(property: Property, go: GoField | undefined, atomicType: boolean): string {
  const strategy = property['x-kubernetes-patch-strategy'] ?? '';
  const keys = property['x-kubernetes-list-map-keys'];
  const listType = property['x-kubernetes-list-type'];
  const flags = [
    go?.pointer === true ? 'pointer' : '',
    go?.omitted === false ? 'always' : '',
    strategy.includes('merge') ? `merge=${property['x-kubernetes-patch-merge-key'] ?? ''}` : '',
    strategy.includes('retainKeys') ? 'retain' : '',
    keys === undefined ? '' : `keys=${keys.join('+')}`,
    listType === 'set' ? 'set' : '',
    property['x-kubernetes-map-type'] === 'atomic' || atomicType ? 'atomic' : '',
  ].filter(flag => flag !== '');
  return flags.map(flag => ` ${flag}`).join('');
}

/**
 * Numbers of fields by the names of their types, and the types of the kinds: see
 * packages/kube-sim/src/protobuf/numbers.ts for the notation.
 */
export type Numbers = {
  readonly kinds: Readonly<Record<string, string>>;
  readonly types: Readonly<Record<string, string>>;
};

function kindsOf(
  definition: string,
  swagger: Swagger,
): readonly (readonly [kind: string, type: string])[] {
  return (swagger.definitions[definition]?.['x-kubernetes-group-version-kind'] ?? []).map(
    ({ group, version, kind }) =>
      [`${group === '' ? '' : `${group}/`}${version}/${kind}`, nameOf(definition)] as const,
  );
}

/** How protobuf numbers the fields of the given roots and of everything in them. */
export function numbered(swagger: Swagger, go: GoTypes, roots: readonly string[]): Numbers {
  const types = new Map<string, string>();
  const waiting = [...roots];
  for (let definition = waiting.pop(); definition !== undefined; definition = waiting.pop()) {
    if (types.has(nameOf(definition))) continue;
    const numbers = go.numbers(definition).toSorted(([one], [other]) => one - other);
    types.set(nameOf(definition), numbers.map(([number, key]) => `${number}=${key}`).join(' '));
    const package_ = definition.slice(0, definition.lastIndexOf('.') + 1);
    waiting.push(
      ...numbers.flatMap(([, key]) => (key.startsWith('+') ? [package_ + key.slice(1)] : [])),
    );
    for (const property of Object.values(swagger.definitions[definition]?.properties ?? {}))
      typeOf(property, swagger, needed => waiting.push(needed));
  }
  const sorted = (entries: Iterable<readonly [string, string]>): Readonly<Record<string, string>> =>
    Object.fromEntries([...entries].sort(([one], [other]) => (one < other ? -1 : 1)));
  // Options of deletions are registered in every group, and known by their kind alone.
  const kinds = roots
    .flatMap(root => kindsOf(root, swagger))
    .filter(([kind]) => !kind.endsWith('/DeleteOptions'));
  return { kinds: sorted(kinds), types: sorted(types) };
}

/** Types of the given roots and of everything in them, sorted by name. */
export function compact(swagger: Swagger, go: GoTypes, roots: readonly string[]): Compact {
  const found = new Map<string, Readonly<Record<string, string>>>();
  const waiting = [...roots];
  for (let definition = waiting.pop(); definition !== undefined; definition = waiting.pop()) {
    const name = nameOf(definition);
    if (found.has(name)) continue;
    const fields: Record<string, string> = {};
    for (const [key, property] of Object.entries(
      swagger.definitions[definition]?.properties ?? {},
    )) {
      const type = typeOf(property, swagger, needed => waiting.push(needed));
      const ref = refOf(property);
      const atomic =
        ref !== undefined && swagger.definitions[ref]?.['x-kubernetes-map-type'] === 'atomic';
      fields[key] = type + flagsOf(property, go.field(definition, key), atomic);
    }
    found.set(name, fields);
  }
  return Object.fromEntries([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
}
