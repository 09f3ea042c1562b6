import { stringify } from 'yaml';

/** What can be set: the source of values.yaml and of values.schema.json. */

type Setting =
  | { readonly about: string; readonly schema: Readonly<Record<string, unknown>>; readonly value: unknown }
  | { readonly about: string; readonly settings: Settings };
export type Settings = Readonly<Record<string, Setting>>;

export const text = (about: string, value: string, more: object = {}): Setting => ({ about, value, schema: { type: 'string', ...more } });
export const flag = (about: string, value: boolean): Setting => ({ about, value, schema: { type: 'boolean' } });
export const count = (about: string, value: number, minimum: number): Setting => ({ about, value, schema: { type: 'integer', minimum } });
export const texts = (about: string): Setting => ({ about, value: [], schema: { type: 'array', items: { type: 'string' } } });
export const map = (about: string, value: object = {}): Setting => ({ about, value, schema: { type: 'object' } });
export const group = (about: string, settings: Settings): Setting => ({ about, settings });

const lines = (settings: Settings, indent: string): readonly string[] =>
  Object.entries(settings).flatMap(([name, setting]) => {
    const about = `${indent}# ${setting.about}`;
    if ('settings' in setting) return [about, `${indent}${name}:`, ...lines(setting.settings, `${indent}  `)];
    const yaml = stringify({ [name]: setting.value }, { lineWidth: 0 }).trimEnd();
    return [about, ...yaml.split('\n').map(line => indent + line)];
  });

/** values.yaml: every setting with its default and what it is about. */
export const valuesOf = (settings: Settings): string => `${lines(settings, '').join('\n')}\n`;

const schemaOf = (settings: Settings): object => ({
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
});

/** The defaults as they stand in values.yaml. */
export const defaultsOf = (settings: Settings): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [name, 'settings' in setting ? defaultsOf(setting.settings) : setting.value]),
  );

/** Names of the settings that have settings in them. */
export const groupsOf = (settings: Settings): readonly string[] =>
  Object.entries(settings).flatMap(([name, setting]) => ('settings' in setting ? [name] : []));

/** values.schema.json: what is no setting, or has a wrong type, is refused by Helm. */
export const valuesSchemaOf = (settings: Settings): string => {
  const { properties, ...rest } = schemaOf(settings) as { readonly properties: object };
  // Helm puts it there for charts that depend on this one.
  const schema = { $schema: 'http://json-schema.org/draft-07/schema#', ...rest, properties: { ...properties, global: { type: 'object' } } };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
};
