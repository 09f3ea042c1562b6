import type { Env } from '../../support/env.ts';
import { authUrlOf, interfaceOf, loginOf, type NovaConfig, settingsOf } from './config.ts';

const source = 'the environment';

/** OS_USERNAME is the setting `username`. */
const nameOf = (key: string): string => `OS_${key.toUpperCase()}`;

/** Says yes in the many ways in which people do. */
export const isYes = (text: string | undefined): boolean => /^(1|true|yes|on)$/i.test(text ?? '');

/** The OpenStack of the OS_* variables. Throws a NovaConfigError that names the variable that is missing or wrong. */
export const environmentConfig = (env: Env): NovaConfig => {
  const settings = Object.fromEntries(
    Object.entries(env).flatMap(([key, value]) => (key.startsWith('OS_') ? [[key.slice(3).toLowerCase(), value] as const] : [])),
  );
  const reader = settingsOf(settings, source, nameOf);
  const region = reader.get('region_name');
  const caFile = reader.get('cacert');
  return {
    authUrl: authUrlOf(reader.need('auth_url'), 'OS_AUTH_URL', source),
    login: loginOf(reader, reader.get('auth_type'), source),
    interface: interfaceOf(reader.get('interface') ?? reader.get('endpoint_type'), 'OS_INTERFACE', source),
    ...(region !== undefined && { region }),
    ...(caFile !== undefined && { caFile }),
    insecure: isYes(reader.get('insecure')),
    source,
  };
};
