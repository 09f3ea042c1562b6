import type { Env } from '@drydock/utils';

/** Settings for reaching an OpenStack, from any source. */

/** An error in the configuration; the message names the key and its place, and never a secret. */
export class NovaConfigError extends Error {
  override readonly name = 'NovaConfigError';
}

/** Reference to an object by name or by id. */
export type NameOrId = { readonly name: string } | { readonly id: string };

type Scope = { readonly project: NameOrId; readonly projectDomain?: NameOrId };

export type Login =
  | {
      readonly kind: 'password';
      readonly user: NameOrId;
      readonly userDomain?: NameOrId;
      readonly password: string;
      readonly scope: Scope;
    }
  | {
      readonly kind: 'applicationCredential';
      readonly credential: NameOrId;
      readonly secret: string;
      /** Owner of the application credential, where it is given by name. */
      readonly user?: NameOrId;
      readonly userDomain?: NameOrId;
    };

export type EndpointInterface = 'internal' | 'public' | 'admin';

export type NovaConfig = {
  /** URL of Keystone, ending in `/v3`. */
  readonly authUrl: string;
  readonly login: Login;
  readonly region?: string;
  readonly interface: EndpointInterface;
  readonly caFile?: string;
  readonly insecure?: boolean;
  /** Origin of the settings, for messages. */
  readonly source: string;
};

type Settings = Readonly<Record<string, string | undefined>>;

/**
 * Returns a reader of settings that reports the name and place of a missing one. Empty ones count
 * as missing.
 */
export function settingsOf(
  settings: Settings,
  source: string,
  nameOf: (key: string) => string = key => key,
) {
  const get = (key: string): string | undefined =>
    settings[key] === '' ? undefined : settings[key];
  return {
    get,
    need: (key: string): string => {
      const value = get(key);
      if (value === undefined) throw new NovaConfigError(`${nameOf(key)} is missing in ${source}`);
      return value;
    },
    has: (key: string): boolean => get(key) !== undefined,
  };
}

type Reader = ReturnType<typeof settingsOf>;

/** Returns Keystone's URL with the supported version. */
export function authUrlOf(text: string, key: string, source: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new NovaConfigError(`${key} in ${source} is no http:// or https:// address: ${text}`);
  }
  const bare = text.replace(/\/+$/, '');
  // Version 3 is at the same place as the earlier ones, whose URLs are still in users' files.
  return `${bare.replace(/\/v(3|2\.0)(\/auth\/tokens)?$/, '')}/v3`;
}

function named(
  reader: Reader,
  idKeys: readonly string[],
  nameKeys: readonly string[],
): NameOrId | undefined {
  for (const key of idKeys) if (reader.has(key)) return { id: reader.need(key) };
  for (const key of nameKeys) if (reader.has(key)) return { name: reader.need(key) };
  return undefined;
}

function domain(reader: Reader, prefix: 'user' | 'project'): NameOrId | undefined {
  return (
    named(reader, [`${prefix}_domain_id`], [`${prefix}_domain_name`]) ??
    named(
      reader,
      ['domain_id', 'default_domain_id', 'default_domain'],
      ['domain_name', 'default_domain_name'],
    )
  );
}

function credentialLogin(reader: Reader): Login {
  const user = named(reader, ['user_id'], ['username']);
  const userDomain = domain(reader, 'user');
  const credential = named(reader, ['application_credential_id'], ['application_credential_name']);
  if (credential === undefined) reader.need('application_credential_id');
  return {
    kind: 'applicationCredential',
    credential: credential ?? { id: '' },
    secret: reader.need('application_credential_secret'),
    ...(user && { user }),
    ...(userDomain && { userDomain }),
  };
}

function passwordLogin(reader: Reader): Login {
  const userDomain = domain(reader, 'user');
  const projectDomain = domain(reader, 'project');
  const user = named(reader, ['user_id'], ['username']) ?? { name: reader.need('username') };
  const project = named(reader, ['project_id', 'tenant_id'], ['project_name', 'tenant_name']) ?? {
    name: reader.need('project_name'),
  };
  const byName: NameOrId = { id: 'default' };
  return {
    kind: 'password',
    user,
    // Users who name no domain mean Keystone's default one.
    ...('name' in user && { userDomain: userDomain ?? byName }),
    password: reader.need('password'),
    scope: {
      project,
      ...('name' in project && { projectDomain: projectDomain ?? userDomain ?? byName }),
    },
  };
}

const methods: ReadonlySet<string> = new Set(['password', 'v3password', 'v3applicationcredential']);

/**
 * Returns the login for these settings (keys as in the `auth` of a clouds.yaml). Throws a
 * NovaConfigError for missing ones.
 */
export function loginOf(reader: Reader, authType: string | undefined, source: string): Login {
  if (authType !== undefined && !methods.has(authType)) {
    throw new NovaConfigError(
      `auth_type ${authType} in ${source} is not served; it may be password or v3applicationcredential`,
    );
  }
  const isCredential =
    authType === 'v3applicationcredential' ||
    reader.has('application_credential_id') ||
    reader.has('application_credential_secret');
  return isCredential ? credentialLogin(reader) : passwordLogin(reader);
}

/**
 * Reads the name of an interface, also as `internalURL`. Throws a NovaConfigError for any other
 * word.
 */
export function interfaceOf(
  text: string | undefined,
  key: string,
  source: string,
): EndpointInterface {
  const word = (text ?? 'internal').replace(/URL$/, '');
  if (word === 'internal' || word === 'public' || word === 'admin') return word;
  throw new NovaConfigError(`${key} in ${source} is ${word}; it may be internal, public or admin`);
}

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
