import type { HypervisorIdentity } from '../core/hypervisor/match.ts';
import type { ComputeService, NovaServer, ServerMigration } from '../core/hypervisor/server.ts';
import type { HostCall } from '../core/hypervisor/snapshot.ts';
import { isObject, type Json, type JsonObject } from '../core/json.ts';
import type { Clock } from '../support/clock.ts';
import type { HttpTransport } from '../support/http-exchange.ts';
import { NovaClient } from './client.ts';
import type { NovaConfig } from './config/config.ts';
import { httpExchange } from './exchange.ts';
import type { NovaResult } from './failure.ts';
import { listAll } from './pages.ts';
import { hypervisorOf, migrationOf, progressOf, serverOf, serviceOf } from './project.ts';
import { reasonOf } from './reason.ts';

/** What is needed of Nova. Every function rejects with the signal's reason only; whatever else goes wrong is a value. */
export type Nova = {
  /** Our user's id, once something has been asked. */
  userId(): string | undefined;
  /** The present moment by Nova's clock. */
  now(): Temporal.Instant;
  /** All nova-compute services. One call. */
  services(signal: AbortSignal): Promise<NovaResult<readonly ComputeService[]>>;
  hypervisors(signal: AbortSignal): Promise<NovaResult<readonly HypervisorIdentity[]>>;
  /** The servers of all projects on a host. One call a page. */
  serversOn(host: string, signal: AbortSignal): Promise<NovaResult<readonly NovaServer[]>>;
  /** undefined: it is deleted. */
  server(id: string, signal: AbortSignal): Promise<NovaResult<NovaServer | undefined>>;
  /** From a host and to it; only those that changed since, where Nova can tell them. One call a page. */
  migrations(host: string, since: Temporal.Instant | undefined, signal: AbortSignal): Promise<NovaResult<readonly ServerMigration[]>>;
  /** Percent of a live migration that is under way; undefined where it is not told. One call. */
  progress(server: string, signal: AbortSignal): Promise<number | undefined>;
  /** Why a migration failed. Two calls. */
  reason(migration: ServerMigration, signal: AbortSignal): Promise<string | undefined>;
  /** Does it. `service` is the UUID of the host's service. */
  perform(call: HostCall, service: string, signal: AbortSignal): Promise<NovaResult<unknown>>;
};

/** From here on lists of migrations have pages, and can be asked for what changed. */
const minorOfPages = 59;
/** From 2.88 on the list of hypervisors asks every one of them how long it has been up. */
const minorBeforeUptime = 87;

const projected = <T>(answer: NovaResult<readonly JsonObject[]>, project: (raw: JsonObject) => T | undefined): NovaResult<readonly T[]> =>
  answer.value === undefined ? { failure: answer.failure } : { value: answer.value.flatMap(raw => project(raw) ?? []) };

const part = (body: Json | undefined, key: string): readonly JsonObject[] => {
  const items = isObject(body) ? body[key] : undefined;
  return Array.isArray(items) ? items.filter(isObject) : [];
};

type Request = { readonly method: 'POST' | 'PUT' | 'DELETE'; readonly path: string; readonly body?: Json };

const actions = {
  // No host: the scheduler knows best. auto: Nova looks whether disks have to be copied.
  'live-migrate': { 'os-migrateLive': { host: null, block_migration: 'auto' } },
  'cold-migrate': { migrate: null },
  confirm: { confirmResize: null },
} as const;

const requestOf = (call: HostCall, service: string): Request => {
  if (call.kind === 'disable') {
    return { method: 'PUT', path: `/os-services/${service}`, body: { status: 'disabled', disabled_reason: call.reason } };
  }
  if (call.kind === 'enable') return { method: 'PUT', path: `/os-services/${service}`, body: { status: 'enabled' } };
  if (call.kind === 'abort') return { method: 'DELETE', path: `/servers/${call.server}/migrations/${call.migration}` };
  return { method: 'POST', path: `/servers/${call.server}/action`, body: actions[call.kind] };
};

const readServices = async (client: NovaClient, signal: AbortSignal): Promise<NovaResult<readonly ComputeService[]>> => {
  const { value, failure } = await client.call({ method: 'GET', path: '/os-services?binary=nova-compute' }, signal);
  return failure === undefined ? { value: part(value, 'services').flatMap(raw => serviceOf(raw) ?? []) } : { failure };
};

const readMigrations = async (
  client: NovaClient,
  host: string,
  since: Temporal.Instant | undefined,
  signal: AbortSignal,
): Promise<NovaResult<readonly ServerMigration[]>> => {
  const query = new URLSearchParams({ host });
  if (since !== undefined && (client.minor ?? 0) >= minorOfPages) query.set('changes-since', since.toString({ smallestUnit: 'second' }));
  return projected(await listAll(client, '/os-migrations', `?${query.toString()}`, 'migrations', signal), migrationOf);
};

const readServer = async (client: NovaClient, id: string, signal: AbortSignal): Promise<NovaResult<NovaServer | undefined>> => {
  const { value, failure } = await client.call({ method: 'GET', path: `/servers/${id}` }, signal);
  if (failure !== undefined) return failure.kind === 'missing' ? { value: undefined } : { failure };
  return { value: isObject(value) && isObject(value['server']) ? serverOf(value['server']) : undefined };
};

/**
 * A Nova to talk to. Nothing is asked yet, so wrong credentials show with the first call. Throws a NovaConfigError for a CA file that cannot be
 * read. `exchange` is how calls are carried: HTTP when left out.
 */
export const openNova = (config: NovaConfig, clock: Clock, exchange: HttpTransport = httpExchange(config)): Nova => {
  const client = new NovaClient(config, exchange, clock);
  const list = (path: string, query: string, key: string, signal: AbortSignal) => listAll(client, path, query, key, signal);
  return {
    userId: () => client.userId,
    now: () => client.now(),
    services: signal => readServices(client, signal),
    hypervisors: async signal => {
      const request = { method: 'GET', path: '/os-hypervisors/detail', mostMinor: minorBeforeUptime } as const;
      const { value, failure } = await client.call(request, signal);
      return failure === undefined ? { value: part(value, 'hypervisors').flatMap(raw => hypervisorOf(raw) ?? []) } : { failure };
    },
    serversOn: async (host, signal) => {
      const query = new URLSearchParams({ all_tenants: '1', host });
      return projected(await list('/servers/detail', `?${query.toString()}`, 'servers', signal), serverOf);
    },
    server: (id, signal) => readServer(client, id, signal),
    migrations: (host, since, signal) => readMigrations(client, host, since, signal),
    progress: async (server, signal) => {
      const { value } = await client.call({ method: 'GET', path: `/servers/${server}/migrations` }, signal);
      return part(value, 'migrations')
        .map(progressOf)
        .find(percent => percent !== undefined);
    },
    reason: (migration, signal) => reasonOf(client, migration, signal),
    perform: (call, service, signal) => client.call(requestOf(call, service), signal),
  };
};
