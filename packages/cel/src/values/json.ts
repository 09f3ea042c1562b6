import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import { readDuration, readTimestamp } from './times.ts';
import { List, Mapping, type Value } from './values.ts';

/**
 * A map over a JSON object, converted on access: a node has thousands of fields, an expression
 * needs three.
 */
class JsonMapping extends Mapping {
  readonly #object: JsonObject;
  readonly #schema: JsonObject | undefined;

  constructor(object: JsonObject, schema: JsonObject | undefined) {
    super();
    this.#object = object;
    this.#schema = schema;
  }

  override get size(): number {
    let size = 0;
    for (const key in this.#object) if (this.#object[key] !== undefined) size += 1;
    return size;
  }

  override get(key: Value): Value | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.#object, key)) return undefined;
    const value = this.#object[key];
    return value === undefined
      ? undefined
      : fromJson(value, this.#schema && memberSchema(this.#schema, key));
  }

  override *keys(): Iterable<string> {
    for (const key in this.#object) if (this.#object[key] !== undefined) yield key;
  }
}

function memberSchema(schema: JsonObject, key: string): JsonObject | undefined {
  const properties = schema['properties'];
  const own =
    isObject(properties) && Object.hasOwn(properties, key)
      ? properties[key]
      : schema['additionalProperties'];
  return isObject(own) ? own : undefined;
}

/** Conversions of texts by the format in their schema, as in Kubernetes. */
const formats: Readonly<Record<string, (text: string) => Value>> = {
  'date-time': readTimestamp,
  date: text => readTimestamp(`${text}T00:00:00Z`),
  duration: readDuration,
  byte: text => Uint8Array.fromBase64(text),
};

function formatted(text: string, format: string): Value {
  try {
    return (Object.hasOwn(formats, format) && formats[format]?.(text)) || text;
  } catch {
    // Values of another form than their schema are not stored; this is not the place to refuse
    // them.
    return text;
  }
}

/**
 * Converts JSON of the API: a whole number is an `int`, as in Kubernetes. A schema defines which
 * numbers are `double` all the same, and which texts are timestamps, durations and bytes. Upstream:
 * apiserver/pkg/cel/common/values.go.
 */
export function fromJson(json: Json, schema?: JsonObject): Value {
  if (typeof json === 'number')
    return Number.isSafeInteger(json) && schema?.['type'] !== 'number' ? BigInt(json) : json;
  if (typeof json === 'string') {
    const format = schema?.['format'];
    return typeof format === 'string' ? formatted(json, format) : json;
  }
  if (Array.isArray(json)) {
    const items = schema?.['items'];
    return List.reading(json as readonly Json[], item =>
      fromJson(item, isObject(items) ? items : undefined),
    );
  }
  return isObject(json) ? new JsonMapping(json, schema) : (json as null | boolean);
}
