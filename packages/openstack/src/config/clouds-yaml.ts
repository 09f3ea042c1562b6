import { dirname, join } from 'node:path';
import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import type { Env } from '@drydock/utils';
import {
  authUrlOf,
  interfaceOf,
  loginOf,
  type NovaConfig,
  NovaConfigError,
  settingsOf,
} from './config.ts';
import { isYes } from './environment.ts';
import { asText, readMap, textsOf } from './yaml-file.ts';

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
export function cloudConfig(name: string, env: Env): NovaConfig {
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
