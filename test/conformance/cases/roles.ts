import type { Case, Site } from '../site.ts';
import { configMap, pod } from './things.ts';

/**
 * Who may do what; upstream plugin/pkg/auth/authorizer/rbac. Everybody begins with nothing but
 * discovery.
 */

const rbac = 'rbac.authorization.k8s.io/v1';
const limited = { user: 'limited' } as const;
const subjects = [{ kind: 'User', name: 'limited', apiGroup: 'rbac.authorization.k8s.io' }];

type Rule = Readonly<Record<string, readonly string[]>>;

/** Gives the limited user a role in the case's namespace. */
async function grants(at: Site, ...rules: readonly Rule[]): Promise<void> {
  await at.has(at.path(`${rbac}/roles`), { metadata: { name: 'some' }, rules });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'some' };
  await at.has(at.path(`${rbac}/rolebindings`), { metadata: { name: 'some' }, subjects, roleRef });
}

const readsMaps: Rule = {
  apiGroups: [''],
  resources: ['configmaps'],
  verbs: ['get', 'list', 'watch'],
};

function refuses(name: string, method: string, path: (at: Site) => string, body?: unknown): Case {
  return {
    name: `refuses ${name}`,
    run: async at => {
      await at.ask(method, path(at), { ...limited, body });
    },
  };
}

export const roles: readonly Case[] = [
  refuses('a list', 'GET', at => at.path('pods')),
  refuses('a list of all namespaces', 'GET', () => '/api/v1/pods'),
  refuses('a watch', 'GET', at => `${at.path('pods')}?watch=true`),
  refuses('one object, whether it is there or not', 'GET', at => at.path('pods', 'nobody')),
  refuses('something of the cluster', 'GET', () => '/api/v1/nodes/nobody'),
  refuses('its own namespace', 'GET', at => `/api/v1/namespaces/${at.namespace}`),
  refuses('a new object', 'POST', at => at.path('pods'), pod('one')),
  refuses('a change', 'PUT', at => at.path('configmaps', 'one'), configMap('one')),
  refuses('a patch', 'PATCH', at => at.path('apps/v1/deployments', 'one'), {}),
  refuses('a deletion', 'DELETE', at => at.path('configmaps', 'one')),
  refuses('a deletion of all', 'DELETE', at => at.path('configmaps')),
  refuses('an eviction', 'POST', at => at.path('pods', 'one', 'eviction'), {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
  }),
  refuses('a status', 'PATCH', () => '/api/v1/nodes/nobody/status', {}),
  refuses('a path that is no resource', 'GET', () => '/metrics'),
  {
    name: 'lets everybody discover',
    run: async at => {
      for (const path of ['/version', '/healthz'])
        at.note(path, (await at.get(path, { ...limited, compared: false })).status);
    },
  },
  {
    name: 'allows what a role allows, in its namespace, and nothing else',
    run: async at => {
      await grants(at, readsMaps);
      await at.has(at.path('configmaps'), configMap('one'));
      await at.settles('GET', at.path('configmaps', 'one'), 200, limited);
      await at.get(at.path('configmaps', 'one'), limited);
      await at.get(at.path('configmaps'), limited);
      await at.get('/api/v1/configmaps', limited);
      await at.delete(at.path('configmaps', 'one'), undefined, limited);
      await at.get(at.path('secrets', 'one'), limited);
    },
  },
  {
    name: 'tells by a SubjectAccessReview what somebody may, and not everybody',
    run: async at => {
      await grants(at, readsMaps);
      await at.settles('GET', at.path('configmaps'), 200, limited);
      const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
      const review = (user: string, groups: readonly string[], spec: object): object => ({
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: { user, groups, ...spec },
      });
      const maps = (verb: string, namespace = at.namespace): object => ({
        resourceAttributes: { verb, resource: 'configmaps', namespace },
      });
      const asked: readonly (readonly [string, object])[] = [
        ['get', review('limited', [], maps('get'))],
        ['delete', review('limited', [], maps('delete'))],
        ['get elsewhere', review('limited', [], maps('get', 'default'))],
        ['a master', review('anybody', ['system:masters'], maps('delete'))],
        [
          'a path',
          review('limited', [], { nonResourceAttributes: { verb: 'get', path: '/metrics' } }),
        ],
      ];
      for (const [what, body] of asked) {
        // The reason is the server's own.
        const { status, body: told } = await at.post(path, body, { compared: false });
        at.note(what, {
          status,
          allowed: (told as { readonly status?: { readonly allowed?: unknown } }).status?.allowed,
        });
      }
      await at.post(path, asked[0]?.[1] ?? {}, limited);
    },
  },
  {
    name: 'allows the named objects only',
    run: async at => {
      await grants(at, { ...readsMaps, resourceNames: ['one'] });
      await at.has(at.path('configmaps'), configMap('one'));
      await at.settles('GET', at.path('configmaps', 'one'), 200, limited);
      await at.get(at.path('configmaps', 'other'), limited);
      await at.get(at.path('configmaps'), limited);
      await at.get(`${at.path('configmaps')}?fieldSelector=metadata.name%3Done`, limited);
    },
  },
  {
    name: 'tells an object from its subresources',
    run: async at => {
      await grants(at, { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] });
      await at.has(at.path('pods'), pod('one'));
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'one' } };
      await at.settles('POST', `${at.path('pods', 'one', 'eviction')}?dryRun=All`, 201, {
        ...limited,
        body: eviction,
      });
      await at.get(at.path('pods', 'one'), limited);
      await at.delete(at.path('pods', 'one'), undefined, limited);
      await at.post(at.path('pods', 'one', 'eviction'), eviction, limited);
    },
  },
  {
    name: 'says of a binding whose role is not there',
    run: async at => {
      await grants(at, readsMaps);
      await at.settles('GET', at.path('configmaps'), 200, limited);
      await at.delete(at.path(`${rbac}/roles`, 'some'), undefined, { compared: false });
      await at.settles('GET', at.path('configmaps'), 403, limited);
      await at.get(at.path('configmaps'), limited);
    },
  },
  {
    name: 'checks roles and bindings',
    run: async at => {
      await at.post(at.path(`${rbac}/roles`), {
        metadata: { name: 'none' },
        rules: [{ apiGroups: [''], resources: ['pods'] }],
      });
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'some' };
      await at.post(at.path(`${rbac}/rolebindings`), {
        metadata: { name: 'b' },
        roleRef,
        subjects: [{ kind: 'User', name: 'u' }],
      });
      const other = { roleRef: { ...roleRef, name: 'other' } };
      await at.patch(at.path(`${rbac}/rolebindings`, 'b'), 'merge', other);
      await at.get(at.path(`${rbac}/rolebindings`), {
        accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
      });
    },
  },
];
