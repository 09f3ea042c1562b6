import assert from 'node:assert/strict';
import { environmentConfig } from '../../src/nova/config/environment.ts';
import { openNova } from '../../src/nova/nova.ts';
import type { ContractServer, ContractSite } from '../../src/nova/testing/contract.ts';
import { systemClock } from '../../src/support/clock.ts';

/** The Nova of the OS_* variables, spoken to as its administrator without any code of ours: what makes servers has to be told apart from what moves them. */

type Env = Readonly<Record<string, string | undefined>>;
type Body = Record<string, unknown>;

const flavor = { id: 'drydock.nano', name: 'drydock.nano', vcpus: 1, ram: 64, disk: 1, 'OS-FLV-EXT-DATA:ephemeral': 1 };

/** A local disk that needs no image. */
const disks = [{ boot_index: 0, source_type: 'blank', destination_type: 'local', volume_size: 1, delete_on_termination: true }];

const otherProject = 'drydock-other';

class Admin {
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

  async nova(method: string, path: string, body?: Body, project = this.#env['OS_PROJECT_NAME'] ?? 'admin') {
    return this.#call(method, `${this.#compute}${path}`, body, project);
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
    return { status: answer.status, headers: answer.headers, body: (text === '' ? {} : JSON.parse(text)) as Body, text };
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
      readonly catalog: readonly { readonly type: string; readonly endpoints: readonly { readonly url: string }[] }[];
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
      await this.#call('POST', `${url}/projects`, { project: { name: otherProject, domain_id: 'default' } }, own);
    }
    const ids = [
      await first('projects', otherProject),
      await first('users', this.#env['OS_USERNAME'] ?? ''),
      await first('roles', 'admin'),
    ];
    await this.#call('PUT', `${url}/projects/${ids[0]}/users/${ids[1]}/roles/${ids[2]}`, undefined, own);
  }
}

const vmStateOf = async (admin: Admin, id: string): Promise<string | undefined> => {
  const { status, body } = await admin.nova('GET', `/servers/${id}`);
  if (status === 404) return undefined;
  const server = body['server'] as Record<string, string | null>;
  return server['OS-EXT-STS:task_state'] === null ? (server['OS-EXT-STS:vm_state'] ?? '') : 'busy';
};

const until = async (admin: Admin, id: string, wanted: string | undefined): Promise<void> => {
  for (let tries = 0; tries < 120; tries += 1) {
    if ((await vmStateOf(admin, id)) === wanted) return;
    await systemClock.sleep(250);
  }
  throw new Error(`server ${id} never became ${wanted ?? 'deleted'}`);
};

const changes = {
  active: undefined,
  paused: { pause: null },
  stopped: { 'os-stop': null },
  error: { 'os-resetState': { state: 'error' } },
} as const;

const make = async (admin: Admin, { host, project, state }: ContractServer): Promise<string> => {
  const server = { name: `drydock-${state}`, flavorRef: flavor.id, networks: 'none', host, block_device_mapping_v2: disks };
  const made = await admin.nova('POST', '/servers', { server }, project === 'own' ? undefined : otherProject);
  assert.equal(made.status, 202, made.text);
  const { id } = made.body['server'] as { readonly id: string };
  await until(admin, id, 'active');
  const change = changes[state];
  if (change !== undefined) await admin.nova('POST', `/servers/${id}/action`, change);
  await until(admin, id, state);
  return id;
};

/** The site of the OS_* variables; its compute hosts are all that it has, in order. */
export const realSite = async (env: Env): Promise<ContractSite> => {
  const admin = new Admin(env);
  await admin.open();
  const nova = openNova({ ...environmentConfig(env), interface: 'public' }, systemClock);
  const services = await nova.services(new AbortController().signal);
  return {
    nova,
    clock: systemClock,
    hosts: (services.value ?? []).map(({ host }) => host).sort(),
    make: server => make(admin, server),
    remove: async id => {
      await admin.nova('DELETE', `/servers/${id}`);
      await until(admin, id, undefined);
    },
  };
};
