import type { Clock, KeyPair, Log, PanicHandler } from '@drydock/utils';
import type { CertificateSet } from './plan.ts';
import { bundleOf } from './self-made.ts';

/** Options of a follower that keeps the certificate for as long as the webhook is served. */

export type FollowOptions = {
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  /** Function that reads the pair that is mounted into the container. */
  readonly mounted: () => Promise<KeyPair | undefined>;
  /** Function that returns the operator's own set, renewed if necessary. */
  readonly selfMade: (signal: AbortSignal) => Promise<CertificateSet>;
  /** Function that presents the pair to new connections. */
  readonly show: (pair: KeyPair) => void;
  /**
   * Function that makes API servers trust the operator's own authorities. Never called for mounted
   * certificates: their provider takes care of that.
   */
  readonly trust: (pem: string) => void;
};

/**
 * Milliseconds between two reads of mounted files: the kubelet itself takes up to a minute to swap
 * them.
 */
const lookEveryMs = 10_000;
const retryMs = 2000;

type Found = {
  readonly source: 'mounted' | 'self-made';
  readonly pair: KeyPair;
  readonly bundle?: string;
};

/**
 * Finds the certificate. After a mounted certificate it waits for the next one: a certificate of
 * our own would overwrite a caBundle that is not ours.
 */
async function find(
  { mounted, selfMade }: FollowOptions,
  before: Found | undefined,
  signal: AbortSignal,
): Promise<Found> {
  const pair = await mounted();
  if (pair !== undefined) return { source: 'mounted', pair };
  if (before?.source === 'mounted') return before;
  const set = await selfMade(signal);
  return { source: 'self-made', pair: set.serving, bundle: bundleOf(set) };
}

/**
 * Presents the current certificate and each one after it, until the signal is aborted. Never
 * rejects.
 */
export async function followCertificate(
  options: FollowOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, defects, show, trust } = options;
  let shown: Found | undefined;
  let problem = '';
  while (!signal.aborted) {
    let pause = lookEveryMs;
    try {
      const found = await find(options, shown, signal);
      // Trust comes first, then the certificate: an API server that learns of both at once must not
      // meet an unknown authority.
      if (found.bundle !== undefined) trust(found.bundle);
      if (found.pair.cert !== shown?.pair.cert || found.pair.key !== shown.pair.key) {
        show(found.pair);
        log.info('loaded webhook certificate', { source: found.source });
      }
      shown = found;
      problem = '';
    } catch (error) {
      if (signal.aborted) return;
      const text = defects.textOf('Webhook', 'certificate', error);
      if (text !== problem)
        log.warn('failed to obtain the webhook certificate; retrying', { error: text });
      problem = text;
      pause = retryMs;
    }
    await clock.sleep(pause, signal);
  }
}
