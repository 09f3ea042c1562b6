import type { Json, JsonObject } from '@drydock/apimachinery';

/** Objects of a simulated OpenStack, with Nova's own names. */

export type SimulatedHost = {
  readonly name: string;
  /** Name of the hypervisor: `hypervisor_hostname`. */
  readonly hypervisor: string;
  readonly service: string;
  readonly hypervisorId: string;
  enabled: boolean;
  reason: string | undefined;
  up: boolean;
  /** Number of servers that it can hold. */
  readonly room: number;
};

export type SimulatedServer = {
  readonly id: string;
  readonly name: string;
  readonly project: string;
  readonly memoryMiB: number;
  readonly createdMs: number;
  /** Whether it was booted from a volume: then its image is an empty string. */
  readonly volumeBacked: boolean;
  host: string | undefined;
  vmState: string;
  taskState: string | undefined;
  /** State before a resize. */
  earlier: string;
  /** Whether no other host fits it. */
  pinned: boolean;
};

export type SimulatedMigration = {
  readonly id: number;
  readonly uuid: string;
  readonly server: string;
  readonly type: 'live-migration' | 'migration' | 'resize';
  readonly source: string;
  readonly user: string;
  readonly request: string;
  readonly createdMs: number;
  target: string | undefined;
  status: string;
  updatedMs: number;
  beganMs: number | undefined;
  /** Time of the next automatic step. */
  dueMs: number | undefined;
};

export type SimulatedAction = {
  readonly request: string;
  readonly server: string;
  readonly action: string;
  readonly event: string;
  readonly startMs: number;
  message: string | undefined;
  details: string | undefined;
};

/** Bodies of Nova's responses, as far as they are read here. */

/** Formats a time; most of Nova's times have microseconds and no zone. */
function novaTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace('Z', '000');
}

const statuses: Readonly<Record<string, string>> = {
  active: 'ACTIVE',
  paused: 'PAUSED',
  stopped: 'SHUTOFF',
  error: 'ERROR',
  resized: 'VERIFY_RESIZE',
  suspended: 'SUSPENDED',
  rescued: 'RESCUE',
  shelved: 'SHELVED',
  building: 'BUILD',
};

function statusOf({ vmState, taskState }: SimulatedServer): string {
  if (taskState === 'migrating') return 'MIGRATING';
  if (taskState?.startsWith('resize_') === true) return 'RESIZE';
  return statuses[vmState] ?? 'UNKNOWN';
}

export function serverBody(server: SimulatedServer): JsonObject {
  return {
    id: server.id,
    name: server.name,
    status: statusOf(server),
    tenant_id: server.project,
    hostId: `hash-of-${server.project}-${server.host ?? ''}`,
    image: server.volumeBacked ? '' : { id: '00000005-0000-4000-8000-000000000000' },
    flavor: {
      vcpus: 1,
      ram: server.memoryMiB,
      disk: 1,
      ephemeral: 0,
      swap: 0,
      original_name: 'small',
      extra_specs: {},
    },
    'os-extended-volumes:volumes_attached': server.volumeBacked
      ? [{ id: server.id, delete_on_termination: false }]
      : [],
    'OS-EXT-STS:vm_state': server.vmState,
    'OS-EXT-STS:task_state': server.taskState ?? null,
    'OS-EXT-STS:power_state': server.vmState === 'active' ? 1 : 4,
    'OS-EXT-SRV-ATTR:host': server.host ?? null,
    'OS-EXT-SRV-ATTR:hypervisor_hostname': server.host ?? null,
    created: novaTime(server.createdMs),
  };
}

export function serviceBody(host: SimulatedHost): JsonObject {
  return {
    id: host.service,
    binary: 'nova-compute',
    host: host.name,
    zone: 'nova',
    status: host.enabled ? 'enabled' : 'disabled',
    state: host.up ? 'up' : 'down',
    disabled_reason: host.reason ?? null,
    forced_down: false,
  };
}

export function hypervisorBody(host: SimulatedHost): JsonObject {
  return {
    id: host.hypervisorId,
    hypervisor_hostname: host.hypervisor,
    hypervisor_type: 'fake',
    state: host.up ? 'up' : 'down',
    status: host.enabled ? 'enabled' : 'disabled',
    service: { id: host.service, host: host.name, disabled_reason: host.reason ?? null },
  };
}

export function migrationBody(record: SimulatedMigration, minor: number): JsonObject {
  return {
    id: record.id,
    uuid: record.uuid,
    instance_uuid: record.server,
    migration_type: record.type,
    status: record.status,
    source_compute: record.source,
    dest_compute: record.target ?? null,
    created_at: novaTime(record.createdMs),
    updated_at: record.updatedMs === record.createdMs ? null : novaTime(record.updatedMs),
    ...(minor >= 80 && { user_id: record.user, project_id: 'admin' }),
  };
}

/** Returns a running migration with its progress. */
export function progressBody(
  record: SimulatedMigration,
  memoryMiB: number,
  nowMs: number,
): JsonObject {
  const total = memoryMiB * 1024 * 1024;
  const { beganMs, dueMs } = record;
  const isRunning = record.status === 'running' && beganMs !== undefined && dueMs !== undefined;
  const left = isRunning
    ? Math.round((total * Math.max(dueMs - nowMs, 0)) / Math.max(dueMs - beganMs, 1))
    : total;
  const numbers = {
    memory_total_bytes: total,
    memory_processed_bytes: total - left,
    memory_remaining_bytes: left,
  };
  return {
    id: record.id,
    uuid: record.uuid,
    server_uuid: record.server,
    status: record.status,
    source_compute: record.source,
    dest_compute: record.target ?? null,
    ...(isRunning
      ? numbers
      : { memory_total_bytes: null, memory_processed_bytes: null, memory_remaining_bytes: null }),
    disk_total_bytes: null,
    disk_processed_bytes: null,
    disk_remaining_bytes: null,
  };
}

export function actionBody({
  request,
  server,
  action,
  startMs,
  message,
}: SimulatedAction): JsonObject {
  return {
    action,
    instance_uuid: server,
    request_id: request,
    start_time: novaTime(startMs),
    message: message ?? null,
  };
}

export function actionEvents({ event, startMs, details }: SimulatedAction, minor: number): Json {
  return [
    {
      event,
      start_time: novaTime(startMs),
      result: details === undefined ? 'Success' : 'Error',
      traceback:
        details === undefined
          ? null
          : '  File "nova/conductor/manager.py", line 400, in _cold_migrate\n    raise exception.NoValidHost(reason=msg)\n',
      ...(minor >= 84 && { details: details ?? null }),
    },
  ];
}
