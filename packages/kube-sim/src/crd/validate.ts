import { isObject, type Json, type JsonObject, sameJson } from '@drydock/apimachinery';
import { type Cause, duplicate, notOneOf, required, wrong } from '../failure.ts';
import { items, objects, text } from '../object.ts';

/**
 * Validation by an OpenAPI schema, with the messages of kube-openapi's validation and of
 * apiextensions-apiserver.
 */

function typeName(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function typesOf(schema: JsonObject): readonly string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string'];
  return typeof schema['type'] === 'string' ? [schema['type']] : [];
}

function isOfType(value: Json, types: readonly string[]): boolean {
  return (
    types.length === 0 ||
    types.includes(typeName(value)) ||
    (typeName(value) === 'integer' && types.includes('number'))
  );
}

function at(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

/** Returns all errors of a value. */
export function schemaCauses(value: Json, schema: JsonObject, path: string): readonly Cause[] {
  if (value === null && schema['nullable'] === true) return [];
  const types = typesOf(schema);
  if (!isOfType(value, types)) {
    return typeCauses(value, types, schema, path);
  }
  const own = [...enumCauses(value, schema, path), ...combinedCauses(value, schema, path)];
  if (typeof value === 'string') return [...own, ...stringCauses(value, schema, path)];
  if (typeof value === 'number') return [...own, ...numberCauses(value, schema, path)];
  if (Array.isArray(value)) return [...own, ...arrayCauses(value as readonly Json[], schema, path)];
  return isObject(value) ? [...own, ...objectCauses(value, schema, path)] : own;
}

function typeCauses(
  value: Json,
  types: readonly string[],
  schema: JsonObject,
  path: string,
): readonly Cause[] {
  const { format } = schema;
  // A fraction instead of an integer with a format is reported twice, by two validators.
  const isFraction =
    typeof value === 'number' && types.includes('integer') && typeof format === 'string';
  const name = isFraction ? 'float64' : typeName(value);
  const wanted = isFraction ? format : types.join(',');
  const message = `Invalid value: "${name}": ${path} in body must be of type ${wanted}: "${name}"`;
  const unlike = `Invalid value: "": Checked value must be of type integer with format ${text(schema, 'format')} in ${path}`;
  const first = { reason: 'FieldValueTypeInvalid', message, field: path };
  return isFraction
    ? [first, { reason: 'FieldValueInvalid', message: unlike, field: '<nil>' }]
    : [first];
}

function enumCauses(value: Json, schema: JsonObject, path: string): readonly Cause[] {
  const allowed = items(schema['enum']);
  return allowed.length === 0 || allowed.some(one => sameJson(one, value))
    ? []
    : [notOneOf(path, value, allowed.map(String))];
}

function count(schema: JsonObject, key: string): number | undefined {
  const value = schema[key];
  return typeof value === 'number' ? value : undefined;
}

function tooLong(path: string, most: number): Cause {
  return {
    reason: 'FieldValueTooLong',
    message: `Too long: may not be more than ${most} bytes`,
    field: path,
  };
}

function tooMany(path: string, actual: number, most: number): Cause {
  return {
    reason: 'FieldValueTooMany',
    message: `Too many: ${actual}: must have at most ${most} items`,
    field: path,
  };
}

const formats: Readonly<Record<string, RegExp>> = {
  'date-time': /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/,
  date: /^\d{4}-\d\d-\d\d$/,
  uuid: /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$/,
};

function stringCauses(value: string, schema: JsonObject, path: string): readonly Cause[] {
  const [least, most] = [count(schema, 'minLength'), count(schema, 'maxLength')];
  const { pattern, format } = schema;
  const length = Array.from(value).length;
  return [
    ...(most !== undefined && length > most ? [tooLong(path, most)] : []),
    ...(least !== undefined && length < least
      ? [wrong(path, value, `${path} in body should be at least ${least} chars long`)]
      : []),
    ...(typeof pattern === 'string' && !new RegExp(pattern, 'u').test(value)
      ? [wrong(path, value, `${path} in body should match '${pattern}'`)]
      : []),
    ...(typeof format === 'string' && formats[format]?.test(value) === false
      ? [
          {
            ...wrong(
              path,
              value,
              `${path} in body must be of type ${format}: ${JSON.stringify(value)}`,
            ),
            reason: 'FieldValueTypeInvalid',
          },
        ]
      : []),
  ];
}

function numberCauses(value: number, schema: JsonObject, path: string): readonly Cause[] {
  const [least, most] = [count(schema, 'minimum'), count(schema, 'maximum')];
  const [above, below] = [schema['exclusiveMinimum'] === true, schema['exclusiveMaximum'] === true];
  const { format } = schema;
  const fits = format === 'int32' ? Math.abs(value) < 2 ** 31 || value === -(2 ** 31) : true;
  return [
    ...(least !== undefined && (above ? value <= least : value < least)
      ? [
          wrong(
            path,
            value,
            `${path} in body should be greater than ${above ? '' : 'or equal to '}${least}`,
          ),
        ]
      : []),
    ...(most !== undefined && (below ? value >= most : value > most)
      ? [
          wrong(
            path,
            value,
            `${path} in body should be less than ${below ? '' : 'or equal to '}${most}`,
          ),
        ]
      : []),
    ...(fits
      ? []
      : [
          wrong(
            path,
            'integer',
            `${path} in body must be of type ${text(schema, 'format')}: "integer"`,
          ),
        ]),
  ];
}

function arrayCauses(value: readonly Json[], schema: JsonObject, path: string): readonly Cause[] {
  const [least, most] = [count(schema, 'minItems'), count(schema, 'maxItems')];
  const inner = schema['items'];
  return [
    ...(most !== undefined && value.length > most ? [tooMany(path, value.length, most)] : []),
    ...(least !== undefined && value.length < least
      ? [wrong(path, value.length, `${path} in body should have at least ${least} items`)]
      : []),
    ...(isObject(inner)
      ? value.flatMap((one, index) => schemaCauses(one, inner, `${path}[${index}]`))
      : []),
    ...twice(value, schema, path),
  ];
}

/** Returns errors for duplicates in a set, or in a list with map keys. */
function twice(value: readonly Json[], schema: JsonObject, path: string): readonly Cause[] {
  const type = schema['x-kubernetes-list-type'];
  if (type !== 'map' && type !== 'set') return [];
  const keys = items(schema['x-kubernetes-list-map-keys']).map(String);
  const idOf = (one: Json): Json =>
    type === 'set' || !isObject(one) ? one : Object.fromEntries(keys.map(key => [key, one[key]]));
  const seen = new Set<string>();
  return value.flatMap((one, index) => {
    const id = idOf(one);
    const text = JSON.stringify(id);
    const again = seen.has(text);
    seen.add(text);
    return again ? [duplicate(`${path}[${index}]`, id)] : [];
  });
}

function objectCauses(value: JsonObject, schema: JsonObject, path: string): readonly Cause[] {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const additional = schema['additionalProperties'];
  const [least, most] = [count(schema, 'minProperties'), count(schema, 'maxProperties')];
  const size = Object.keys(value).length;
  return [
    ...items(schema['required'])
      .map(String)
      .filter(key => value[key] === undefined)
      .map(key => required(at(path, key))),
    ...(least !== undefined && size < least
      ? [wrong(path, size, `${path} in body should have at least ${least} properties`)]
      : []),
    ...(most !== undefined && size > most ? [tooMany(path, size, most)] : []),
    ...Object.entries(value).flatMap(([key, member]) => {
      const inner = isObject(properties[key]) ? properties[key] : additional;
      return isObject(inner) && member !== undefined
        ? schemaCauses(member, inner, at(path, key))
        : [];
    }),
  ];
}

function combinedCauses(value: Json, schema: JsonObject, path: string): readonly Cause[] {
  const fits = (inner: JsonObject): boolean => schemaCauses(value, inner, path).length === 0;
  const shown = JSON.stringify(value);
  const [all, any, one] = [
    objects(schema['allOf']),
    objects(schema['anyOf']),
    objects(schema['oneOf']),
  ];
  const not = schema['not'];
  const says = (rule: string): Cause => ({
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${shown}: ${path} in body ${rule}`,
    field: path,
  });
  return [
    ...all.flatMap(inner => schemaCauses(value, inner, path)),
    ...(any.length > 0 && !any.some(fits)
      ? [says('must validate at least one schema (anyOf)')]
      : []),
    ...(one.length > 0 && one.filter(fits).length !== 1
      ? [says('must validate one and only one schema (oneOf)')]
      : []),
    ...(isObject(not) && fits(not) ? [says('must not validate the schema (not)')] : []),
  ];
}

type Step = string | number | { readonly key: string; readonly value: string };

const step =
  /\.([A-Za-z0-9_-]+)|\['([^']+)'\]|\[(\d+)\]|\[\?\(@\.([A-Za-z0-9_-]+)\s*==\s*["']([^"']*)["']\)\]/y;

/**
 * Parses a JSONPath of a CRD: names, indexes, and a selection by one field; returns undefined for
 * anything else.
 */
export function readPath(path: string): readonly Step[] | undefined {
  const steps: Step[] = [];
  for (let at = 0; at < path.length; at = step.lastIndex) {
    step.lastIndex = at;
    const [, name, quoted, index, key, value] = step.exec(path) ?? [];
    if (name === undefined && quoted === undefined && index === undefined && key === undefined)
      return undefined;
    steps.push(
      name ??
        quoted ??
        (index === undefined ? { key: key ?? '', value: value ?? '' } : Number(index)),
    );
  }
  return steps;
}

/** Returns the value at a path. */
export function follow(value: Json | undefined, steps: readonly Step[]): Json | undefined {
  return steps.reduce<Json | undefined>((here, one) => {
    if (typeof one === 'string') return isObject(here) ? here[one] : undefined;
    if (!Array.isArray(here)) return undefined;
    const list = here as readonly Json[];
    return typeof one === 'number'
      ? list[one]
      : list.find(item => isObject(item) && item[one.key] === one.value);
  }, value);
}
