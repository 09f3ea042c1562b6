import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import {
  type Clock,
  type Env,
  type Log,
  type PanicHandler,
  silentLog,
  systemClock,
} from '@drydock/utils';
import type { Api, ApiCall, Watcher } from './api.ts';
import {
  inClusterCredentials,
  inClusterNamespace,
  inClusterServer,
  isInCluster,
  serviceAccountFolder,
} from './config/files.ts';
import { type Kubeconfig, KubeconfigError, loadKubeconfig } from './config/kubeconfig.ts';
import {
  chooseContext,
  type Overrides,
  proxyFor,
  userCredentials,
} from './config/user-credentials.ts';
import type { Credentials } from './http/credentials.ts';
import { type FinishedCall, Transport } from './http/transport.ts';
import { reflectorWatcher } from './watch/reflector.ts';

/** IMF-fixdate (RFC 9110, 5.6.7), the format that servers write. */
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Rounding error of a Date header, which has whole seconds, rounded down. */
const roundingMs = 1000;

/** Bounds of the milliseconds by which the server is ahead of the base clock. */
type Bounds = { readonly least: number; readonly most: number };

/**
 * The API server's time, from the Date header of its responses. Timestamps of objects come from the
 * server; a process that compares them with its own clock decides wrongly once the two differ.
 * Returns the base clock's time before the first response, and as long as both agree to the second.
 * The time goes back only when the server's clock does, or when the first response shows that the
 * local clock is ahead. Durations (`sleep`, `after`) are those of the base clock.
 */
export class ServerClock implements Clock {
  readonly #base: Clock;
  #bounds: Bounds = { least: Number.NEGATIVE_INFINITY, most: Number.POSITIVE_INFINITY };
  #differenceMs = 0;

  constructor(base: Clock) {
    this.#base = base;
  }

  now(): Temporal.Instant {
    const now = this.#base.now();
    return this.#differenceMs === 0 ? now : now.add({ milliseconds: this.#differenceMs });
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return this.#base.sleep(milliseconds, signal);
  }

  after(milliseconds: number, task: () => void): () => void {
    return this.#base.after(milliseconds, task);
  }

  /**
   * Records the Date of one response, with the moments of the base clock at which the request was
   * sent and the response arrived. Each response leaves an uncertainty of a second or more, so the
   * bounds of several are intersected. A response that contradicts the bounds replaces them: a
   * clock was set, or another API server responded.
   */
  observe(date: string | undefined, sentAt: Temporal.Instant, answeredAt: Temporal.Instant): void {
    const serverMs = date !== undefined && httpDate.test(date) ? Date.parse(date) : Number.NaN;
    if (Number.isNaN(serverMs)) return;
    const seen: Bounds = {
      least: serverMs - answeredAt.epochMilliseconds,
      most: serverMs + roundingMs - sentAt.epochMilliseconds,
    };
    const both: Bounds = {
      least: Math.max(seen.least, this.#bounds.least),
      most: Math.min(seen.most, this.#bounds.most),
    };
    this.#bounds = both.least <= both.most ? both : seen;
    this.#differenceMs = Math.min(
      Math.max(this.#differenceMs, this.#bounds.least),
      this.#bounds.most,
    );
  }
}

/** Options for finding the cluster: kubectl's flags and environment variables. */
export type ConnectOptions = {
  /** The flag `--kubeconfig`: this file and no other. */
  readonly kubeconfig?: string | undefined;
  /** The flag `--context`. */
  readonly context?: string | undefined;
  /** Values of other flags, which override the kubeconfig. */
  readonly overrides?: Overrides | undefined;
  /** Upper limit of every call's timeout, in milliseconds. */
  readonly requestTimeoutMs?: number | undefined;
  /**
   * Environment: KUBECONFIG, HOME, KUBERNETES_SERVICE_HOST, POD_NAMESPACE, HTTPS_PROXY and more.
   * Credential programs get all of it.
   */
  readonly env: Env;
  /** User agent, for example `drydock/1.0`. */
  readonly userAgent: string;
  readonly clock?: Clock;
  readonly log?: Log;
  /** Random source, uniform in [0, 1). */
  readonly random?: () => number;
  /** Callback for every finished call, for metrics. */
  readonly onResponse?: (seen: FinishedCall) => void;
  /** Handler of defects in the watches; they are only logged when this is left out. */
  readonly defects?: PanicHandler;
  /** Whether credential programs may prompt the user at the terminal. */
  readonly interactive?: boolean;
  /** Folder of the pod's service account; set by tests. */
  readonly serviceAccountFolder?: string;
};

/** A client for one API server with the credentials of one user. */
export type Connection = Api &
  Watcher & {
    /** URL of the API server, for example `https://10.0.0.1:6443`. */
    readonly server: string;
    /** Namespace of the context, or of the pod. */
    readonly namespace: string;
    /** The API server's time, for comparison with timestamps of objects. */
    readonly clock: Clock;
    /** Closes all connections. In-flight calls reject; stop watches before. */
    close(): void;
  };

type Target = {
  readonly server: string;
  readonly namespace: string;
  readonly credentials: Credentials;
  readonly proxyUrl?: string | undefined;
};

/**
 * Finds cluster and credentials by kubectl's precedence (`--kubeconfig`; the files of KUBECONFIG;
 * ~/.kube/config; the pod's service account) and creates a client for them. Sends no request yet.
 * Throws a KubeconfigError when no configuration is found or when it is invalid.
 */
export async function connect(options: ConnectOptions): Promise<Connection> {
  const { clock = systemClock, log = silentLog, random = Math.random } = options;
  const target = await find(options, clock, log);
  const serverClock = new ServerClock(clock);
  const transport = new Transport({
    server: target.server,
    credentials: target.credentials,
    userAgent: options.userAgent,
    clock,
    proxy: proxyFor(target.server, target.proxyUrl, options.env),
    // Follows client-go, k8s.io/apimachinery/pkg/util/net.
    http2: (options.env['DISABLE_HTTP2'] ?? '') === '',
    onDate: (date, sentAt, answeredAt) => serverClock.observe(date, sentAt, answeredAt),
    onResponse: options.onResponse,
  });
  const watcher = reflectorWatcher({
    api: transport,
    clock,
    log,
    random,
    defects: options.defects,
  });
  return {
    server: target.server,
    namespace: target.namespace,
    clock: serverClock,
    call: (call, signal) => transport.call(limited(call, options.requestTimeoutMs), signal),
    watch: (collection, project, sink, signal) => watcher.watch(collection, project, sink, signal),
    close: () => transport.close(),
  };
}

/** Timeout of calls that set none; the same as the transport's. */
const defaultTimeoutMs = 30_000;

function limited(call: ApiCall, mostMs: number | undefined): ApiCall {
  return mostMs === undefined
    ? call
    : { ...call, timeoutMs: Math.min(call.timeoutMs ?? defaultTimeoutMs, mostMs) };
}

async function find(options: ConnectOptions, clock: Clock, log: Log): Promise<Target> {
  const config = await load(options);
  if (config !== undefined) return fromKubeconfig(config, options, clock, log);
  const { env, context, serviceAccountFolder: folder = serviceAccountFolder } = options;
  if (context !== undefined)
    throw new KubeconfigError(
      `there is no kubeconfig to take the context "${context}" from; give one with --kubeconfig`,
    );
  if (!isInCluster(env)) {
    throw new KubeconfigError(
      'no cluster is configured: there is no file of KUBECONFIG, no ~/.kube/config, and this is no pod; name one with --kubeconfig, or try things on that of drydock demo',
    );
  }
  const namespace = await inClusterNamespace(folder, env);
  return {
    server: inClusterServer(env),
    namespace,
    credentials: inClusterCredentials(folder, { clock, log }),
  };
}

function fromKubeconfig(
  config: Kubeconfig,
  options: ConnectOptions,
  clock: Clock,
  log: Log,
): Target {
  const chosen = chooseContext(config, options.context, options.overrides);
  const { server } = chosen.cluster;
  if (!/^https?:$/.test(URL.canParse(server) ? new URL(server).protocol : '')) {
    throw new KubeconfigError(
      `context "${chosen.name}" has the server ${server}, which is no http:// or https:// address`,
    );
  }
  const credentials = userCredentials(chosen, {
    env: options.env,
    clock,
    log,
    interactive: options.interactive ?? false,
  });
  return {
    server,
    namespace: chosen.namespace,
    credentials,
    proxyUrl: chosen.cluster['proxy-url'],
  };
}

/** Loads the kubeconfig; returns undefined when no file exists. */
async function load({ kubeconfig, env }: ConnectOptions): Promise<Kubeconfig | undefined> {
  if (kubeconfig !== undefined && kubeconfig !== '') return loadKubeconfig([kubeconfig], 'fail');
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter(path => path !== '');
  const files = listed.length > 0 ? listed : homeFiles(env);
  const config = await loadKubeconfig(files, 'skip');
  if (config.files.length > 0) return config;
  if (listed.length > 0 && !isInCluster(env))
    throw new KubeconfigError(`none of the files of KUBECONFIG exists: ${listed.join(', ')}`);
  return undefined;
}

function homeFiles(env: Env): readonly string[] {
  const home = env['HOME'] ?? env['USERPROFILE'];
  const file = join(home ?? '', '.kube', 'config');
  return home !== undefined && home !== '' && existsSync(file) ? [file] : [];
}
