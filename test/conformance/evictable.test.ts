import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { plan, readBudget } from '@drydock/core/drain';
import { readPod } from '@drydock/core/pod';
import { startBoth } from './both.ts';
import { budget, pod } from './cases/things.ts';
import type { Answer, Site } from './site.ts';

/**
 * Drydock asks for an eviction where the API server grants it, and does not where it refuses: every
 * phase and readiness of a pod under every kind of status and policy of a budget, asked of the real
 * API server and of the embedded one, and decided by the plan of the drain (upstream
 * pkg/registry/core/pod/storage/eviction.go).
 */

const both = await startBoth();
const skip = both.kind === 'left-out' ? `control plane left out: ${both.why}` : false;

const phases = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'];
const readiness = ['True', 'False', 'Unknown', 'none'];
const pods = phases.flatMap(phase =>
  readiness.map(ready => ({ name: `${phase}-${ready}`.toLowerCase(), phase, ready })),
);

const failedSync = [
  {
    type: 'DisruptionAllowed',
    status: 'False',
    reason: 'SyncFailed',
    message: 'found no controllers for pod "p"',
    lastTransitionTime: '2026-01-01T00:00:00Z',
    observedGeneration: 1,
  },
];
const overfull = Object.fromEntries(
  Array.from({ length: 2001 }, (_, index) => [`pod-${index}`, '2026-01-01T00:00:00Z']),
);

/** What the disruption controller has written, or has not. The budget's generation is 2. */
const syncs: Readonly<Record<string, object>> = {
  fresh: { observedGeneration: 2 },
  stale: { observedGeneration: 1 },
  never: {},
  'SyncFailed, fresh': { observedGeneration: 2, conditions: failedSync },
  'SyncFailed, stale': { observedGeneration: 1, conditions: failedSync },
  'SyncFailed, never': { conditions: failedSync },
  'too many unconfirmed': { observedGeneration: 2, disruptedPods: overfull },
};
/** Healthy pods that there are, and that there have to be. */
const counts = [
  [2, 3],
  [3, 3],
  [4, 3],
  [0, 0],
  [1, 0],
] as const;
const policies = [undefined, 'IfHealthyBudget', 'AlwaysAllow'];
const budgets = policies.flatMap(unhealthyPodEvictionPolicy =>
  Object.entries(syncs).flatMap(([sync, written]) =>
    counts.flatMap(([currentHealthy, desiredHealthy]) =>
      [0, 1].map(disruptionsAllowed => ({
        what: `${unhealthyPodEvictionPolicy ?? 'no policy'}, ${sync}, ${currentHealthy} of ${desiredHealthy} healthy, ${disruptionsAllowed} allowed`,
        spec: unhealthyPodEvictionPolicy === undefined ? {} : { unhealthyPodEvictionPolicy },
        status: { currentHealthy, desiredHealthy, expectedPods: 4, disruptionsAllowed, ...written },
      })),
    ),
  ),
);

const quiet = { compared: false } as const;
const now = Temporal.Now.instant();

/** Whether the drain asks for it. */
function asks(rawPod: unknown, rawBudgets: readonly unknown[]): boolean {
  const candidate = { pod: readPod(rawPod), wave: 0, method: 'evict', escalated: false } as const;
  const context = {
    nodeName: 'n',
    vmPods: new Map(),
    inFlight: [],
    attempts: new Map(),
    recreations: new Map(),
    now,
  };
  return plan([candidate], { ...context, budgets: rawBudgets.map(readBudget) }).calls.length === 1;
}

function tried(at: Site, name: string): Promise<Answer> {
  return at.post(
    `${at.path('pods', name, 'eviction')}?dryRun=All`,
    { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } },
    quiet,
  );
}

async function makePods(at: Site): Promise<readonly (readonly [name: string, raw: unknown])[]> {
  await at.has('/api/v1/namespaces', { metadata: { name: at.namespace } });
  return Promise.all(
    pods.map(async ({ name, phase, ready }) => {
      await at.has(at.path('pods'), pod(name, { nodeName: 'n' }, { labels: { app: 'app' } }));
      const conditions =
        ready === 'none'
          ? []
          : [{ type: 'Ready', status: ready, lastTransitionTime: '2026-01-01T00:00:00Z' }];
      const { body } = await at.patch(
        at.path('pods', name, 'status'),
        'merge',
        { status: { phase, conditions } },
        quiet,
      );
      return [name, body] as const;
    }),
  );
}

/**
 * Makes the budget, has the status written, and hands over what is stored. Nothing recomputes it:
 * no disruption controller runs.
 */
async function makeBudget(at: Site, name: string, spec: object, status: object): Promise<unknown> {
  const path = at.path('policy/v1/poddisruptionbudgets', name);
  await at.has(
    at.path('policy/v1/poddisruptionbudgets'),
    budget(name, { maxUnavailable: 2, ...spec }),
  );
  await at.patch(path, 'merge', { spec: { maxUnavailable: 1 } }, quiet);
  const { status: code, body } = await at.patch(`${path}/status`, 'merge', { status }, quiet);
  assert.equal(code, 200, JSON.stringify(body));
  return body;
}

describe('evictions are asked for where the API server grants them', {
  skip,
  timeout: 300_000,
}, () => {
  after(async () => {
    if (both.kind === 'started') await both.stop();
  });

  for (const side of ['real', 'embedded'] as const) {
    test(`${budgets.length * pods.length} pods and budgets, of the ${side} API server`, async () => {
      if (both.kind !== 'started') return;
      const at = both.site(side, 'evictable');
      const made = await makePods(at);
      const wrong: string[] = [];
      let granted = 0;
      for (const { what, spec, status } of budgets) {
        const raw = await makeBudget(at, 'b', spec, status);
        await Promise.all(
          made.map(async ([name, rawPod]) => {
            const answer = await tried(at, name);
            const isGranted = answer.status === 201;
            granted += Number(isGranted);
            if (isGranted !== asks(rawPod, [raw]))
              wrong.push(`${name} under ${what}: ${answer.status} ${JSON.stringify(answer.body)}`);
          }),
        );
        await at.delete(at.path('policy/v1/poddisruptionbudgets', 'b'), undefined, quiet);
      }
      assert.deepEqual([wrong.length, wrong.slice(0, 5)], [0, []]);
      assert.ok(
        granted > 500 && granted < budgets.length * pods.length - 500,
        `${granted} granted`,
      );
    });

    test(`no budget, and two of them, of the ${side} API server`, async () => {
      if (both.kind !== 'started') return;
      const at = both.site(side, 'evictable-others');
      const made = await makePods(at);
      const compare = async (raw: readonly unknown[]): Promise<void> => {
        for (const [name, rawPod] of made)
          assert.equal(
            (await tried(at, name)).status === 201,
            asks(rawPod, raw),
            `${name} under ${raw.length} budgets`,
          );
      };
      await compare([]);
      const status = {
        currentHealthy: 4,
        desiredHealthy: 3,
        expectedPods: 4,
        disruptionsAllowed: 1,
        observedGeneration: 2,
      };
      const two = [
        await makeBudget(at, 'one', {}, status),
        await makeBudget(at, 'two', { unhealthyPodEvictionPolicy: 'AlwaysAllow' }, status),
      ];
      await compare(two);
    });

    test(`that of a sick pod takes nothing from its budget, of the ${side} API server`, async () => {
      if (both.kind !== 'started') return;
      const at = both.site(side, 'evictable-free');
      await makePods(at);
      const status = {
        currentHealthy: 3,
        desiredHealthy: 3,
        expectedPods: 4,
        disruptionsAllowed: 1,
        observedGeneration: 2,
      };
      await makeBudget(at, 'b', {}, status);
      const path = at.path('pods', 'running-false', 'eviction');
      assert.equal(
        (
          await at.post(
            path,
            { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'running-false' } },
            quiet,
          )
        ).status,
        201,
      );
      const { body } = await at.get(at.path('policy/v1/poddisruptionbudgets', 'b'), quiet);
      assert.partialDeepStrictEqual(body['status'], { disruptionsAllowed: 1 });
      assert.equal(JSON.stringify(body).includes('disruptedPods'), false);
    });
  }
});
