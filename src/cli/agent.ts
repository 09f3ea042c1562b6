import { hostname } from 'node:os';
import { detectCloud, type MetadataProvider } from '../clouds/metadata/detect.ts';
import { type OwnSighting, watchMetadata } from '../clouds/metadata/watch.ts';
import { saidBy } from '../core/status.ts';
import { nodeNotice } from '../generations/machine-event-source.ts';
import { connect } from '../kube/connect.ts';
import type { Api } from '../operator/ports.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { LogFormat } from '../support/pino-log.ts';
import { pinoLog } from '../support/pino-log.ts';
import { type ConnectionFlags, connectionOf } from './connection-flags.ts';
import { UsageError } from './fail.ts';
import { stopSignal } from './stop-signal.ts';
import { version } from './version.ts';

export type AgentFlags = ConnectionFlags & {
  readonly nodeName?: string;
  readonly provider: 'auto' | MetadataProvider;
  readonly metadataEndpoint?: string;
  readonly logFormat?: LogFormat;
};

type Env = Readonly<Record<string, string | undefined>>;

/** The cloud is asked for again after so many milliseconds: an agent may be there before its network. */
const detectAgainMs = 30_000;

/** One call makes the notice or changes it: nothing has to be read for that. */
const tell = async (api: Api, nodeName: string, provider: string, seen: OwnSighting, clock: Clock): Promise<void> => {
  const { instance, events, trouble } = seen;
  const answer = await api.call({
    method: 'PATCH',
    path: `/apis/drydock.dev/v1alpha1/nodenotices/${encodeURIComponent(nodeName)}`,
    query: { fieldManager: 'drydock-agent', force: true },
    contentType: 'application/apply-patch+yaml',
    body: nodeNotice(nodeName, { provider, instance, events, ...(trouble && { trouble }) }, clock.now()),
  });
  if (answer.status !== 200 && answer.status !== 201) throw new Error(`cannot store the NodeNotice ${nodeName}: ${saidBy(answer)}`);
};

const providerOf = async (flags: AgentFlags, clock: Clock, log: Log, signal: AbortSignal): Promise<MetadataProvider | undefined> => {
  if (flags.provider !== 'auto') return flags.provider;
  const base = flags.metadataEndpoint;
  while (!signal.aborted) {
    const found = await detectCloud({ clock, signal, ...(base !== undefined && { base }) });
    if (found !== undefined) return found;
    log.warn('no metadata service of AWS, Azure or Google Cloud answers; asking again', { againInSeconds: detectAgainMs / 1000 });
    await clock.sleep(detectAgainMs, signal);
  }
  return undefined;
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
    const base = flags.metadataEndpoint;
    await watchMetadata({
      provider,
      clock: systemClock,
      signal,
      log,
      ...(base !== undefined && { base }),
      seen: async seen => {
        // Before it is known which machine this is there is nothing to tell of it.
        if (seen.instance !== '') await tell(connection, nodeName, provider, seen, systemClock);
      },
    });
  } finally {
    connection.close();
  }
};
