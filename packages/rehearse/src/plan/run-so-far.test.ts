import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { writeHoldRecord } from '@drydock/core/hold';
import { beforeAnnotation } from '@drydock/core/node';
import { podNameFor, preparePurpose, readSummary, summaryText } from '@drydock/core/plan';
import { part, text } from '@drydock/kube-sim';
import { workNamespace } from '@drydock/operator';
import { shop } from '@drydock/operator/testing';
import { rehearsalManager } from '../rehearsal-manager.ts';
import { type ClusterSnapshot, ofKind } from '../snapshot/kept.ts';
import { redacted } from '../snapshot/kept-fields.ts';
import { copied } from '../testing/copied.ts';
import { planSummary } from './plan-words.ts';
import { type PlanForecast, rehearsePlan } from './rehearse-plan.ts';

/** Plans that are rehearsed while they run, and the order of nodes by what it costs. */

const workers = ['n1', 'n2', 'n3', 'n4'];

function cluster(replicas = 12): Promise<ClusterSnapshot> {
  return copied(async (make, settle) => {
    for (const name of workers)
      make('nodes', {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, labels: { pool: 'workers' } },
        status: {
          allocatable: { cpu: '8', memory: '16Gi', pods: '50' },
          nodeInfo: { bootID: `${name}-first` },
        },
      });
    make('deployments.apps', shop('Deployment', 'web', { replicas }));
    await settle();
  });
}

/** The same with its pods on these nodes. */
function placed(copy: ClusterSnapshot, places: readonly string[]): ClusterSnapshot {
  const left = [...places];
  const objects = copy.objects.map(one =>
    one['kind'] === 'Pod'
      ? { ...one, spec: { ...part(one, 'spec'), nodeName: left.shift() ?? '' } }
      : one,
  );
  return { ...copy, objects };
}

function plan(spec: JsonObject = {}, status: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'MaintenancePlan',
    metadata: { name: 'kernel', uid: 'uid-kernel' },
    spec: {
      nodeSelector: { matchLabels: { pool: 'workers' } },
      work: {
        job: {
          podSpec: { containers: [{ name: 'up', image: 'example.test/kernel:1' }] },
          timeoutSeconds: 600,
        },
      },
      ...spec,
    },
    status,
  };
}

async function foresee(copy: ClusterSnapshot, object: JsonObject): Promise<PlanForecast> {
  const manager = rehearsalManager({}, message => {
    throw new Error(message);
  });
  const times = { workMs: 20_000, rebootMs: 40_000, besideMs: 3000 };
  const defaults = { startSeconds: 2, stopSeconds: 1 };
  const [forecast] = await rehearsePlan({
    ...manager,
    copy,
    plan: object,
    settings: [{}],
    times,
    seeds: 1,
    horizonMs: 86_400_000,
    defaults,
  });
  assert.ok(forecast !== undefined);
  return forecast;
}

const run = { id: 'second', revision: 'abc', startTime: '2026-01-01T00:00:00Z' };

function record(verdicts: Readonly<Record<string, JsonObject>>, over: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'MaintenancePlanRecord',
    metadata: { name: 'kernel-abc-0' },
    spec: {
      planName: 'kernel',
      planUID: 'uid-kernel',
      runID: run.id,
      revision: run.revision,
      slice: 0,
      verdicts,
      ...over,
    },
  };
}

function verdictOf(copy: ClusterSnapshot, name: string): JsonObject {
  return {
    nodeUID: text(
      ofKind(copy.objects, 'Node').find(node => text(node, 'metadata', 'name') === name) ?? {},
      'metadata',
      'uid',
    ),
    stage: 'rest',
    verdict: 'Done',
    state: 'Releasing',
    message: 'Done',
    startTime: '2026-01-01T00:00:00Z',
    completionTime: '2026-01-01T00:05:00Z',
    attempts: 1,
    rebooted: false,
    held: false,
    requeues: 0,
  };
}

test('a plan that runs goes on from where it is: what is done stays done', async () => {
  const copy = await cluster();
  const all = await foresee(copy, plan());
  const records = [
    record({ n1: verdictOf(copy, 'n1'), n2: verdictOf(copy, 'n2') }),
    record({ n3: verdictOf(copy, 'n3') }, { runID: 'first' }),
  ];
  const rest = await foresee(
    { ...copy, objects: [...copy.objects, ...records] },
    plan({}, { run }),
  );
  assert.deepEqual(
    [all.nodes.map(({ node }) => node), rest.nodes.map(({ node }) => node), rest.plan.phases],
    [workers, ['n3', 'n4'], { Complete: 1 }],
  );
  assert.ok((rest.plan.complete?.medianMs ?? 0) < 0.7 * (all.plan.complete?.medianMs ?? 0));
  assert.ok(rest.notes.includes('the run is under way: its 2 verdicts stay'));
});

/**
 * A copy that was taken while the plan is at work on n1: its hold, its record of the node, and its
 * pod, which runs.
 */
function atWork(copy: ClusterSnapshot) {
  const found = ofKind(copy.objects, 'Node').find(node => text(node, 'metadata', 'name') === 'n1');
  const uid = text(found ?? {}, 'metadata', 'uid');
  const hold = {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'Maintenance',
    metadata: {
      name: `kernel-${uid}`,
      uid: 'm1',
      finalizers: ['drydock.dev/maintenance'],
      annotations: { 'drydock.dev/maintenance-plan': 'kernel' },
    },
    spec: { nodeName: 'n1', reason: 'MaintenancePlan kernel' },
    status: { phase: 'Drained' },
  };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'kernel-0123456789abcdef-k4vz-1',
      namespace: workNamespace,
      uid: 'w1',
      labels: { 'drydock.dev/maintenance-plan': 'kernel' },
      annotations: { 'drydock.dev/maintenance-plan': 'kernel' },
      ownerReferences: [
        {
          apiVersion: 'drydock.dev/v1alpha1',
          kind: 'MaintenancePlan',
          name: 'kernel',
          uid: 'uid-kernel',
        },
      ],
    },
    spec: {
      nodeName: 'n1',
      restartPolicy: 'Never',
      containers: [{ name: 'up', image: 'example.test/kernel:1' }],
      tolerations: [{ operator: 'Exists' }],
    },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  };
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: workNamespace } };
  const inFlight = [
    {
      node: 'n1',
      nodeUID: uid,
      state: 'Working',
      stage: 'rest',
      attempt: 1,
      pod: pod.metadata.name,
      podUID: 'w1',
      startTime: run.startTime,
    },
  ];
  const taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
  const before = writeHoldRecord({
    unschedulable: false,
    taints: {},
    labels: {},
    kinds: ['maintenances.drydock.dev'],
  });
  const held = copy.objects.map(one =>
    one['kind'] === 'Node' && text(one, 'metadata', 'name') === 'n1'
      ? {
          ...one,
          metadata: { ...part(one, 'metadata'), annotations: { [beforeAnnotation]: before } },
          spec: { ...part(one, 'spec'), unschedulable: true, taints: [taint] },
        }
      : one,
  );
  return {
    copy: { ...copy, objects: [...held, hold] },
    status: { run, inFlight },
    work: [namespace, pod],
  };
}

test('a node in flight is let go of in the copy, and begun with anew', async () => {
  const { copy, status } = atWork(await cluster());
  const seen = await foresee(copy, plan({}, status));
  assert.deepEqual(
    [seen.nodes.map(({ node }) => node), seen.plan.phases],
    [workers, { Complete: 1 }],
    JSON.stringify(seen.plan),
  );
  assert.ok(seen.notes.includes('1 node is in flight: begun again here'));
});

test('the pod that works on a node at that moment keeps the copy of the node from nothing', async () => {
  const { copy, status, work } = atWork(await cluster());
  const busy = { ...copy, objects: [...copy.objects, ...work] };
  const idle = await foresee(copy, plan({}, status));
  const seen = await foresee(busy, plan({}, status));
  assert.deepEqual(
    [seen.nodes.map(({ node }) => node), seen.plan.phases],
    [workers, { Complete: 1 }],
    JSON.stringify(seen.plan),
  );
  const difference = Math.abs(
    (seen.plan.complete?.medianMs ?? 0) - (idle.plan.complete?.medianMs ?? 0),
  );
  assert.ok(difference < 1000, `${difference} ms longer or shorter than without it`);
});

/** A pod of the plan that waits for its image, as its kubelet says it. */
function imageless(pod: JsonObject): JsonObject {
  return {
    ...pod,
    status: {
      phase: 'Pending',
      containerStatuses: [
        {
          name: 'up',
          ready: false,
          restartCount: 0,
          state: { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' } },
        },
      ],
    },
  };
}

test('work that cannot start in the cluster does not start in its copy, and the reason is named', async () => {
  const { copy, status, work } = atWork(await cluster());
  const [namespace = {}, pod = {}] = work;
  const stuck = { ...copy, objects: [...copy.objects, namespace, imageless(pod)].map(redacted) };
  const seen = await foresee(stuck, redacted(plan({}, status)));
  assert.deepEqual(
    [seen.finishes, seen.plan.failures.map(({ node }) => node)],
    [false, ['n1']],
    JSON.stringify(seen.plan),
  );
  assert.match(seen.plan.failures[0]?.message ?? '', /could not begin.*ImagePullBackOff/);
  assert.ok(seen.notes.includes('1 pod of the plan cannot start now, and will not here'));
});

/** What the plan has stored of the preparation of a node. */
function preparing(
  copy: ClusterSnapshot,
  name: string,
  state: string,
  more: JsonObject = {},
): JsonObject {
  const nodeUID = text(verdictOf(copy, name), 'nodeUID');
  const of = {
    name: 'kernel',
    uid: 'uid-kernel',
    run: { startedAt: Temporal.Instant.from(run.startTime) },
  };
  const pod = podNameFor({ plan: of, nonce: 'k4vz' }, preparePurpose(of, nodeUID));
  return {
    node: name,
    nodeUID,
    state,
    startTime: run.startTime,
    pod,
    message: state === 'Failed' ? 'disk full' : '',
    ...more,
  };
}

test('preparations that have failed or cannot start keep their nodes from being begun with, as in the cluster', async () => {
  const copy = await cluster();
  const prepare = {
    job: { podSpec: { containers: [{ name: 'up', image: 'example.test/load:1' }] } },
    timeoutSeconds: 900,
  };
  const stuck = preparing(copy, 'n2', 'Running', { podUID: 'p2' });
  const pod = imageless({
    ...atWork(copy).work[1],
    metadata: { name: text(stuck, 'pod'), namespace: workNamespace, uid: 'p2' },
  });
  const pods = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: workNamespace } },
    { ...pod, spec: { ...part(pod, 'spec'), nodeName: 'n2' } },
  ];
  const status = {
    run,
    preparing: [preparing(copy, 'n1', 'Failed'), stuck, preparing(copy, 'n3', 'Prepared')],
  };
  const seen = await foresee(
    { ...copy, objects: [...copy.objects, ...pods].map(redacted) },
    redacted(plan({ prepare }, status)),
  );
  assert.deepEqual(
    [seen.finishes, seen.nodes.map(({ node }) => node), seen.plan.left],
    [false, ['n3', 'n4'], 2],
    JSON.stringify(seen.plan),
  );
  const waits = seen.plan.waiting.map(({ reason, message }) => `${reason} ${message}`).join('\n');
  assert.match(waits, /Blocked its preparation has failed/);
  assert.ok(
    seen.notes.includes('the preparation of 1 node has failed or refuses, and stays so'),
    seen.notes.join(),
  );
});

test('by cost the nodes with the fewest pods begin where that moves fewer pods twice, and the summary names them', async () => {
  const places = Object.entries({ n1: 12, n2: 6, n3: 1, n4: 6 }).flatMap(([node, pods]) =>
    Array.from({ length: pods }, () => node),
  );
  const copy = placed(await cluster(places.length), places);
  const byName = await foresee(copy, plan({ order: { by: ['Name'] } }));
  const byCost = await foresee(copy, plan({ order: { by: ['Cost', 'Name'] } }));
  assert.equal(byCost.nodes[0]?.node, 'n3');
  assert.ok(
    byCost.moves.again < byName.moves.again,
    `${byCost.moves.again} of ${byName.moves.again}`,
  );
  const summary = readSummary(summaryText(planSummary(byCost)));
  assert.deepEqual(
    [summary?.firstNodes[0], summary?.podsMovedAgain, summary?.finishes],
    ['n3', byCost.moves.again, true],
  );
  assert.deepEqual(byName.plan.firstNodes, []);
});
