import type { Case, Site } from '../site.ts';
import { configMap, pod } from './things.ts';

const table = 'application/json;as=Table;g=meta.k8s.io;v=v1,application/json';
async function few(at: Site, count = 5): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    await at.has(
      at.path('configmaps'),
      configMap(
        `c${index}`,
        { n: String(index) },
        { labels: { even: String(index % 2 === 0), [`n${index}`]: 'x' } },
      ),
    );
  }
}

function names(body: Readonly<Record<string, unknown>>): readonly string[] {
  return (body['items'] as readonly { readonly metadata: { readonly name: string } }[]).map(
    ({ metadata }) => metadata.name,
  );
}

function selects(selector: string): Case {
  return {
    name: `label selector ${selector}`,
    run: async at => {
      await few(at);
      const { status, body } = await at.get(
        `${at.path('configmaps')}?labelSelector=${encodeURIComponent(selector)}`,
        { compared: false },
      );
      at.note('found', status === 200 ? names(body) : body);
    },
  };
}

/** Where the parser stopped is said in other words (docs/embedded.md). */
function badSelector(selector: string): Case {
  return {
    name: `no label selector: ${selector}`,
    bare: true,
    run: async at => {
      const { status, body } = await at.get(
        `/api/v1/pods?labelSelector=${encodeURIComponent(selector)}`,
        { compared: false },
      );
      at.note('refused', [status, body['reason'], typeof body['message']]);
    },
  };
}

function fields(resource: string, selector: string): Case {
  return {
    name: `field selector ${selector} of ${resource}`,
    run: async at => {
      await few(at, 2);
      await at.has(at.path('pods'), pod('a', { nodeName: 'n1' }));
      await at.has(at.path('pods'), pod('b'));
      const { status, body } = await at.get(
        `${at.path(resource)}?fieldSelector=${encodeURIComponent(selector)}`,
        { compared: false },
      );
      at.note('found', status === 200 ? names(body) : body);
    },
  };
}

function badQuery(query: string): Case {
  return {
    name: `a list with ${query}`,
    bare: true,
    run: async at => {
      await at.get(`/api/v1/namespaces/nowhere/pods?${query}`);
    },
  };
}

/** Lists, their pages, selectors and forms. */
export const lists: readonly Case[] = [
  {
    name: 'a list of objects',
    run: async at => {
      await few(at, 2);
      await at.get(at.path('configmaps'));
    },
  },
  {
    name: 'pages of one moment',
    run: async at => {
      await few(at);
      const first = await at.get(`${at.path('configmaps')}?limit=2`);
      await at.has(at.path('configmaps'), configMap('c15'));
      await at.delete(at.path('configmaps', 'c3'), undefined, { compared: false });
      const next = (token: unknown): string =>
        `${at.path('configmaps')}?limit=2&continue=${encodeURIComponent(String(token))}`;
      const second = await at.get(next(first.body.metadata?.continue));
      at.note(
        'the version stays',
        first.body.metadata?.resourceVersion === second.body.metadata?.resourceVersion,
      );
      await at.get(next(second.body.metadata?.continue));
      at.note('now', names((await at.get(at.path('configmaps'), { compared: false })).body));
    },
  },
  {
    name: 'pages with a selector',
    run: async at => {
      await few(at, 7);
      const first = await at.get(`${at.path('configmaps')}?limit=2&labelSelector=even%3Dtrue`);
      await at.get(
        `${at.path('configmaps')}?limit=2&labelSelector=even%3Dtrue&continue=${encodeURIComponent(first.body.metadata?.continue ?? '')}`,
      );
    },
  },
  {
    name: 'a page as large as the list',
    run: async at => {
      await few(at, 2);
      await at.get(`${at.path('configmaps')}?limit=2`);
      await at.get(`${at.path('configmaps')}?limit=100`);
    },
  },
  {
    name: 'a list at a version that is past',
    run: async at => {
      await few(at, 2);
      const { body } = await at.get(at.path('configmaps'), { compared: false });
      const version = body.metadata?.resourceVersion ?? '';
      await at.delete(at.path('configmaps', 'c0'), undefined, { compared: false });
      await at.get(
        `${at.path('configmaps')}?resourceVersion=${version}&resourceVersionMatch=Exact`,
      );
      await at.get(
        `${at.path('configmaps')}?resourceVersion=${version}&resourceVersionMatch=NotOlderThan`,
      );
      await at.get(`${at.path('configmaps')}?resourceVersion=0`);
    },
  },
  {
    name: 'order over namespaces',
    bare: true,
    run: async at => {
      for (const name of ['a', 'a-b', 'a0', 'b']) {
        await at.has('/api/v1/namespaces', { metadata: { name: at.name(name) } });
        await at.has(
          `/api/v1/namespaces/${at.name(name)}/configmaps`,
          configMap('x', {}, { labels: { order: at.id } }),
        );
      }
      const { body } = await at.get(`/api/v1/configmaps?labelSelector=order%3D${at.id}`, {
        compared: false,
      });
      at.note(
        'order',
        (body['items'] as readonly { readonly metadata: { readonly namespace: string } }[]).map(
          ({ metadata }) => metadata.namespace,
        ),
      );
    },
  },
  ...[
    'even=true',
    'even==true',
    'even!=true',
    'even in (true,other)',
    'even notin (true)',
    'n1',
    '!n1',
    'even=true,n2',
    'even=true,!n2',
    'nothing',
    'even=',
  ].map(selects),
  ...['a,,b', 'a foo b', '-bad=x'].map(badSelector),
  fields('configmaps', 'metadata.name=c1'),
  fields('configmaps', 'metadata.name!=c1'),
  fields('configmaps', 'data.n=1'),
  fields('pods', 'spec.nodeName=n1'),
  fields('pods', 'spec.nodeName='),
  fields('pods', 'spec.nodeName!=n1,status.phase=Pending'),
  fields('pods', 'spec.hostNetwork=false,spec.restartPolicy=Always'),
  fields('pods', 'status.phase!=Running,status.phase!=Failed'),
  fields('pods', 'spec.foo=x'),
  fields('pods', 'nonsense'),
  fields('apps/v1/deployments', 'spec.replicas=1'),
  fields('events', 'involvedObject.name=x,reason=y'),
  badQuery('limit=x'),
  badQuery('resourceVersion=x'),
  badQuery('resourceVersionMatch=Exact'),
  badQuery('resourceVersion=0&resourceVersionMatch=Exact'),
  badQuery('sendInitialEvents=true'),
  badQuery('watch=1&sendInitialEvents=true'),
  badQuery('watch=1&resourceVersionMatch=NotOlderThan'),
  badQuery('continue=x'),
  {
    name: 'tables of nodes, pods and workloads',
    run: async at => {
      await at.has(at.path('pods'), pod('a', { nodeName: 'n1' }));
      await at.get(at.path('pods'), { accept: table });
      await at.get(`${at.path('pods', 'a')}?includeObject=None`, { accept: table });
      await at.get(`${at.path('pods', 'a')}?includeObject=Object`, { accept: table });
      const node = at.name('node');
      await at.has('/api/v1/nodes', {
        metadata: { name: node, labels: { 'node-role.kubernetes.io/worker': '' } },
      });
      await at.get(`/api/v1/nodes/${node}`, { accept: table });
    },
  },
  {
    name: 'an object as metadata only',
    run: async at => {
      await at.has(at.path('pods'), pod('a'));
      await at.get(at.path('pods', 'a'), {
        accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json',
      });
      await at.get(at.path('pods'), {
        accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json',
      });
    },
  },
];
