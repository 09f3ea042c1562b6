import type { Answer, Case, Site } from '../site.ts';
import { budget, configMap, pod, ready } from './things.ts';

/** Several ask for the same at once: who wins is chance, how many win is not. */

const quiet = { compared: false } as const;

function noteStatuses(at: Site, answers: readonly Answer[]): void {
  at.note(
    'statuses',
    answers.map(({ status }) => status).sort((one, other) => one - other),
  );
}

/**
 * All at once; compares which statuses there were, in order of their numbers, and what the losers
 * were told.
 */
async function race(
  at: Site,
  count: number,
  ask: (index: number) => Promise<Answer>,
): Promise<void> {
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => ask(index)));
  noteStatuses(at, answers);
  const told = answers
    .filter(({ status }) => status >= 400)
    .map(({ body }) => String(body['message']));
  at.note('told', [...new Set(told)].sort());
}

export const races: readonly Case[] = [
  {
    name: 'one of eight creates a name',
    run: async at => {
      await race(at, 8, index =>
        at.post(at.path('configmaps'), configMap('one', { a: String(index) }), quiet),
      );
    },
  },
  {
    name: 'one of eight replaces a version',
    run: async at => {
      const { metadata } = await at.has(at.path('configmaps'), configMap('one'));
      const version = { resourceVersion: metadata?.resourceVersion };
      await race(at, 8, index =>
        at.put(
          at.path('configmaps', 'one'),
          configMap('one', { a: `new-${index}` }, version),
          quiet,
        ),
      );
    },
  },
  {
    name: 'eight patches without a version all get through',
    run: async at => {
      await at.has(at.path('configmaps'), configMap('one'));
      await race(at, 8, index =>
        at.patch(at.path('configmaps', 'one'), 'merge', { data: { [`k${index}`]: 'x' } }, quiet),
      );
      await at.get(at.path('configmaps', 'one'));
    },
  },
  {
    name: 'one of eight deletes an object',
    run: async at => {
      await at.has(at.path('configmaps'), configMap('one'));
      await race(at, 8, () => at.delete(at.path('configmaps', 'one'), undefined, quiet));
    },
  },
  {
    name: 'one of four gives a pod its node',
    run: async at => {
      await at.has(at.path('pods'), pod('p'));
      const binding = (index: number): object => ({
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: 'p' },
        target: { kind: 'Node', name: `n${index}` },
      });
      const answers = await Promise.all(
        [0, 1, 2, 3].map(index => at.post(at.path('pods', 'p', 'binding'), binding(index), quiet)),
      );
      noteStatuses(at, answers);
    },
  },
  {
    name: 'of four pods under a budget that allows one, one may go',
    run: async at => {
      for (const name of ['a', 'b', 'c', 'd']) {
        await at.has(at.path('pods'), pod(name, { nodeName: 'n' }, { labels: { app: 'app' } }));
        await at.patch(at.path('pods', name, 'status'), 'merge', ready(), quiet);
      }
      await at.has(at.path('policy/v1/poddisruptionbudgets'), budget('b', { maxUnavailable: 1 }));
      const counts = {
        currentHealthy: 4,
        desiredHealthy: 3,
        expectedPods: 4,
        disruptionsAllowed: 1,
        observedGeneration: 1,
      };
      await at.patch(
        at.path('policy/v1/poddisruptionbudgets', 'b', 'status'),
        'merge',
        { status: counts },
        quiet,
      );
      const evict = (name: string): Promise<Answer> =>
        at.post(
          at.path('pods', name, 'eviction'),
          { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } },
          quiet,
        );
      const answers = await Promise.all(['a', 'b', 'c', 'd'].map(evict));
      // Who loses is told 429, or by a busy server 504 when it has lost the race for the budget's
      // status too often.
      at.note('went', answers.filter(({ status }) => status === 201).length);
      at.note('stayed', answers.filter(({ status }) => [429, 504].includes(status)).length);
    },
  },
];
