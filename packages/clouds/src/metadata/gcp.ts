import { isObject, type Json, type JsonObject, secondsAfter } from '@drydock/apimachinery';
import type { EventKind } from '@drydock/core';
import type { EventState, MachineEvent } from '@drydock/core/machine';
import { type Fetched, readCloudTime } from '../signals.ts';
import {
  askMetadata,
  type MetadataAccess,
  type MetadataReader,
  type MetadataResponse,
  parsed,
  unexpected,
} from './http.ts';

const root = '/computeMetadata/v1/instance/';
const upcomingPath = 'upcoming-maintenance?alt=json';

/**
 * Seconds from `preempted`, when Compute Engine also sends the shutdown signal, to the end of the
 * machine.
 */
const preemptedSeconds = 30;
/**
 * Seconds of notice: machines with GPUs have an hour, all others 60 s (Compute Engine, "Handle GPU
 * host maintenance events").
 */
const noticeSeconds = 60;

type Ask = (path: string, signal: AbortSignal) => Promise<Fetched<MetadataResponse>>;

function asking(access: MetadataAccess): Ask {
  return (path, signal) =>
    askMetadata(
      access,
      { path: `${root}${path}`, headers: { 'Metadata-Flavor': 'Google' } },
      signal,
    );
}

async function readValue(ask: Ask, path: string, signal: AbortSignal): Promise<Fetched<string>> {
  const { value, trouble } = await ask(path, signal);
  if (trouble !== undefined) return { trouble };
  if (value.status === 404) return { value: '' };
  return value.status === 200 ? { value: value.text.trim() } : { trouble: unexpected(path, value) };
}

/**
 * Remembers when a value was first seen as long as it stays, so that deadlines do not move from
 * read to read.
 */
class Since {
  readonly #seen = new Map<string, { readonly value: string; readonly at: Temporal.Instant }>();

  of(what: string, value: string, now: Temporal.Instant): Temporal.Instant {
    const before = this.#seen.get(what);
    if (before?.value === value) return before.at;
    this.#seen.set(what, { value, at: now });
    return now;
  }
}

function hostEvent(
  code: string,
  instance: string,
  source: string,
  seen: Temporal.Instant,
  notice: number,
): readonly MachineEvent[] {
  if (code === '' || code === 'NONE') return [];
  const migrates = code.startsWith('MIGRATE');
  const start = secondsAfter(seen, migrates ? noticeSeconds : notice);
  const kind: EventKind = migrates
    ? 'freeze'
    : code.startsWith('TERMINATE')
      ? 'termination'
      : 'maintenance';
  const description = migrates
    ? 'Google moves this machine to another host while it runs'
    : 'Google stops this machine for host maintenance';
  return [
    {
      provider: 'gcp',
      id: 'maintenance-event',
      kind,
      code,
      instance,
      notBefore: start,
      deadline: start,
      state: 'Scheduled',
      description,
      source,
    },
  ];
}

function preemption(
  preempted: string,
  instance: string,
  source: string,
  seen: Temporal.Instant,
): readonly MachineEvent[] {
  if (preempted.toUpperCase() !== 'TRUE') return [];
  const deadline = secondsAfter(seen, preemptedSeconds);
  const description = 'Google takes this machine back';
  return [
    {
      provider: 'gcp',
      id: 'preempted',
      kind: 'preemption',
      code: 'preempted',
      instance,
      deadline,
      state: 'Active',
      description,
      source,
    },
  ];
}

function field(raw: JsonObject, snake: string): Json | undefined {
  return raw[snake] ?? raw[snake.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())];
}

/** Returns a word in upper case; Google writes booleans as strings, too. */
function word(value: Json | undefined): string {
  return typeof value === 'string' || typeof value === 'boolean'
    ? value.toString().toUpperCase()
    : '';
}

/**
 * Returns the planned maintenance: Google returns it bare, and in its documentation under a title;
 * an empty body, `{}`, `"NONE"` and an error all mean that there is none.
 */
function upcomingOf(document: unknown): JsonObject | undefined {
  if (!isObject(document)) return undefined;
  const candidates = [document, ...Object.values(document).filter(isObject)];
  return candidates.find(
    raw =>
      field(raw, 'window_start_time') !== undefined ||
      field(raw, 'maintenance_status') !== undefined,
  );
}

const states: Readonly<Record<string, EventState>> = {
  ONGOING: 'Active',
  COMPLETE: 'Completed',
  COMPLETED: 'Completed',
};

function upcomingEvent(
  raw: JsonObject,
  stops: boolean,
  instance: string,
  source: string,
): MachineEvent {
  const start = readCloudTime(field(raw, 'window_start_time'));
  const end = readCloudTime(field(raw, 'window_end_time'));
  const latest = readCloudTime(field(raw, 'latest_window_start_time'));
  const movable = word(field(raw, 'can_reschedule')) === 'TRUE' && latest !== undefined;
  const { type } = raw;
  return {
    provider: 'gcp',
    id: 'upcoming-maintenance',
    kind: stops ? 'termination' : 'maintenance',
    ...(typeof type === 'string' && { code: type }),
    instance,
    ...(start !== undefined && { notBefore: start, deadline: start }),
    ...(end !== undefined && { notAfter: end }),
    state: states[word(field(raw, 'maintenance_status'))] ?? 'Scheduled',
    description: `Host maintenance${movable ? `; it can be started earlier, or moved until ${latest.toString()}` : ''}`,
    source,
  };
}

export type GcpAccess = MetadataAccess & {
  /**
   * Seconds of notice before Google stops a machine; 60 when left out. 3600 is right for machines
   * with GPUs.
   */
  readonly terminationNoticeSeconds?: number;
};

function identifying(ask: Ask): MetadataReader['identity'] {
  let name: string | undefined;
  return async signal => {
    if (name !== undefined) return { value: name };
    const { value, trouble } = await readValue(ask, 'name', signal);
    if (trouble !== undefined) return { trouble };
    if (value === '')
      return {
        trouble: {
          reason: 'Failed',
          message: 'The metadata server knows no instance/name: is this a Compute Engine VM?',
        },
      };
    name = value;
    return { value: name };
  };
}

/** Reads the planned maintenance; undefined when there is none. */
function planning(ask: Ask): (signal: AbortSignal) => Promise<Fetched<JsonObject | undefined>> {
  let planned = false;
  return async signal => {
    const { value, trouble } = await ask(upcomingPath, signal);
    if (trouble !== undefined) return { trouble };
    if (value.status === 404) return { value: undefined };
    // 503 is the response where nothing was ever announced. After an announcement, the first 503
    // counts as a failure.
    if (value.status === 503 && !planned) return { value: undefined };
    planned = false;
    if (value.status !== 200) return { trouble: unexpected(upcomingPath, value) };
    if (value.text.trim() === 'NONE' || value.text.trim() === '') return { value: undefined };
    const document = parsed(upcomingPath, value);
    if (document.trouble !== undefined) return document;
    const found = upcomingOf(document.value);
    planned = found !== undefined;
    return { value: found };
  };
}

/**
 * Reads the announcements of Compute Engine's metadata server for this machine: live migration or
 * termination for host maintenance, preemption, and maintenance that is planned ahead. The first
 * two have no time: their deadline counts from the moment they were first seen here. UTC.
 */
export function gcpMetadata(access: GcpAccess): MetadataReader {
  const { clock, source, terminationNoticeSeconds: notice = noticeSeconds } = access;
  const ask = asking(access);
  const since = new Since();
  const identity = identifying(ask);
  const upcoming = planning(ask);
  return {
    identity,
    urgent: async signal => {
      const id = await identity(signal);
      if (id.trouble !== undefined) return id;
      const [host, preempted] = await Promise.all([
        readValue(ask, 'maintenance-event', signal),
        readValue(ask, 'preempted', signal),
      ]);
      if (host.trouble !== undefined) return host;
      if (preempted.trouble !== undefined) return preempted;
      const at = (what: string, is: string): Temporal.Instant => since.of(what, is, clock.now());
      const events = hostEvent(host.value, id.value, source, at('host', host.value), notice);
      return {
        value: [
          ...events,
          ...preemption(preempted.value, id.value, source, at('preempted', preempted.value)),
        ],
      };
    },
    scheduled: async signal => {
      const id = await identity(signal);
      if (id.trouble !== undefined) return id;
      const { value, trouble } = await upcoming(signal);
      if (trouble !== undefined) return { trouble };
      if (value === undefined) return { value: [] };
      const policy = await readValue(ask, 'scheduling/on-host-maintenance', signal);
      if (policy.trouble !== undefined) return policy;
      return { value: [upcomingEvent(value, policy.value === 'TERMINATE', id.value, source)] };
    },
  };
}
