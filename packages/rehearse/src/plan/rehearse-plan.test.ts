import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { part, text } from '@drydock/kube-sim';
import { budget, shop } from '@drydock/operator/testing';
import { rehearsalManager } from '../rehearsal-manager.ts';
import type { ClusterSnapshot } from '../snapshot/kept.ts';
import { copied } from '../testing/copied.ts';
import { learnWork } from '../timings/work.ts';
import { comparisonPicture, comparisonText, planForecastText } from './plan-words.ts';
import { type PlanForecast, type PlanRehearsalOptions, rehearsePlan } from './rehearse-plan.ts';

const workers = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6'];

/** Six workers of two zones, and a Deployment of twelve that may lack three. */
function cluster(budgetSpec: JsonObject = { maxUnavailable: 3 }): Promise<ClusterSnapshot> {
  return copied(async (make, settle) => {
    for (const [index, name] of workers.entries())
      make('nodes', {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: {
          name,
          labels: { pool: 'workers', 'topology.kubernetes.io/zone': index < 3 ? 'a' : 'b' },
        },
        status: {
          allocatable: { cpu: '4', memory: '16Gi', pods: '50' },
          nodeInfo: { bootID: `${name}-first` },
        },
      });
    make('deployments.apps', shop('Deployment', 'web', { replicas: 12 }));
    make('poddisruptionbudgets.policy', budget('web', budgetSpec));
    await settle();
  });
}

function plan(spec: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'MaintenancePlan',
    metadata: { name: 'kernel' },
    spec: {
      nodeSelector: { matchLabels: { pool: 'workers' } },
      work: {
        job: {
          podSpec: { containers: [{ name: 'up', image: 'example.test/kernel:1' }] },
          rebootsNode: true,
          timeoutSeconds: 600,
        },
      },
      ...spec,
    },
  };
}

const times = { workMs: 20_000, rebootMs: 40_000, besideMs: 3000 };

async function foresee(
  copy: ClusterSnapshot,
  object: JsonObject,
  options: Partial<PlanRehearsalOptions> = {},
): Promise<readonly PlanForecast[]> {
  return rehearsePlan({
    ...rehearsalManager({}, message => {
      throw new Error(message);
    }),
    copy,
    plan: object,
    settings: [{}],
    times,
    seeds: 2,
    horizonMs: 14 * 86_400_000,
    defaults: { startSeconds: 2, stopSeconds: 1 },
    ...options,
  });
}

function only([forecast, ...others]: readonly PlanForecast[]): PlanForecast {
  assert.deepEqual([forecast !== undefined, others.length], [true, 0]);
  return forecast as PlanForecast;
}

function seconds(ms: number | undefined): number {
  return (ms ?? 0) / 1000;
}

test('a plan goes through its nodes one after the other: each is drained, worked on, rebooted and given back', async () => {
  const seen = only(await foresee(await cluster(), plan({ order: { by: ['Name'] } })));
  assert.deepEqual(
    [seen.finishes, seen.plan.phases, seen.plan.left, seen.blockers],
    [true, { Complete: 2 }, 0, []],
  );
  assert.deepEqual(
    seen.nodes.map(({ node }) => node),
    workers,
  );
  // Each takes its minute of work and reboot, and some seconds for its pods.
  const end = seconds(seen.plan.complete?.medianMs);
  assert.ok(end > 6 * 60 && end < 6 * 75, `${end} s`);
  assert.ok(seen.moves.gone >= 12 && seen.moves.again > 0, JSON.stringify(seen.moves));
  assert.deepEqual(
    seen.levels.map(({ workload }) => workload),
    ['Deployment shop/web'],
  );
  assert.ok(seen.notes.includes('the work ends well on every node, and every node comes back'));
  const text = planForecastText(seen);
  assert.match(
    text,
    /^Plan kernel is done with 6 nodes in [67]m\d\ds \(9 of 10 times within [67]m\d\ds\); begun now, at 2026-/,
  );
  assert.match(text, /\nNODE {2}DONE AFTER {2}9 OF 10 {2}PODS\nn1 /);
  assert.match(
    text,
    /the work takes 20s a node \(no run has recorded it: --work-time\), a reboot 40s \(no run has recorded it: --reboot-time\)/,
  );
});

test('the node of the operator is worked on last, as it is in the cluster', async () => {
  const copy = await copied(async (make, settle) => {
    for (const name of workers.slice(0, 3))
      make('nodes', {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, labels: { pool: 'workers' } },
        status: {
          allocatable: { cpu: '4', memory: '16Gi', pods: '50' },
          nodeInfo: { bootID: `${name}-first` },
        },
      });
    make('pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'drydock-1',
        namespace: 'shop',
        labels: { 'app.kubernetes.io/name': 'drydock' },
      },
      spec: {
        nodeName: 'n1',
        containers: [
          {
            name: 'operator',
            image: 'example.test/drydock:1',
            env: [{ name: 'NODE_NAME', value: 'n1' }],
          },
        ],
      },
    });
    await settle();
  });
  const [forecast] = await foresee(
    copy,
    plan({ template: { maintenance: { drain: { force: true } } } }),
    { seeds: 1 },
  );
  assert.equal(forecast?.plan.phases['Complete'], 1, forecast?.plan.message ?? 'no forecast');
  const begun = forecast.nodes
    .toSorted((one, other) => (one.beginsMs ?? 0) - (other.beginsMs ?? 0))
    .map(({ node }) => node);
  assert.deepEqual(begun, ['n2', 'n3', 'n1']);
});

test('a node on which no pod can run for a taint that stays is never begun, and the taint is named', async () => {
  const copy = await cluster();
  const taint = { key: 'node.cilium.io/agent-not-ready', effect: 'NoExecute' };
  const objects = copy.objects.map(one =>
    one['kind'] === 'Node' && text(one, 'metadata', 'name') === 'n3'
      ? { ...one, spec: { ...part(one, 'spec'), taints: [taint] } }
      : one,
  );
  const seen = only(await foresee({ ...copy, objects }, plan(), { seeds: 1 }));
  assert.deepEqual(
    [seen.finishes, seen.nodes.length, seen.plan.left],
    [false, 5, 1],
    JSON.stringify(seen.plan),
  );
  assert.match(
    planForecastText(seen),
    /n3: Node n3 has the taint node\.cilium\.io\/agent-not-ready:NoExecute, .* \(NotReady\)/,
  );
});

test('several settings are played side by side: the more at once, the sooner it ends', async () => {
  const all = await foresee(await cluster(), plan(), {
    settings: [{}, { maxInFlight: 2 }, { maxInFlight: '50%' }],
    seeds: 1,
  });
  const ends = all.map(one => seconds(one.plan.complete?.medianMs));
  assert.deepEqual(
    all.map(one => one.plan.setting.maxInFlight),
    [undefined, 2, '50%'],
  );
  const [one = 0, two = 0, three = 0] = ends;
  assert.ok(one > two * 1.6 && two > three * 1.2, ends.join());
  const [head, ...rows] = comparisonText(all).split('\n');
  assert.match(
    head ?? '',
    /^AT ONCE {5}COMPLETE AFTER {2}9 OF 10 {2}OPENINGS {2}NODES {2}PODS {2}MOVED AGAIN {2}LOWEST AVAILABILITY$/,
  );
  assert.deepEqual(
    rows.map(row => row.split(/ {2,}/)[0]),
    ['as planned', '2', '50%'],
  );
  assert.equal(comparisonPicture(all).match(/<rect class="held"/g)?.length, 3);
});

test('a node that will never be empty is named with what blocks it, and what is left behind it is counted', async () => {
  const seen = only(await foresee(await cluster({ minAvailable: 12 }), plan(), { seeds: 1 }));
  assert.equal(seen.finishes, false);
  assert.deepEqual(seen.plan.phases, { Running: 1 });
  const [first] = seen.nodes;
  assert.deepEqual([seen.nodes.length, first?.otherwise, seen.plan.left], [1, 'stuck', 5]);
  assert.ok(
    seen.blockers.some(
      ({ reason, budgets }) => reason === 'BudgetNeverAllows' && budgets?.includes('shop/web'),
    ),
  );
  assert.ok(seen.plan.waiting.some(({ reason }) => reason === 'MaxInFlight'));
  assert.match(
    planForecastText(seen),
    /^Plan kernel does not finish \(Running\): 1 of 1 node not done, 5 are never begun\. /,
  );
});

test('a node that does not show that it has booted fails, and the reason is named', async () => {
  const copy = await cluster();
  const objects = copy.objects.map(one =>
    one['kind'] === 'Node'
      ? { ...one, status: { ...(one['status'] as JsonObject), nodeInfo: {} } }
      : one,
  );
  const seen = only(await foresee({ ...copy, objects }, plan(), { seeds: 1 }));
  assert.deepEqual([seen.finishes, seen.plan.phases], [false, { Halted: 1 }]);
  assert.match(planForecastText(seen), /\nWhat fails:\n {2}n1: .*boot/);
});

test('times are learned from what earlier runs have recorded of nodes that were done', () => {
  const record = (planName: string, seconds: readonly number[], verdict = 'Done'): JsonObject => ({
    kind: 'MaintenancePlanRecord',
    spec: {
      planName,
      verdicts: Object.fromEntries(
        seconds.map((workSeconds, index) => [
          `n${index}`,
          { verdict, workSeconds, rebootSeconds: 2 * workSeconds },
        ]),
      ),
    },
  });
  const records = [
    record('kernel', [30, 40, 90]),
    record('kernel', [900], 'Failed'),
    record('disks', [600, 700]),
  ];
  assert.deepEqual(learnWork(records, 'kernel', {}), {
    workMs: 40_000,
    rebootMs: 80_000,
    learnedFrom: { work: 3, reboots: 3 },
  });
  assert.deepEqual(
    learnWork(records, 'new', {}).workMs,
    90_000,
    'of all plans where it has none of its own',
  );
  assert.deepEqual(learnWork(records, 'kernel', { workMs: 5 }), {
    workMs: 5,
    rebootMs: 80_000,
    learnedFrom: { work: 0, reboots: 3 },
  });
  assert.deepEqual(learnWork([], 'kernel', {}), {
    workMs: 60_000,
    rebootMs: 120_000,
    learnedFrom: { work: 0, reboots: 0 },
  });
});

test('windows are waited for, and the openings counted; an approval is given', async () => {
  const copy = await cluster();
  const nightly = {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'MaintenanceWindow',
    metadata: { name: 'nightly' },
    spec: { timeZone: 'UTC', openings: [{ cron: '0 22 * * *', duration: '30m' }] },
  };
  const withWindow = { ...copy, objects: [...copy.objects, nightly] };
  const slow = { ...times, workMs: 300_000 };
  const stages = [{ name: 'canary', limit: 1, approveAfter: true, nodeSelector: {} }];
  const seen = only(
    await foresee(withWindow, plan({ stages, expectedSeconds: 600 }), { seeds: 1, times: slow }),
  );
  assert.equal(seen.finishes, true, JSON.stringify(seen.plan));
  assert.ok(seen.plan.openings >= 2, `${seen.plan.openings} openings`);
  assert.ok(seconds(seen.plan.complete?.medianMs) > 86_400, 'it needs more than one night');
  assert.ok(seen.notes.includes('approvals are given at once'));
});

test('work of others, of nobody and the built-in reboot can be played; machines cannot', async () => {
  const copy = await cluster();
  const external = {
    external: {
      finished: { expression: "node.metadata.labels['done'] == 'yes'" },
      timeoutSeconds: 600,
    },
  };
  for (const work of [external, { none: {} }, { reboot: {} }]) {
    const seen = only(await foresee(copy, plan({ work }), { seeds: 1 }));
    assert.deepEqual(
      [seen.finishes, seen.nodes.length],
      [true, 6],
      `${JSON.stringify(work)} ${JSON.stringify(seen.plan)}`,
    );
  }
  await assert.rejects(
    foresee(copy, plan({ work: { replace: {} } })),
    /plan kernel cannot be rehearsed: it replaces machines/,
  );
});

test('a plan that is undone is played with its rollback, for the nodes that are not due', async () => {
  const copy = await cluster();
  const due = { expression: "node.metadata.name == 'nobody' // nobody" };
  const seen = only(
    await foresee(
      copy,
      plan({ due, direction: 'Rollback', runID: '2', rollback: { work: { none: {} } } }),
      {
        seeds: 1,
      },
    ),
  );
  assert.deepEqual([seen.finishes, seen.nodes.length], [true, 6], JSON.stringify(seen.plan));
  const forward = only(await foresee(copy, plan({ due }), { seeds: 1 }));
  assert.equal(forward.nodes.length, 0);
});

test('hooks and preparations are played as pods; gates about the outside are taken for true, and said so', async () => {
  const podSpec = { containers: [{ name: 'up', image: 'example.test/hook:1' }] };
  const spec = {
    prepare: { job: { podSpec } },
    hooks: [{ name: 'tell', at: 'BeforeNode', job: { podSpec } }],
    gates: [
      {
        name: 'db',
        object: {
          apiVersion: 'example.com/v1',
          resource: 'databases',
          namespace: 'shop',
          name: 'db',
          expression: 'true',
        },
      },
    ],
  };
  const seen = only(await foresee(await cluster(), plan(spec), { seeds: 1 }));
  assert.equal(seen.finishes, true, JSON.stringify(seen.plan));
  assert.ok(seen.notes.some(note => note.startsWith('a gate is taken for true')));
});
