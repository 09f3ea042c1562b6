import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decidePlan, maxHookRuns, maxSlots, recordWrite } from '@drydock/core/plan';
import {
  at,
  makeInFlight,
  makePlan,
  makePlanNode,
  makePlanSnapshot,
  makeReadyNode,
  makeVerdict,
  makeWindow,
} from '@drydock/core/testing';
import { maintenancePlanStatus } from './status.ts';

const many = 10_000;
function nameOf(index: number): string {
  return `node-${String(index).padStart(5, '0')}`;
}

test('ten thousand nodes, half of them done, two hundred in flight, twenty other plans, windows and a pace: a decision takes a fraction of a second, its status is small', t => {
  const nodes = Array.from({ length: many }, (_, index) =>
    makePlanNode(
      makeReadyNode(nameOf(index), { labels: { 'topology.kubernetes.io/zone': `z${index % 9}` } }),
    ),
  );
  const verdicts = nodes
    .slice(0, 5000)
    .map(({ node }, index) => makeVerdict(node.name, { verdict: index < 60 ? 'Failed' : 'Done' }));
  const inFlight = nodes
    .slice(5000, 5200)
    .map(({ node }) => makeInFlight(node.name, { state: 'Holding' }));
  const outages = new Map(
    inFlight.map(({ node }) => [node, [{ reason: 'Plan', by: 'plan kernel' } as const]] as const),
  );
  const selected = new Set(nodes.map(({ node }) => node.name));
  const others = Array.from({ length: 20 }, (_, index) => ({
    name: `other-${index}`,
    selected,
    maxUnavailable: 500,
    inFlight: [],
  }));
  const perTopology = [{ key: 'topology.kubernetes.io/zone', maxUnavailable: 100 }];
  const plan = makePlan({
    inFlight,
    order: ['Zone', 'Name'],
    starvedAfterSeconds: 86_400,
    passedOver: nodes
      .slice(5200, 5220)
      .map(({ node }) => ({ node: node.name, uid: node.uid, since: at(-60) })),
    pace: { deadline: at(9 * 86_400), mode: 'Spread' },
    approvalExpiresAfter: 3600,
    concurrency: {
      maxInFlight: '5%',
      maxUnavailable: '2%',
      startsPerWindow: 9000,
      perTopology,
      foreignCordon: 'Wait',
    },
  });
  const windows = Array.from({ length: 9 }, (_, index) =>
    makeWindow({
      name: `w${index}`,
      openings: [{ cron: '0 7 * * *', seconds: 7200 }],
      nodeSelector: { matchLabels: { 'topology.kubernetes.io/zone': `z${index}` } },
    }),
  );
  const snapshot = makePlanSnapshot({ plan, nodes, verdicts, outages, others, windows });
  const since = process.cpuUsage();
  const decision = decidePlan(snapshot, at(0));
  // Time of this process: what others take of the machine is not the code's.
  const milliseconds = process.cpuUsage(since).user / 1000;
  assert.equal(decision.passedOver.length, 20);
  assert.ok(decision.waiting.some(({ reason }) => reason === 'MaxUnavailable'));
  const bytes = Buffer.byteLength(JSON.stringify(maintenancePlanStatus(decision, plan, at(0))));
  t.diagnostic(`${milliseconds.toFixed(0)} ms, ${bytes} bytes`);
  assert.ok(milliseconds < 1000, `${milliseconds} ms`);
  assert.ok(bytes < 100_000, `${bytes} bytes`);
});

/**
 * Bytes of an object as the API server stores it: Go's encoder escapes the signs of HTML and two
 * line separators besides.
 */
function bytesOf(object: unknown): number {
  const json = JSON.stringify(object);
  return (
    Buffer.byteLength(json) +
    5 * (json.match(/[<>&]/g) ?? []).length +
    3 * (json.match(/[\u2028\u2029]/g) ?? []).length
  );
}

/**
 * What a hostile node, job or author can make of each entry: the longest names, and messages whose
 * every character takes six bytes or three.
 */
const hostileMessages = [
  '\u2028'.repeat(5000),
  '語'.repeat(5000),
  '<'.repeat(5000),
  '"\\'.repeat(5000),
  '\ud800'.repeat(5000),
];

for (const message of hostileMessages) {
  test(`as many entries as there may be, all failed with ${JSON.stringify(message.slice(0, 1))}: the status and a full record can be stored`, t => {
    const name = (index: number): string => `${'n'.repeat(240)}-${index}`;
    const outcome = { verdict: 'Failed', state: 'Working', message, held: true } as const;
    const uid = '00000000-0000-0000-0000-000000000000';
    const inFlight = Array.from({ length: maxSlots }, (_, index) =>
      makeInFlight(name(index), {
        stage: 's'.repeat(63),
        state: 'Releasing',
        outcome,
        pod: 'p'.repeat(63),
        podUid: uid,
        bootIdBefore: 'b'.repeat(64),
      }),
    );
    const run = { state: 'Failed', attempt: 1, since: at(0), podUid: uid, message } as const;
    const hooks = Array.from({ length: maxHookRuns }, (_, index) => ({
      ...run,
      name: 'h'.repeat(63),
      scope: `node ${uid} at ${index}`,
      pod: `${'p'.repeat(58)}${index}`,
    }));
    const preparing = Array.from({ length: 250 }, (_, index) => ({
      ...run,
      node: name(index),
      uid,
      pod: 'p'.repeat(63),
    }));
    const plan = makePlan({ inFlight });
    const decision = decidePlan(makePlanSnapshot({ plan }), at(0));
    const failures = inFlight
      .slice(0, 50)
      .map(({ node }) => makeVerdict(node, { verdict: 'Failed', message }));
    const waiting = failures.map(({ node }) => ({ reason: 'Working', message, node }));
    const status = maintenancePlanStatus(
      { ...decision, message, inFlight, hooks, preparing, failures, waiting },
      plan,
      at(0),
    );
    const bytes = bytesOf(status);
    t.diagnostic(`${bytes} bytes`);
    assert.ok(bytes < 1_300_000, `${bytes} bytes`);
    const verdicts = inFlight.map(({ node }) =>
      makeVerdict(node, { verdict: 'Failed', message, stage: 's'.repeat(63) }),
    );
    const snapshot = makePlanSnapshot({ plan: makePlan(), verdicts: [] });
    const entries = verdicts.map(
      verdict => recordWrite({ ...snapshot, slices: [] }, verdict, 'r1').body['spec'],
    );
    const record = entries.reduce<number>((sum, entry) => sum + bytesOf(entry), 0);
    assert.ok(record < 1_300_000, `${record} bytes`);
  });
}

test('a plan whose status has no room for more begins with no other node, and says so', () => {
  const inFlight = Array.from({ length: 60 }, (_, index) =>
    makeInFlight(`n${index}`, { state: 'Holding' }),
  );
  const plan = makePlan({
    inFlight,
    status: { message: 'x'.repeat(400_000) },
    concurrency: { maxInFlight: 500, perTopology: [], foreignCordon: 'Wait' },
  });
  const nodes = Array.from({ length: 70 }, (_, index) => makePlanNode(makeReadyNode(`n${index}`)));
  const full = decidePlan(makePlanSnapshot({ plan, nodes }), at(0));
  assert.ok(full.waiting.some(({ reason }) => reason === 'StatusFull'));
  const room = decidePlan(makePlanSnapshot({ plan: { ...plan, status: {} }, nodes }), at(0));
  assert.ok(!room.waiting.some(({ reason }) => reason === 'StatusFull'));
});
