import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decidePlan } from '../../core/plan/decide.ts';
import { at } from '../../core/testing/make.ts';
import { makeInFlight, makePlan, makePlanNode, makePlanSnapshot, makeReadyNode, makeVerdict } from '../../core/testing/make-plan.ts';
import { makeWindow } from '../../core/testing/make-window.ts';
import { maintenancePlanStatus } from './status.ts';

const many = 10_000;
const nameOf = (index: number): string => `node-${String(index).padStart(5, '0')}`;

test('ten thousand nodes, half of them done, two hundred in flight, twenty other plans, windows and a pace: a decision takes a fraction of a second, its status is small', t => {
  const nodes = Array.from({ length: many }, (_, index) =>
    makePlanNode(makeReadyNode(nameOf(index), { labels: { 'topology.kubernetes.io/zone': `z${index % 9}` } })),
  );
  const verdicts = nodes.slice(0, 5000).map(({ node }, index) => makeVerdict(node.name, { verdict: index < 60 ? 'Failed' : 'Done' }));
  const inFlight = nodes.slice(5000, 5200).map(({ node }) => makeInFlight(node.name, { state: 'Holding' }));
  const outages = new Map(inFlight.map(({ node }) => [node, [{ cause: 'Plan', by: 'plan kernel' } as const]] as const));
  const selected = new Set(nodes.map(({ node }) => node.name));
  const others = Array.from({ length: 20 }, (_, index) => ({ name: `other-${index}`, selected, maxUnavailable: 500, inFlight: [] }));
  const perTopology = [{ key: 'topology.kubernetes.io/zone', maxUnavailable: 100 }];
  const plan = makePlan({
    inFlight,
    order: ['Zone', 'Name'],
    starvedAfterSeconds: 86_400,
    passedOver: nodes.slice(5200, 5220).map(({ node }) => ({ node: node.name, uid: node.uid, since: at(-60) })),
    pace: { deadline: at(9 * 86_400), mode: 'Spread' },
    approvalExpiresAfter: 3600,
    concurrency: { maxInFlight: '5%', maxUnavailable: '2%', startsPerWindow: 9000, perTopology, foreignCordon: 'Wait' },
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
  assert.ok(decision.waiting.some(({ word }) => word === 'MaxUnavailable'));
  const bytes = Buffer.byteLength(JSON.stringify(maintenancePlanStatus(decision, plan, at(0))));
  t.diagnostic(`${milliseconds.toFixed(0)} ms, ${bytes} bytes`);
  assert.ok(milliseconds < 1000, `${milliseconds} ms`);
  assert.ok(bytes < 100_000, `${bytes} bytes`);
});
