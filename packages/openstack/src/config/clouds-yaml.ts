import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import { type Env, errorText } from '@drydock/utils';
import { parse } from 'yaml';
import {
  authUrlOf,
  environmentConfig,
  interfaceOf,
  isYes,
  loginOf,
  type NovaConfig,
  NovaConfigError,
  settingsOf,
} from './config.ts';

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new NovaConfigError(`cannot read ${file}: ${errorText(error)}`, { cause: error });
  }
}

/**
 * Reads a YAML file with a map; returns undefined when it does not exist. Throws a NovaConfigError
 * that quotes nothing of it.
 */
function readMap(file: string): JsonObject | undefined {
  const text = textOf(file);
  if (text === undefined) return undefined;
  let parsed: unknown;
  try {
    parsed = parse(text);
  } catch (error) {
    // The parser's message quotes the line, which may be the one with the password.
    const { linePos } = error as { readonly linePos?: readonly { readonly line: number }[] };
    throw new NovaConfigError(
      `${file} is not valid YAML${linePos?.[0] === undefined ? '' : `: line ${linePos[0].line}`}`,
    );
  }
  if (!isObject(parsed)) throw new NovaConfigError(`${file} is no map of keys and values`);
  return parsed;
}

/** Returns numbers and booleans as text: a password may be 1234. */
function asText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}

/** Returns every scalar of a map as text. */
function textsOf(map: JsonObject): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, asText(value)]));
}

/**
 * Returns the paths that openstacksdk searches: the file of OS_CLIENT_CONFIG_FILE, the current
 * folder, the user's, the system's; the first existing one counts.
 */
function searched(env: Env): readonly string[] {
  const own = env['OS_CLIENT_CONFIG_FILE'];
  if (own !== undefined && own !== '') return [own];
  const home = env['HOME'] ?? '';
  const user = env['XDG_CONFIG_HOME'] || join(home, '.config');
  const folders = ['.', join(user, 'openstack'), '/etc/openstack'];
  return folders.flatMap(folder => [join(folder, 'clouds.yaml'), join(folder, 'clouds.yml')]);
}

function merged(one: JsonObject, other: JsonObject): JsonObject {
  const result: Record<string, Json | undefined> = { ...one };
  for (const [key, value] of Object.entries(other)) {
    const old = result[key];
    result[key] = isObject(old) && isObject(value) ? merged(old, value) : value;
  }
  return result;
}

function cloudIn(map: JsonObject | undefined, name: string): JsonObject | undefined {
  const cloud = isObject(map?.['clouds']) ? map['clouds'][name] : undefined;
  return isObject(cloud) ? cloud : undefined;
}

function find(env: Env): { readonly file: string; readonly map: JsonObject } {
  const files = searched(env);
  for (const file of files) {
    const map = readMap(file);
    if (map !== undefined) return { file, map };
  }
  throw new NovaConfigError(`there is no clouds.yaml: looked for ${files.join(', ')}`);
}

function secretsOf(file: string, name: string): JsonObject {
  const files = [join(dirname(file), 'secure.yaml'), join(dirname(file), 'secure.yml')];
  return (
    files.map(secure => cloudIn(readMap(secure), name)).find(cloud => cloud !== undefined) ?? {}
  );
}

function regionOf(cloud: JsonObject): string | undefined {
  const several = Array.isArray(cloud['regions']) ? cloud['regions'] : [];
  const only = several.length === 1 ? several[0] : undefined;
  return asText(cloud['region_name']) ?? asText(isObject(only) ? only['name'] : only);
}

/**
 * Returns a cloud of clouds.yaml, merged with secure.yaml beside it; searches as openstacksdk does.
 * Throws a NovaConfigError that names the file and the missing or wrong key.
 */
function cloudConfig(name: string, env: Env): NovaConfig {
  const { file, map } = find(env);
  const plain = cloudIn(map, name);
  if (plain === undefined) {
    const known = isObject(map['clouds']) ? Object.keys(map['clouds']).sort() : [];
    throw new NovaConfigError(
      `${file} has no cloud ${name}; it has ${known.length === 0 ? 'none' : known.join(', ')}`,
    );
  }
  if (plain['profile'] !== undefined || plain['cloud'] !== undefined) {
    throw new NovaConfigError(
      `cloud ${name} of ${file} refers to a profile, which is not served: write its auth_url out`,
    );
  }
  const cloud = merged(plain, secretsOf(file, name));
  const source = `cloud ${name} of ${file}`;
  const auth = isObject(cloud['auth']) ? cloud['auth'] : {};
  const reader = settingsOf(textsOf(auth), source, key => `auth.${key}`);
  const region = regionOf(cloud);
  const caFile = asText(cloud['cacert']);
  return {
    authUrl: authUrlOf(reader.need('auth_url'), 'auth.auth_url', source),
    login: loginOf(reader, asText(cloud['auth_type']), source),
    interface: interfaceOf(
      asText(cloud['interface']) ?? asText(cloud['endpoint_type']),
      'interface',
      source,
    ),
    ...(region !== undefined && { region }),
    ...(caFile !== undefined && { caFile }),
    insecure: cloud['verify'] === false || isYes(asText(cloud['insecure'])),
    source,
  };
}

/**
 * Reads the flat file of nova-kubernetes-drain: IdentityEndpoint, Username, Password, TenantName,
 * DomainID; and what it lacked: Region, Interface, CAFile, Insecure. Throws a NovaConfigError that
 * names file and key.
 */
function seedConfig(file: string): NovaConfig {
  const map = readMap(file);
  if (map === undefined)
    throw new NovaConfigError(`there is no file ${file}; name another with --config-path`);
  const { need, get } = settingsOf(textsOf(map), file);
  const domain = { id: get('DomainID') ?? 'default' };
  const region = get('Region');
  const caFile = get('CAFile');
  const word = get('Interface') ?? 'internal';
  if (word !== 'internal' && word !== 'public' && word !== 'admin') {
    throw new NovaConfigError(
      `Interface in ${file} is ${word}; it may be internal, public or admin`,
    );
  }
  return {
    authUrl: authUrlOf(need('IdentityEndpoint'), 'IdentityEndpoint', file),
    login: {
      kind: 'password',
      user: { name: need('Username') },
      userDomain: domain,
      password: need('Password'),
      scope: { project: { name: need('TenantName') }, projectDomain: domain },
    },
    interface: word,
    ...(region !== undefined && { region }),
    ...(caFile !== undefined && { caFile }),
    insecure: isYes(get('Insecure')),
    source: file,
  };
}

/** Options of a command line for the OpenStack. */
export type NovaWhere = {
  /** Path of a file of nova-kubernetes-drain. */
  readonly configPath?: string | undefined;
  /** Name of a cloud in clouds.yaml. */
  readonly cloud?: string | undefined;
  readonly region?: string | undefined;
  readonly interface?: string | undefined;
  readonly caFile?: string | undefined;
  readonly insecure?: boolean | undefined;
};

const defaultFile = 'config.yaml';

function base({ configPath, cloud }: NovaWhere, env: Env): NovaConfig {
  if (configPath !== undefined) return seedConfig(configPath);
  const chosen = cloud ?? env['OS_CLOUD'];
  if (chosen !== undefined && chosen !== '') return cloudConfig(chosen, env);
  if ((env['OS_AUTH_URL'] ?? '') !== '') return environmentConfig(env);
  if (existsSync(defaultFile)) return seedConfig(defaultFile);
  throw new NovaConfigError(
    `no OpenStack is configured: there is no --config-path, no --cloud, no OS_CLOUD or OS_AUTH_URL in the environment, and no ${defaultFile} here`,
  );
}

/**
 * Returns the configuration: `--config-path`; else `--cloud` or OS_CLOUD in clouds.yaml; else the
 * OS_* variables; else config.yaml in the current folder, as nova-kubernetes-drain had it. Flags
 * override it. Throws a NovaConfigError that names what to correct.
 */
export function findNovaConfig(where: NovaWhere, env: Env): NovaConfig {
  const found = base(where, env);
  const { region, caFile, insecure } = where;
  return {
    ...found,
    ...(region !== undefined && { region }),
    ...(where.interface !== undefined && {
      interface: interfaceOf(where.interface, '--interface', 'the command line'),
    }),
    ...(caFile !== undefined && { caFile }),
    ...(insecure === true && { insecure }),
  };
}
