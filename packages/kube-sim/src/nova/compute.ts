import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import {
  actionBody,
  actionEvents,
  hypervisorBody,
  migrationBody,
  progressBody,
  type SimulatedHost,
  type SimulatedServer,
  serverBody,
  serviceBody,
} from './bodies.ts';
import {
  type NovaCall,
  type NovaReply,
  type OpenStack,
  refuse,
  simulatedUser,
} from './open-stack.ts';

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
function act(cloud: OpenStack, server: SimulatedServer, { body, minor }: NovaCall): NovaReply {
  const [name, argument] = Object.entries(isObject(body) ? body : {})[0] ?? ['', undefined];
  const action = actions[name];
  return action === undefined
    ? refuse(400, `There is no such action: ${name}`)
    : action(cloud, server, argument, minor);
}

/** `DELETE /servers/{id}/migrations/{n}`: a queued one only since 2.65. */
function abort(cloud: OpenStack, server: SimulatedServer, id: number, minor: number): NovaReply {
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

type Item = { readonly id: string; readonly body: JsonObject };

/** Returns one page, and a link to the next where there is more. */
function page(cloud: OpenStack, asked: NovaCall, key: string, items: readonly Item[]): NovaReply {
  const { query, base, path } = asked;
  const limit = Math.min(Number(query.get('limit') ?? cloud.pageSize), cloud.pageSize);
  const marker = query.get('marker');
  const start = marker === null ? 0 : items.findIndex(({ id }) => id === marker) + 1;
  if (marker !== null && start === 0) return refuse(400, `marker [${marker}] not found`);
  const shown = items.slice(start, start + limit);
  const last = shown.at(-1);
  const next = new URLSearchParams(query);
  next.set('marker', last?.id ?? '');
  const more = start + limit < items.length && last !== undefined;
  const links = { [`${key}_links`]: [{ rel: 'next', href: `${base}${path}?${next.toString()}` }] };
  return { status: 200, body: { [key]: shown.map(({ body }) => body), ...(more && links) } };
}

function listServers(cloud: OpenStack, asked: NovaCall): NovaReply {
  const host = asked.query.get('host');
  const isAll = ['1', 'true', 'True'].includes(asked.query.get('all_tenants') ?? '');
  const found = [...cloud.servers.values()]
    .filter(
      server => (host === null || server.host === host) && (isAll || server.project === 'admin'),
    )
    .sort((one, other) => other.createdMs - one.createdMs);
  return page(
    cloud,
    asked,
    'servers',
    found.map(server => ({ id: server.id, body: serverBody(server) })),
  );
}

function listMigrations(cloud: OpenStack, asked: NovaCall): NovaReply {
  const { query, minor } = asked;
  if (minor < 59 && (query.has('limit') || query.has('changes-since')))
    return refuse(400, 'Additional properties are not allowed');
  const [host, source, server] = [
    query.get('host'),
    query.get('source_compute'),
    query.get('instance_uuid'),
  ];
  const since = Date.parse(query.get('changes-since') ?? '');
  const found = cloud.migrations.records
    .filter(
      one =>
        (host === null || one.source === host || one.target === host) &&
        (source === null || one.source === source),
    )
    .filter(one => server === null || one.server === server)
    // A record that was never changed has no time of a change, and is not returned.
    .filter(
      one => Number.isNaN(since) || (one.updatedMs >= since && one.updatedMs !== one.createdMs),
    )
    .toReversed();
  const items = found.map(one => ({ id: one.uuid, body: migrationBody(one, minor) }));
  return minor >= 59
    ? page(cloud, asked, 'migrations', items)
    : { status: 200, body: { migrations: items.map(({ body }) => body) } };
}

function listServices(cloud: OpenStack, { query }: NovaCall): NovaReply {
  const [host, binary] = [query.get('host'), query.get('binary')];
  const fits = ({ name }: SimulatedHost): boolean =>
    (host === null || name === host) && (binary === null || binary === 'nova-compute');
  return {
    status: 200,
    body: { services: cloud.hosts.values().filter(fits).map(serviceBody).toArray() },
  };
}

function changeService(cloud: OpenStack, id: string, { body }: NovaCall): NovaReply {
  const host = cloud.hosts.values().find(({ service }) => service === id);
  if (host === undefined) return refuse(404, `Service ${id} could not be found.`);
  const { status, disabled_reason: reason }: JsonObject = isObject(body) ? body : {};
  if (status === undefined)
    return refuse(
      400,
      "Missing required field: 'status'. Must specify 'status' if 'disabled_reason' is specified.",
    );
  if (status === 'enabled' && reason !== undefined) {
    return refuse(400, "Specifying 'disabled_reason' when status is 'enabled' is invalid.");
  }
  if (typeof reason === 'string' && reason.length > 255)
    return refuse(400, 'Invalid input for field/attribute disabled_reason. Value is too long');
  cloud.setService(
    host.name,
    status === 'enabled',
    typeof reason === 'string' ? reason : undefined,
  );
  return { status: 200, body: { service: serviceBody(host) } };
}

function actionsOf(
  cloud: OpenStack,
  server: string,
  request: string | undefined,
  minor: number,
): NovaReply {
  const own = cloud.migrations.actions.filter(one => one.server === server);
  if (request === undefined) return { status: 200, body: { instanceActions: own.map(actionBody) } };
  const action = own.find(one => one.request === request);
  if (action === undefined)
    return refuse(404, `Action for request_id ${request} on instance ${server} could not be found`);
  return {
    status: 200,
    body: { instanceAction: { ...actionBody(action), events: actionEvents(action, minor) } },
  };
}

function progress(cloud: OpenStack, server: string): NovaReply {
  const { memoryMiB = 0 } = cloud.servers.get(server) ?? {};
  const running = cloud.migrations.underWay(server).filter(one => one.type === 'live-migration');
  return {
    status: 200,
    body: { migrations: running.map(one => progressBody(one, memoryMiB, cloud.nowMs())) },
  };
}

function ofServer(
  cloud: OpenStack,
  [, id = '', part, sub]: readonly string[],
  asked: NovaCall,
): NovaReply {
  const server = cloud.servers.get(id);
  if (server === undefined) return refuse(404, `Instance ${id} could not be found.`);
  const { method } = asked;
  if (part === undefined && method === 'GET')
    return { status: 200, body: { server: serverBody(server) } };
  if (part === undefined && method === 'DELETE') {
    cloud.deleteServer(id);
    return { status: 204 };
  }
  if (part === 'action' && method === 'POST') return act(cloud, server, asked);
  if (part === 'os-instance-actions' && method === 'GET')
    return actionsOf(cloud, id, sub, asked.minor);
  if (part === 'migrations' && method === 'DELETE')
    return abort(cloud, server, Number(sub), asked.minor);
  if (part === 'migrations' && method === 'GET') return progress(cloud, id);
  return refuse(404, 'The resource could not be found.');
}

/** Handles one call to Nova after authentication. */
export function compute(cloud: OpenStack, asked: NovaCall): NovaReply {
  const parts = asked.path.split('/').slice(1);
  const [first, second] = parts;
  const route = `${asked.method} ${first ?? ''}`;
  if (route === 'GET servers' && second === 'detail') return listServers(cloud, asked);
  if (first === 'servers') return ofServer(cloud, parts, asked);
  if (route === 'GET os-migrations') return listMigrations(cloud, asked);
  if (route === 'GET os-services') return listServices(cloud, asked);
  if (route === 'PUT os-services') return changeService(cloud, second ?? '', asked);
  if (route === 'GET os-hypervisors')
    return { status: 200, body: { hypervisors: [...cloud.hosts.values()].map(hypervisorBody) } };
  return refuse(404, 'The resource could not be found.');
}
