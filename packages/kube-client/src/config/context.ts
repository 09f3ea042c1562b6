import {
  type AuthInfo,
  type Kubeconfig,
  type KubeconfigCluster,
  KubeconfigError,
} from './kubeconfig.ts';

/** One context of a kubeconfig, with the cluster and user that it names. */
export type ResolvedContext = {
  readonly name: string;
  readonly namespace: string;
  readonly cluster: KubeconfigCluster & { readonly server: string };
  readonly user: AuthInfo;
};

/**
 * Values of flags that override the kubeconfig, each on its own: kubectl's `--cluster`, `--user`,
 * `--server`, `--token`, `--as` and so on.
 */
export type Overrides = {
  /** Names of entries, instead of those that the context names. */
  readonly clusterName?: string | undefined;
  readonly userName?: string | undefined;
  readonly cluster?: Partial<KubeconfigCluster>;
  readonly user?: Partial<AuthInfo>;
};

/**
 * Fields that a given field replaces because they state the same in another form (clientcmd's
 * overrides).
 */
const overruled: Readonly<Record<string, readonly string[]>> = {
  'certificate-authority': ['certificate-authority-data', 'insecure-skip-tls-verify'],
  'insecure-skip-tls-verify': ['certificate-authority', 'certificate-authority-data'],
  'client-certificate': ['client-certificate-data'],
  'client-key': ['client-key-data'],
  token: ['tokenFile', 'username', 'password', 'exec', 'auth-provider'],
};

function overridden<T extends object>(found: T, given: Partial<T> = {}): T {
  const gone = new Set(Object.keys(given).flatMap(key => overruled[key] ?? []));
  return {
    ...(Object.fromEntries(Object.entries(found).filter(([key]) => !gone.has(key))) as T),
    ...given,
  };
}

/**
 * Returns the requested context, else the current one, with the overrides applied. Throws a
 * KubeconfigError that names the missing entry, its file, and the entries that exist.
 */
export function chooseContext(
  config: Kubeconfig,
  requested?: string,
  overrides: Overrides = {},
): ResolvedContext {
  const where = config.files.join(', ');
  const name = requested ?? config.currentContext;
  if (name === undefined) {
    throw new KubeconfigError(
      `the kubeconfig ${where} has no current context; choose one with --context: ${listOf(config.contexts)}`,
    );
  }
  const context = config.contexts.get(name);
  if (context === undefined)
    throw new KubeconfigError(
      `there is no context "${name}" in ${where}; there are: ${listOf(config.contexts)}`,
    );
  const cluster = overridden(
    clusterOf(config, name, overrides.clusterName ?? context.cluster ?? ''),
    overrides.cluster,
  );
  const user = overridden(
    userOf(config, name, overrides.userName ?? context.user ?? ''),
    overrides.user,
  );
  const { server } = cluster;
  if (server === undefined || server === '')
    throw new KubeconfigError(`the cluster "${context.cluster ?? ''}" in ${where} has no server`);
  const namespace =
    context.namespace === undefined || context.namespace === '' ? 'default' : context.namespace;
  return { name, namespace, cluster: { ...cluster, server }, user };
}

function clusterOf(
  { clusters, files }: Kubeconfig,
  context: string,
  name: string,
): KubeconfigCluster {
  const cluster = clusters.get(name);
  if (cluster === undefined)
    throw new KubeconfigError(
      `context "${context}" names the cluster "${name}", which is not in ${files.join(', ')}`,
    );
  return cluster;
}

function userOf({ users, files }: Kubeconfig, context: string, name: string): AuthInfo {
  const user = name === '' ? {} : users.get(name);
  if (user === undefined)
    throw new KubeconfigError(
      `context "${context}" names the user "${name}", which is not in ${files.join(', ')}`,
    );
  return user;
}

const shown = 12;

function listOf(contexts: ReadonlyMap<string, unknown>): string {
  const names = [...contexts.keys()].sort();
  if (names.length === 0) return 'none';
  const more = names.length > shown ? ` and ${names.length - shown} more` : '';
  return `${names.slice(0, shown).join(', ')}${more}`;
}
