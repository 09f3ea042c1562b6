import { isObject, type Json, type JsonObject, readTime } from '@drydock/apimachinery';
import type {
  ComputeService,
  HypervisorIdentity,
  NovaServer,
  ServerMigration,
} from '@drydock/core/hypervisor';

/** Conversions of Nova's objects. */

function text(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Parses a time; Nova writes most times without a zone, and means UTC. */
function time(value: Json | undefined): Temporal.Instant | undefined {
  const time = text(value);
  return time === undefined
    ? undefined
    : readTime(/(Z|[+-]\d\d:?\d\d)$/.test(time) ? time : `${time}Z`);
}

function isVolumeBacked(raw: JsonObject): boolean {
  const attached = raw['os-extended-volumes:volumes_attached'];
  // A server without an image was booted from a volume, or from a blank disk of the host.
  return raw['image'] === '' && Array.isArray(attached) && attached.length > 0;
}

export function serverOf(raw: JsonObject): NovaServer | undefined {
  const id = text(raw['id']);
  if (id === undefined) return undefined;
  const taskState = text(raw['OS-EXT-STS:task_state']);
  const host = text(raw['OS-EXT-SRV-ATTR:host']);
  const memory = isObject(raw['flavor']) ? raw['flavor']['ram'] : undefined;
  const status = text(raw['status']) ?? 'UNKNOWN';
  const updated = time(raw['updated']) ?? time(raw['created']);
  return {
    id,
    name: text(raw['name']) ?? id,
    status,
    vmState: text(raw['OS-EXT-STS:vm_state']) ?? status.toLowerCase(),
    ...(taskState !== undefined && { taskState }),
    ...(host !== undefined && { host }),
    ...(typeof memory === 'number' && { memoryMiB: memory }),
    ...(updated && { updated }),
    isVolumeBacked: isVolumeBacked(raw),
  };
}

export function serviceOf(raw: JsonObject): ComputeService | undefined {
  const [id, host, reason] = [text(raw['id']), text(raw['host']), text(raw['disabled_reason'])];
  if (id === undefined || host === undefined || raw['binary'] !== 'nova-compute') return undefined;
  return {
    id,
    host,
    isEnabled: raw['status'] === 'enabled',
    isUp: raw['state'] === 'up',
    ...(reason !== undefined && { disabledReason: reason }),
  };
}

export function hypervisorOf(raw: JsonObject): HypervisorIdentity | undefined {
  const hostname = text(raw['hypervisor_hostname']);
  const id = text(raw['id']);
  const service = isObject(raw['service']) ? text(raw['service']['host']) : undefined;
  const host = service ?? hostname;
  return host === undefined
    ? undefined
    : { host, ...(hostname !== undefined && { hostname }), ...(id !== undefined && { id }) };
}

export function migrationOf(raw: JsonObject): ServerMigration | undefined {
  const { id } = raw;
  const server = text(raw['instance_uuid']) ?? text(raw['server_uuid']);
  const created = time(raw['created_at']);
  if (typeof id !== 'number' || server === undefined || created === undefined) return undefined;
  const [source, target, user] = [
    text(raw['source_compute']),
    text(raw['dest_compute']),
    text(raw['user_id']),
  ];
  return {
    id,
    server,
    type: text(raw['migration_type']) ?? 'unknown',
    status: text(raw['status']) ?? 'unknown',
    ...(source !== undefined && { source }),
    ...(target !== undefined && { target }),
    created,
    updated: time(raw['updated_at']) ?? created,
    ...(user !== undefined && { user }),
  };
}

function bytes(raw: JsonObject, key: string): number {
  const value = raw[key];
  return typeof value === 'number' && value > 0 ? value : 0;
}

/**
 * Returns the percentage of memory and disks that need not be copied any more; undefined where the
 * hypervisor does not report it.
 */
export function progressOf(raw: JsonObject): number | undefined {
  const total = bytes(raw, 'memory_total_bytes') + bytes(raw, 'disk_total_bytes');
  const left = bytes(raw, 'memory_remaining_bytes') + bytes(raw, 'disk_remaining_bytes');
  return total === 0
    ? undefined
    : Math.min(Math.max(Math.round((100 * (total - left)) / total), 0), 100);
}
