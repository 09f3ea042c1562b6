import type { Clock } from '../../support/clock.ts';
import type { KeyPair } from '../../support/key-pair.ts';
import type { Log } from '../../support/log.ts';
import type { PanicHandler } from '../../support/panic-handler.ts';
import type { CertificateSet } from './plan.ts';
import { bundleOf } from './self-made.ts';

/** Looks after the certificate for as long as the webhook is served. */

export type FollowOptions = {
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  /** The pair that somebody has put into the container. */
  readonly mounted: () => Promise<KeyPair | undefined>;
  /** The set of our own, renewed if need be. */
  readonly selfMade: (signal: AbortSignal) => Promise<CertificateSet>;
  /** Shows the pair to whoever connects. */
  readonly show: (pair: KeyPair) => void;
  /** Has our own authorities trusted. Never called for mounted certificates: who mounts them looks after that. */
  readonly trust: (pem: string) => void;
};

/** Mounted files are looked at so often: the kubelet itself takes up to a minute to swap them. */
const lookEveryMs = 10_000;
const retryMs = 2000;

type Found = { readonly source: 'mounted' | 'self-made'; readonly pair: KeyPair; readonly bundle?: string };

/** Once there was a mounted certificate it is waited for: making one of our own would overwrite a caBundle that is not ours. */
const find = async ({ mounted, selfMade }: FollowOptions, before: Found | undefined, signal: AbortSignal): Promise<Found> => {
  const pair = await mounted();
  if (pair !== undefined) return { source: 'mounted', pair };
  if (before?.source === 'mounted') return before;
  const set = await selfMade(signal);
  return { source: 'self-made', pair: set.serving, bundle: bundleOf(set) };
};

/** Shows the certificate that is to be shown, and each one after it, until the signal is aborted. Never rejects. */
export const followCertificate = async (options: FollowOptions, signal: AbortSignal): Promise<void> => {
  const { clock, log, defects, show, trust } = options;
  let shown: Found | undefined;
  let problem = '';
  while (!signal.aborted) {
    let pause = lookEveryMs;
    try {
      const found = await find(options, shown, signal);
      // First trusted, then shown: an API server that hears of both at once must not meet a stranger.
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
      if (text !== problem) log.warn('failed to obtain the webhook certificate; retrying', { error: text });
      problem = text;
      pause = retryMs;
    }
    await clock.sleep(pause, signal);
  }
};
