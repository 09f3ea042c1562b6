import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import type {
  ComputeService,
  HostCall,
  HypervisorIdentity,
  NovaServer,
  ServerMigration,
} from '@drydock/core/hypervisor';
import type { Clock, HttpTransport } from '@drydock/utils';
import { NovaClient } from './client.ts';
import type { NovaConfig } from './config/config.ts';
import { httpExchange } from './exchange.ts';
import type { NovaResult } from './failure.ts';
import { listAll } from './pages.ts';
import { hypervisorOf, migrationOf, progressOf, serverOf, serviceOf } from './project.ts';
import { reasonOf } from './reason.ts';

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
