import { randomUUID } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import type { Access } from './objects/api.ts';

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
function plain(data: string | undefined): string | undefined {
  return data === undefined ? undefined : Buffer.from(data, 'base64').toString();
}

function cluster(access: Access): object {
  return {
    server: access.server,
    ...(access.ca === undefined ? {} : { 'certificate-authority-data': base64(access.ca) }),
    ...(access.insecure === true ? { 'insecure-skip-tls-verify': true } : {}),
  };
}

function credentials(access: Access): object {
  return {
    ...(access.token === undefined ? {} : { token: access.token }),
    ...(access.certificate === undefined
      ? {}
      : { 'client-certificate-data': base64(access.certificate) }),
    ...(access.key === undefined ? {} : { 'client-key-data': base64(access.key) }),
  };
}

/** A kubeconfig for one user. JSON is YAML, so nothing else is needed to write it. */
export function writeKubeconfig(
  file: string,
  user: string,
  access: Access,
  namespace = 'default',
): string {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: cluster(access) }],
    users: [{ name: user, user: credentials(access) }],
    contexts: [{ name: 'test', context: { cluster: 'test', user, namespace } }],
    'current-context': 'test',
  };
  // Written anew while somebody reads it, it must not be found half.
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file);
  return file;
}

type Flattened = {
  readonly clusters: readonly {
    readonly cluster: {
      readonly server: string;
      readonly 'certificate-authority-data'?: string;
      readonly 'insecure-skip-tls-verify'?: boolean;
    };
  }[];
  readonly users?:
    | readonly {
        readonly user: {
          readonly token?: string;
          readonly 'client-certificate-data'?: string;
          readonly 'client-key-data'?: string;
        };
      }[]
    | null;
};

/**
 * What `kubectl config view --raw --flatten --minify -o json` printed. Credentials from plugins are
 * not resolved by it and do not work here.
 */
export function accessFrom(json: string): Access {
  const config = JSON.parse(json) as Flattened;
  const cluster = config.clusters[0]?.cluster;
  if (cluster === undefined) throw new Error('the kubeconfig names no cluster');
  const user = config.users?.[0]?.user ?? {};
  const [ca, certificate, key] = [
    cluster['certificate-authority-data'],
    user['client-certificate-data'],
    user['client-key-data'],
  ].map(plain);
  return {
    server: cluster.server.replace(/\/$/, ''),
    ...(ca === undefined ? {} : { ca }),
    ...(cluster['insecure-skip-tls-verify'] === true ? { insecure: true } : {}),
    ...(user.token === undefined ? {} : { token: user.token }),
    ...(certificate === undefined ? {} : { certificate }),
    ...(key === undefined ? {} : { key }),
  };
}
