import { type Place, region, secrets } from './place.ts';

/** What the services are told, as their own files. */

type Section = Readonly<Record<string, string | number | boolean>>;
type Ini = Readonly<Record<string, Section>>;

function ini(sections: Ini): string {
  return Object.entries(sections)
    .map(([name, values]) =>
      [`[${name}]`, ...Object.entries(values).map(([key, value]) => `${key} = ${value}`)].join(
        '\n',
      ),
    )
    .join('\n');
}

/** Filters and apps by their factories: what Debian keeps in /etc, as short as it may be. */
function factories(kind: 'filter' | 'app', all: Readonly<Record<string, string>>): Ini {
  return Object.fromEntries(
    Object.entries(all).map(([name, factory]) => [
      `${kind}:${name}`,
      { [`paste.${kind}_factory`]: factory },
    ]),
  );
}

function credentials({ keystone }: Place, username: string): Section {
  return {
    auth_type: 'password',
    auth_url: keystone,
    username,
    password: secrets.service,
    project_name: 'service',
    user_domain_name: 'Default',
    project_domain_name: 'Default',
  };
}

/** For whoever looks up in the catalog where another service is. */
function client(place: Place, username: string): Section {
  return { ...credentials(place, username), region_name: region };
}

function believing(place: Place, username: string): Section {
  return {
    www_authenticate_uri: place.keystone,
    service_token_roles_required: true,
    ...client(place, username),
  };
}

function keystone(place: Place, tokenSeconds: number): Ini {
  return {
    DEFAULT: {
      log_file: `${place.folder}/keystone.log`,
      public_endpoint: place.keystone.replace(/v3$/, ''),
    },
    database: { connection: place.database('keystone') },
    token: { provider: 'fernet', expiration: tokenSeconds },
    fernet_tokens: { key_repository: `${place.folder}/etc/keystone/fernet-keys` },
    // The least that there is: services log in often, above all where tokens live for a short time.
    identity: { password_hash_rounds: 4 },
    credential: { key_repository: `${place.folder}/etc/keystone/credential-keys` },
  };
}

function placement(place: Place): Ini {
  return {
    DEFAULT: { log_file: `${place.folder}/placement.log` },
    api: { auth_strategy: 'keystone' },
    placement_database: { connection: place.database('placement') },
    keystone_authtoken: believing(place, 'placement'),
  };
}

function nova(place: Place, { driver, migrationsAtOnce, pageSize }: HarnessSettings): Ini {
  return {
    DEFAULT: {
      my_ip: '127.0.0.1',
      state_path: `${place.folder}/nova`,
      transport_url: `rabbit://os:${secrets.queue}@127.0.0.1:${place.ports.rabbit}/`,
      compute_driver: driver,
      max_concurrent_live_migrations: migrationsAtOnce,
      report_interval: 3,
      service_down_time: 15,
      sync_power_state_interval: -1,
      instance_usage_audit: false,
      reserved_host_cpus: 0,
      reserved_host_memory_mb: 0,
      initial_ram_allocation_ratio: '1.0',
    },
    api: { auth_strategy: 'keystone', max_limit: pageSize },
    api_database: { connection: place.database('nova_api') },
    database: { connection: place.database('nova') },
    conductor: { workers: 1 },
    scheduler: { workers: 1, discover_hosts_in_cells_interval: 30 },
    // Several requests in a row would all go to one host otherwise.
    filter_scheduler: { host_subset_size: 3 },
    quota: { instances: -1, cores: -1, ram: -1 },
    oslo_messaging_notifications: { driver: 'noop' },
    oslo_concurrency: { lock_path: `${place.folder}/lock` },
    vnc: { enabled: false },
    wsgi: { api_paste_config: `${place.folder}/etc/nova/api-paste.ini` },
    // There is no image service: Nova only writes this address into a notification.
    glance: { endpoint_override: 'http://127.0.0.1:9' },
    service_user: { send_service_user_token: true, ...credentials(place, 'nova') },
    placement: client(place, 'nova'),
    neutron: { service_metadata_proxy: false, http_retries: 0, ...client(place, 'nova') },
    keystone_authtoken: believing(place, 'nova'),
  };
}

const novaPaste: Ini = {
  'composite:osapi_compute': {
    use: 'call:nova.api.openstack.urlmap:urlmap_factory',
    '/': 'versions',
    '/v2.1': 'version',
    '/v2.1/+': 'v21',
  },
  'composite:v21': {
    use: 'call:nova.api.auth:pipeline_factory_v21',
    keystone: 'req_id fault log size authtoken context app',
  },
  'pipeline:versions': { pipeline: 'fault log versions_app' },
  'pipeline:version': { pipeline: 'req_id fault log version_app' },
  ...factories('filter', {
    req_id: 'nova.api.compute_req_id:ComputeReqIdMiddleware.factory',
    fault: 'nova.api.openstack:FaultWrapper.factory',
    log: 'nova.api.openstack.requestlog:RequestLog.factory',
    size: 'oslo_middleware:RequestBodySizeLimiter.factory',
    authtoken: 'keystonemiddleware.auth_token:filter_factory',
    context: 'nova.api.auth:NovaKeystoneContext.factory',
  }),
  ...factories('app', {
    app: 'nova.api.openstack.compute:APIRouterV21.factory',
    versions_app: 'nova.api.openstack.compute.versions:Versions.factory',
    version_app: 'nova.api.openstack.compute.versions:VersionsV2.factory',
  }),
};

/**
 * Nova asks it for the ports of every server that it shows, although none has one: a plugin without
 * any mechanism answers that.
 */
function neutron(place: Place): Ini {
  return {
    DEFAULT: {
      log_file: `${place.folder}/neutron.log`,
      state_path: `${place.folder}/neutron`,
      bind_host: '127.0.0.1',
      bind_port: place.ports.neutron,
      api_paste_config: `${place.folder}/etc/neutron/api-paste.ini`,
      core_plugin: 'ml2',
      // Its model is missing from the answers about ports otherwise (neutron 21.0 says 500).
      service_plugins: 'router',
      auth_strategy: 'keystone',
      transport_url: 'fake:///',
      api_workers: 0,
      rpc_workers: 0,
      rpc_state_report_workers: 0,
      notify_nova_on_port_status_changes: false,
      notify_nova_on_port_data_changes: false,
    },
    database: { connection: place.database('neutron') },
    oslo_concurrency: { lock_path: `${place.folder}/lock` },
    ml2: {
      type_drivers: 'local',
      tenant_network_types: 'local',
      mechanism_drivers: '',
      extension_drivers: '',
    },
    keystone_authtoken: believing(place, 'neutron'),
  };
}

const neutronPaste: Ini = {
  'composite:neutron': { use: 'egg:Paste#urlmap', '/': 'versions_composite', '/v2.0': 'v2' },
  'composite:v2': {
    use: 'call:neutron.auth:pipeline_factory',
    keystone: 'request_id catch_errors authtoken context extensions app',
  },
  'composite:versions_composite': {
    use: 'call:neutron.auth:pipeline_factory',
    keystone: 'versions',
  },
  ...factories('filter', {
    request_id: 'oslo_middleware:RequestId.factory',
    catch_errors: 'oslo_middleware:CatchErrors.factory',
    authtoken: 'keystonemiddleware.auth_token:filter_factory',
    context: 'neutron.auth:NeutronKeystoneContext.factory',
    extensions: 'neutron.api.extensions:plugin_aware_extension_middleware_factory',
  }),
  ...factories('app', {
    versions: 'neutron.pecan_wsgi.app:versions_factory',
    app: 'neutron.api.v2.router:APIRouter.factory',
  }),
};

export type HarnessSettings = {
  /** Of Nova's own; the usual one takes five seconds for a live migration. */
  readonly driver: 'fake.FakeLiveMigrateDriver' | 'fake.MediumFakeDriver';
  /** Of one host. Nova's own default is 1. */
  readonly migrationsAtOnce: number;
  /** The most that a list has on a page. */
  readonly pageSize: number;
  /** How long a token lives. */
  readonly tokenSeconds: number;
};

/** Writes all of it. */
export function writeConfig(
  place: Place,
  settings: HarnessSettings,
  hosts: readonly string[],
): void {
  place.write('etc/keystone/keystone.conf', ini(keystone(place, settings.tokenSeconds)));
  place.write('etc/placement/placement.conf', ini(placement(place)));
  place.write('etc/nova/nova.conf', ini(nova(place, settings)));
  place.write('etc/nova/api-paste.ini', ini(novaPaste));
  place.write('etc/neutron/neutron.conf', ini(neutron(place)));
  place.write('etc/neutron/api-paste.ini', ini(neutronPaste));
  for (const host of hosts) {
    const own = `${place.folder}/nova/${host}`;
    place.write(
      `etc/nova/${host}.conf`,
      ini({ DEFAULT: { host, state_path: own }, oslo_concurrency: { lock_path: own } }),
    );
    place.write(`nova/${host}/.keep`, '');
  }
  place.write('etc/rabbitmq.conf', rabbit(place));
  place.write('etc/rabbitmq-plugins', '[].');
  place.write('etc/rabbitmq-env', '');
}

function rabbit({ ports }: Place): string {
  return [
    `listeners.tcp.1 = 127.0.0.1:${ports.rabbit}`,
    'default_user = os',
    `default_pass = ${secrets.queue}`,
    ...['configure', 'read', 'write'].map(right => `default_permissions.${right} = .*`),
    'log.file.level = warning\n',
  ].join('\n');
}
