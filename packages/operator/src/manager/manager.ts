import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { KindAdapter } from '@drydock/core/request';
import type { ConnectOptions, Fence, Recorder } from '@drydock/kube-client';
import { type Connection, connect, EventRecorder, elect } from '@drydock/kube-client';
import type { Env, Log } from '@drydock/utils';
import { errorText, PanicHandler, systemClock, UsageError } from '@drydock/utils';
import { ActiveManager, type ControllerManager, controllerManager } from '../controller-manager.ts';
import {
  isOpenShift,
  kindsHere,
  leaderLease,
  logServerRelease,
} from '../discovery/served-kinds.ts';
import { Notifier } from '../monitoring/notifications/notifier.ts';
import { openMonitoring } from '../monitoring/sources.ts';
import type { NodeReconcilerOptions } from '../node/node-reconciler.ts';
import type { AlertSilencer, Monitoring } from '../ports.ts';
import { type Metrics, metrics } from '../serving/metrics.ts';
import { type Address, listen, type Page } from '../serving/server.ts';
import { openEventIntake } from './event-intake.ts';
import { installCrashHandlers, openMetrics, SharedCertificate } from './metrics-server.ts';
import {
  type ManagerSettings,
  type OpenWebhook,
  openWebhook,
  prepareLeaseNamespaces,
} from './webhook.ts';

/** Milliseconds for events that are still in flight at the end. */
const flushMs = 2000;

function text(status: number, body: string): Awaited<ReturnType<Page>> {
  return { status, type: 'text/plain; charset=utf-8', text: body };
}

/**
 * Returns the health pages. Live as long as it responds; ready when the webhook responds (of every
 * replica, leader or not) and all inputs of decisions have synced, or another replica leads;
 * forbidden collections are named. Not ready any more after the stop signal.
 */
function healthPages(
  activeManager: ActiveManager,
  webhook: { ready(): boolean },
  mayStandBy: boolean,
  signal: AbortSignal,
): Readonly<Record<string, Page>> {
  return {
    '/healthz': async () => text(200, 'ok\n'),
    '/readyz': async () => {
      if (signal.aborted) return text(503, 'shutting down\n');
      if (!webhook.ready()) return text(503, 'the webhook is not served yet\n');
      if (!activeManager.acts && mayStandBy) return text(200, 'ok\n');
      const { unsynced, withheld } = activeManager.overview();
      // Forbidden collections stay unread until the right is granted: webhook and drains continue
      // meanwhile, and a rollout does not wait for it.
      const unread = unsynced.filter(name => !withheld.includes(name));
      if (unread.length > 0) return text(503, `not read yet: ${unread.join(', ')}\n`);
      return text(
        200,
        withheld.length > 0 ? `ok, without what may not be read: ${withheld.join(', ')}\n` : 'ok\n',
      );
    },
  };
}

async function serve(
  what: string,
  address: Address | undefined,
  pages: Readonly<Record<string, Page>>,
  { log, defects }: { readonly log: Log; readonly defects: PanicHandler },
): Promise<() => void> {
  if (address === undefined) return () => {};
  try {
    const { port, close } = await listen(address, pages, defects);
    log.info(`${what} served`, { port });
    return close;
  } catch (error) {
    const cause = errorText(error);
    throw new UsageError(
      `failed to serve ${what} on ${address.host ?? ''}:${address.port}: ${cause}`,
      { cause: error },
    );
  }
}

/** Fence without leader election: this process is the only one, and may always act. */
const everyoneActs: Fence = { mayAct: () => true };

/** Number of renewals per duration: own leases are renewed after a quarter of it. */
const renewals = 4;

type Parts = {
  readonly connection: Connection;
  readonly recorder: Recorder;
  readonly metrics: Metrics;
  readonly settings: ManagerSettings;
  readonly monitoring: (Monitoring & AlertSilencer) | undefined;
  readonly log: Log;
  readonly defects: PanicHandler;
  /** Namespace of the leader's lease. */
  readonly leaderNamespace: string;
};

/** Kinds that the operator finds in the cluster when it starts. */
type ServedKinds = { readonly adapters: readonly KindAdapter[]; readonly openShift: boolean };

function controllerManagerOf(
  { connection, recorder, metrics, settings, monitoring, log, defects, leaderNamespace }: Parts,
  found: ServedKinds,
  fence: Fence,
  self: NodeReconcilerOptions['self'],
  namespace: string,
): ControllerManager {
  return controllerManager({
    ...found,
    ...(self && { self }),
    api: connection,
    watcher: connection,
    recorder,
    meter: metrics.meter,
    fence,
    clock: connection.clock,
    log,
    defects,
    evictionRequests: settings.evictionRequests,
    terms: {
      durationSeconds: settings.leaseSeconds,
      renewEverySeconds: settings.leaseSeconds / renewals,
    },
    machines: { ...settings.machines, namespace },
    ...(settings.ownNode !== undefined && { ownNode: settings.ownNode }),
    ...(settings.ownPod !== undefined && { ownPod: settings.ownPod }),
    haltLease: { namespace: leaderNamespace, name: leaderLease },
    openStack: settings.openStack,
    novaMeter: metrics.novaMeter,
    monitoring,
  });
}

/**
 * Returns the namespace of new MachineMaintenances: the operator's own, unless a flag overrides it.
 */
function machineNamespace({ settings, connection }: Parts): string {
  return settings.machineNamespace ?? connection.namespace;
}

/**
 * Milliseconds for which a replica that has handed over leaves the lease to others; a sole replica
 * leads again after that.
 */
const standBackMs = 10_000;

/**
 * Milliseconds after a handover in which the replica evicts its own pod itself where a replacement
 * can run: no other replica was there to lead.
 */
const handedOverMs = 600_000;

async function findOut(
  { connection: api, settings, log, defects }: Parts,
  signal: AbortSignal,
): Promise<ServedKinds | undefined> {
  const discoveryOptions = { api, clock: systemClock, log, defects, signal };
  await logServerRelease(discoveryOptions);
  const adapters = await kindsHere(discoveryOptions, settings);
  const openShift = await isOpenShift(discoveryOptions);
  if (adapters === undefined) return undefined;
  await prepareLeaseNamespaces(discoveryOptions, adapters);
  return { adapters, openShift };
}

/**
 * Returns the common prefix of the identities of this pod's processes. Each listens on the pod's
 * port for the probes before it contends: since this process has that port, the others have ended,
 * and their lease is taken without waiting.
 */
function ownPrefixOf({ podUid, healthAddress }: ManagerSettings): string | undefined {
  return podUid === undefined || healthAddress === undefined || healthAddress.port === 0
    ? undefined
    : `${hostname()}_${podUid}_`;
}

/**
 * Contends for the lease repeatedly; hands it over when this replica's own pod is the last one to
 * leave a node.
 */
async function takeTurns(
  parts: Parts,
  activeManager: ActiveManager,
  namespace: string,
  pod: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { connection, log, defects } = parts;
  const ownPrefix = ownPrefixOf(parts.settings);
  const identity = `${ownPrefix ?? `${hostname()}_`}${randomUUID()}`;
  let handedOverAt = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    const resign = new AbortController();
    const handOver = (): void => {
      if (!resign.signal.aborted)
        log.info('handing over: the node of this replica is being drained', { pod });
      handedOverAt = performance.now();
      resign.abort();
    };
    const handedOver = (): boolean =>
      !resign.signal.aborted && performance.now() - handedOverAt <= handedOverMs;
    const self =
      pod === undefined ? undefined : { pod, node: parts.settings.ownNode, handOver, handedOver };
    const lead = async (fence: Fence, stop: AbortSignal): Promise<void> => {
      const end = AbortSignal.any([stop, resign.signal]);
      const found = await findOut(parts, end);
      if (found !== undefined)
        await activeManager.serve(
          controllerManagerOf(parts, found, fence, self, machineNamespace(parts)),
          end,
        );
    };
    const contender = {
      api: connection,
      watcher: connection,
      clock: systemClock,
      random: Math.random,
      log,
      defects,
      identity,
      ownPrefix,
    };
    await elect({ ...contender, namespace, name: leaderLease, signal, lead });
    if (resign.signal.aborted) await systemClock.sleep(standBackMs, signal);
  }
}

/** Runs at once, or whenever this replica leads; a leader that loses its lease contends again. */
async function work(
  parts: Parts,
  activeManager: ActiveManager,
  leaderNamespace: string,
  signal: AbortSignal,
): Promise<void> {
  const { settings } = parts;
  if (settings.leaderElect)
    return takeTurns(parts, activeManager, leaderNamespace, settings.ownPod, signal);
  const found = await findOut(parts, signal);
  const pod = settings.ownPod;
  const self =
    pod === undefined
      ? undefined
      : { pod, node: settings.ownNode, handOver: () => {}, handedOver: () => true };
  if (found !== undefined)
    await activeManager.serve(
      controllerManagerOf(parts, found, everyoneActs, self, machineNamespace(parts)),
      signal,
    );
}

function connectFor(
  { cluster, env, version, log }: ManagerOptions,
  all: Metrics,
  defects: PanicHandler,
): Promise<Connection> {
  return connect({
    ...cluster,
    env,
    userAgent: `drydock/${version}`,
    log,
    onResponse: seen => all.apiCall({ ...seen, status: seen.status ?? 0 }),
    defects,
  });
}

function openNotifier(
  { notificationConfig: file }: ManagerSettings,
  { notificationMeter: meter }: Metrics,
  log: Log,
  defects: PanicHandler,
): Notifier | undefined {
  return file === undefined
    ? undefined
    : new Notifier(file, { clock: systemClock, log, defects, meter });
}

function openSources(
  { monitoringConfig: file }: ManagerSettings,
  { monitoringMeter: meter }: Metrics,
  log: Log,
): ReturnType<typeof openMonitoring> | undefined {
  return file === undefined ? undefined : openMonitoring(file, { clock: systemClock, log, meter });
}

function eventRecorder(connection: Connection, log: Log, defects: PanicHandler): EventRecorder {
  return new EventRecorder({
    api: connection,
    clock: connection.clock,
    log,
    defects,
    random: Math.random,
    instance: hostname(),
  });
}

/** Serves health, metrics and the intake of events. Returns what ends each. */
async function serveAll(
  settings: ManagerSettings,
  activeManager: ActiveManager,
  webhook: OpenWebhook,
  signal: AbortSignal,
  metricsOptions: Parameters<typeof openMetrics>[1],
): Promise<readonly (() => void)[]> {
  const { log, defects } = metricsOptions;
  const pages = healthPages(activeManager, webhook, settings.leaderElect, signal);
  return [
    await serve('health', settings.healthAddress, pages, { log, defects }),
    await openEventIntake(settings.eventIntake, activeManager, { log, defects }),
    await openMetrics(settings.metrics, metricsOptions),
  ];
}

/** Parts of the process that a server beside it shares. */
export type SharedParts = {
  readonly connection: Connection;
  readonly log: Log;
  readonly defects: PanicHandler;
};

/** Options of the operator's process. */
type ManagerOptions = {
  readonly settings: ManagerSettings;
  /** Choice of the cluster. */
  readonly cluster: Pick<
    ConnectOptions,
    'kubeconfig' | 'context' | 'overrides' | 'requestTimeoutMs'
  >;
  readonly env: Env;
  readonly version: string;
  readonly log: Log;
  /**
   * Function that serves something else in every replica, leader or not, for example a dashboard;
   * returns what closes it.
   */
  readonly serveBeside?: (shared: SharedParts, signal: AbortSignal) => Promise<() => Promise<void>>;
};

/** The operator's process, connected to its cluster. */
type Manager = {
  /**
   * Runs until the signal is aborted; resolves when everything is closed. Throws a UsageError when
   * an address or a file of the settings is not available. Called once.
   */
  start(signal: AbortSignal): Promise<void>;
};

/**
 * Connects to the cluster and begins to serve the webhook, if there is one. Throws a UsageError for
 * settings that are not usable, a KubeconfigError without a cluster.
 */
export async function newManager(options: ManagerOptions): Promise<Manager> {
  const { settings, version, log } = options;
  const activeManager = new ActiveManager();
  const all = metrics(
    () => activeManager.overview(),
    () => activeManager.acts,
  );
  const defects = new PanicHandler({ log, meter: all.meter });
  installCrashHandlers(defects);
  const connection = await connectFor(options, all, defects);
  const events = eventRecorder(connection, log, defects);
  const notifier = openNotifier(settings, all, log, defects);
  const recorder: Recorder = {
    record: event => [events, notifier].forEach(each => each?.record(event)),
  };
  const webhookCertificate = settings.webhook && new SharedCertificate();
  const shared = { connection, log, defects };
  const webhook = await openWebhook(settings.webhook, connection, shared, webhookCertificate);
  const start = async (signal: AbortSignal): Promise<void> => {
    webhook.lastUntil(signal);
    const closers = await serveAll(settings, activeManager, webhook, signal, {
      all,
      api: connection,
      log,
      defects,
      webhookCertificate,
    });
    const { leaderElect } = settings;
    log.info('drydock operator', { version, server: connection.server, leaderElect });
    const leaderNamespace = settings.leaderNamespace ?? connection.namespace;
    const monitoring = openSources(settings, all, log);
    const parts = { ...shared, recorder, metrics: all, settings, monitoring, leaderNamespace };
    const closeBeside = await options.serveBeside?.(shared, signal);
    await work(parts, activeManager, leaderNamespace, signal);
    await Promise.all([events.drain(flushMs), notifier?.close(flushMs)]);
    await closeBeside?.();
    await webhook.close();
    for (const close of closers) close();
    connection.close();
    log.info('stopped');
  };
  return { start };
}
