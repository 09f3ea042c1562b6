import { stringify } from 'yaml';

/** What can be set: the source of values.yaml and of values.schema.json. */

type Setting =
  | {
      readonly about: string;
      readonly schema: Readonly<Record<string, unknown>>;
      readonly value: unknown;
    }
  | { readonly about: string; readonly settings: Settings };
export type Settings = Readonly<Record<string, Setting>>;

export function text(about: string, value: string, more: object = {}): Setting {
  return { about, value, schema: { type: 'string', ...more } };
}
export function flag(about: string, value: boolean): Setting {
  return { about, value, schema: { type: 'boolean' } };
}
export function count(about: string, value: number, minimum: number): Setting {
  return { about, value, schema: { type: 'integer', minimum } };
}
export function texts(about: string): Setting {
  return { about, value: [], schema: { type: 'array', items: { type: 'string' } } };
}
export function map(about: string, value: object = {}): Setting {
  return { about, value, schema: { type: 'object' } };
}
export function group(about: string, settings: Settings): Setting {
  return { about, settings };
}

function lines(settings: Settings, indent: string): readonly string[] {
  return Object.entries(settings).flatMap(([name, setting]) => {
    const about = `${indent}# ${setting.about}`;
    if ('settings' in setting)
      return [about, `${indent}${name}:`, ...lines(setting.settings, `${indent}  `)];
    const yaml = stringify({ [name]: setting.value }, { lineWidth: 0 }).trimEnd();
    return [about, ...yaml.split('\n').map(line => indent + line)];
  });
}

/** values.yaml: every setting with its default and what it is about. */
export function valuesOf(settings: Settings): string {
  return `${lines(settings, '').join('\n')}\n`;
}

function schemaOf(settings: Settings): object {
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      Object.entries(settings).map(([name, setting]) => [
        name,
        'settings' in setting
          ? { ...schemaOf(setting.settings), description: setting.about }
          : { ...setting.schema, description: setting.about, default: setting.value },
      ]),
    ),
  };
}

/** The defaults as they stand in values.yaml. */
export function defaultsOf(settings: Settings): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [
      name,
      'settings' in setting ? defaultsOf(setting.settings) : setting.value,
    ]),
  );
}

/** Names of the settings that have settings in them. */
export function groupsOf(settings: Settings): readonly string[] {
  return Object.entries(settings).flatMap(([name, setting]) =>
    'settings' in setting ? [name] : [],
  );
}

/** values.schema.json: what is no setting, or has a wrong type, is refused by Helm. */
export function valuesSchemaOf(settings: Settings): string {
  const { properties, ...rest } = schemaOf(settings) as { readonly properties: object };
  // Helm puts it there for charts that depend on this one.
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...rest,
    properties: { ...properties, global: { type: 'object' } },
  };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}
