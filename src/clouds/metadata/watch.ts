import type { MachineEvent, SourceObservation } from '../../core/machine/event.ts';
import { Backoff } from '../../support/backoff.ts';
import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import type { PanicHandler } from '../../support/panic-handler.ts';
import type { Fetched, SourceError } from '../source-error.ts';
import { awsMetadata } from './aws.ts';
import { azureMetadata } from './azure.ts';
import type { MetadataProvider } from './detect.ts';
import { type GcpAccess, gcpMetadata } from './gcp.ts';
import type { MetadataReader } from './http.ts';

/** What one machine was told about itself. `instance` is empty as long as the metadata service has not said which machine this is. */
export type OwnMachineObservation = SourceObservation & { readonly instance: string };

export type MetadataWatch = {
  readonly provider: MetadataProvider;
  /** Milliseconds between two looks for what leaves only seconds; 2000 when left out. */
  readonly every?: number;
  /** Milliseconds between two looks for what is planned ahead; 30,000 when left out. */
  readonly scheduledEvery?: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly defects: PanicHandler;
  /** Uniform in [0, 1): jitter of the back-off. */
  readonly random?: () => number;
  /** Told in sightings and events; `agent` when left out. */
  readonly source?: string;
  /** Another metadata service than that of 169.254.169.254. */
  readonly base?: string;
  /** See GcpAccess. */
  readonly terminationNoticeSeconds?: number;
  /** Called with the first look and with every one that differs. The next look waits for it. One that fails is called again. */
  readonly seen: (sighting: OwnMachineObservation) => void | Promise<void>;
};

/** A machine may have 30 s in all: more than half of them are not slept through. */
const maxWaitMs = 15_000;

const openReader = (provider: MetadataProvider, access: GcpAccess): MetadataReader => {
  if (provider === 'aws') return awsMetadata(access);
  return provider === 'azure' ? azureMetadata(access) : gcpMetadata(access);
};

type Events = Fetched<readonly MachineEvent[]>;

/** What both looks have shown. Only when both were answered are the machine's events completely known. */
const sightingOf = (source: string, instance: string, urgent: Events, scheduled: Events): OwnMachineObservation => {
  const trouble = urgent.trouble ?? scheduled.trouble;
  const events = [...(urgent.told ?? []), ...(scheduled.told ?? [])];
  const looked = new Set(trouble === undefined ? [instance] : []);
  return { source, instance, looked, events, unknown: [], ...(trouble !== undefined && { trouble }) };
};

const textOf = ({ looked, ...rest }: OwnMachineObservation): string => JSON.stringify({ ...rest, looked: [...looked] });

/** Says what is wrong once, not at every look, and when it is over. */
const complaining = (log: Log, provider: string): ((trouble: SourceError | undefined) => void) => {
  let said: string | undefined;
  return trouble => {
    if (trouble?.reason === said) return;
    said = trouble?.reason;
    if (trouble === undefined) log.info('the metadata service responds again', { provider });
    else log.warn('failed to read the metadata service', { provider, reason: trouble.reason, problem: trouble.message });
  };
};

/** Tells what differs from what was told last; false when that could not be done, and is still to be done. */
const telling = ({ seen, log, defects, provider }: MetadataWatch): ((sighting: OwnMachineObservation) => Promise<boolean>) => {
  let told: string | undefined;
  return async sighting => {
    const text = textOf(sighting);
    if (text === told) return true;
    try {
      await seen(sighting);
      told = text;
      return true;
    } catch (error) {
      const why = defects.textOf('Process', `metadata of ${provider}`, error);
      log.error('failed to pass on an announcement of the metadata service; retrying', { provider, error: why });
      return false;
    }
  };
};

/** One look after the other: what leaves only seconds every time, what is planned ahead when it is due and the service answers at all. */
const looking = (reader: MetadataReader, { provider, clock, defects }: MetadataWatch, source: string, scheduledEvery: number) => {
  let [instance, due] = ['', -Infinity];
  let scheduled: Events = { told: [] };
  const read = async (signal: AbortSignal): Promise<Events> => {
    const urgent = await reader.urgent(signal);
    const now = clock.now().epochMilliseconds;
    if (urgent.trouble === undefined) {
      if (now >= due || due - now > scheduledEvery) {
        scheduled = await reader.scheduled(signal);
        due = now + scheduledEvery;
      }
      instance = (await reader.identity(signal)).told ?? instance;
    }
    return urgent;
  };
  return async (signal: AbortSignal): Promise<{ readonly sighting: OwnMachineObservation; readonly answered: boolean }> => {
    const urgent = await read(signal).catch((error: unknown): Events => {
      signal.throwIfAborted();
      // What the service refuses comes as a value: this is ours, and the next look may go well.
      return { trouble: { reason: 'Failed', message: defects.tell('Process', `metadata of ${provider}`, error) } };
    });
    return { sighting: sightingOf(source, instance, urgent, scheduled), answered: urgent.trouble === undefined };
  };
};

/**
 * Looks at the metadata service of this machine until the signal is aborted, and resolves then. It tells the first look and every change, and
 * survives every failure: a service that is away, slow or talks nonsense is asked again after waits that grow to 15 s, complained of once in
 * the log, and told as `trouble` with nothing in `looked`, so that nobody takes silence for the all-clear.
 */
export const watchMetadata = async (options: MetadataWatch): Promise<void> => {
  const { provider, every = 2000, scheduledEvery = 30_000, clock, signal, log, random = Math.random, source = 'agent' } = options;
  const look = looking(openReader(provider, { ...options, source }), options, source, scheduledEvery);
  const backoff = new Backoff({ firstMs: Math.max(every, 1000), longestMs: maxWaitMs, random });
  const complain = complaining(log, provider);
  const tell = telling(options);
  try {
    while (!signal.aborted) {
      const { sighting, answered } = await look(signal);
      complain(sighting.trouble);
      const well = (await tell(sighting)) && answered;
      if (well) backoff.reset();
      await clock.sleep(well ? every : backoff.next(), signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};
