import type { Api } from '../control-plane/objects/api.ts';
import { waitFor } from '../control-plane/wait.ts';

/** All objects of a cluster, of every kind that can be listed. */

type Resource = {
  readonly name: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
};
type Resources = { readonly resources: readonly Resource[] };
type Groups = {
  readonly groups: readonly { readonly preferredVersion: { readonly groupVersion: string } }[];
};
type Item = { readonly metadata: { readonly name: string; readonly namespace?: string } };

/** Events come and go whoever does what, and the statuses of components are no objects. */
const passing = new Set(['events', 'componentstatuses']);

async function listEverything(api: Api): Promise<ReadonlySet<string>> {
  const { groups } = await api.get<Groups>('/apis');
  const roots = [
    '/api/v1',
    ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`),
  ];
  const lists = await Promise.all(
    roots.map(async root => {
      const found = await api.call('GET', root);
      const { resources = [] } = (found.status === 200 ? found.body : {}) as Partial<Resources>;
      const listable = resources.filter(
        ({ name, verbs }) => verbs.includes('list') && !name.includes('/') && !passing.has(name),
      );
      return Promise.all(
        listable.map(async ({ name }) => {
          const reply = await api.call('GET', `${root}/${name}`);
          if (reply.status === 404) return [];
          if (reply.status !== 200) throw new Error(`${root}/${name}: ${reply.status}`);
          const group = root === '/api/v1' ? '' : `.${root.split('/')[2] ?? ''}`;
          const { items } = reply.body as { readonly items: readonly Item[] | null };
          return (items ?? []).map(
            ({ metadata }) => `${name}${group} ${metadata.namespace ?? ''}/${metadata.name}`,
          );
        }),
      );
    }),
  );
  return new Set(lists.flat(2));
}

/**
 * As `resource.group namespace/name`. A kind that goes meanwhile has no objects; one that has just
 * come cannot be listed at once.
 */
export function everythingIn(api: Api): Promise<ReadonlySet<string>> {
  return waitFor('every kind to be listed', async () => ({ done: await listEverything(api) }), {
    everyMs: 500,
  });
}
