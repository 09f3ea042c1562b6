import { hostname } from 'node:os';
import { pathSegment, statusMessage } from '@drydock/apimachinery';
import { nodeNotice } from '@drydock/apis';
import {
  type AzureMetadata,
  azureMetadata,
  detectCloud,
  type MetadataProvider,
  type OwnMachineObservation,
  watchMetadata,
} from '@drydock/clouds';
import { drainedForAnnotation, noticesPath } from '@drydock/core/machine';
import { type Api, connect } from '@drydock/kube-client';
import {
  type Clock,
  type Env,
  type Log,
  PanicHandler,
  systemClock,
  UsageError,
} from '@drydock/utils';
import { type LogFormat, pinoLog } from '@drydock/utils/pino-log';
import { type ConnectionFlags, connectionOf } from './shared/connection-flags.ts';
import { stopSignal } from './shared/on-stop.ts';
import { version } from './shared/version.ts';

type Stored = { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } };

type NoticeOptions = {
  readonly api: Api;
  readonly clock: Clock;
  readonly nodeName: string;
  readonly provider: string;
};

/**
 * The NodeNotice of a node. A single apply creates or changes it, and the response contains what
 * the operator notes on it: so an agent needs no right to read, which would extend to all notices.
 * `observedTime` is the time of the last change, so that an apply of the same content changes
 * nothing and the API server stores nothing.
 */
export class AgentNotice {
  readonly #options: NoticeOptions;
  #seen: { readonly text: string; readonly at: Temporal.Instant } | undefined;

  constructor(options: NoticeOptions) {
    this.#options = options;
  }

  /**
   * Applies the notice; resolves with the events for which the node has been drained. Rejects when
   * the notice cannot be stored.
   */
  async publish({ instance, events, trouble }: OwnMachineObservation): Promise<readonly string[]> {
    const { api, clock, nodeName, provider } = this.#options;
    const text = JSON.stringify([instance, events, trouble]);
    if (this.#seen?.text !== text) this.#seen = { text, at: clock.now() };
    const response = await api.call({
      method: 'PATCH',
      path: `${noticesPath}/${pathSegment(nodeName)}`,
      query: { fieldManager: 'drydock-agent', force: true },
      contentType: 'application/apply-patch+yaml',
      body: nodeNotice(
        nodeName,
        { provider, instance, events, ...(trouble && { trouble }) },
        this.#seen.at,
      ),
    });
    if (response.status !== 200 && response.status !== 201)
      throw new Error(`cannot store the NodeNotice ${nodeName}: ${statusMessage(response)}`);
    return ((response.body as Stored).metadata.annotations?.[drainedForAnnotation] ?? '').split(
      ',',
    );
  }
}

export type AgentFlags = ConnectionFlags & {
  readonly nodeName?: string;
  readonly provider: 'auto' | MetadataProvider;
  readonly metadataEndpoint?: string;
  readonly acknowledge?: boolean;
  readonly terminationNoticeSeconds?: string;
  readonly logFormat?: LogFormat;
};

/**
 * Milliseconds between attempts to detect the cloud: an agent may start before its network is up.
 */
const detectAgainMs = 30_000;

/**
 * Milliseconds between checks whether the node is drained, where the cloud expects an
 * acknowledgement.
 */
const acknowledgeEveryMs = 10_000;

/** Acknowledges to Azure, once for each event, that it need not wait any longer. */
class Acknowledging {
  readonly #azure: AzureMetadata;
  readonly #done = new Set<string>();
  readonly #log: Log;

  constructor(azure: AzureMetadata, log: Log) {
    this.#azure = azure;
    this.#log = log;
  }

  async drainedFor(
    ids: readonly string[],
    { events }: OwnMachineObservation,
    signal: AbortSignal,
  ): Promise<void> {
    const due = events.filter(
      ({ id, state }) => state === 'Scheduled' && ids.includes(id) && !this.#done.has(id),
    );
    for (const { id, kind } of due) {
      const trouble = await this.#azure.acknowledge(id, signal);
      if (trouble === undefined) {
        this.#done.add(id);
        this.#log.info('acknowledged the event to Azure: the node is drained', { event: id, kind });
      } else
        this.#log.warn('failed to acknowledge the event to Azure; retrying', {
          event: id,
          error: trouble.message,
        });
    }
  }
}

async function providerOf(
  flags: AgentFlags,
  clock: Clock,
  log: Log,
  signal: AbortSignal,
): Promise<MetadataProvider | undefined> {
  if (flags.provider !== 'auto') return flags.provider;
  const base = flags.metadataEndpoint;
  while (!signal.aborted) {
    const found = await detectCloud({ clock, signal, ...(base !== undefined && { base }) });
    if (found !== undefined) return found;
    log.warn('no metadata service of AWS, Azure or Google Cloud responds; retrying', {
      againInSeconds: detectAgainMs / 1000,
    });
    await clock.sleep(detectAgainMs, signal);
  }
  return undefined;
}

type AgentContext = {
  readonly api: Api;
  readonly nodeName: string;
  readonly provider: MetadataProvider;
  readonly flags: AgentFlags;
  readonly notice: number | undefined;
  readonly log: Log;
  readonly signal: AbortSignal;
};

/** Upper limit in seconds, a day: Google gives an hour at most. */
const maxNotice = 86_400;

/**
 * Returns the notice in seconds that the cloud gives before it stops a machine; undefined where
 * neither flag nor variable is set. Throws a UsageError.
 */
export function terminationNotice(
  { terminationNoticeSeconds }: Pick<AgentFlags, 'terminationNoticeSeconds'>,
  env: Env,
): number | undefined {
  const [name, text] =
    terminationNoticeSeconds === undefined
      ? (['TERMINATION_NOTICE_SECONDS', env['TERMINATION_NOTICE_SECONDS'] ?? ''] as const)
      : (['--termination-notice-seconds', terminationNoticeSeconds] as const);
  if (text === '' && terminationNoticeSeconds === undefined) return undefined;
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (seconds < 1 || seconds > maxNotice)
    throw new UsageError(
      `invalid value "${text}" for ${name}: expected whole seconds from 1 to ${maxNotice}`,
    );
  return seconds;
}

async function work({
  api,
  nodeName,
  provider,
  flags,
  notice: seconds,
  log,
  signal,
}: AgentContext): Promise<void> {
  const base = flags.metadataEndpoint === undefined ? {} : { base: flags.metadataEndpoint };
  const given = seconds === undefined ? {} : { terminationNoticeSeconds: seconds };
  const clock = systemClock;
  const defects = new PanicHandler({ log });
  const notice = new AgentNotice({ api, clock, nodeName, provider });
  const latest: { sighting?: OwnMachineObservation } = {};
  const seen = async (sighting: OwnMachineObservation): Promise<void> => {
    // Without the instance's identity there is nothing to report.
    if (sighting.instance === '') return;
    latest.sighting = sighting;
    await notice.publish(sighting);
  };
  const watching = watchMetadata({
    provider,
    clock,
    signal,
    log,
    defects,
    ...base,
    ...given,
    seen,
  });
  if (flags.acknowledge === true && provider === 'azure') {
    const acknowledging = new Acknowledging(
      azureMetadata({ clock, source: 'agent', ...base }),
      log,
    );
    while (!signal.aborted) {
      await clock.sleep(acknowledgeEveryMs, signal);
      const { sighting } = latest;
      if (sighting === undefined || sighting.events.length === 0 || signal.aborted) continue;
      try {
        await acknowledging.drainedFor(await notice.publish(sighting), sighting, signal);
      } catch (error) {
        const text = defects.textOf('Process', 'acknowledgement', error);
        if (!signal.aborted)
          log.warn('failed to read whether the node is drained; retrying', { error: text });
      }
    }
  }
  await watching;
}

/**
 * `drydock agent`: publishes the cloud's announcements for this machine as the NodeNotice of its
 * node, until SIGINT or SIGTERM. Reads nothing of the cluster. Throws a UsageError when the name of
 * the node is missing.
 */
export async function agent(flags: AgentFlags, env: Env): Promise<void> {
  const nodeName = flags.nodeName ?? env['NODE_NAME'] ?? '';
  if (nodeName === '')
    throw new UsageError(
      '--node-name is missing: name the node that the agent runs on, or set NODE_NAME',
    );
  const notice = terminationNotice(flags, env);
  const format = flags.logFormat ?? (process.stderr.isTTY ? 'text' : 'json');
  const log = pinoLog({
    format,
    level: 'info',
    stream: process.stderr,
    colour: process.stderr.isTTY,
  });
  const signal = stopSignal(log);
  const connection = await connect({
    ...connectionOf(flags),
    env,
    userAgent: `drydock-agent/${version()}`,
    log,
  });
  try {
    log.info('drydock agent', { version: version(), node: nodeName, host: hostname() });
    const provider = await providerOf(flags, systemClock, log, signal);
    if (provider === undefined) return;
    await work({ api: connection, nodeName, provider, flags, notice, log, signal });
  } finally {
    connection.close();
  }
}
