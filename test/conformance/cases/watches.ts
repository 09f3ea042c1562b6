import type { Case, Site } from '../site.ts';
import { configMap, pod } from './things.ts';

async function changes(at: Site): Promise<void> {
  const path = at.path('configmaps', 'x');
  await at.has(at.path('configmaps'), configMap('x'));
  await at.patch(path, 'merge', { data: { a: '2' } }, { compared: false });
  await at.delete(path, undefined, { compared: false });
}

async function versionOf(at: Site, path: string): Promise<string> {
  return (await at.get(path, { compared: false })).body.metadata?.resourceVersion ?? '';
}

/** Watches: what is told, in which order, and with which objects. */
export const watches: readonly Case[] = [
  {
    name: 'created, changed and deleted',
    run: async at => {
      const version = await versionOf(at, at.path('configmaps'));
      await at.watch(`${at.path('configmaps')}?watch=1&resourceVersion=${version}`, () =>
        changes(at),
      );
    },
  },
  {
    name: 'from a version that is past',
    run: async at => {
      const version = await versionOf(at, at.path('configmaps'));
      await changes(at);
      await at.watch(`${at.path('configmaps')}?watch=1&resourceVersion=${version}`, async () => {});
    },
  },
  {
    name: 'without a version: what is there first',
    run: async at => {
      await at.has(at.path('configmaps'), configMap('a'));
      await at.has(at.path('configmaps'), configMap('b'));
      await at.watch(`${at.path('configmaps')}?watch=1`, () => changes(at));
      await at.watch(`${at.path('configmaps')}?watch=1&resourceVersion=0`, async () => {});
    },
  },
  {
    name: 'initial events and their end',
    run: async at => {
      await at.has(at.path('configmaps'), configMap('a'));
      const query =
        'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=';
      await at.watch(`${at.path('configmaps')}?${query}`, () => changes(at));
    },
  },
  {
    name: 'initial events of pods: the bookmark is an empty pod',
    run: async at => {
      const query =
        'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
      await at.watch(`${at.path('pods')}?${query}`, async () => {});
    },
  },
  {
    name: 'into a selection and out of it again',
    run: async at => {
      const path = at.path('configmaps', 'x');
      const version = await versionOf(at, at.path('configmaps'));
      await at.watch(
        `${at.path('configmaps')}?watch=1&resourceVersion=${version}&labelSelector=on%3Dyes`,
        async () => {
          await at.has(at.path('configmaps'), configMap('x'));
          await at.patch(
            path,
            'merge',
            { metadata: { labels: { on: 'yes' } } },
            { compared: false },
          );
          await at.patch(path, 'merge', { data: { a: '3' } }, { compared: false });
          await at.patch(
            path,
            'merge',
            { metadata: { labels: { on: 'no' } } },
            { compared: false },
          );
          await at.delete(path, undefined, { compared: false });
        },
      );
    },
  },
  {
    name: 'the pods of one node',
    run: async at => {
      const version = await versionOf(at, at.path('pods'));
      await at.watch(
        `${at.path('pods')}?watch=1&resourceVersion=${version}&fieldSelector=spec.nodeName%3Dn1`,
        async () => {
          await at.has(at.path('pods'), pod('a', { nodeName: 'n1' }));
          await at.has(at.path('pods'), pod('b', { nodeName: 'n2' }));
          await at.has(at.path('pods'), pod('c'));
          await at.post(
            at.path('pods', 'c', 'binding'),
            { metadata: { name: 'c' }, target: { name: 'n1' } },
            { compared: false },
          );
          await at.delete(at.path('pods', 'a'), { gracePeriodSeconds: 0 }, { compared: false });
        },
      );
    },
  },
  {
    name: 'as tables',
    run: async at => {
      await at.has(at.path('configmaps'), configMap('a'));
      await at.watch(
        `${at.path('configmaps')}?watch=1`,
        () => changes(at),
        'application/json;as=Table;g=meta.k8s.io;v=v1',
      );
    },
  },
  {
    name: 'as metadata',
    run: async at => {
      await at.watch(
        `${at.path('configmaps')}?watch=1`,
        () => changes(at),
        'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
      );
    },
  },
  {
    name: 'a pod on its way out',
    run: async at => {
      const version = await versionOf(at, at.path('pods'));
      await at.watch(`${at.path('pods')}?watch=1&resourceVersion=${version}`, async () => {
        await at.has(at.path('pods'), pod('a', { nodeName: 'n1' }));
        await at.delete(at.path('pods', 'a'), undefined, { compared: false });
        await at.delete(at.path('pods', 'a'), { gracePeriodSeconds: 0 }, { compared: false });
        await at.has(at.path('pods'), pod('b'));
        await at.delete(at.path('pods', 'b'), undefined, { compared: false });
      });
    },
  },
  {
    name: 'held by a finalizer',
    run: async at => {
      const version = await versionOf(at, at.path('configmaps'));
      await at.watch(`${at.path('configmaps')}?watch=1&resourceVersion=${version}`, async () => {
        await at.has(
          at.path('configmaps'),
          configMap('x', {}, { finalizers: ['example.com/hold'] }),
        );
        await at.delete(at.path('configmaps', 'x'), undefined, { compared: false });
        await at.patch(
          at.path('configmaps', 'x'),
          'merge',
          { metadata: { finalizers: null } },
          { compared: false },
        );
      });
    },
  },
  {
    name: 'a version that is none',
    run: async at => {
      await at.watch(`${at.path('configmaps')}?watch=1&resourceVersion=x`, async () => {});
    },
  },
];
