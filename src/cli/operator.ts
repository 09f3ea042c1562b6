import { served } from '../generations/served.ts';
import { type Connection, connect } from '../kube/connect.ts';
import { Operator } from '../operator/operator.ts';
import type { Fence, Overview, Recorder } from '../operator/ports.ts';
import { systemClock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { pinoLog } from '../support/pino-log.ts';
import { type Metrics, metrics } from '../web/metrics.ts';
import { listen, type Page } from '../web/server.ts';
import { ensureNamespace } from './ensure-namespace.ts';
import { UsageError } from './fail.ts';
import { type Address, type OperatorFlags, type OperatorSettings, operatorSettings } from './operator-flags.ts';
import { version } from './version.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Aborted by the first SIGINT or SIGTERM; a second one ends the process at once, as people expect. */
const stopSignal = (log: Log): AbortSignal => {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      log.info('stopping', { signal: name });
      controller.abort();
    });
  }
  return controller.signal;
};

const text = (status: number, body: string): Awaited<ReturnType<Page>> => ({ status, type: 'text/plain; charset=utf-8', text: body });

/** Alive as long as it answers; ready when everything that decides has been read, or when another replica leads. */
const healthPages = (overview: () => Overview, leading: () => boolean): Readonly<Record<string, Page>> => ({
  '/healthz': async () => text(200, 'ok\n'),
  '/readyz': async () => {
    const { unsynced } = overview();
    return leading() && unsynced.length > 0 ? text(503, `not read yet: ${unsynced.join(', ')}\n`) : text(200, 'ok\n');
  },
});

const metricsPages = (all: Metrics): Readonly<Record<string, Page>> => ({
  '/metrics': async () => ({ status: 200, type: all.contentType, text: await all.text() }),
});

const serve = async (what: string, address: Address, pages: Readonly<Record<string, Page>>, log: Log): Promise<() => void> => {
  if (address === undefined) return () => {};
  try {
    const { port, close } = await listen(address, pages);
    log.info(`${what} served`, { port });
    return close;
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${what} cannot be served on ${address.host ?? ''}:${address.port}: ${cause}`, { cause: error });
  }
};

const everyoneActs: Fence = { mayAct: () => true };

/** `drydock operator`: serves until SIGINT or SIGTERM. Throws a UsageError for wrong flags, a KubeconfigError without a cluster. */
export const operator = async (flags: OperatorFlags, env: Env): Promise<void> => {
  const settings = operatorSettings(flags, env, process.stderr.isTTY);
  const log = pinoLog({ format: settings.logFormat, level: settings.logLevel, stream: process.stderr, colour: process.stderr.isTTY });
  const signal = stopSignal(log);
  let leading = false;
  let current: Operator | undefined;
  const overview = (): Overview => current?.overview() ?? nothingYet;
  const all = metrics(overview, () => leading);
  const connection = await connect({
    kubeconfig: flags.kubeconfig,
    context: flags.context,
    env,
    userAgent: `drydock/${version()}`,
    log,
    onAnswer: seen => all.apiCall({ ...seen, status: seen.status ?? 0 }),
  });
  const closers = [
    await serve(
      'health',
      settings.healthAddress,
      healthPages(overview, () => leading),
      log,
    ),
    await serve('metrics', settings.metricsAddress, metricsPages(all), log),
  ];
  log.info('drydock operator', { version: version(), server: connection.server, leaderElect: settings.leaderElect });
  const recorder: Recorder = { record: note => log.debug('event', { note }) };
  const act = async (fence: Fence, stop: AbortSignal): Promise<void> => {
    current = operatorOf(connection, recorder, all, fence, settings, log);
    leading = true;
    try {
      await ensureNamespace(connection, settings.leaseNamespace, systemClock, log, stop);
      await current.run(stop);
    } finally {
      leading = false;
      current = undefined;
    }
  };
  await act(everyoneActs, signal);
  for (const close of closers) close();
  connection.close();
  log.info('stopped');
};

const nothingYet: Overview = {
  maintenances: [],
  heldNodes: 0,
  blockers: [],
  evictionsUnderWay: 0,
  queueDepth: 0,
  unsynced: ['everything'],
};

/** Own leases are renewed when a quarter of their time has passed. */
const renewals = 4;

const operatorOf = (
  connection: Connection,
  recorder: Recorder,
  all: Metrics,
  fence: Fence,
  settings: OperatorSettings,
  log: Log,
): Operator =>
  new Operator({
    api: connection,
    watcher: connection,
    recorder,
    meter: all.meter,
    fence,
    clock: systemClock,
    log,
    dialects: served(settings.leaseNamespace),
    terms: { durationSeconds: settings.leaseSeconds, renewEverySeconds: settings.leaseSeconds / renewals },
  });
