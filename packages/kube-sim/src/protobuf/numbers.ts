import texts from './numbers.json' with { type: 'json' };

/**
 * Protobuf field numbers of Kubernetes' types: generated from the tags in the Go sources (from
 * which its .proto files are generated too) by test/conformance/types, which also checks
 * numbers.json. `1=name` is a field, `2=+VolumeSource` a struct whose fields are inlined in the
 * JSON of the type itself.
 */
export type NumberedField =
  | { readonly kind: 'field'; readonly key: string }
  | { readonly kind: 'inline'; readonly type: string };

const kinds: Readonly<Record<string, string | undefined>> = texts.kinds;
const types: Readonly<Record<string, string | undefined>> = texts.types;
const known = new Map<string, ReadonlyMap<number, NumberedField>>();

/** Type whose schemas have their own protobuf types; clients send definitions as JSON. */
const definition = 'apiextensions.CustomResourceDefinition';

/**
 * Returns the type of a kind; undefined for kinds that are read as JSON only, and for unknown ones.
 */
export function typeOfKind(apiVersion: string, kind: string): string | undefined {
  const found =
    kind === 'DeleteOptions'
      ? 'meta.DeleteOptions'
      : kinds[`${apiVersion.replace('policy/v1beta1', 'policy/v1')}/${kind}`];
  return found === definition ? undefined : found;
}

function numberedField(text: string, type: string): NumberedField {
  return text.startsWith('+')
    ? { kind: 'inline', type: `${type.slice(0, type.indexOf('.') + 1)}${text.slice(1)}` }
    : { kind: 'field', key: text };
}

/** Returns the fields of a type by their numbers; empty for a type without fields. */
export function numbersOf(type: string): ReadonlyMap<number, NumberedField> {
  const found = known.get(type);
  if (found !== undefined) return found;
  const numbered = (types[type] ?? '')
    .split(' ')
    .filter(entry => entry !== '')
    .map(entry => {
      const cut = entry.indexOf('=');
      return [Number(entry.slice(0, cut)), numberedField(entry.slice(cut + 1), type)] as const;
    });
  const fields = new Map(numbered);
  known.set(type, fields);
  return fields;
}
