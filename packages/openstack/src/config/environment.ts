import type { Env } from '@drydock/utils';
import { authUrlOf, interfaceOf, loginOf, type NovaConfig, settingsOf } from './config.ts';

const source = 'the environment';

/** Returns the name of a setting's variable, for example OS_USERNAME for `username`. */
function nameOf(key: string): string {
  return `OS_${key.toUpperCase()}`;
}

/** Returns whether a text is one of the usual forms of "yes". */
export function isYes(text: string | undefined): boolean {
  return /^(1|true|yes|on)$/i.test(text ?? '');
}

/**
 * Returns the OpenStack of the OS_* variables. Throws a NovaConfigError that names the missing or
 * wrong variable.
 */
export function environmentConfig(env: Env): NovaConfig {
  const settings = Object.fromEntries(
    Object.entries(env).flatMap(([key, value]) =>
      key.startsWith('OS_') ? [[key.slice(3).toLowerCase(), value] as const] : [],
    ),
  );
  const reader = settingsOf(settings, source, nameOf);
  const region = reader.get('region_name');
  const caFile = reader.get('cacert');
  return {
    authUrl: authUrlOf(reader.need('auth_url'), 'OS_AUTH_URL', source),
    login: loginOf(reader, reader.get('auth_type'), source),
    interface: interfaceOf(
      reader.get('interface') ?? reader.get('endpoint_type'),
      'OS_INTERFACE',
      source,
    ),
    ...(region !== undefined && { region }),
    ...(caFile !== undefined && { caFile }),
    insecure: isYes(reader.get('insecure')),
    source,
  };
}
