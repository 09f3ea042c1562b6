import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Api } from '@drydock/kube-client';
import {
  errorText,
  type KeyPair,
  type Log,
  type PanicHandler,
  systemClock,
  UsageError,
} from '@drydock/utils';
import { makeAuthority, makeServing } from '../admission/certificates/plan.ts';
import { mountedPair } from '../admission/certificates/self-made.ts';
import type { Metrics } from '../serving/metrics.ts';
import { type Address, Guard, listen, listenSecurely, type Page } from '../serving/server.ts';

/** Milliseconds between reads; the kubelet replaces a mounted Secret within a minute. */
const lookEveryMs = 10_000;

function pairIn(folder: string): Promise<KeyPair | undefined> {
  return mountedPair([{ cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }]);
}

/**
 * Delivers tls.crt and tls.key of a folder, and again when they change, until the returned function
 * is called. Throws a UsageError when they are missing at the start; later errors are logged, and
 * the last pair stays in use.
 */
export async function showMounted(
  flag: string,
  folder: string,
  show: (pair: KeyPair) => void,
  { log, defects }: { readonly log: Log; readonly defects: PanicHandler },
): Promise<() => void> {
  const first = await pairIn(folder).catch((error: unknown) => {
    throw new UsageError(`${flag}: ${errorText(error)}`, { cause: error });
  });
  if (first === undefined) throw new UsageError(`${flag} ${folder} has no tls.crt and tls.key`);
  show(first);
  const stop = new AbortController();
  const follow = async (): Promise<void> => {
    let shown = first.cert;
    while (!stop.signal.aborted) {
      await systemClock.sleep(lookEveryMs, stop.signal);
      const pair = await pairIn(folder).catch((error: unknown) => {
        log.warn('failed to reload a certificate', {
          folder,
          error: defects.textOf('Process', folder, error),
        });
        return undefined;
      });
      if (pair === undefined || pair.cert === shown) continue;
      show(pair);
      shown = pair.cert;
      log.info('loaded a certificate', { folder });
    }
  };
  void follow();
  return () => stop.abort();
}

/** Settings for serving metrics. */
export type MetricsSettings = {
  /** Address; undefined when metrics are not served. */
  readonly address: Address | undefined;
  /**
   * Whether metrics are served over HTTPS, only to users whom the API server authenticates and
   * allows to get /metrics.
   */
  readonly secure: boolean;
  readonly certDir: string | undefined;
};

/** The certificate of the webhook, shared with the metrics server. */
export class SharedCertificate {
  #pair: KeyPair | undefined;
  #shown: (pair: KeyPair) => void = () => {};

  show(pair: KeyPair): void {
    this.#pair = pair;
    this.#shown(pair);
  }

  follow(show: (pair: KeyPair) => void): void {
    this.#shown = show;
    if (this.#pair !== undefined) show(this.#pair);
  }
}

/** Returns the DNS names of the Service in deploy/operator, through which Prometheus scrapes. */
export function metricsNames(namespace: string): readonly string[] {
  return [`drydock-metrics.${namespace}.svc`, `drydock-metrics.${namespace}.svc.cluster.local`];
}

async function selfSigned(): Promise<KeyPair> {
  const now = systemClock.now();
  return makeServing(await makeAuthority(now), [hostname(), 'localhost', '127.0.0.1'], now);
}

type Parts = {
  readonly all: Metrics;
  readonly api: Api;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly webhookCertificate: SharedCertificate | undefined;
};

async function openSecurely(
  { address, certDir }: MetricsSettings & { readonly address: Address },
  pages: Readonly<Record<string, Page>>,
  { api, log, defects, webhookCertificate }: Parts,
): Promise<{ readonly port: number; readonly close: () => void }> {
  const { port, close, show } = await listenSecurely(
    address,
    pages,
    new Guard(api, systemClock, defects),
    defects,
  );
  if (certDir !== undefined) {
    const stop = await showMounted('--metrics-cert-dir', certDir, show, { log, defects });
    return { port, close: () => (stop(), close()) };
  }
  if (webhookCertificate === undefined) show(await selfSigned());
  else webhookCertificate.follow(show);
  return { port, close };
}

/**
 * Serves /metrics until the returned function is called. Throws a UsageError when the address or
 * the certificate is not available.
 */
export async function openMetrics(settings: MetricsSettings, parts: Parts): Promise<() => void> {
  const { address, secure } = settings;
  if (address === undefined) return () => {};
  const { all, log } = parts;
  const pages = {
    '/metrics': async () => ({ status: 200, type: all.contentType, text: await all.text() }),
  };
  try {
    const { port, close } = secure
      ? await openSecurely({ ...settings, address }, pages, parts)
      : await listen(address, pages, parts.defects);
    log.info('serving metrics', { port, secure });
    return close;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const cause = errorText(error);
    throw new UsageError(
      `failed to serve metrics on ${address.host ?? ''}:${address.port}: ${cause}`,
      { cause: error },
    );
  }
}

/**
 * Reports errors that no queue, store or timer has caught, and keeps the process alive: otherwise
 * every replica would crash in the same way, and with them the webhook that API requests wait for.
 * Only the task that threw has ended; the loops, the lease and the watches continue.
 */
export function installCrashHandlers(defects: PanicHandler): void {
  process.on(
    'unhandledRejection',
    reason => void defects.report('Process', 'unhandledRejection', reason),
  );
  process.on(
    'uncaughtException',
    error => void defects.report('Process', 'uncaughtException', error),
  );
}
