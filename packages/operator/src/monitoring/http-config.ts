import type { Reader } from './config-reader.ts';

/**
 * HTTP settings for a server. Keys are a subset of Prometheus' own http_config
 * (https://prometheus.io/docs/prometheus/latest/configuration/configuration/#http_config); secrets
 * are in files of their own.
 */

/** HTTP settings; paths of files are absolute. */
export type HttpConfig = {
  readonly authorization?: { readonly type: string; readonly credentialsFile: string };
  readonly basicAuth?: { readonly username: string; readonly passwordFile: string };
  readonly tls: {
    readonly caFile?: string;
    readonly certFile?: string;
    readonly keyFile?: string;
    readonly serverName?: string;
    readonly insecure: boolean;
  };
};

/** Keys that `httpConfigOf` reads. */
export const httpKeys = ['authorization', 'basic_auth', 'tls_config'] as const;

const tlsKeys = ['ca_file', 'cert_file', 'key_file', 'server_name', 'insecure_skip_verify'];

function tlsOf(reader: Reader): HttpConfig['tls'] {
  if (!reader.has('tls_config')) return { insecure: false };
  const tls = reader.inner('tls_config', tlsKeys);
  tls.both('cert_file', 'key_file');
  return {
    ...(tls.has('ca_file') && { caFile: tls.path('ca_file') }),
    ...(tls.has('cert_file') && { certFile: tls.path('cert_file'), keyFile: tls.path('key_file') }),
    ...(tls.has('server_name') && { serverName: tls.text('server_name') }),
    insecure: tls.flag('insecure_skip_verify'),
  };
}

function credentialsOf(reader: Reader): Omit<HttpConfig, 'tls'> {
  reader.either('authorization', 'basic_auth');
  if (reader.has('authorization')) {
    const authorization = reader.inner('authorization', ['type', 'credentials_file']);
    return {
      authorization: {
        type: authorization.text('type', 'Bearer'),
        credentialsFile: authorization.path('credentials_file'),
      },
    };
  }
  if (!reader.has('basic_auth')) return {};
  const basic = reader.inner('basic_auth', ['username', 'password_file']);
  return {
    basicAuth: { username: basic.text('username'), passwordFile: basic.path('password_file') },
  };
}

/**
 * Returns credentials and TLS settings of one server. Throws a ConfigFileError that names the
 * error.
 */
export function httpConfigOf(reader: Reader): HttpConfig {
  return { ...credentialsOf(reader), tls: tlsOf(reader) };
}
