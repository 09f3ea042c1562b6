import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import { type NovaCall, type NovaReply, refuse } from './answer.ts';
import { type OpenStack, simulatedUser } from './open-stack.ts';
import type { SimulatedServer } from './parts.ts';

type Action = (
  cloud: OpenStack,
  server: SimulatedServer,
  argument: Json | undefined,
  minor: number,
) => NovaReply;

function inState(action: string, { id }: SimulatedServer, what: string): NovaReply {
  return refuse(409, `Cannot '${action}' instance ${id} while it is in ${what}`);
}

/** Returns Nova's first check: no other task is running, and the state is one of those. */
function unready(
  action: string,
  server: SimulatedServer,
  states: readonly string[],
): NovaReply | undefined {
  if (!states.includes(server.vmState))
    return inState(action, server, `vm_state ${server.vmState}`);
  return server.taskState === undefined
    ? undefined
    : inState(action, server, `task_state ${server.taskState}`);
}

const liveMigrate: Action = (cloud, server, argument, minor) => {
  const options: JsonObject = isObject(argument) ? argument : {};
  if (options['block_migration'] === undefined)
    return refuse(
      400,
      "Invalid input for field/attribute os-migrateLive. 'block_migration' is a required property",
    );
  if (minor >= 68 && options['force'] !== undefined)
    return refuse(400, "Additional properties are not allowed ('force' was unexpected)");
  const { host } = options;
  if (typeof host === 'string' && !cloud.hosts.has(host))
    return refuse(400, `Compute host ${host} could not be found.`);
  const refusal = unready('os-migrateLive', server, ['active', 'paused']);
  if (refusal !== undefined) return refusal;
  cloud.migrations.begin(server, 'live-migration', simulatedUser.id, cloud.nowMs());
  return { status: 202 };
};

const coldMigrate: Action = (cloud, server) => {
  const refusal = unready('migrate', server, ['active', 'stopped']);
  if (refusal !== undefined) return refusal;
  cloud.migrations.begin(server, 'migration', simulatedUser.id, cloud.nowMs());
  return { status: 202 };
};

const confirm: Action = (cloud, server) => {
  const refusal = unready('confirmResize', server, ['resized']);
  if (refusal !== undefined) return refusal;
  return cloud.migrations.confirm(server, cloud.nowMs())
    ? { status: 204 }
    : refuse(400, 'Instance has not been resized.');
};

const actions: Readonly<Record<string, Action>> = {
  'os-migrateLive': liveMigrate,
  migrate: coldMigrate,
  confirmResize: confirm,
};

/** `POST /servers/{id}/action`. */
export function act(
  cloud: OpenStack,
  server: SimulatedServer,
  { body, minor }: NovaCall,
): NovaReply {
  const [name, argument] = Object.entries(isObject(body) ? body : {})[0] ?? ['', undefined];
  const action = actions[name];
  return action === undefined
    ? refuse(400, `There is no such action: ${name}`)
    : action(cloud, server, argument, minor);
}

/** `DELETE /servers/{id}/migrations/{n}`: a queued one only since 2.65. */
export function abort(
  cloud: OpenStack,
  server: SimulatedServer,
  id: number,
  minor: number,
): NovaReply {
  const record = cloud.migrations
    .underWay(server.id)
    .find(one => one.id === id && one.type === 'live-migration');
  if (record === undefined)
    return refuse(404, `Migration ${id} for server ${server.id} is not live-migration.`);
  const isQueued = record.status === 'queued' || record.status === 'preparing';
  if (record.status !== 'running' && !(isQueued && minor >= 65)) {
    return refuse(
      400,
      `Migration ${id} state of instance ${server.id} is ${record.status}. Cannot abort while the migration is in this state.`,
    );
  }
  cloud.migrations.abort(record, cloud.nowMs());
  return { status: 202 };
}
