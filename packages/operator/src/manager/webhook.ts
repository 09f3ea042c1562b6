import { readFileSync } from 'node:fs';
import { isObject, type JsonObject, pathSegment, statusMessage } from '@drydock/apimachinery';
import { readPlanExpressions } from '@drydock/apis';
import { type KindAdapter, leaseNames } from '@drydock/core/request';
import type { Api, ApiResponse, Connection } from '@drydock/kube-client';
import { errorText, type Log, type PanicHandler, systemClock, UsageError } from '@drydock/utils';
import { startWebhook, type Webhook } from '../admission/server.ts';
import type { MachineTerms, OpenStackTerms } from '../controller-manager.ts';
import { type DiscoveryOptions, isOpenShift } from '../discovery/served-kinds.ts';
import { planProblems } from '../plans/expressions.ts';
import type { Address } from '../serving/server.ts';
import type { IntakeSettings } from './event-intake.ts';
import { type MetricsSettings, metricsNames, type SharedCertificate } from './metrics-server.ts';

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

/** Checked settings of the operator's process. An undefined address disables its server. */
export type ManagerSettings = {
  readonly metrics: MetricsSettings;
  readonly healthAddress: Address | undefined;
  readonly leaderElect: boolean;
  /** Namespace of the leader's Lease; the connection's when left out. */
  readonly leaderNamespace: string | undefined;
  readonly leaseNamespace: string;
  readonly operatorNamespace: string;
  /** `namespace/name` of this process's pod, from its manifest; undefined outside a cluster. */
  readonly ownPod: string | undefined;
  /** UID of that pod; undefined where its manifest does not pass it. */
  readonly podUid: string | undefined;
  /** Node of that pod. */
  readonly ownNode: string | undefined;
  readonly leaseSeconds: number;
  /** Whether responders that pods name are addressed by EvictionRequests. */
  readonly evictionRequests: 'Auto' | 'Never';
  /** Namespace for new MachineMaintenances; the operator's own when left out. */
  readonly machineNamespace: string | undefined;
  readonly machines: Omit<MachineTerms, 'namespace'>;
  /** Event intake; undefined when disabled. */
  readonly eventIntake: IntakeSettings | undefined;
  /** OpenStack; undefined when nodes are not hypervisors, or the flags name none. */
  readonly openStack: OpenStackTerms | undefined;
  /** File with the sources of metrics and alerts; undefined when gates have none. */
  readonly monitoringConfig: string | undefined;
  /** File with the receivers of notifications; undefined when there are none. */
  readonly notificationConfig: string | undefined;
  /** Webhook; undefined when disabled. */
  readonly webhook: WebhookSettings | undefined;
};

/**
 * Namespaces in which the operators of a cluster coordinate by leases on nodes; created at the
 * start where they are missing, as medik8s' operator does.
 */

function lease(namespace: string) {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'drydock-is-asking', namespace },
  };
}

/**
 * Sends a dry run: it shows whether the namespace exists, and whether leases may be created in it.
 */
function tryLease(api: Api, namespace: string, signal: AbortSignal): Promise<ApiResponse> {
  return api.call(
    {
      method: 'POST',
      path: `/apis/coordination.k8s.io/v1/namespaces/${pathSegment(namespace)}/leases`,
      query: { dryRun: 'All' },
      body: lease(namespace),
    },
    signal,
  );
}

function make(api: Api, name: string, signal: AbortSignal): Promise<ApiResponse> {
  return api.call(
    {
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    },
    signal,
  );
}

async function prepare(api: Api, namespace: string, log: Log, signal: AbortSignal): Promise<void> {
  const tried = await tryLease(api, namespace, signal);
  if (tried.status === 403) {
    const command = `kubectl create rolebinding drydock-node-leases --namespace ${namespace} --clusterrole drydock-node-leases --serviceaccount drydock-system:drydock`;
    return log.warn('not allowed to write node leases, so no node can be held: bind the role', {
      namespace,
      command,
      error: statusMessage(tried),
    });
  }
  if (tried.status !== 404) return;
  const made = await make(api, namespace, signal);
  if (made.status === 201)
    return log.info('created the namespace of the node leases', { namespace });
  if (made.status === 409) return;
  const command = `kubectl create namespace ${namespace}`;
  log.warn(
    'the namespace of the node leases is missing and may not be created, so no node can be held: create it',
    {
      namespace,
      command,
      error: statusMessage(made),
    },
  );
}

/** Creates missing namespaces. Never rejects: a failure shows again with the first lease. */
export async function prepareLeaseNamespaces(
  { api, log, defects, signal }: Omit<DiscoveryOptions, 'clock'>,
  adapters: readonly KindAdapter[],
): Promise<void> {
  for (const namespace of new Set(leaseNames(adapters, 'x').map(one => one.namespace))) {
    try {
      await prepare(api, namespace, log, signal);
    } catch (error) {
      const why = defects.textOf('Process', namespace, error);
      if (!signal.aborted)
        log.debug('failed to read the namespace of the node leases', { namespace, error: why });
    }
  }
}
