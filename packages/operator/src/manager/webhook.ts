import { readFileSync } from 'node:fs';
import { isObject, type JsonObject } from '@drydock/apimachinery';
import { readPlanExpressions } from '@drydock/apis';
import type { Connection } from '@drydock/kube-client';
import type { Log, PanicHandler } from '@drydock/utils';
import { errorText, systemClock, UsageError } from '@drydock/utils';
import { startWebhook, type Webhook } from '../admission/webhook.ts';
import { isOpenShift } from '../discovery/openshift.ts';
import { planProblems } from '../plans/expressions.ts';
import { metricsNames, type SharedCertificate } from './metrics-server.ts';

/** Checked settings of the webhook. */
export type WebhookSettings = {
  readonly port: number;
  /** Namespace of the operator; the connection's when the environment names none. */
  readonly namespace?: string;
  readonly certDir?: string;
  readonly service: string;
  readonly configuration: string;
  readonly extraNames: readonly string[];
  readonly clientCaFile?: string;
  /**
   * Milliseconds for which the webhook responds after SIGTERM: as long as API servers may still
   * send to this replica.
   */
  readonly shutdownDelayMs: number;
};

function clientCaIn(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const cause = errorText(error);
    throw new UsageError(`--webhook-client-ca-file ${file} cannot be read: ${cause}`, {
      cause: error,
    });
  }
}

/** The webhook of this process. */
export type OpenWebhook = Pick<Webhook, 'ready' | 'close'> & {
  /**
   * Keeps serving for a while after the signal, for which `close` waits: API servers still send to
   * a pod that has just begun to terminate.
   */
  lastUntil(signal: AbortSignal): void;
};

/** A disabled webhook: always ready. */
const none: OpenWebhook = { ready: () => true, lastUntil: () => {}, close: async () => {} };

function lasting(webhook: Webhook, delayMs: number): OpenWebhook {
  let over = Promise.resolve();
  const begin = (): void => {
    webhook.drain();
    over = systemClock.sleep(delayMs);
  };
  return {
    ready: () => webhook.ready(),
    lastUntil: signal => signal.addEventListener('abort', begin, { once: true }),
    close: async () => {
      await over;
      await webhook.close();
    },
  };
}

/** Returns the problems of a plan's work, and of its rollback. */
export function problemsOfPlan(plan: JsonObject): readonly string[] {
  const { spec } = plan;
  const own = planProblems(readPlanExpressions(plan));
  if (!isObject(spec) || !isObject(spec['rollback'])) return own;
  return [
    ...own,
    ...planProblems(
      readPlanExpressions({
        ...plan,
        spec: { ...spec, direction: spec['direction'] === 'Rollback' ? 'Forward' : 'Rollback' },
      }),
    ),
  ];
}

/**
 * Serves the webhook, leader or not, until it is closed. Throws a UsageError when the port is not
 * available.
 */
export async function openWebhook(
  settings: WebhookSettings | undefined,
  connection: Connection,
  { log, defects }: { readonly log: Log; readonly defects: PanicHandler },
  certificate: SharedCertificate | undefined,
): Promise<OpenWebhook> {
  if (settings === undefined) return none;
  try {
    const webhook = await startWebhook({
      namespace: connection.namespace,
      ...settings,
      extraNames: [
        ...settings.extraNames,
        ...metricsNames(settings.namespace ?? connection.namespace),
      ],
      clientCa: clientCaIn(settings.clientCaFile),
      shown: pair => certificate?.show(pair),
      api: connection,
      watcher: connection,
      clock: connection.clock,
      log,
      defects,
      planProblems: problemsOfPlan,
      isOpenShift: signal =>
        isOpenShift({ api: connection, clock: systemClock, log, defects, signal }),
    });
    return lasting(webhook, settings.shutdownDelayMs);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const cause = errorText(error);
    throw new UsageError(`failed to serve the webhook on :${settings.port}: ${cause}`, {
      cause: error,
    });
  }
}
