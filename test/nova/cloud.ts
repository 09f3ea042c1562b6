import assert from 'node:assert/strict';
import { systemClock } from '@drydock/utils';

/**
 * The Nova of the OS_* variables, spoken to as its administrator without any code of ours: what
 * makes servers has to be told apart from what moves them.
 */

type Env = Readonly<Record<string, string | undefined>>;
type Body = Record<string, unknown>;

type ComputeService = {
  readonly id: string;
  readonly status: string;
  readonly disabled_reason: string | null;
};

const flavor = {
  id: 'drydock.nano',
  name: 'drydock.nano',
  vcpus: 1,
  ram: 64,
  disk: 1,
  'OS-FLV-EXT-DATA:ephemeral': 1,
};

/** A local disk that needs no image. */
const disks = [
  {
    boot_index: 0,
    source_type: 'blank',
    destination_type: 'local',
    volume_size: 1,
    delete_on_termination: true,
  },
];

const otherProject = 'drydock-other';

/** An OpenStack as its administrator sees it. */
export class Cloud {
  readonly #env: Env;
  readonly #tokens = new Map<string, string>();
  #compute = '';

  constructor(env: Env) {
    this.#env = env;
  }

  async open(): Promise<void> {
    await this.#logIn(this.#env['OS_PROJECT_NAME'] ?? 'admin');
    await this.#makeOtherProject();
    await this.#logIn(otherProject);
    await this.nova('POST', '/flavors', { flavor });
  }

  async nova(
    method: string,
    path: string,
    body?: Body,
    project = this.#env['OS_PROJECT_NAME'] ?? 'admin',
  ) {
    const first = await this.#call(method, `${this.#compute}${path}`, body, project);
    if (first.status !== 401) return first;
    await this.#logIn(project);
    return this.#call(method, `${this.#compute}${path}`, body, project);
  }

  /** Members of one project may not share a host. Its id. */
  async makeGroup(): Promise<string> {
    const { status, body, text } = await this.nova('POST', '/os-server-groups', {
      server_group: { name: 'apart', policy: 'anti-affinity' },
    });
    assert.equal(status, 200, text);
    return (body['server_group'] as { readonly id: string }).id;
  }

  async service(host: string): Promise<ComputeService> {
    const { body } = await this.nova('GET', `/os-services?binary=nova-compute&host=${host}`);
    const [found] = body['services'] as readonly ComputeService[];
    assert.ok(found, `no service of ${host}`);
    return found;
  }

  async disable(host: string, reason: string): Promise<void> {
    const { id } = await this.service(host);
    const { status, text } = await this.nova('PUT', `/os-services/${id}`, {
      status: 'disabled',
      disabled_reason: reason,
    });
    assert.equal(status, 200, text);
  }

  async enable(host: string): Promise<void> {
    const { id } = await this.service(host);
    const { status, text } = await this.nova('PUT', `/os-services/${id}`, { status: 'enabled' });
    assert.equal(status, 200, text);
  }

  /** Ids of the servers of all projects on a host, whatever the number of pages. */
  async serversOn(host: string): Promise<readonly string[]> {
    const servers = await this.#all(`/servers?all_tenants=1&host=${host}`, 'servers');
    return servers.map(({ id }) => String(id));
  }

  async server(id: string): Promise<{ readonly status: string; readonly host: string }> {
    const { body } = await this.nova('GET', `/servers/${id}`);
    const server = body['server'] as Readonly<Record<string, string>>;
    return { status: server['status'] ?? '', host: server['OS-EXT-SRV-ATTR:host'] ?? '' };
  }

  async deleteNamed(name: string): Promise<void> {
    const servers = await this.#all(`/servers?all_tenants=1&name=${name}`, 'servers');
    for (const { id } of servers) await removeServer(this, String(id));
  }

  /** How often each server has been moved off the host. */
  async goodMigrationsFrom(host: string): Promise<ReadonlyMap<string, number>> {
    const migrations = await this.#all(`/os-migrations?source_compute=${host}`, 'migrations');
    const counts = new Map<string, number>();
    for (const { instance_uuid: id, status } of migrations) {
      if (status === 'completed' || status === 'confirmed')
        counts.set(String(id), (counts.get(String(id)) ?? 0) + 1);
    }
    return counts;
  }

  /** Statuses of the migrations off a host that are not over. */
  async openMigrations(host: string): Promise<readonly string[]> {
    const migrations = await this.#all(`/os-migrations?source_compute=${host}`, 'migrations');
    const over = new Set(['completed', 'confirmed', 'error', 'cancelled', 'failed', 'reverted']);
    return migrations.map(({ status }) => String(status)).filter(status => !over.has(status));
  }

  async #all(
    path: string,
    kind: 'servers' | 'migrations',
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const found: Readonly<Record<string, unknown>>[] = [];
    let next: string | undefined = path;
    while (next !== undefined) {
      const { status, body, text } = await this.nova('GET', next);
      assert.equal(status, 200, text);
      found.push(...(body[kind] as readonly Readonly<Record<string, unknown>>[]));
      const links = (body[`${kind}_links`] ?? []) as readonly {
        readonly rel: string;
        readonly href: string;
      }[];
      const link = links.find(({ rel }) => rel === 'next')?.href;
      next = link === undefined ? undefined : link.slice(this.#compute.length);
    }
    return found;
  }

  async #call(method: string, url: string, body: Body | undefined, project: string) {
    const answer = await fetch(url, {
      method,
      headers: {
        'content-type': 'application/json',
        'openstack-api-version': 'compute 2.90',
        'x-auth-token': this.#tokens.get(project) ?? '',
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      body: (text.startsWith('{') ? JSON.parse(text) : {}) as Body,
      text,
    };
  }

  async #logIn(project: string): Promise<void> {
    const { OS_AUTH_URL: url, OS_USERNAME: name, OS_PASSWORD: password } = this.#env;
    const domain = { name: this.#env['OS_USER_DOMAIN_NAME'] ?? 'Default' };
    const identity = { methods: ['password'], password: { user: { name, domain, password } } };
    const answer = await this.#call(
      'POST',
      `${url}/auth/tokens`,
      { auth: { identity, scope: { project: { name: project, domain } } } },
      '',
    );
    assert.equal(answer.status, 201, answer.text);
    this.#tokens.set(project, answer.headers.get('x-subject-token') ?? '');
    const { catalog } = answer.body['token'] as {
      readonly catalog: readonly {
        readonly type: string;
        readonly endpoints: readonly { readonly url: string }[];
      }[];
    };
    this.#compute = catalog.find(({ type }) => type === 'compute')?.endpoints[0]?.url ?? '';
  }

  async #makeOtherProject(): Promise<void> {
    const { OS_AUTH_URL: url, OS_PROJECT_NAME: own = 'admin' } = this.#env;
    const first = async (kind: string, name: string): Promise<string | undefined> => {
      const { body } = await this.#call('GET', `${url}/${kind}?name=${name}`, undefined, own);
      return (body[kind] as readonly { readonly id: string }[])[0]?.id;
    };
    if ((await first('projects', otherProject)) === undefined) {
      await this.#call(
        'POST',
        `${url}/projects`,
        { project: { name: otherProject, domain_id: 'default' } },
        own,
      );
    }
    const ids = [
      await first('projects', otherProject),
      await first('users', this.#env['OS_USERNAME'] ?? ''),
      await first('roles', 'admin'),
    ];
    await this.#call(
      'PUT',
      `${url}/projects/${ids[0]}/users/${ids[1]}/roles/${ids[2]}`,
      undefined,
      own,
    );
  }
}

async function vmStateOf(admin: Cloud, id: string): Promise<string | undefined> {
  const { status, body } = await admin.nova('GET', `/servers/${id}`);
  if (status === 404) return undefined;
  const server = body['server'] as Record<string, string | null>;
  return server['OS-EXT-STS:task_state'] === null ? (server['OS-EXT-STS:vm_state'] ?? '') : 'busy';
}

async function until(admin: Cloud, id: string, wanted: string | undefined): Promise<void> {
  for (let tries = 0; tries < 120; tries += 1) {
    if ((await vmStateOf(admin, id)) === wanted) return;
    await systemClock.sleep(250);
  }
  throw new Error(`server ${id} never became ${wanted ?? 'deleted'}`);
}

const changes = {
  active: undefined,
  paused: { pause: null },
  stopped: { 'os-stop': null },
  error: { 'os-resetState': { state: 'error' } },
} as const;

export type NewServer = {
  readonly host: string;
  readonly project?: 'own' | 'other';
  readonly state?: keyof typeof changes;
  readonly name?: string;
  /** Of a server group whose members may not share a host. */
  readonly group?: string;
};

/** Makes a server, waits until it is as it is to be, and answers its id. */
export async function makeServer(
  admin: Cloud,
  { host, project = 'own', state = 'active', name = `drydock-${state}`, group }: NewServer,
): Promise<string> {
  const server = {
    name,
    flavorRef: flavor.id,
    networks: 'none',
    host,
    block_device_mapping_v2: disks,
  };
  const hints = group === undefined ? {} : { 'os:scheduler_hints': { group } };
  const made = await admin.nova(
    'POST',
    '/servers',
    { server, ...hints },
    project === 'own' ? undefined : otherProject,
  );
  assert.equal(made.status, 202, made.text);
  const { id } = made.body['server'] as { readonly id: string };
  await until(admin, id, 'active');
  const change = changes[state];
  if (change !== undefined) await admin.nova('POST', `/servers/${id}/action`, change);
  await until(admin, id, state);
  return id;
}

/** Deletes it, and waits until it is gone. */
export async function removeServer(admin: Cloud, id: string): Promise<void> {
  await admin.nova('DELETE', `/servers/${id}`);
  await until(admin, id, undefined);
}
