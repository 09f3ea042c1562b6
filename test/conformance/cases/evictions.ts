import type { Case, Site } from '../site.ts';
import { budget, pod, ready } from './things.ts';

type Situation = {
  /** What the pod is like. */
  readonly pod?: 'ready' | 'unready' | 'pending' | 'succeeded' | 'terminating';
  /** Statuses of budgets over it; the first has the name `b0`. */
  readonly budgets?: readonly Readonly<Record<string, unknown>>[];
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly eviction?: Readonly<Record<string, unknown>>;
  readonly query?: string;
};

const statusOf: Readonly<Record<NonNullable<Situation['pod']>, object | undefined>> = {
  ready: ready(),
  unready: ready('False'),
  pending: undefined,
  succeeded: { status: { phase: 'Succeeded' } },
  terminating: ready(),
};

const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } };
function path(at: Site, name = 'p'): string {
  return at.path('pods', name, 'eviction');
}

async function prepare(
  at: Site,
  { pod: kind = 'ready', budgets = [], spec = { maxUnavailable: 1 } }: Situation,
): Promise<void> {
  await at.has(at.path('pods'), pod('p', { nodeName: 'n' }, { labels: { app: 'app' } }));
  if (statusOf[kind] !== undefined)
    await at.patch(at.path('pods', 'p', 'status'), 'merge', statusOf[kind], { compared: false });
  if (kind === 'terminating') await at.delete(at.path('pods', 'p'), undefined, { compared: false });
  for (const [index, status] of budgets.entries()) {
    await at.has(at.path('policy/v1/poddisruptionbudgets'), budget(`b${index}`, spec));
    const counts = {
      currentHealthy: 3,
      desiredHealthy: 2,
      expectedPods: 3,
      disruptionsAllowed: 1,
      observedGeneration: 1,
      ...status,
    };
    await at.patch(
      at.path('policy/v1/poddisruptionbudgets', `b${index}`, 'status'),
      'merge',
      { status: counts },
      { compared: false },
    );
  }
  // The eviction reads budgets from where they are stored, and pods as well; nothing has to be
  // waited for.
}

function asks(name: string, situation: Situation): Case {
  return {
    name,
    run: async at => {
      await prepare(at, situation);
      await at.post(path(at) + (situation.query ?? ''), { ...eviction, ...situation.eviction });
      await at.get(at.path('pods', 'p'));
      for (const index of (situation.budgets ?? []).keys())
        await at.get(at.path('policy/v1/poddisruptionbudgets', `b${index}`));
    },
  };
}

function condition(reason: string, message: string): object {
  return {
    conditions: [
      {
        type: 'DisruptionAllowed',
        status: 'False',
        reason,
        message,
        lastTransitionTime: '2026-01-01T00:00:00Z',
        observedGeneration: 1,
      },
    ],
  };
}

const used = { disruptionsAllowed: 0 };
const manyPods = Object.fromEntries(
  Array.from({ length: 2001 }, (_, index) => [`pod-${index}`, '2026-01-01T00:00:00Z']),
);

/** Evictions under every kind of budget; upstream pkg/registry/core/pod/storage/eviction.go. */
export const evictions: readonly Case[] = [
  asks('without a budget', {}),
  asks('a budget that allows one', { budgets: [{}] }),
  asks('a budget that allows several', { budgets: [{ disruptionsAllowed: 3 }] }),
  asks('a budget that is used up', { budgets: [{ ...used, currentHealthy: 2 }] }),
  asks('used up, with more healthy pods than needed', { budgets: [used] }),
  asks('used up, and the controller says why', {
    budgets: [{ ...used, ...condition('InsufficientPods', 'not enough') }],
  }),
  asks('used up, and its sync has failed', {
    budgets: [{ ...used, ...condition('SyncFailed', 'found no controllers for pod "p"') }],
  }),
  asks('a budget whose status is behind', { budgets: [{ observedGeneration: 0 }] }),
  asks('a budget below zero', { budgets: [{ disruptionsAllowed: -1 }] }),
  asks('a budget with too many disrupted pods', { budgets: [{ disruptedPods: manyPods }] }),
  asks('two budgets', { budgets: [{}, {}] }),
  asks('a budget of other pods', {
    budgets: [used],
    spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'other' } } },
  }),
  asks('a budget of all pods', { budgets: [used], spec: { maxUnavailable: 1, selector: {} } }),
  asks('a budget of no pods', {
    budgets: [used],
    spec: { maxUnavailable: 1, selector: undefined },
  }),
  asks('a pending pod', { pod: 'pending', budgets: [used] }),
  asks('a finished pod', { pod: 'succeeded', budgets: [used] }),
  asks('a pod on its way out', { pod: 'terminating', budgets: [used] }),
  asks('an unready pod, and enough healthy ones', { pod: 'unready', budgets: [used] }),
  asks('an unready pod, and not enough healthy ones', {
    pod: 'unready',
    budgets: [{ ...used, currentHealthy: 1 }],
  }),
  asks('an unready pod that may always go', {
    pod: 'unready',
    budgets: [{ ...used, currentHealthy: 0 }],
    spec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
  }),
  asks('an unready pod that may go if the rest is healthy', {
    pod: 'unready',
    budgets: [{ ...used, desiredHealthy: 0, currentHealthy: 0 }],
    spec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: 'IfHealthyBudget' },
  }),
  asks('a ready pod under AlwaysAllow', {
    budgets: [used],
    spec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
  }),
  asks('with the grace of the client', { eviction: { deleteOptions: { gracePeriodSeconds: 3 } } }),
  asks('at once', { eviction: { deleteOptions: { gracePeriodSeconds: 0 } } }),
  asks('only tried, by the query', { budgets: [{}], query: '?dryRun=All' }),
  asks('only tried, by the body', {
    budgets: [{}],
    eviction: { deleteOptions: { dryRun: ['All'] } },
  }),
  asks('only tried, and refused', { budgets: [used], query: '?dryRun=All' }),
  asks('of another uid', {
    eviction: { deleteOptions: { preconditions: { uid: '11111111-1111-1111-1111-111111111111' } } },
  }),
  asks('of another uid, under a budget that is debited all the same', {
    budgets: [{}],
    eviction: { deleteOptions: { preconditions: { uid: '11111111-1111-1111-1111-111111111111' } } },
  }),
  asks('of another version', {
    eviction: { deleteOptions: { preconditions: { resourceVersion: '1' } } },
  }),
  asks('under another name', { eviction: { metadata: { name: 'q' } } }),
  asks('of the old version of the API', { eviction: { apiVersion: 'policy/v1beta1' } }),
  {
    name: 'of a missing pod',
    run: async at => {
      await at.post(path(at, 'none'), { ...eviction, metadata: { name: 'none' } });
    },
  },
  {
    name: 'of the right uid and version',
    run: async at => {
      await prepare(at, {});
      const { body } = await at.get(at.path('pods', 'p'), { compared: false });
      const { uid, resourceVersion } = body.metadata ?? {};
      await at.post(path(at), {
        ...eviction,
        deleteOptions: { preconditions: { uid, resourceVersion } },
      });
      await at.get(at.path('pods', 'p'));
    },
  },
  {
    name: 'twice under a budget of one',
    run: async at => {
      await prepare(at, { budgets: [{}] });
      await at.has(at.path('pods'), pod('q', { nodeName: 'n' }, { labels: { app: 'app' } }));
      await at.patch(at.path('pods', 'q', 'status'), 'merge', ready(), { compared: false });
      await at.post(path(at), eviction);
      await at.post(path(at, 'q'), { ...eviction, metadata: { name: 'q' } });
      await at.post(path(at), eviction);
    },
  },
  {
    name: 'in a namespace that is going',
    bare: true,
    run: async at => {
      const name = at.name('space');
      await at.has('/api/v1/namespaces', { metadata: { name } });
      await at.has(`/api/v1/namespaces/${name}/pods`, pod('p', { nodeName: 'n' }));
      await at.delete(`/api/v1/namespaces/${name}`, undefined, { compared: false });
      await at.post(`/api/v1/namespaces/${name}/pods/p/eviction`, eviction);
    },
  },
];
