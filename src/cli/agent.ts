import { hostname } from 'node:os';
import { nodeNotice } from '../apis/machines/machine-event-source.ts';
import { type AzureMetadata, azureMetadata } from '../clouds/metadata/azure.ts';
import { detectCloud, type MetadataProvider } from '../clouds/metadata/detect.ts';
import { type OwnSighting, watchMetadata } from '../clouds/metadata/watch.ts';
import { drainedForAnnotation, noticesPath } from '../core/machine/source.ts';
import { saidBy } from '../core/status.ts';
import { connect } from '../kube/connect.ts';
import type { Api } from '../operator/ports.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import type { Env } from '../support/env.ts';
import type { Log } from '../support/log.ts';
import type { LogFormat } from '../support/pino-log.ts';
import { pinoLog } from '../support/pino-log.ts';
import { type ConnectionFlags, connectionOf } from './shared/connection-flags.ts';
import { UsageError } from './shared/fail.ts';
import { stopSignal } from './shared/stop-signal.ts';
import { version } from './shared/version.ts';

export type AgentFlags = ConnectionFlags & {
  readonly nodeName?: string;
  readonly provider: 'auto' | MetadataProvider;
  readonly metadataEndpoint?: string;
  readonly acknowledge?: boolean;
  readonly logFormat?: LogFormat;
};

/** The cloud is asked for again after so many milliseconds: an agent may be there before its network. */
const detectAgainMs = 30_000;

type Stored = { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } };

/** One call makes the notice or changes it: nothing has to be read for that. Answers for which events the node has been drained. */
const tell = async (api: Api, nodeName: string, provider: string, seen: OwnSighting, clock: Clock): Promise<readonly string[]> => {
  const { instance, events, trouble } = seen;
  const answer = await api.call({
    method: 'PATCH',
    path: `${noticesPath}/${encodeURIComponent(nodeName)}`,
    query: { fieldManager: 'drydock-agent', force: true },
    contentType: 'application/apply-patch+yaml',
    body: nodeNotice(nodeName, { provider, instance, events, ...(trouble && { trouble }) }, clock.now()),
  });
  if (answer.status !== 200 && answer.status !== 201) throw new Error(`cannot store the NodeNotice ${nodeName}: ${saidBy(answer)}`);
  return ((answer.body as Stored).metadata.annotations?.[drainedForAnnotation] ?? '').split(',');
};

/** Whether the node is drained is asked this often, in milliseconds, where the cloud is to be told. */
const acknowledgeEveryMs = 10_000;

/** Tells Azure, once for each event, that it need not wait any longer. */
class Acknowledging {
  readonly #azure: AzureMetadata;
  readonly #done = new Set<string>();
  readonly #log: Log;

  constructor(azure: AzureMetadata, log: Log) {
    this.#azure = azure;
    this.#log = log;
  }

  async drainedFor(ids: readonly string[], { events }: OwnSighting, signal: AbortSignal): Promise<void> {
    const due = events.filter(({ id, state }) => state === 'Scheduled' && ids.includes(id) && !this.#done.has(id));
    for (const { id, kind } of due) {
      const trouble = await this.#azure.acknowledge(id, signal);
      if (trouble === undefined) {
        this.#done.add(id);
        this.#log.info('acknowledged the event to Azure: the node is drained', { event: id, kind });
      } else this.#log.warn('failed to acknowledge the event to Azure; retrying', { event: id, error: trouble.message });
    }
  }
}

const providerOf = async (flags: AgentFlags, clock: Clock, log: Log, signal: AbortSignal): Promise<MetadataProvider | undefined> => {
  if (flags.provider !== 'auto') return flags.provider;
  const base = flags.metadataEndpoint;
  while (!signal.aborted) {
    const found = await detectCloud({ clock, signal, ...(base !== undefined && { base }) });
    if (found !== undefined) return found;
    log.warn('no metadata service of AWS, Azure or Google Cloud responds; retrying', { againInSeconds: detectAgainMs / 1000 });
    await clock.sleep(detectAgainMs, signal);
  }
  return undefined;
};

type AgentContext = {
  readonly api: Api;
  readonly nodeName: string;
  readonly provider: MetadataProvider;
  readonly flags: AgentFlags;
  readonly log: Log;
  readonly signal: AbortSignal;
};

const work = async ({ api, nodeName, provider, flags, log, signal }: AgentContext): Promise<void> => {
  const base = flags.metadataEndpoint === undefined ? {} : { base: flags.metadataEndpoint };
  const clock = systemClock;
  const latest: { sighting?: OwnSighting } = {};
  const seen = async (sighting: OwnSighting): Promise<void> => {
    // Before it is known which machine this is there is nothing to tell of it.
    if (sighting.instance === '') return;
    latest.sighting = sighting;
    await tell(api, nodeName, provider, sighting, clock);
  };
  const watching = watchMetadata({ provider, clock, signal, log, ...base, seen });
  if (flags.acknowledge === true && provider === 'azure') {
    const acknowledging = new Acknowledging(azureMetadata({ clock, source: 'agent', ...base }), log);
    while (!signal.aborted) {
      await clock.sleep(acknowledgeEveryMs, signal);
      const { sighting } = latest;
      if (sighting === undefined || sighting.events.length === 0 || signal.aborted) continue;
      try {
        await acknowledging.drainedFor(await tell(api, nodeName, provider, sighting, clock), sighting, signal);
      } catch (error) {
        if (!signal.aborted) log.warn('failed to read whether the node is drained; retrying', { error });
      }
    }
  }
  await watching;
};

/**
 * `drydock agent`: tells the cluster what this machine's cloud announces about it, as the NodeNotice of its node, until SIGINT or SIGTERM. It reads
 * nothing of the cluster. Throws a UsageError when it is not told which node it is on.
 */
export const agent = async (flags: AgentFlags, env: Env): Promise<void> => {
  const nodeName = flags.nodeName ?? env['NODE_NAME'] ?? '';
  if (nodeName === '') throw new UsageError('--node-name is missing: name the node that the agent runs on, or set NODE_NAME');
  const format = flags.logFormat ?? (process.stderr.isTTY ? 'text' : 'json');
  const log = pinoLog({ format, level: 'info', stream: process.stderr, colour: process.stderr.isTTY });
  const signal = stopSignal(log);
  const connection = await connect({ ...connectionOf(flags), env, userAgent: `drydock-agent/${version()}`, log });
  try {
    log.info('drydock agent', { version: version(), node: nodeName, host: hostname() });
    const provider = await providerOf(flags, systemClock, log, signal);
    if (provider === undefined) return;
    await work({ api: connection, nodeName, provider, flags, log, signal });
  } finally {
    connection.close();
  }
};
