import { readFileSync } from 'node:fs';
import {
  isObject,
  type Json,
  type JsonObject,
  readTime,
  secondsAfter,
} from '@drydock/apimachinery';
import type {
  ComputeService,
  HostCall,
  HypervisorIdentity,
  NovaServer,
  ServerMigration,
} from '@drydock/core/hypervisor';
import { type Clock, createTransport, errorText, type HttpTransport } from '@drydock/utils';
import { NovaClient } from './client.ts';
import { type NovaConfig, NovaConfigError } from './config/config.ts';
import { failed, type NovaResult } from './identity.ts';
import { hypervisorOf, migrationOf, progressOf, serverOf, serviceOf } from './project.ts';

export type TlsOptions = {
  /** File with the authorities to trust, instead of the system's. */
  readonly caFile?: string;
  /** Whether any certificate is trusted. */
  readonly insecure?: boolean;
};

function readCa(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new NovaConfigError(`cannot read the CA file ${file}: ${errorText(error)}`, {
      cause: error,
    });
  }
}

/** Limit of a response in bytes; the requested pages stay far below. */
const maxBytes = 64 * 1024 * 1024;

/**
 * Returns a transport for HTTP and HTTPS, with keep-alive. Throws a NovaConfigError for a CA file
 * that cannot be read.
 */
export function httpExchange({ caFile, insecure = false }: TlsOptions): HttpTransport {
  return createTransport({
    ...(caFile !== undefined && { ca: readCa(caFile) }),
    insecure,
    mostBytes: maxBytes,
    keepAlive: true,
  });
}

function itemsIn(body: Json | undefined, key: string): readonly JsonObject[] {
  const items = isObject(body) ? body[key] : undefined;
  return Array.isArray(items) ? items.filter(isObject) : [];
}

/**
 * Returns the query of the next page. The rest of the link is ignored: its address is the public
 * one, which may be unreachable from here.
 */
function nextQuery(body: Json | undefined, key: string): string | undefined {
  const next = itemsIn(body, `${key}_links`).find(({ rel }) => rel === 'next');
  const href = next?.['href'];
  return typeof href === 'string' && href.includes('?') ? href.slice(href.indexOf('?')) : undefined;
}

const maxPages = 1000;

async function walk(
  client: NovaClient,
  path: string,
  query: string,
  key: string,
  signal: AbortSignal,
) {
  const items: JsonObject[] = [];
  let next: string | undefined = query;
  for (let page = 0; next !== undefined && page < maxPages; page += 1) {
    const answer: NovaResult<Json | undefined> = await client.call(
      { method: 'GET', path: `${path}${next}` },
      signal,
    );
    if (answer.failure !== undefined) return { failure: answer.failure, isLater: page > 0 };
    items.push(...itemsIn(answer.value, key));
    const after = nextQuery(answer.value, key);
    next = after === next ? undefined : after;
  }
  return { value: items };
}

/** Limit of restarts: when the last server of a page is deleted, Nova cannot find the next page. */
const maxStarts = 3;

/**
 * Returns every item of a collection, over all its pages; an item that appears twice because others
 * moved counts once.
 */
async function listAll(
  client: NovaClient,
  path: string,
  query: string,
  key: string,
  signal: AbortSignal,
): Promise<NovaResult<readonly JsonObject[]>> {
  for (let start = 1; ; start += 1) {
    const { value, failure, isLater = false } = await walk(client, path, query, key, signal);
    if (value !== undefined)
      return { value: [...new Map(value.map(item => [item['id'], item])).values()] };
    if (failure === undefined) return failed('trouble', `${path} cannot be read`);
    if (!isLater || failure.kind !== 'refused' || start === maxStarts) return { failure };
  }
}

function objects(body: Json | undefined, ...path: readonly string[]): readonly JsonObject[] {
  let value = body;
  for (const key of path) value = isObject(value) ? value[key] : undefined;
  return Array.isArray(value) ? value.filter(isObject) : [];
}

const kinds: ReadonlySet<unknown> = new Set(['live-migration', 'migrate']);

function beganBefore(action: JsonObject, { updated }: ServerMigration): boolean {
  const { start_time: startText } = action;
  const start = typeof startText === 'string' ? readTime(`${startText}Z`) : undefined;
  return start === undefined || Temporal.Instant.compare(start, secondsAfter(updated, 2)) <= 0;
}

/**
 * Returns the message of an event. `details` exists from 2.84 on; before that an administrator sees
 * the trace, which names the exception.
 */
function wordsOf(event: JsonObject): string | undefined {
  const { details, traceback } = event;
  // Nova ends some of them with a space.
  if (typeof details === 'string' && details !== '') return details.trim();
  return typeof traceback === 'string' ? /.*\bexception\.(\w+)/s.exec(traceback)?.[1] : undefined;
}

/**
 * Returns why a migration failed, in Nova's words: from the actions of the server, because the
 * server itself has no reason (its `fault` stays empty). Two calls. Undefined where Nova has no
 * reason, or cannot be reached.
 */
async function reasonOf(
  client: NovaClient,
  migration: ServerMigration,
  signal: AbortSignal,
): Promise<string | undefined> {
  const path = `/servers/${migration.server}/os-instance-actions`;
  const actions = await client.call({ method: 'GET', path }, signal);
  const action = objects(actions.value, 'instanceActions').find(
    one => kinds.has(one['action']) && beganBefore(one, migration),
  );
  const request = action?.['request_id'];
  if (typeof request !== 'string') return undefined;
  const answer = await client.call({ method: 'GET', path: `${path}/${request}` }, signal);
  const events = objects(answer.value, 'instanceAction', 'events').filter(
    ({ result }) => result === 'Error',
  );
  return events.map(wordsOf).find(words => words !== undefined);
}

/**
 * The part of Nova that is needed. Every function rejects with the signal's reason only; other
 * failures are values.
 */
export type Nova = {
  /** Returns the user's id, after the first call. */
  userId(): string | undefined;
  /** Returns the current time by Nova's clock. */
  now(): Temporal.Instant;
  /** Returns all nova-compute services. One call. */
  services(signal: AbortSignal): Promise<NovaResult<readonly ComputeService[]>>;
  hypervisors(signal: AbortSignal): Promise<NovaResult<readonly HypervisorIdentity[]>>;
  /** Returns the servers of all projects on a host. One call a page. */
  serversOn(host: string, signal: AbortSignal): Promise<NovaResult<readonly NovaServer[]>>;
  /** Returns a server; undefined when it is deleted. */
  server(id: string, signal: AbortSignal): Promise<NovaResult<NovaServer | undefined>>;
  /**
   * Returns migrations from a host and to it; only those changed since this time, where Nova
   * supports that. One call a page.
   */
  migrations(
    host: string,
    since: Temporal.Instant | undefined,
    signal: AbortSignal,
  ): Promise<NovaResult<readonly ServerMigration[]>>;
  /**
   * Returns the percentage of a running live migration; undefined where it is unknown. One call.
   */
  progress(server: string, signal: AbortSignal): Promise<number | undefined>;
  /** Returns why a migration failed. Two calls. */
  reason(migration: ServerMigration, signal: AbortSignal): Promise<string | undefined>;
  /** Executes a call. `service` is the UUID of the host's service. */
  perform(call: HostCall, service: string, signal: AbortSignal): Promise<NovaResult<unknown>>;
};

/** Minor number from which lists of migrations have pages, and a filter for changes. */
const minorOfPages = 59;
/** Last minor number before the list of hypervisors queries the uptime of each. */
const minorBeforeUptime = 87;

function projected<T>(
  answer: NovaResult<readonly JsonObject[]>,
  project: (raw: JsonObject) => T | undefined,
): NovaResult<readonly T[]> {
  return answer.value === undefined
    ? { failure: answer.failure }
    : { value: answer.value.flatMap(raw => project(raw) ?? []) };
}

function part(body: Json | undefined, key: string): readonly JsonObject[] {
  const items = isObject(body) ? body[key] : undefined;
  return Array.isArray(items) ? items.filter(isObject) : [];
}

type Request = {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: Json;
};

const actions = {
  // No host: the scheduler chooses. auto: Nova checks whether disks have to be copied.
  'live-migrate': { 'os-migrateLive': { host: null, block_migration: 'auto' } },
  'cold-migrate': { migrate: null },
  confirm: { confirmResize: null },
} as const;

function requestOf(call: HostCall, service: string): Request {
  if (call.kind === 'disable') {
    return {
      method: 'PUT',
      path: `/os-services/${service}`,
      body: { status: 'disabled', disabled_reason: call.reason },
    };
  }
  if (call.kind === 'enable')
    return { method: 'PUT', path: `/os-services/${service}`, body: { status: 'enabled' } };
  if (call.kind === 'abort')
    return { method: 'DELETE', path: `/servers/${call.server}/migrations/${call.migration}` };
  return { method: 'POST', path: `/servers/${call.server}/action`, body: actions[call.kind] };
}

async function readServices(
  client: NovaClient,
  signal: AbortSignal,
): Promise<NovaResult<readonly ComputeService[]>> {
  const { value, failure } = await client.call(
    { method: 'GET', path: '/os-services?binary=nova-compute' },
    signal,
  );
  return failure === undefined
    ? { value: part(value, 'services').flatMap(raw => serviceOf(raw) ?? []) }
    : { failure };
}

async function readMigrations(
  client: NovaClient,
  host: string,
  since: Temporal.Instant | undefined,
  signal: AbortSignal,
): Promise<NovaResult<readonly ServerMigration[]>> {
  const query = new URLSearchParams({ host });
  if (since !== undefined && (client.minor ?? 0) >= minorOfPages)
    query.set('changes-since', since.toString({ smallestUnit: 'second' }));
  return projected(
    await listAll(client, '/os-migrations', `?${query.toString()}`, 'migrations', signal),
    migrationOf,
  );
}

async function readServer(
  client: NovaClient,
  id: string,
  signal: AbortSignal,
): Promise<NovaResult<NovaServer | undefined>> {
  const { value, failure } = await client.call({ method: 'GET', path: `/servers/${id}` }, signal);
  if (failure !== undefined) return failure.kind === 'missing' ? { value: undefined } : { failure };
  return {
    value: isObject(value) && isObject(value['server']) ? serverOf(value['server']) : undefined,
  };
}

/**
 * Returns a client of Nova. Sends no request yet, so wrong credentials show with the first call.
 * Throws a NovaConfigError for a CA file that cannot be read. `exchange` is the transport: HTTP
 * when left out.
 */
export function openNova(
  config: NovaConfig,
  clock: Clock,
  exchange: HttpTransport = httpExchange(config),
): Nova {
  const client = new NovaClient(config, exchange, clock);
  const list = (path: string, query: string, key: string, signal: AbortSignal) =>
    listAll(client, path, query, key, signal);
  return {
    userId: () => client.userId,
    now: () => client.now(),
    services: signal => readServices(client, signal),
    hypervisors: async signal => {
      const request = {
        method: 'GET',
        path: '/os-hypervisors/detail',
        mostMinor: minorBeforeUptime,
      } as const;
      const { value, failure } = await client.call(request, signal);
      return failure === undefined
        ? { value: part(value, 'hypervisors').flatMap(raw => hypervisorOf(raw) ?? []) }
        : { failure };
    },
    serversOn: async (host, signal) => {
      const query = new URLSearchParams({ all_tenants: '1', host });
      return projected(
        await list('/servers/detail', `?${query.toString()}`, 'servers', signal),
        serverOf,
      );
    },
    server: (id, signal) => readServer(client, id, signal),
    migrations: (host, since, signal) => readMigrations(client, host, since, signal),
    progress: async (server, signal) => {
      const { value } = await client.call(
        { method: 'GET', path: `/servers/${server}/migrations` },
        signal,
      );
      return part(value, 'migrations')
        .map(progressOf)
        .find(percent => percent !== undefined);
    },
    reason: (migration, signal) => reasonOf(client, migration, signal),
    perform: (call, service, signal) => client.call(requestOf(call, service), signal),
  };
}
