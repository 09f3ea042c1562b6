import { getCACertificates } from 'node:tls';
import {
  type Clock,
  checkedProxy,
  type Env,
  type Log,
  ProxyError,
  proxyFromEnvironment,
} from '@drydock/utils';
import { type CredentialSource, Credentials, constant } from '../http/credentials.ts';
import type { RequestHeaders } from '../http/exchange.ts';
import { ExecSource } from './exec.ts';
import { caFile, certificatePair, type FileOptions, type PemFile, tokenFile } from './files.ts';
import {
  type AuthInfo,
  type ExecConfig,
  type Kubeconfig,
  type KubeconfigCluster,
  KubeconfigError,
} from './kubeconfig.ts';

/** One context of a kubeconfig, with the cluster and user that it names. */
type ResolvedContext = {
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

/** Options for building the credentials of a kubeconfig's user. */
export type UserOptions = {
  readonly env: Env;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether credential programs may prompt the user at the terminal. */
  readonly interactive: boolean;
};

/**
 * Returns the credentials of a context. Throws a KubeconfigError for settings that kubectl refuses
 * too, and for settings that Drydock does not support.
 */
export function userCredentials(
  { name, cluster, user }: ResolvedContext,
  options: UserOptions,
): Credentials {
  refuse(name, cluster, user);
  // Follows client-go (clientcmd, IsConfigTransportTLS): secrets are not sent over plain HTTP,
  // where everyone on the path can read them.
  const isSafe = cluster.server?.startsWith('https:') ?? false;
  if (!isSafe && hasSecret(user))
    options.log.warn("the server is http://: the user's credentials are not sent to it", {
      context: name,
      server: cluster.server,
    });
  const secrets = isSafe
    ? [clientCertificate(user, options), bearer(user, options), program(cluster, user, options)]
    : [];
  const sources = [authority(cluster, options), ...secrets];
  const servername = cluster['tls-server-name'];
  return new Credentials(
    sources.filter(source => source !== undefined),
    {
      headers: impersonation(user),
      tls: {
        ...(servername === undefined || servername === '' ? {} : { servername }),
        ...(cluster['insecure-skip-tls-verify'] === true ? { rejectUnauthorized: false } : {}),
      },
    },
  );
}

function refuse(name: string, cluster: KubeconfigCluster, user: AuthInfo): void {
  const provider = user['auth-provider'];
  const hasAuthority =
    cluster['certificate-authority'] !== undefined ||
    cluster['certificate-authority-data'] !== undefined;
  const reason =
    provider !== undefined
      ? `uses the auth-provider "${provider.name ?? ''}", which kubectl no longer has either (since 1.26); use an exec credential program instead`
      : user.token !== undefined && user.username !== undefined
        ? 'has both a token and a username; only one is allowed'
        : cluster['insecure-skip-tls-verify'] === true && hasAuthority
          ? 'has both a certificate authority and insecure-skip-tls-verify; only one is allowed'
          : undefined;
  if (reason !== undefined) throw new KubeconfigError(`context "${name}" ${reason}`);
  if (user.exec !== undefined) checkExec(name, user.exec);
}

function checkExec(name: string, exec: ExecConfig): void {
  if (!exec.command)
    throw new KubeconfigError(`context "${name}" has an exec user without a command`);
  if (!/^client\.authentication\.k8s\.io\/v1(beta1)?$/.test(exec.apiVersion)) {
    throw new KubeconfigError(
      `context "${name}" has an exec user with apiVersion ${exec.apiVersion}; only client.authentication.k8s.io/v1 and v1beta1 are supported`,
    );
  }
}

function authority(cluster: KubeconfigCluster, options: FileOptions): CredentialSource | undefined {
  if (cluster['insecure-skip-tls-verify'] === true || !cluster.server?.startsWith('https:'))
    return undefined;
  const data = cluster['certificate-authority-data'];
  if (data !== undefined && data !== '') return constant({ ca: decode(data) });
  const file = cluster['certificate-authority'];
  if (file !== undefined && file !== '') return caFile(file, options);
  // Trusts the machine's authorities, as kubectl does. Node alone would trust only its built-in
  // list.
  return constant({
    ca: [...new Set([...getCACertificates('default'), ...getCACertificates('system')])],
  });
}

function hasSecret(user: AuthInfo): boolean {
  return [
    user.token,
    user.tokenFile,
    user.username,
    user.exec,
    user['client-key'],
    user['client-key-data'],
  ].some(one => one !== undefined && one !== '');
}

function clientCertificate(user: AuthInfo, options: FileOptions): CredentialSource | undefined {
  const cert = pem(user['client-certificate-data'], user['client-certificate']);
  const key = pem(user['client-key-data'], user['client-key']);
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined)
    throw new KubeconfigError('the user has a client certificate without a key, or a key alone');
  return certificatePair(cert, key, options);
}

function pem(data: string | undefined, file: string | undefined): PemFile | undefined {
  if (data !== undefined && data !== '') return { data: decode(data) };
  return file === undefined || file === '' ? undefined : { file };
}

function bearer(user: AuthInfo, options: FileOptions): CredentialSource | undefined {
  if (user.tokenFile !== undefined && user.tokenFile !== '')
    return tokenFile(user.tokenFile, options, user.token);
  if (user.token !== undefined && user.token !== '')
    return constant({ authorization: `Bearer ${user.token}` });
  if (user.username === undefined || user.username === '') return undefined;
  return constant({
    authorization: `Basic ${Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64')}`,
  });
}

const program = (
  cluster: KubeconfigCluster,
  user: AuthInfo,
  options: UserOptions,
): CredentialSource | undefined =>
  // Follows client-go: a user with a token or a password needs no program.
  user.exec === undefined ||
  user.token !== undefined ||
  user.tokenFile !== undefined ||
  user.username !== undefined
    ? undefined
    : new ExecSource({ ...options, config: user.exec, cluster: clusterInfo(cluster) });

/**
 * Returns `spec.cluster` of KUBERNETES_EXEC_INFO; the kubeconfig keeps the program's settings in an
 * extension with a fixed name.
 */
function clusterInfo(cluster: KubeconfigCluster): Readonly<Record<string, unknown>> {
  const { extensions = [], 'certificate-authority': _file, ...info } = cluster;
  const config = extensions.find(
    ({ name }) => name === 'client.authentication.k8s.io/exec',
  )?.extension;
  return config === undefined ? info : { ...info, config };
}

/**
 * Returns the impersonation headers;
 * kubernetes.io/docs/reference/access-authn-authz/authentication, "User impersonation".
 */
function impersonation(user: AuthInfo): RequestHeaders {
  const { as, 'as-uid': uid, 'as-groups': groups = [], 'as-user-extra': extra = {} } = user;
  const extras = Object.entries(extra).map(
    ([key, values]) =>
      [`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`, values] as const,
  );
  return {
    ...(as === undefined ? {} : { 'impersonate-user': as }),
    ...(uid === undefined ? {} : { 'impersonate-uid': uid }),
    ...(groups.length === 0 ? {} : { 'impersonate-group': groups }),
    ...Object.fromEntries(extras),
  };
}

function decode(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

/**
 * Returns the URL of the proxy for the server, or undefined for none. The kubeconfig's `proxy-url`
 * takes precedence and has no exceptions; otherwise the environment decides, as for kubectl. Throws
 * a KubeconfigError for proxies that do not speak HTTP.
 */
export function proxyFor(
  server: string,
  proxyUrl: string | undefined,
  env: Env,
): string | undefined {
  try {
    if (proxyUrl !== undefined && proxyUrl !== '')
      return checkedProxy(proxyUrl, "the kubeconfig's proxy-url");
    return proxyFromEnvironment(env)(new URL(server));
  } catch (error) {
    if (error instanceof ProxyError) throw new KubeconfigError(error.message, { cause: error });
    throw error;
  }
}
