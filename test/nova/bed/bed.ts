import { connect } from 'node:net';
import { join } from 'node:path';
import type { ControlPlane } from '../../control-plane/types.ts';
import { waitFor } from '../../control-plane/wait.ts';
import type { LeftOut } from '../../integrations/builds.ts';
import { type HarnessSettings, writeConfig } from './config.ts';
import { fillCatalog, tokenOf } from './keystone.ts';
import { ensurePackages } from './packages.ts';
import { makePlace, must, type Place, region, secrets } from './place.ts';
import { entryPoint, type ServiceName, Services } from './services.ts';

/**
 * A real OpenStack: Keystone, Placement, Neutron and Nova of Debian 12 with Nova's own fake
 * hypervisor, in the folder of a control plane.
 */
export interface OpenStack {
  readonly kind: 'started';
  /** The OS_* variables of its administrator. */
  readonly environment: Readonly<Record<string, string>>;
  readonly hosts: readonly string[];
  stop(): Promise<void>;
  stopService(...names: readonly ServiceName[]): Promise<void>;
  /** Ends it at once. */
  killService(name: ServiceName): Promise<void>;
  /** Resolves when it works again. */
  startService(name: ServiceName): Promise<void>;
  /**
   * Leaves a server in a task that nobody is at any more, as Nova's own database has it two hours
   * after its service has died.
   */
  abandon(server: string, task: string): Promise<void>;
}

function sql(place: Place, text: string, database: readonly string[] = []): Promise<string> {
  return must(
    place,
    'mariadb',
    ['--no-defaults', '-uroot', '-S', place.socket, '-N', ...database],
    text,
  ).then(({ stdout }) => stdout);
}

async function counts(
  place: Place,
  database: string,
  text: string,
  wanted: number,
): Promise<boolean> {
  return Number(await sql(place, `select count(*) from ${text}`, [database])) >= wanted;
}

async function answers(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  const { status } = await fetch(url, { headers, signal: AbortSignal.timeout(10_000) });
  return status >= 200 && status < 400;
}

function listens(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1')
    .once('connect', () => resolve(true))
    .once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}

async function databases(place: Place): Promise<void> {
  const names = ['keystone', 'placement', 'nova_api', 'nova', 'nova_cell0', 'neutron'];
  const grants = names.map(
    name =>
      `create database ${name} character set utf8mb3; grant all on ${name}.* to 'os'@'localhost';`,
  );
  await sql(
    place,
    [`create user 'os'@'localhost' identified by '${secrets.database}';`, ...grants].join('\n'),
  );
}

function novaManage(place: Place, ...args: readonly string[]): Promise<unknown> {
  return must(
    place,
    '/usr/bin/python3',
    entryPoint(
      'nova.cmd.manage',
      '--config-file',
      join(place.folder, 'etc/nova/nova.conf'),
      ...args,
    ),
  );
}

async function keystoneSchema(place: Place): Promise<void> {
  const manage = (...args: readonly string[]): Promise<unknown> =>
    must(place, 'keystone-manage', [
      '--config-file',
      join(place.folder, 'etc/keystone/keystone.conf'),
      ...args,
    ]);
  await manage('db_sync');
  for (const keys of ['fernet_setup', 'credential_setup'])
    await manage(keys, '--keystone-user', 'root', '--keystone-group', 'root');
  await manage(
    'bootstrap',
    '--bootstrap-username',
    'admin',
    '--bootstrap-password',
    secrets.admin,
    '--bootstrap-project-name',
    'admin',
    '--bootstrap-role-name',
    'admin',
    '--bootstrap-region-id',
    region,
    '--bootstrap-service-name',
    'keystone',
    ...['public', 'internal', 'admin'].flatMap(kind => [`--bootstrap-${kind}-url`, place.keystone]),
  );
}

async function novaSchema(place: Place): Promise<void> {
  await novaManage(place, 'api_db', 'sync');
  await novaManage(
    place,
    'cell_v2',
    'map_cell0',
    '--database_connection',
    place.database('nova_cell0'),
  );
  await novaManage(place, 'db', 'sync');
  await novaManage(place, 'cell_v2', 'create_cell', '--name', 'cell1');
}

async function schemas(place: Place): Promise<void> {
  await Promise.all([
    keystoneSchema(place),
    novaSchema(place),
    must(place, 'placement-manage', [
      '--config-dir',
      join(place.folder, 'etc/placement'),
      'db',
      'sync',
    ]),
    must(
      place,
      '/usr/bin/python3',
      entryPoint(
        'neutron.db.migration.cli',
        '--config-file',
        join(place.folder, 'etc/neutron/neutron.conf'),
        'upgrade',
        'heads',
      ),
    ),
  ]);
}

function address(
  { ports }: Place,
  service: 'nova' | 'placement' | 'neutron',
  path: string,
): string {
  return `http://127.0.0.1:${ports[service]}${path}`;
}

/**
 * Neutron answers 500 to a question for ports until some other question has made its models
 * complete: it is asked for networks first.
 */
async function neutronAnswers(place: Place): Promise<boolean> {
  const headers = { 'x-auth-token': await tokenOf(place, 'neutron') };
  return (
    (await answers(address(place, 'neutron', '/v2.0/networks'), headers)) &&
    answers(address(place, 'neutron', '/v2.0/ports'), headers)
  );
}

/**
 * Up: seen since it was started. What was reported before its end would pass for up for a while.
 */
function reports(
  place: Place,
  binary: string,
  host: string | undefined,
  since: string,
): Promise<boolean> {
  const where = host === undefined ? '' : ` and host='${host}'`;
  return counts(
    place,
    'nova',
    `services where deleted=0 and last_seen_up >= '${since}' and \`binary\`='${binary}'${where}`,
    1,
  );
}

function timestamp(): string {
  return new Date().toISOString().slice(0, 19).replace('T', ' ');
}

function isUp(place: Place, name: ServiceName, since: string): Promise<boolean> {
  switch (name) {
    case 'nova-api':
      return answers(address(place, 'nova', '/v2.1/'));
    case 'placement':
      return answers(address(place, 'placement', '/'));
    case 'keystone':
      return answers(place.keystone);
    case 'neutron':
      return neutronAnswers(place);
    case 'mariadb':
      return sql(place, 'select 1').then(() => true);
    case 'rabbitmq':
      return listens(place.ports.rabbit);
    case 'epmd':
      return listens(place.ports.epmd);
    case 'nova-conductor':
    case 'nova-scheduler':
      return reports(place, name, undefined, since);
    default:
      return reports(place, 'nova-compute', name.slice('nova-compute@'.length), since);
  }
}

function computes(hosts: readonly string[]): readonly ServiceName[] {
  return hosts.map(host => `nova-compute@${host}` as const);
}

async function begin(place: Place, services: Services, hosts: readonly string[]): Promise<void> {
  const up = async (...names: readonly ServiceName[]): Promise<void> => {
    const since = timestamp();
    services.start(...names);
    for (const name of names) await services.ready(name, () => isUp(place, name, since));
  };
  services.start('epmd');
  await must(place, 'mariadb-install-db', [
    '--no-defaults',
    '--user=root',
    `--datadir=${place.folder}/mysql`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
  ]);
  services.start('rabbitmq');
  await up('mariadb');
  await databases(place);
  await schemas(place);
  await up('keystone');
  await fillCatalog(place);
  await services.ready('rabbitmq', () => isUp(place, 'rabbitmq', ''));
  const since = timestamp();
  const names: readonly ServiceName[] = [
    'placement',
    'nova-conductor',
    'nova-scheduler',
    'nova-api',
    'neutron',
    ...computes(hosts),
  ];
  services.start(...names);
  for (const name of names) await services.ready(name, () => isUp(place, name, since));
  for (const host of hosts) {
    await services.ready(`nova-compute@${host}`, () =>
      counts(place, 'nova', `compute_nodes where deleted=0 and host='${host}'`, 1),
    );
  }
  await novaManage(place, 'cell_v2', 'discover_hosts');
  const list = hosts.map(host => `'${host}'`).join(',');
  await waitFor('the hosts to be in the cell', async () =>
    (await counts(place, 'nova_api', `host_mappings where host in (${list})`, hosts.length))
      ? { done: undefined }
      : { yet: 'not all' },
  );
}

const defaults: HarnessSettings = {
  driver: 'fake.FakeLiveMigrateDriver',
  migrationsAtOnce: 1,
  pageSize: 1000,
  tokenSeconds: 3600,
};

/**
 * Starts an OpenStack with these compute hosts beside a control plane; about half a minute. Says
 * why where this machine cannot.
 */
export async function startOpenStack(
  controlPlane: ControlPlane,
  hosts: readonly string[],
  settings: Partial<HarnessSettings> = {},
): Promise<OpenStack | LeftOut> {
  const lacking = await ensurePackages();
  if (lacking !== undefined) return lacking;
  const place = await makePlace(join(controlPlane.folder, 'openstack'));
  writeConfig(place, { ...defaults, ...settings }, hosts);
  const services = new Services(controlPlane, place);
  try {
    await begin(place, services, hosts);
  } catch (error) {
    await services.stopAll();
    throw error;
  }
  return {
    kind: 'started',
    hosts,
    environment: {
      OS_AUTH_URL: place.keystone,
      OS_USERNAME: 'admin',
      OS_PASSWORD: secrets.admin,
      OS_PROJECT_NAME: 'admin',
      OS_USER_DOMAIN_NAME: 'Default',
      OS_PROJECT_DOMAIN_NAME: 'Default',
      OS_REGION_NAME: region,
    },
    stop: () => services.stopAll(),
    stopService: (...names) => services.stop(...names),
    killService: name => services.kill(name),
    startService: async name => {
      const since = timestamp();
      services.start(name);
      await services.ready(name, () => isUp(place, name, since));
    },
    abandon: async (server, task) => {
      const change = `update instances set task_state = '${task}', updated_at = utc_timestamp() - interval 2 hour where uuid = '${server}'`;
      const changed = await sql(place, `${change}; select row_count()`, ['nova']);
      if (changed.trim() !== '1')
        throw new Error(`Nova's database has no server ${server}: ${changed}`);
    },
  };
}
