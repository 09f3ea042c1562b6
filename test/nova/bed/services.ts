import type { Program, Running } from '../../control-plane/processes/process.ts';
import type { ControlPlane } from '../../control-plane/types.ts';
import { waitFor } from '../../control-plane/wait.ts';
import { clean, type Place } from './place.ts';

/** The programs of one OpenStack. */

function program(
  place: Place,
  name: string,
  command: string,
  args: readonly string[],
  more: readonly string[] = [],
): Program {
  return {
    name: `openstack-${name}`,
    command: 'env',
    // Variables come before the command: `env -i A=1 COMMAND`.
    args: [...clean(place, '').slice(0, -1), ...more, command, ...args],
    cwd: place.folder,
    patience: '10s',
  };
}

function epmd(place: Place): Program {
  return program(place, 'epmd', 'epmd', [
    '-address',
    '127.0.0.1',
    '-port',
    String(place.ports.epmd),
  ]);
}

function rabbitmq(place: Place): Program {
  const { folder, ports } = place;
  const more = {
    PATH: '/usr/lib/rabbitmq/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: folder,
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_EPMD_PORT: ports.epmd,
    // Its wrapper becomes the program itself then, which can be ended by its number.
    RUNNING_UNDER_SYSTEMD: 1,
    RABBITMQ_CONF_ENV_FILE: `${folder}/etc/rabbitmq-env`,
    RABBITMQ_CONFIG_FILE: `${folder}/etc/rabbitmq.conf`,
    RABBITMQ_ENABLED_PLUGINS_FILE: `${folder}/etc/rabbitmq-plugins`,
    RABBITMQ_MNESIA_BASE: `${folder}/mnesia`,
    RABBITMQ_LOG_BASE: `${folder}/rabbitmq-log`,
    RABBITMQ_NODENAME: `drydock${ports.rabbit}@localhost`,
    RABBITMQ_DIST_PORT: ports.rabbitDistribution,
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS:
      '+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}',
  };
  return program(
    place,
    'rabbitmq',
    'rabbitmq-server',
    [],
    Object.entries(more).map(([name, value]) => `${name}=${value}`),
  );
}

function mariadb(place: Place): Program {
  return program(place, 'mariadb', 'mariadbd', [
    '--no-defaults',
    '--user=root',
    `--datadir=${place.folder}/mysql`,
    `--socket=${place.socket}`,
    `--pid-file=${place.folder}/mariadbd.pid`,
    '--skip-networking',
    '--skip-name-resolve',
    '--skip-log-bin',
    '--character-set-server=utf8mb3',
    '--max-connections=400',
    '--innodb-buffer-pool-size=96M',
    '--innodb-flush-log-at-trx-commit=0',
    '--skip-innodb-doublewrite',
    '--performance-schema=0',
  ]);
}

/** Arguments without blanks in them. */
function words(text: string): readonly string[] {
  return text.split(' ');
}

function wsgi(
  place: Place,
  name: 'keystone' | 'placement' | 'nova',
  file: string,
  processes: number,
  more: readonly string[],
): Program {
  return program(
    place,
    name === 'nova' ? 'nova-api' : name,
    'uwsgi-core',
    [
      ...words(
        '--plugin python3 --master --lazy-apps --enable-threads --need-app --die-on-term --no-orphans --thunder-lock',
      ),
      ...words(
        `--http-socket 127.0.0.1:${place.ports[name]} --processes ${processes} --threads 1 --buffer-size 65535 --disable-logging`,
      ),
      '--add-header',
      'Connection: close',
      '--wsgi-file',
      file,
    ],
    more,
  );
}

/** What Debian's scripts of the same names do. */
function entry(module: string, ...args: readonly string[]): readonly string[] {
  return [
    '-c',
    `import sys; from ${module} import main; sys.argv[0] = '${module}'; sys.exit(main())`,
    ...args,
  ];
}

function novaService(
  place: Place,
  name: string,
  module: string,
  ...more: readonly string[]
): Program {
  return program(
    place,
    name,
    '/usr/bin/python3',
    entry(module, '--config-file', `${place.folder}/etc/nova/nova.conf`, ...more),
  );
}

export type ServiceName =
  | 'epmd'
  | 'rabbitmq'
  | 'mariadb'
  | 'keystone'
  | 'placement'
  | 'nova-api'
  | 'nova-conductor'
  | 'nova-scheduler'
  | 'neutron'
  | `nova-compute@${string}`;

function programOf(place: Place, name: ServiceName): Program {
  const { folder } = place;
  switch (name) {
    case 'epmd':
      return epmd(place);
    case 'rabbitmq':
      return rabbitmq(place);
    case 'mariadb':
      return mariadb(place);
    case 'keystone': {
      const own = [
        `OS_KEYSTONE_CONFIG_DIR=${folder}/etc/keystone`,
        'OS_KEYSTONE_CONFIG_FILES=keystone.conf',
      ];
      return wsgi(place, name, '/usr/bin/keystone-wsgi-public', 2, own);
    }
    case 'placement':
      return wsgi(place, name, '/usr/bin/placement-api', 1, [
        `OS_PLACEMENT_CONFIG_DIR=${folder}/etc/placement`,
      ]);
    case 'nova-api': {
      const file = place.write(
        'nova-api.wsgi',
        'from nova.api.openstack.compute.wsgi import init_application\napplication = init_application()\n',
      );
      return wsgi(place, 'nova', file, 2, [
        `OS_NOVA_CONFIG_DIR=${folder}/etc/nova`,
        'OS_NOVA_CONFIG_FILES=api-paste.ini;nova.conf',
      ]);
    }
    case 'nova-conductor':
      return novaService(place, name, 'nova.cmd.conductor');
    case 'nova-scheduler':
      return novaService(place, name, 'nova.cmd.scheduler');
    case 'neutron':
      return program(
        place,
        name,
        '/usr/bin/python3',
        entry('neutron.cmd.eventlet.server', '--config-file', `${folder}/etc/neutron/neutron.conf`),
      );
    default: {
      const host = name.slice('nova-compute@'.length);
      return novaService(
        place,
        name,
        'nova.cmd.compute',
        '--config-file',
        `${folder}/etc/nova/${host}.conf`,
      );
    }
  }
}

/** Runs a command of Nova, Keystone or another that is no service. */
export const entryPoint = entry;

/** The services as processes, which can be stopped and started. */
export class Services {
  readonly #controlPlane: Pick<ControlPlane, 'run'>;
  readonly #place: Place;
  readonly #running = new Map<ServiceName, Running>();

  constructor(controlPlane: Pick<ControlPlane, 'run'>, place: Place) {
    this.#controlPlane = controlPlane;
    this.#place = place;
  }

  start(...names: readonly ServiceName[]): void {
    for (const name of names)
      this.#running.set(name, this.#controlPlane.run(programOf(this.#place, name)));
  }

  async stop(...names: readonly ServiceName[]): Promise<void> {
    await Promise.all(names.map(async name => this.#running.get(name)?.stop()));
    for (const name of names) this.#running.delete(name);
  }

  /** Ends the program itself at once. */
  async kill(name: ServiceName): Promise<void> {
    await this.#running.get(name)?.signal('SIGKILL');
    await this.stop(name);
  }

  /** Everything, those that others need last. */
  async stopAll(): Promise<void> {
    const last: readonly ServiceName[] = ['placement', 'keystone', 'rabbitmq', 'mariadb', 'epmd'];
    const first = [...this.#running.keys()].filter(name => !last.includes(name));
    await this.stop(...first);
    for (const name of last) await this.stop(name);
  }

  /** Until the check succeeds; throws at once when the service has ended. */
  async ready(name: ServiceName, check: () => Promise<boolean>): Promise<void> {
    const running = this.#running.get(name);
    await waitFor(
      `${name} to be ready`,
      async () => {
        if (running?.alive() !== true)
          throw new Error(`${name} has ended:\n${running?.tail(20) ?? ''}`);
        return (await check().catch(() => false)) ? { done: undefined } : { yet: running.tail(3) };
      },
      { deadlineMs: 120_000, everyMs: 300 },
    );
  }
}
