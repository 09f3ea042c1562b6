import { join } from 'node:path';
import type { KeyPair, Log, PanicHandler } from '@drydock/utils';
import { errorText, systemClock, UsageError } from '@drydock/utils';
import { mountedPair } from '../admission/certificates/mounted.ts';

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
