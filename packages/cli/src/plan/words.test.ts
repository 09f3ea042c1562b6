import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MaintenancePlanStatus } from '@drydock/apis/schema';
import type { NodeVerdict } from '@drydock/core/plan';
import { planLine, plansTable, planText } from './status-text.ts';
import { type PlanObject, planSentence } from './why-plans.ts';

/** What `drydock plan status` and `drydock why` print. */

const since = '2026-05-01T10:00:00Z';
const status: MaintenancePlanStatus = {
  phase: 'Running',
  message: '3 done, 1 failed, 4 due of 9 nodes',
  observedGeneration: 2,
  run: { id: '1', revision: 'r', startTime: since, stage: 'rest' },
  nodes: {
    selected: 9,
    due: 4,
    blocked: 0,
    inFlight: 1,
    done: 3,
    failed: 1,
    skipped: 0,
    unavailable: 2,
    progress: '3/8',
  },
  resolved: { maxInFlight: 1, maxUnavailable: 2 },
  stages: [{ name: 'rest', selected: 8, done: 4, phase: 'Running' }],
  inFlight: [
    {
      node: 'n1',
      nodeUID: 'u1',
      stage: 'rest',
      revision: 'r',
      work: { kind: 'none', rebootsNode: false, timeoutSeconds: 0 },
      state: 'Holding',
      startTime: since,
      stateStartTime: since,
      attempt: 0,
    },
  ],
  waiting: [
    {
      reason: 'MaxInFlight',
      message: '1 nodes are in flight, and concurrency.maxInFlight allows 1',
      startTime: since,
    },
    { reason: 'Draining', message: 'pod web cannot go', node: 'n1', startTime: since },
  ],
  waitingFor: 'MaxInFlight',
  estimatedCompletionTime: '2026-05-01T12:00:00Z',
  conditions: [
    {
      type: 'Predicted',
      status: 'False',
      reason: 'MissesDeadline',
      message: '4 nodes are due',
      lastTransitionTime: since,
    },
  ],
  failures: [
    {
      node: 'n2',
      stage: 'rest',
      state: 'Working',
      message: 'exit code 1',
      time: since,
      held: true,
    },
  ],
};
const plan: PlanObject = {
  metadata: { name: 'kernel', uid: 'u', resourceVersion: '7', generation: 2 },
  spec: { nodeSelector: {}, work: { none: {} } },
  status,
};
function phased(phase: NonNullable<MaintenancePlanStatus['phase']>, message: string): PlanObject {
  return {
    ...plan,
    status: { ...status, phase, message, inFlight: [], waiting: [] },
  };
}
const verdict: NodeVerdict = {
  node: 'n3',
  uid: 'u3',
  stage: 'rest',
  verdict: 'Done',
  state: 'Releasing',
  message: '',
  attempts: 1,
  rebooted: true,
  held: false,
  requeues: 0,
  startedAt: Temporal.Instant.from(since),
  completedAt: Temporal.Instant.from(since),
};

function cells(text: string): readonly (readonly string[])[] {
  return text.split('\n').map(line => line.split(/ {2,}/));
}

test('all plans are one line each', () => {
  const { status: _status, ...unseen } = plan;
  assert.deepEqual(cells(plansTable([plan, unseen], false)), [
    ['PLAN', 'PHASE', 'STAGE', 'DONE', 'FAILED', 'IN FLIGHT', 'WAITS FOR', 'MESSAGE'],
    [
      'kernel',
      'Running',
      'rest',
      '3/8',
      '1',
      '1',
      'MaxInFlight',
      '3 done, 1 failed, 4 due of 9 nodes',
    ],
    ['kernel', 'Pending', '-', '-', '-', '-', '-', 'no operator has reconciled it yet'],
  ]);
  assert.deepEqual(cells(plansTable([plan], true))[1]?.slice(7), [
    '1',
    since,
    '2026-05-01T12:00:00Z',
    '9',
    '4',
    '0',
    '0',
    '2',
    status.message,
  ]);
  assert.equal(plansTable([], false), 'There is no MaintenancePlan.');
});

test('what a rehearsal has foretold is told with its drift, and who gets stuck', () => {
  const forecast = {
    rehearsalTime: since,
    snapshotTime: since,
    runID: '1',
    specHash: 'h',
    finishes: false,
    estimatedCompletionTime: '2026-05-01T12:00:00Z',
    latestCompletionTime: '2026-05-01T12:30:00Z',
    driftSeconds: 600,
    nodes: 8,
    windows: 2,
    podsMoved: 90,
    podsMovedAgain: 7,
    blockedNodes: 3,
    blocked: [{ node: 'n9', message: 'budget shop/web never allows it' }],
    lowest: [{ workload: 'Deployment shop/web', ready: 1, replicas: 3 }],
  };
  const text = planText({ ...plan, status: { ...status, forecast } });
  assert.match(
    text,
    /ends at 2026-05-01T12:00:00Z \(9 of 10 times by 2026-05-01T12:30:00Z\), 10m00s later than at first, in 2 openings of its windows; 8 nodes, 90 pods moved, 7 of them again; at the lowest 1 of 3 pods of Deployment shop\/web are ready\n {2}n9 gets stuck: budget shop\/web never allows it\n {2}and 2 more\n/,
  );
  const { estimatedCompletionTime: _end, ...open } = forecast;
  assert.match(
    planText({ ...plan, status: { ...status, forecast: open } }),
    /: it does not finish/,
  );
});

test('one plan is all of its status', () => {
  const text = planText(plan, [
    { ...verdict, setAside: false },
    { ...verdict, node: 'n2', verdict: 'Failed', setAside: true },
  ]);
  assert.deepEqual(
    cells(text).filter(line => line[0] !== ''),
    [
      ['MaintenancePlan kernel: Running: 3 done, 1 failed, 4 due of 9 nodes'],
      [`Run 1, begun ${since}, expected to end at 2026-05-01T12:00:00Z`],
      ['It misses its deadline: 4 nodes are due'],
      ['Nodes: 3/8 done, 1 failed, 0 skipped, 0 blocked; in flight 1 of 1, out of service 2 of 2'],
      ['STAGE', 'PHASE', 'NODES', 'DONE'],
      ['rest', 'Running', '8', '4'],
      ['IN FLIGHT', 'STATE', 'SINCE', 'ATTEMPT', 'STAGE'],
      ['n1', 'Holding', since, '0', 'rest'],
      ['WAITS FOR', 'NODE', 'SINCE', 'UNTIL', 'MESSAGE'],
      [
        'MaxInFlight',
        '-',
        since,
        '-',
        '1 nodes are in flight, and concurrency.maxInFlight allows 1',
      ],
      ['Draining', 'n1', since, '-', 'pod web cannot go'],
      ['FAILED', 'STAGE', 'STATE', 'TIME', 'HELD', 'MESSAGE'],
      ['n2', 'rest', 'Working', since, 'yes', 'exit code 1'],
      ['NODE', 'VERDICT', 'STAGE', 'COMPLETED', 'ATTEMPTS', 'HELD', 'MESSAGE'],
      ['n3', 'Done', 'rest', since, '1', 'no'],
      ['n2', 'Failed (retried)', 'rest', since, '1', 'no'],
    ],
  );
  const edited = { ...plan, metadata: { ...plan.metadata, generation: 3 } };
  assert.match(
    planText(edited),
    /\nThe operator has not seen the latest change of this plan yet\.\n/,
  );
});

test('nodes that are due again after their turn are told', () => {
  const again = { ...plan, status: { ...status, nodes: { ...status.nodes!, dueAgain: 2 } } };
  assert.match(planText(again), /0 skipped, 0 blocked, 2 due again; in flight/);
});

test('a plan that is followed is one line', () => {
  assert.equal(
    planLine(plan),
    'Running, stage rest, 3/8 done, 1 failed; in flight: n1 Holding; waits for MaxInFlight: 1 nodes are in flight, and concurrency.maxInFlight allows 1',
  );
  assert.equal(
    planLine(phased('Paused', 'Paused')),
    'Paused, stage rest, 3/8 done, 1 failed: Paused',
  );
});

test('why says what a plan has to do with the node, and what helps', () => {
  const on = (
    name: string,
    of: PlanObject = plan,
    more: { readonly verdict?: NodeVerdict } = {},
  ): string => planSentence({ plan: of, node: { name, uid: name.replace('n', 'u') }, ...more });
  assert.equal(
    on('n1'),
    `MaintenancePlan kernel (Running) has it in flight: Holding since ${since}. It waits for Draining: pod web cannot go.`,
  );
  assert.match(
    on('n5'),
    /^MaintenancePlan kernel \(Running\) selects it and has not begun with it\. It waits for MaxInFlight: .* What helps: wait until a node in flight is done/,
  );
  assert.equal(
    on('n3', plan, { verdict }),
    `MaintenancePlan kernel has finished with it in this run (Done), since ${since}.`,
  );
  const contested = {
    type: 'Contested',
    status: 'True',
    reason: 'WorkIsUndone',
    message: '2 are due again',
    lastTransitionTime: since,
  } as const;
  assert.equal(
    on('n3', { ...plan, status: { ...plan.status, conditions: [contested] } }, { verdict }),
    `MaintenancePlan kernel has finished with it in this run (Done), since ${since}. Of its nodes, 2 are due again.`,
  );
  const failed = { ...verdict, verdict: 'Failed', message: 'exit code 1', held: true } as const;
  assert.match(
    on('n3', plan, { verdict: failed }),
    /has failed on it at .*: exit code 1\. The node stays held\. What helps: drydock plan retry kernel n3\.$/,
  );
  const skipping = {
    ...plan,
    spec: { ...plan.spec, skipNodes: [{ name: 'n5', reason: 'new disk' }] },
  };
  assert.equal(on('n5', skipping), 'MaintenancePlan kernel leaves it out (new disk).');
  const table: readonly (readonly [PlanObject, RegExp])[] = [
    [phased('Paused', 'Paused'), /is Paused: Paused\. What helps: drydock plan resume kernel\.$/],
    [phased('AwaitingApproval', 'stage a is done'), /What helps: drydock plan approve kernel\.$/],
    [phased('Halted', 'Halted: 2 nodes in a row'), /drydock plan retry kernel --failed/],
    [phased('Halted', 'Halted: all plans are halted: storage'), /drydock plan halt --release/],
    [phased('Aborted', 'Aborted'), /drydock plan rerun kernel/],
    [phased('Complete', '9 done'), /is complete: the node was not due\.$/],
    [phased('Running', '3 done'), /has not begun with it\. The plan is Running: 3 done\.$/],
    [
      { ...plan, status: { ...status, upNext: ['n4', 'n5'] } },
      /has not begun with it: it is number 2 of stage rest\. It waits for/,
    ],
    [
      {
        ...plan,
        status: { ...status, upNext: Array.from({ length: 20 }, (_, index) => `a${index}`) },
      },
      /: 20 others of stage rest come first, or its stage comes later\./,
    ],
  ];
  for (const [of, words] of table) assert.match(on('n5', of), words);
});
