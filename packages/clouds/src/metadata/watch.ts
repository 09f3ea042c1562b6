import type { MachineEvent, SourceObservation } from '@drydock/core/machine';
import type { Clock, Log, PanicHandler } from '@drydock/utils';
import { Backoff } from '@drydock/utils';
import type { Fetched, SourceError } from '../signals.ts';
import { awsMetadata } from './aws.ts';
import { azureMetadata } from './azure.ts';
import { type GcpAccess, gcpMetadata } from './gcp.ts';
import type { MetadataProvider, MetadataReader } from './http.ts';

/**
 * Announcements for one machine. `instance` is empty until the metadata service has returned the
 * machine's id.
 */
export type OwnMachineObservation = SourceObservation & { readonly instance: string };

export type MetadataWatch = {
  readonly provider: MetadataProvider;
  /** Milliseconds between two reads of urgent events; 2000 when left out. */
  readonly every?: number;
  /** Milliseconds between two reads of planned events; 30,000 when left out. */
  readonly scheduledEvery?: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly defects: PanicHandler;
  /** Random source, uniform in [0, 1), for the jitter of the backoff. */
  readonly random?: () => number;
  /** Source in observations and events; `agent` when left out. */
  readonly source?: string;
  /** Base URL of the metadata service instead of 169.254.169.254. */
  readonly base?: string;
  /** See GcpAccess. */
  readonly terminationNoticeSeconds?: number;
  /**
   * Callback for the first observation and every one that differs. The next read waits for it. A
   * callback that fails is called again.
   */
  readonly seen: (sighting: OwnMachineObservation) => void | Promise<void>;
};

/**
 * Longest wait in milliseconds: a machine may have 30 s in all, and a wait must not take more than
 * half of that.
 */
const maxWaitMs = 15_000;

function openReader(provider: MetadataProvider, access: GcpAccess): MetadataReader {
  if (provider === 'aws') return awsMetadata(access);
  return provider === 'azure' ? azureMetadata(access) : gcpMetadata(access);
}

type Events = Fetched<readonly MachineEvent[]>;

/**
 * Combines the results of both reads. The machine's events are completely known only when both
 * succeeded.
 */
function sightingOf(
  source: string,
  instance: string,
  urgent: Events,
  scheduled: Events,
): OwnMachineObservation {
  const trouble = urgent.trouble ?? scheduled.trouble;
  const events = [...(urgent.value ?? []), ...(scheduled.value ?? [])];
  const looked = new Set(trouble === undefined ? [instance] : []);
  return {
    source,
    instance,
    looked,
    events,
    unknown: [],
    ...(trouble !== undefined && { trouble }),
  };
}

function textOf({ looked, ...rest }: OwnMachineObservation): string {
  return JSON.stringify({ ...rest, looked: [...looked] });
}

/** Logs a failure once, not at every read, and its end. */
function troubleLogger(log: Log, provider: string): (trouble: SourceError | undefined) => void {
  let lastReason: string | undefined;
  return trouble => {
    if (trouble?.reason === lastReason) return;
    lastReason = trouble?.reason;
    if (trouble === undefined) log.info('the metadata service responds again', { provider });
    else
      log.warn('failed to read the metadata service', {
        provider,
        reason: trouble.reason,
        problem: trouble.message,
      });
  };
}

/**
 * Returns a function that reports changed observations; it returns false when that failed and must
 * be repeated.
 */
function publisher({
  seen,
  log,
  defects,
  provider,
}: MetadataWatch): (sighting: OwnMachineObservation) => Promise<boolean> {
  let published: string | undefined;
  return async sighting => {
    const text = textOf(sighting);
    if (text === published) return true;
    try {
      await seen(sighting);
      published = text;
      return true;
    } catch (error) {
      const why = defects.textOf('Process', `metadata of ${provider}`, error);
      log.error('failed to pass on an announcement of the metadata service; retrying', {
        provider,
        error: why,
      });
      return false;
    }
  };
}

/**
 * Returns a function for one read after the other: urgent events every time, planned events when
 * due and the service responds at all.
 */
function looking(
  reader: MetadataReader,
  { provider, clock, defects }: MetadataWatch,
  source: string,
  scheduledEvery: number,
) {
  let [instance, due] = ['', -Infinity];
  let scheduled: Events = { value: [] };
  const read = async (signal: AbortSignal): Promise<Events> => {
    const urgent = await reader.urgent(signal);
    const now = clock.now().epochMilliseconds;
    if (urgent.trouble === undefined) {
      if (now >= due || due - now > scheduledEvery) {
        scheduled = await reader.scheduled(signal);
        due = now + scheduledEvery;
      }
      instance = (await reader.identity(signal)).value ?? instance;
    }
    return urgent;
  };
  return async (
    signal: AbortSignal,
  ): Promise<{ readonly sighting: OwnMachineObservation; readonly answered: boolean }> => {
    const urgent = await read(signal).catch((error: unknown): Events => {
      signal.throwIfAborted();
      // Refusals of the service are returned as values: this is a defect of Drydock, and the next
      // read may succeed.
      return {
        trouble: {
          reason: 'Failed',
          message: defects.report('Process', `metadata of ${provider}`, error),
        },
      };
    });
    return {
      sighting: sightingOf(source, instance, urgent, scheduled),
      answered: urgent.trouble === undefined,
    };
  };
}

/**
 * Watches the metadata service of this machine until the signal is aborted, and then resolves.
 * Reports the first observation and every change, and survives every failure: a service that is
 * absent, slow or returns invalid data is retried after waits that grow to 15 s, logged once, and
 * reported as `trouble` with nothing in `looked`, so that silence is not taken for the end of an
 * event.
 */
export async function watchMetadata(options: MetadataWatch): Promise<void> {
  const {
    provider,
    every = 2000,
    scheduledEvery = 30_000,
    clock,
    signal,
    log,
    random = Math.random,
    source = 'agent',
  } = options;
  const look = looking(
    openReader(provider, { ...options, source }),
    options,
    source,
    scheduledEvery,
  );
  const backoff = new Backoff({ firstMs: Math.max(every, 1000), longestMs: maxWaitMs, random });
  const complain = troubleLogger(log, provider);
  const publish = publisher(options);
  try {
    while (!signal.aborted) {
      const { sighting, answered } = await look(signal);
      complain(sighting.trouble);
      const well = (await publish(sighting)) && answered;
      if (well) backoff.reset();
      await clock.sleep(well ? every : backoff.next(), signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
