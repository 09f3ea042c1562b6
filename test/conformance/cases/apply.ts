import type { Case, Site } from '../site.ts';
import { configMap, workload } from './things.ts';

function query(manager: string, force = false): string {
  return `?fieldManager=${manager}${force ? '&force=true' : ''}`;
}

async function apply(
  at: Site,
  path: string,
  manager: string,
  body: unknown,
  force = false,
): ReturnType<Site['patch']> {
  return at.patch(path + query(manager, force), 'apply', body);
}

function map(data: Readonly<Record<string, string>> | undefined, metadata: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'x', ...metadata },
    ...(data === undefined ? {} : { data }),
  };
}

function deployment(containers: readonly object[], more: object = {}): object {
  const { apiVersion, kind, metadata, spec } = workload('Deployment', 'x', {
    template: { metadata: { labels: { app: 'x' } }, spec: { containers } },
    ...more,
  }) as {
    readonly apiVersion: string;
    readonly kind: string;
    readonly metadata: object;
    readonly spec: object;
  };
  return { apiVersion, kind, metadata, spec };
}

/** Server-side apply. */
export const applies: readonly Case[] = [
  {
    name: 'creates, changes, and takes away what is no longer wanted',
    run: async at => {
      const path = at.path('configmaps', 'x');
      await apply(at, path, 'one', map({ a: '1', b: '2' }, { labels: { l: 'm' } }));
      await apply(at, path, 'one', map({ a: '1' }));
      await apply(at, path, 'one', map(undefined));
    },
  },
  {
    name: 'two managers: shared, disputed, forced',
    run: async at => {
      const path = at.path('configmaps', 'x');
      await apply(at, path, 'one', map({ a: '1', b: '2' }));
      await apply(at, path, 'two', map({ a: '1', c: '3' }));
      await apply(at, path, 'one', map({ b: '2' }));
      await apply(at, path, 'one', map({ b: '2', c: '4' }));
      await apply(at, path, 'one', map({ b: '2', c: '4' }), true);
      await apply(at, path, 'two', map({ a: '9' }));
      await apply(at, path, 'two', map({}));
    },
  },
  {
    name: 'an update takes the fields that it changes',
    run: async at => {
      const path = at.path('configmaps', 'x');
      await apply(at, path, 'one', map({ a: '1', b: '2' }));
      await at.patch(`${path}?fieldManager=hand`, 'merge', { data: { a: '7' } });
      await apply(at, path, 'one', map({ a: '1', b: '3' }));
      await apply(at, path, 'one', map({ a: '1', b: '3' }), true);
    },
  },
  {
    name: 'containers by their names',
    run: async at => {
      const path = at.path('apps/v1/deployments', 'x');
      await apply(
        at,
        path,
        'one',
        deployment([{ name: 'a', image: 'x:1', env: [{ name: 'A', value: '1' }] }]),
      );
      await apply(at, path, 'two', deployment([{ name: 'b', image: 'y:1' }]));
      await apply(at, path, 'one', deployment([{ name: 'a', image: 'x:2' }]));
      await apply(at, path, 'one', deployment([{ name: 'c', image: 'z:1' }]));
    },
  },
  {
    name: 'finalizers are a set',
    run: async at => {
      const path = at.path('configmaps', 'x');
      await apply(at, path, 'one', map({}, { finalizers: ['example.com/a'] }));
      await apply(at, path, 'two', map({}, { finalizers: ['example.com/b'] }));
      await apply(at, path, 'one', map({}));
    },
  },
  {
    name: 'the same again changes nothing',
    run: async at => {
      const path = at.path('configmaps', 'x');
      const one = await apply(at, path, 'one', map({ a: '1' }));
      const two = await apply(at, path, 'one', map({ a: '1' }));
      at.note(
        'same version',
        one.body.metadata?.resourceVersion === two.body.metadata?.resourceVersion,
      );
    },
  },
  {
    name: 'only tried',
    run: async at => {
      await at.patch(
        `${at.path('configmaps', 'x')}?fieldManager=one&dryRun=All`,
        'apply',
        map({ a: '1' }),
      );
      await at.get(at.path('configmaps', 'x'));
    },
  },
  {
    name: 'as YAML',
    run: async at => {
      await at.patch(
        `${at.path('configmaps', 'x')}?fieldManager=one`,
        'apply',
        'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  a: "1"\n',
      );
    },
  },
  {
    name: 'what is refused',
    run: async at => {
      const path = at.path('configmaps', 'x');
      await at.patch(path, 'apply', map({ a: '1' }));
      await apply(at, path, 'one', { ...map({ a: '1' }), metadata: { name: 'y' } });
      await apply(at, path, 'one', map({ a: '1' }, { managedFields: [] }));
      await apply(at, path, 'one', map({ a: '1' }, { labels: { 'bad key': 'x' } }));
      await apply(at, at.path('apps/v1/deployments', 'x'), 'one', {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'x' },
        spec: { replicas: 1 },
      });
    },
  },
  {
    name: 'over an object that somebody created',
    run: async at => {
      await at.has(at.path('configmaps'), configMap('x', { a: '1' }));
      // Who was there is called by its name by the real server, and `before-first-apply` by the
      // embedded one (docs/embedded.md).
      const { status, body } = await at.patch(
        `${at.path('configmaps', 'x')}?fieldManager=one`,
        'apply',
        map({ a: '2' }),
        {
          compared: false,
        },
      );
      at.note('refused', [
        status,
        body['reason'],
        (body['details'] as { readonly causes: readonly { readonly field: string }[] }).causes.map(
          ({ field }) => field,
        ),
      ]);
      await apply(at, at.path('configmaps', 'x'), 'one', map({ a: '1', b: '2' }));
      await apply(at, at.path('configmaps', 'x'), 'one', map({ a: '2' }), true);
    },
  },
];
