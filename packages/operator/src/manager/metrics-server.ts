import { hostname } from 'node:os';
import type { Api } from '@drydock/kube-client';
import type { KeyPair, Log, PanicHandler } from '@drydock/utils';
import { errorText, systemClock, UsageError } from '@drydock/utils';
import { makeAuthority, makeServing } from '../admission/certificates/make.ts';
import { Guard } from '../serving/guard.ts';
import type { Metrics } from '../serving/metrics.ts';
import { type Address, listen, listenSecurely, type Page } from '../serving/server.ts';
import { showMounted } from './mounted-certificate.ts';

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
