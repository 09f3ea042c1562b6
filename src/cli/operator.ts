import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { served } from '../generations/served.ts';
import { type Connection, connect } from '../kube/connect.ts';
import { EventRecorder } from '../kube/events.ts';
import { elect } from '../kube/leader.ts';
import { Operator } from '../operator/operator.ts';
import type { Fence, Overview } from '../operator/ports.ts';
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

/** The name that the replaced operator uses: it and Drydock never act at the same time. */
const leaderLease = '135b1886.medik8s.io';

/** Events that are still on their way at the end get this long. */
const flushMs = 2000;

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
const healthPages = (duty: Duty, mayStandBy: boolean): Readonly<Record<string, Page>> => ({
  '/healthz': async () => text(200, 'ok\n'),
  '/readyz': async () => {
    const { unsynced } = duty.overview();
    return (duty.acts || !mayStandBy) && unsynced.length > 0 ? text(503, `not read yet: ${unsynced.join(', ')}\n`) : text(200, 'ok\n');
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

const nothingYet: Overview = {
  maintenances: [],
  heldNodes: 0,
  blockers: [],
  evictionsUnderWay: 0,
  queueDepth: 0,
  unsynced: ['everything'],
};

/** Without leader election this process is the only one: it may always act. */
const everyoneActs: Fence = { mayAct: () => true };

/** Own leases are renewed when a quarter of their time has passed. */
const renewals = 4;

/** The operator that acts at the moment, if this replica does. */
class Duty {
  #operator: Operator | undefined;

  get acts(): boolean {
    return this.#operator !== undefined;
  }

  overview(): Overview {
    return this.#operator?.overview() ?? nothingYet;
  }

  /** Acts until the signal is aborted. */
  async serve(operator: Operator, signal: AbortSignal): Promise<void> {
    this.#operator = operator;
    try {
      await operator.run(signal);
    } finally {
      this.#operator = undefined;
    }
  }
}

type Parts = {
  readonly connection: Connection;
  readonly recorder: EventRecorder;
  readonly metrics: Metrics;
  readonly settings: OperatorSettings;
  readonly log: Log;
};

const operatorOf = ({ connection, recorder, metrics, settings, log }: Parts, fence: Fence): Operator =>
  new Operator({
    api: connection,
    watcher: connection,
    recorder,
    meter: metrics.meter,
    fence,
    clock: systemClock,
    log,
    dialects: served(settings.leaseNamespace),
    terms: { durationSeconds: settings.leaseSeconds, renewEverySeconds: settings.leaseSeconds / renewals },
  });

/** Acts at once, or whenever this replica is the leader; a leader that loses its lease contends again. */
const work = async (parts: Parts, duty: Duty, leaderNamespace: string, signal: AbortSignal): Promise<void> => {
  const { connection, settings, log } = parts;
  const lead = async (fence: Fence, stop: AbortSignal): Promise<void> => {
    await ensureNamespace(connection, settings.leaseNamespace, systemClock, log, stop);
    if (!stop.aborted) await duty.serve(operatorOf(parts, fence), stop);
  };
  if (!settings.leaderElect) return lead(everyoneActs, signal);
  const identity = `${hostname()}_${randomUUID()}`;
  while (!signal.aborted) {
    const name = leaderLease;
    await elect({
      api: connection,
      clock: systemClock,
      random: Math.random,
      log,
      namespace: leaderNamespace,
      name,
      identity,
      signal,
      lead,
    });
  }
};

const connectFor = (flags: OperatorFlags, env: Env, log: Log, all: Metrics): Promise<Connection> =>
  connect({
    kubeconfig: flags.kubeconfig,
    context: flags.context,
    env,
    userAgent: `drydock/${version()}`,
    log,
    onAnswer: seen => all.apiCall({ ...seen, status: seen.status ?? 0 }),
  });

/** `drydock operator`: serves until SIGINT or SIGTERM. Throws a UsageError for wrong flags, a KubeconfigError without a cluster. */
export const operator = async (flags: OperatorFlags, env: Env): Promise<void> => {
  const settings = operatorSettings(flags, env, process.stderr.isTTY);
  const log = pinoLog({ format: settings.logFormat, level: settings.logLevel, stream: process.stderr, colour: process.stderr.isTTY });
  const duty = new Duty();
  const all = metrics(
    () => duty.overview(),
    () => duty.acts,
  );
  const connection = await connectFor(flags, env, log, all);
  const recorder = new EventRecorder({ api: connection, clock: systemClock, log, random: Math.random, instance: hostname() });
  const closers = [
    await serve('health', settings.healthAddress, healthPages(duty, settings.leaderElect), log),
    await serve('metrics', settings.metricsAddress, metricsPages(all), log),
  ];
  log.info('drydock operator', { version: version(), server: connection.server, leaderElect: settings.leaderElect });
  const parts = { connection, recorder, metrics: all, settings, log };
  await work(parts, duty, flags.leaderElectionNamespace ?? connection.namespace, stopSignal(log));
  await recorder.drain(flushMs);
  for (const close of closers) close();
  connection.close();
  log.info('stopped');
};
