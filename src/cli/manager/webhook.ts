import { readFileSync } from 'node:fs';
import { startWebhook, type Webhook } from '../../admission/webhook.ts';
import type { Connection } from '../../kube/connect.ts';
import { systemClock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import { UsageError } from '../shared/fail.ts';
import { isOpenShift } from '../shared/openshift.ts';
import { metricsNames, type SharedCertificate } from './metrics-server.ts';
import type { WebhookSettings } from './webhook-flags.ts';

const clientCaIn = (file: string | undefined): string | undefined => {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--webhook-client-ca-file ${file} cannot be read: ${cause}`, { cause: error });
  }
};

/** No webhook: nothing has to be waited for. */
const none: Pick<Webhook, 'ready' | 'close'> = { ready: () => true, close: async () => {} };

/** Serves the webhook, leader or not, until it is closed. Throws a UsageError when the port cannot be had. */
export const openWebhook = async (
  settings: WebhookSettings | undefined,
  connection: Connection,
  log: Log,
  certificate: SharedCertificate | undefined,
): Promise<Pick<Webhook, 'ready' | 'close'>> => {
  if (settings === undefined) return none;
  try {
    return await startWebhook({
      namespace: connection.namespace,
      ...settings,
      extraNames: [...settings.extraNames, ...metricsNames(settings.namespace ?? connection.namespace)],
      clientCa: clientCaIn(settings.clientCaFile),
      shown: pair => certificate?.show(pair),
      api: connection,
      watcher: connection,
      clock: systemClock,
      log,
      isOpenShift: signal => isOpenShift(connection, systemClock, log, signal),
    });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const cause = error instanceof Error ? error.message : String(error);
    throw new UsageError(`failed to serve the webhook on :${settings.port}: ${cause}`, { cause: error });
  }
};
