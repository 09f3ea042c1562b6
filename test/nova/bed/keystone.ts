import { type Place, region, secrets } from './place.ts';

/** Keystone as its administrator: who is known, and where the services are. */

type Body = Readonly<Record<string, unknown>>;

const domain = { name: 'Default' };

class Keystone {
  readonly #url: string;
  #token = '';

  constructor(url: string) {
    this.#url = url;
  }

  async logIn(user: string, password: string, project: string): Promise<string> {
    const identity = {
      methods: ['password'],
      password: { user: { name: user, domain, password } },
    };
    const auth = { identity, scope: { project: { name: project, domain } } };
    const answer = await fetch(`${this.#url}/auth/tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ auth }),
    });
    const token = answer.headers.get('x-subject-token');
    if (token === null)
      throw new Error(`${user} cannot log in: ${answer.status} ${await answer.text()}`);
    this.#token = token;
    return token;
  }

  async call(method: string, path: string, body?: Body): Promise<Body> {
    const answer = await fetch(`${this.#url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-auth-token': this.#token },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Body);
  }

  /** Makes it, or finds it by its name; its id. */
  async ensure(
    kind: string,
    plural: string,
    body: Body & { readonly name: string },
  ): Promise<string> {
    const found = (await this.call('GET', `/${plural}?name=${body.name}`))[plural] as readonly {
      readonly id: string;
    }[];
    if (found[0] !== undefined) return found[0].id;
    const made = (await this.call('POST', `/${plural}`, { [kind]: body }))[kind] as {
      readonly id: string;
    };
    return made.id;
  }
}

/** Users for the services, and the catalog that tells where they are. */
export async function fillCatalog({ keystone: url, ports }: Place): Promise<void> {
  const keystone = new Keystone(url);
  await keystone.logIn('admin', secrets.admin, 'admin');
  const project = await keystone.ensure('project', 'projects', {
    name: 'service',
    domain_id: 'default',
  });
  const roles = [];
  for (const name of ['admin', 'service'])
    roles.push(await keystone.ensure('role', 'roles', { name }));
  for (const [type, name, address] of [
    ['compute', 'nova', `http://127.0.0.1:${ports.nova}/v2.1`],
    ['placement', 'placement', `http://127.0.0.1:${ports.placement}`],
    ['network', 'neutron', `http://127.0.0.1:${ports.neutron}`],
  ] as const) {
    const user = await keystone.ensure('user', 'users', {
      name,
      domain_id: 'default',
      password: secrets.service,
    });
    for (const role of roles)
      await keystone.call('PUT', `/projects/${project}/users/${user}/roles/${role}`);
    const service = await keystone.ensure('service', 'services', { name, type });
    for (const kind of ['public', 'internal', 'admin']) {
      await keystone.call('POST', '/endpoints', {
        endpoint: { service_id: service, interface: kind, region_id: region, url: address },
      });
    }
  }
}

/** Of a service's user, to ask another service. */
export function tokenOf(place: Place, service: string): Promise<string> {
  return new Keystone(place.keystone).logIn(service, secrets.service, 'service');
}
