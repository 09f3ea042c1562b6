import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, resolve, sep } from 'node:path';
import { parse } from 'yaml';
import { textOf } from '../http/credentials.ts';

/** A cluster of a kubeconfig (clientcmd/api/v1 Cluster); paths are absolute. */
export type KubeconfigCluster = {
  readonly server?: string;
  readonly 'certificate-authority'?: string;
  readonly 'certificate-authority-data'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'tls-server-name'?: string;
  readonly 'proxy-url'?: string;
  readonly 'disable-compression'?: boolean;
  readonly extensions?: readonly { readonly name: string; readonly extension: unknown }[];
};

/** Settings for running a credential program (clientcmd/api/v1 ExecConfig). */
export type ExecConfig = {
  readonly apiVersion: string;
  readonly command: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly installHint?: string;
  readonly provideClusterInfo?: boolean;
  readonly interactiveMode?: 'Never' | 'IfAvailable' | 'Always';
};

/** A user of a kubeconfig (clientcmd/api/v1 AuthInfo); paths are absolute. */
export type AuthInfo = {
  readonly token?: string;
  readonly tokenFile?: string;
  readonly 'client-certificate'?: string;
  readonly 'client-certificate-data'?: string;
  readonly 'client-key'?: string;
  readonly 'client-key-data'?: string;
  readonly username?: string;
  readonly password?: string;
  readonly as?: string;
  readonly 'as-uid'?: string;
  readonly 'as-groups'?: readonly string[];
  readonly 'as-user-extra'?: Readonly<Record<string, readonly string[]>>;
  readonly exec?: ExecConfig;
  readonly 'auth-provider'?: { readonly name?: string };
};

type Context = { readonly cluster?: string; readonly user?: string; readonly namespace?: string };

/** Several kubeconfig files, merged. */
export type Kubeconfig = {
  readonly files: readonly string[];
  readonly currentContext: string | undefined;
  readonly contexts: ReadonlyMap<string, Context>;
  readonly clusters: ReadonlyMap<string, KubeconfigCluster>;
  readonly users: ReadonlyMap<string, AuthInfo>;
};

/** An error in the kubeconfig; the message names the fault and the file. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
}

type Named<K extends string, V> = { readonly [key in K]?: V | null } & { readonly name?: string };

type Raw = {
  readonly 'current-context'?: string;
  readonly contexts?: readonly Named<'context', Context>[] | null;
  readonly clusters?: readonly Named<'cluster', KubeconfigCluster>[] | null;
  readonly users?: readonly Named<'user', AuthInfo>[] | null;
};

/**
 * Reads and merges files by kubectl's rules
 * (kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig): for each name,
 * and for the current context, the first file wins; paths are relative to their file. `missing`
 * decides how a file that does not exist is handled.
 */
export async function loadKubeconfig(
  files: readonly string[],
  missing: 'fail' | 'skip',
): Promise<Kubeconfig> {
  const contexts = new Map<string, Context>();
  const clusters = new Map<string, KubeconfigCluster>();
  const users = new Map<string, AuthInfo>();
  const found: string[] = [];
  let currentContext: string | undefined;
  for (const file of files) {
    const raw = await read(file, missing);
    if (raw === undefined) continue;
    found.push(file);
    currentContext ??= raw['current-context'] === '' ? undefined : raw['current-context'];
    addNew(contexts, raw.contexts, entry => withoutNulls(entry.context ?? {}));
    addNew(clusters, raw.clusters, entry =>
      clusterIn(dirname(file), withoutNulls(entry.cluster ?? {})),
    );
    addNew(users, raw.users, entry => userIn(dirname(file), withoutNulls(entry.user ?? {})));
  }
  return { files: found, currentContext, contexts, clusters, users };
}

function addNew<E extends { readonly name?: string }, V>(
  to: Map<string, V>,
  entries: readonly E[] | null | undefined,
  value: (entry: E) => V,
) {
  for (const entry of entries ?? [])
    if (entry.name !== undefined && !to.has(entry.name)) to.set(entry.name, value(entry));
}

async function read(file: string, missing: 'fail' | 'skip'): Promise<Raw | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (missing === 'skip' && error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return undefined;
    throw new KubeconfigError(`cannot read the kubeconfig ${file}: ${textOf(error)}`, {
      cause: error,
    });
  }
  try {
    const raw: unknown = parse(text);
    if (raw === null) return {};
    if (typeof raw !== 'object' || Array.isArray(raw)) throw new Error('it is not a mapping');
    return raw;
  } catch (error) {
    throw new KubeconfigError(
      `the kubeconfig ${file} is not valid YAML for kubectl: ${textOf(error)}`,
      { cause: error },
    );
  }
}

/** Drops keys with a null value: `key:` without a value is null in YAML and means an absent key. */
function withoutNulls<E extends object>(entry: E): E {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null)) as E;
}

function clusterIn(folder: string, cluster: KubeconfigCluster): KubeconfigCluster {
  return {
    ...cluster,
    ...absolute(folder, cluster, ['certificate-authority']),
  };
}

function userIn(folder: string, user: AuthInfo): AuthInfo {
  const { exec } = user;
  // Follows kubectl: a bare name is looked up in PATH, a name with a separator is a path.
  const hasPath =
    exec !== undefined &&
    typeof exec.command === 'string' &&
    exec.command.includes(sep) &&
    !isAbsolute(exec.command);
  return {
    ...user,
    ...absolute(folder, user, ['client-certificate', 'client-key', 'tokenFile']),
    ...(hasPath ? { exec: { ...exec, command: resolve(folder, exec.command) } } : {}),
  };
}

function absolute<K extends string>(
  folder: string,
  entry: { readonly [key in K]?: string },
  keys: readonly K[],
): { readonly [key in K]?: string } {
  const paths: { [key in K]?: string } = {};
  for (const key of keys) {
    const path = entry[key];
    if (path !== undefined && path !== '') paths[key] = resolve(folder, path);
  }
  return paths;
}
