import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { begun, decided, nodesOf, words } from '../testing/decided.ts';
import { at, makeRequest } from '../testing/make.ts';
import {
  makeApproval,
  makeInFlight,
  makePlan,
  makePlanNode,
  makePlanSnapshot,
  makeReadyNode,
  makeVerdict,
  makeWorkPod,
  soakedRun,
} from '../testing/make-plan.ts';
import { makeWindow } from '../testing/make-window.ts';
import { decidePlan } from './decide.ts';
import type { NodeVerdict } from './in-flight.ts';
import type { Plan, Stage } from './plan.ts';
import type { PlanDecision, PlanNode, PlanSnapshot, WorkPod } from './snapshot.ts';
import { childNameOf } from './writes.ts';

/**
 * A verdict belongs to its stage and to its run, whatever becomes of its node; a hold belongs to a
 * node in flight, to a failure that counts, or to a turn to come.
 */

type Given = NonNullable<Parameters<typeof decided>[0]>;

function labelled(name: string, pool: string, over: Partial<PlanNode> = {}): PlanNode {
  return makePlanNode(makeReadyNode(name, { labels: { pool } }), over);
}
const rest = [labelled('n2', 'rest'), labelled('n3', 'rest'), labelled('n4', 'rest')];
function canary(over: Partial<Stage> = {}): Stage {
  return {
    name: 'canary',
    nodeSelector: { matchLabels: { pool: 'canary' } },
    soakSeconds: 0,
    approveAfter: false,
    ...over,
  };
}

/**
 * What may become of a node that has its verdict: the nodes that are there then, and how the plan
 * is edited.
 */
const fates: Readonly<Record<string, readonly [readonly PlanNode[], Partial<Plan>]>> = {
  stays: [[labelled('n1', 'canary'), ...rest], {}],
  'is deleted': [rest, {}],
  'has another label': [[labelled('n1', 'rest'), ...rest], {}],
  'is not selected any more': [[labelled('n1', 'canary', { selected: false }), ...rest], {}],
  'is skipped': [[labelled('n1', 'canary'), ...rest], { skips: new Map([['n1', 'broken']]) }],
  'is not due any more': [[labelled('n1', 'canary', { due: false }), ...rest], {}],
  'is Blocked': [
    [
      labelled('n1', 'canary', { due: { error: 'no such key' }, done: { error: 'no such key' } }),
      ...rest,
    ],
    {},
  ],
  'comes back as another one': [
    [
      makePlanNode(makeReadyNode('n1', { uid: 'uid-again', labels: { pool: 'canary' } }), {
        due: false,
      }),
      ...rest,
    ],
    {},
  ],
  'is left out together with the control plane': [
    [
      makePlanNode(
        makeReadyNode('n1', {
          labels: { pool: 'canary', 'node-role.kubernetes.io/control-plane': '' },
        }),
      ),
      ...rest,
    ],
    { controlPlane: 'Never' },
  ],
};

describe('whatever becomes of a canary that has its verdict', () => {
  for (const [fate, [nodes, plan]] of Object.entries(fates)) {
    test(`it ${fate}: its failure halts the plan as before`, () => {
      const failed = {
        nodes,
        verdicts: [
          makeVerdict('n1', { stage: 'canary', verdict: 'Failed', state: 'Working', held: true }),
        ],
      };
      for (const halt of [{ inFirstStage: 1 }, { maxFailures: 0 }, { consecutive: 1 }]) {
        const { phase, inFlight, counts } = decided(failed, { stages: [canary()], halt, ...plan });
        assert.deepEqual(
          [phase, inFlight.length, counts.failed],
          ['Halted', 0, 1],
          JSON.stringify(halt),
        );
      }
    });

    test(`it ${fate}: its approval is asked for, and lets the plan go on`, () => {
      const of = { nodes, verdicts: [makeVerdict('n1', { stage: 'canary' })] };
      const staged = { stages: [canary({ approveAfter: true })], ...plan };
      const asked = decided(of, staged);
      assert.equal(asked.inFlight.length, 0);
      assert.match(
        asked.waiting.find(({ reason }) => reason === 'Approval')?.message ?? '',
        /^stage canary is done \(1 done.*drydock plan approve kernel canary$/,
      );
      assert.equal(asked.stages.find(({ name }) => name === 'canary')?.done, 1);
      assert.equal(
        begun({ ...of, approvals: [makeApproval({ stage: 'canary' })] }, staged).length,
        1,
      );
    });

    test(`it ${fate}: its soak time counts, and is as long as it was`, () => {
      const of = {
        nodes,
        verdicts: [makeVerdict('n1', { stage: 'canary', completedAt: at(-200) })],
      };
      const staged = (seconds: number) => ({
        stages: [canary({ soakSeconds: 100 })],
        run: soakedRun('canary', seconds),
        ...plan,
      });
      assert.equal(decided(of, staged(60)).inFlight.length, 0);
      assert.ok(
        decided(of, staged(60)).waiting.some(
          ({ reason }) => reason === 'StageSoak' || reason === 'SoakBroken',
        ),
      );
      if (fate !== 'is Blocked') assert.equal(begun(of, staged(160)).length, 1);
    });
  }

  test('who has to agree is told what it shows now', () => {
    const shown = (nodes: readonly PlanNode[]): string =>
      decided(
        { nodes, verdicts: [makeVerdict('n1', { stage: 'canary' })] },
        { stages: [canary({ approveAfter: true })] },
      ).waiting[0]?.message ?? '';
    assert.match(shown(rest), /1 done, n1 does not exist any more\)/);
    const dead = makePlanNode(makeReadyNode('n1', { labels: { pool: 'canary' }, conditions: [] }));
    assert.match(shown([dead, ...rest]), /1 done, n1 is not Ready\)/);
    assert.match(
      shown([labelled('n1', 'canary', { done: false }), ...rest]),
      /1 done, n1 was done and is not any more\)/,
    );
    assert.match(
      shown([labelled('n1', 'canary'), ...rest]),
      /stage canary is done \(1 done\), and/,
    );
  });

  test('a stage that comes to stand before it, with nodes that were never begun with, takes its failure from nobody', () => {
    const master = makePlanNode(
      makeReadyNode('m1', { labels: { 'node-role.kubernetes.io/control-plane': '' } }),
    );
    const of = {
      nodes: [master, ...rest],
      verdicts: [makeVerdict('n1', { stage: 'canary', verdict: 'Failed', state: 'Working' })],
    };
    assert.equal(
      decided(of, { stages: [canary()], halt: { inFirstStage: 1 }, controlPlane: 'First' }).phase,
      'Halted',
    );
  });
});

describe('a node that is skipped takes no place of a limit', () => {
  const stages = [canary({ limit: 1, approveAfter: true })].map(
    ({ nodeSelector: _all, ...one }) => one,
  );

  test('the next one is the canary, and somebody is asked behind it', () => {
    const skips = new Map([['n1', 'its disk is broken']]);
    const first = decided({}, { stages, skips });
    assert.deepEqual(
      first.inFlight.map(({ node, stage }) => [node, stage]),
      [['n2', 'canary']],
    );
    const done = { verdicts: [makeVerdict('n2', { stage: 'canary' })] };
    assert.equal(words(decided(done, { stages, skips })), 'AwaitingApproval Approval');
    const given = { verdicts: [makeVerdict('n1', { stage: 'canary', verdict: 'Skipped' })] };
    assert.deepEqual(
      decided(given, { stages }).inFlight.map(({ node, stage }) => [node, stage]),
      [['n2', 'canary']],
      'skipped in the middle',
    );
  });

  test('one that was done in it keeps its place', () => {
    const of = { verdicts: [makeVerdict('n1', { stage: 'canary' })] };
    assert.equal(
      words(decided(of, { stages, skips: new Map([['n1', '']]) })),
      'AwaitingApproval Approval',
    );
  });
});

/** What is decided one after the other, each with the run that the one before has stored. */
function edited(revisions: readonly string[], more: Partial<Plan> = {}): PlanDecision {
  let run: Plan['run'];
  let decision: PlanDecision | undefined;
  for (const revision of revisions) {
    const { run: _none, ...fresh } = makePlan({ revision, ...more });
    const plan: Plan = { ...fresh, ...(run && { run }) };
    decision = decidePlan(makePlanSnapshot({ plan, nodes: nodesOf(3), verdicts: [] }), at(0));
    run = decision.run;
  }
  return decision as PlanDecision;
}

describe('A, B and A again are three runs', () => {
  test('by any of what tells runs apart: the work, or runID', () => {
    const [first, third] = [edited(['a']), edited(['a', 'b', 'a'])];
    assert.deepEqual(
      [first.run?.number, third.run?.number, third.run?.revision],
      [undefined, 3, 'a'],
    );
    assert.equal(edited(['a', 'a', 'a']).run?.number, undefined, 'nothing was edited');
  });

  test('approvals and records of the first are none of the third', () => {
    const run = { id: '1', revision: 'r1', number: 3, startedAt: at(-4000) };
    const needsApproval = { needsApproval: true, run };
    assert.deepEqual(begun({ approvals: [makeApproval()] }, needsApproval), []);
    assert.deepEqual(begun({ approvals: [makeApproval({ revision: 'r1-3' })] }, needsApproval), [
      'n1',
    ]);
    const inFlight = [
      makeInFlight('n1', {
        state: 'Releasing',
        outcome: { verdict: 'Done', state: 'Soaking', message: 'Done', held: false },
      }),
    ];
    const { writes } = decidePlan(
      { ...makePlanSnapshot({ plan: makePlan({ run, inFlight }), nodes: nodesOf(3) }), slices: [] },
      at(0),
    );
    const record = writes.find(({ cache: store }) => store === 'planRecords');
    assert.equal(
      (record?.body['spec'] as { readonly revision: string } | undefined)?.revision,
      'r1-3',
    );
  });
});

type Hold = {
  readonly due?: PlanNode['due'];
  readonly selected?: boolean;
  readonly plan?: Partial<Plan>;
  readonly of?: Given;
  readonly verdict?: Partial<NodeVerdict> | 'none';
};

/** Whether the Maintenance by which n1 is held is deleted; nothing of the plan is in flight. */
function letsGo({ due = true, selected = true, plan = {}, of = {}, verdict = {} }: Hold): boolean {
  const name = childNameOf({ name: 'kernel' }, 'uid-n1');
  const closed = makeWindow({ openings: [{ from: at(5000), to: at(9000) }] });
  const { writes } = decided(
    {
      nodes: [
        makePlanNode(makeReadyNode('n1'), { due, selected, done: due === false }),
        ...nodesOf(3).slice(1),
      ],
      verdicts:
        verdict === 'none'
          ? []
          : [makeVerdict('n1', { verdict: 'Failed', state: 'Working', held: true, ...verdict })],
      children: new Map([[name, makeRequest(name, { plan: 'kernel', nodeName: 'n1' })]]),
      outages: new Map([['n1', [{ reason: 'Plan', by: 'plan kernel' }]]]),
      windows: [closed],
      ...of,
    },
    { expressions: { due: 'is it old' }, ...plan },
  );
  return writes.some(({ method, cache: store }) => method === 'DELETE' && store === 'requests');
}

/** A pod on n1 that is being deleted, and runs. */
function workOf(over: Partial<WorkPod>): Given {
  const pod = makeWorkPod('kernel-0-x1-1', 'n1', { deleting: true, ...over });
  return { pods: new Map([[pod.name, pod]]) };
}

describe('no hold is without an owner', () => {
  const retried = { retries: new Map([['n1', at(0)]]) };
  const another = { runId: '2' };
  const table: readonly (readonly [string, Hold, boolean])[] = [
    ['the hold of a failure that counts', {}, false],
    ['of one that counts, and is right by now', { due: false }, false],
    ['of one that counts, and is skipped', { plan: { skips: new Map([['n1', '']]) } }, false],
    ['of one that was retried and has its turn to come', { plan: retried }, false],
    ['of one that was retried and is right', { due: false, plan: retried }, true],
    [
      'of one that was retried and is skipped',
      { plan: { ...retried, skips: new Map([['n1', '']]) } },
      true,
    ],
    [
      'of one that was retried and is not selected any more',
      { selected: false, plan: retried },
      true,
    ],
    [
      'of one that was retried, and nobody can say whether it is due',
      { due: { error: 'no such key' }, plan: retried },
      false,
    ],
    [
      'of one that was retried while the plan is aborted',
      { plan: { ...retried, aborted: true } },
      true,
    ],
    ['of a run before, due: it has its turn to come', { plan: another }, false],
    ['of a run before, right by now', { due: false, plan: another }, true],
    ['of an edit before, right by now', { due: false, plan: { revision: 'r2' } }, true],
    [
      'of a run before that is undone: it is in the rollback',
      { due: false, plan: { ...another, undo: true } },
      false,
    ],
    ['of no verdict at all', { due: false, verdict: 'none' }, true],
    ['of a node that is gone', { of: { nodes: nodesOf(3).slice(1) } }, true],
    [
      'of one that was retried and is right, under a pod of the work',
      { due: false, plan: retried, of: workOf({}) },
      false,
    ],
    [
      'and under one that has ended',
      { due: false, plan: retried, of: workOf({ phase: 'Failed' }) },
      true,
    ],
    [
      'and under one of a hook',
      { due: false, plan: retried, of: workOf({ name: 'kernel-0-x1-hook-1' }) },
      true,
    ],
    [
      'and under one of another node',
      { due: false, plan: retried, of: workOf({ nodeName: 'n2' }) },
      true,
    ],
    [
      'and under one that the plan does not own',
      { due: false, plan: retried, of: workOf({ ownerUid: 'another' }) },
      true,
    ],
    [
      'of a node that is gone, under a pod of the work: it may come back',
      { of: { ...workOf({}), nodes: nodesOf(3).slice(1) } },
      false,
    ],
    [
      'of a plan that cannot be carried out',
      { due: false, plan: { ...retried, problem: 'spec.due.expression: no' } },
      false,
    ],
  ];
  for (const [what, hold, isLetGo] of table)
    test(`${what}: ${isLetGo ? 'it goes' : 'it stays'}`, () => assert.equal(letsGo(hold), isLetGo));

  test('a node on which the work has failed is in the rollback, though it is still old', () => {
    const old = {
      nodes: nodesOf(2, { due: false }),
      verdicts: [makeVerdict('n1', { verdict: 'Failed', state: 'Working' })],
    };
    const undone = { undo: true, revision: 'r2', expressions: { due: '!(is it old)' } } as const;
    assert.deepEqual(begun(old, undone), ['n1'], 'at once');
    const run = { id: '1', revision: 'r2', number: 2, startedAt: at(-10) };
    const later = { unfinished: new Set(['uid-n1']) };
    assert.deepEqual(begun({ nodes: old.nodes, ...later }, { ...undone, run }), ['n1']);
    assert.deepEqual(
      begun({ nodes: old.nodes, ...later }, {
        ...undone,
        run,
        undo: false,
      } as unknown as Partial<Plan>),
      [],
      'another run has nothing to do with it',
    );
    const drained = {
      ...old,
      verdicts: [makeVerdict('n1', { verdict: 'Failed', state: 'Holding' })],
    };
    assert.deepEqual(begun(drained, undone), [], 'nothing was done to it');
  });

  test('a hold that is going is waited for', () => {
    const name = childNameOf({ name: 'kernel' }, 'uid-n1');
    const children = new Map([
      [name, makeRequest(name, { plan: 'kernel', nodeName: 'n1', deleting: true })],
    ]);
    const { inFlight, waiting } = decided(
      { children, nodes: nodesOf(1) },
      { inFlight: [makeInFlight('n1')] },
    );
    assert.deepEqual([inFlight[0]?.state, waiting[0]?.reason], ['Starting', 'Holding']);
  });
});

describe('a node that is skipped, or not asked for any more, before its work began', () => {
  const name = childNameOf({ name: 'kernel' }, 'uid-n1');
  const drained = makeRequest(name, {
    plan: 'kernel',
    nodeName: 'n1',
    status: { message: 'pod web cannot go' },
  });
  const ways: Readonly<Record<string, readonly [Partial<PlanNode>, Partial<Plan>]>> = {
    'is skipped': [{}, { skips: new Map([['n1', 'its budget never lets go']]) }],
    'is not selected any more': [{ selected: false }, {}],
    'is not due any more': [{ due: false }, {}],
  };
  for (const [way, [node, plan]] of Object.entries(ways)) {
    test(`that ${way} is let go, and others begin`, () => {
      for (const state of ['Starting', 'Holding'] as const) {
        const of = {
          nodes: [makePlanNode(makeReadyNode('n1'), node), ...nodesOf(3).slice(1)],
          children: new Map([[name, drained]]),
        };
        const { inFlight, writes } = decided(of, {
          inFlight: [makeInFlight('n1', { state })],
          ...plan,
        });
        assert.deepEqual(
          [inFlight[0]?.outcome?.verdict, writes.some(({ method }) => method === 'DELETE')],
          ['Requeued', true],
          state,
        );
      }
      const over = {
        verdicts: [makeVerdict('n1', { verdict: 'Requeued', state: 'Holding' })],
        nodes: [makePlanNode(makeReadyNode('n1'), node), ...nodesOf(3).slice(1)],
      };
      assert.deepEqual(begun(over, plan), ['n2']);
    });
  }

  test('work that has begun goes on', () => {
    const inFlight = [
      makeInFlight('n1', {
        state: 'Working',
        attempt: 1,
        ranAttempt: 1,
        pod: 'p',
        work: { kind: 'job', rebootsNode: false, timeoutSeconds: 600 },
      }),
    ];
    const decision = decided(
      { children: new Map([[name, drained]]) },
      {
        inFlight,
        skips: new Map([['n1', '']]),
        work: { kind: 'job', podSpec: {}, rebootsNode: false, timeoutSeconds: 600, attempts: 1 },
      },
    );
    assert.equal(decision.inFlight[0]?.outcome, undefined);
  });
});

describe('nodes that are due after their turn', () => {
  test('are counted, and named in the message; what is left out, and what a separate proof says is done, is not', () => {
    const verdicts = ['n1', 'n2', 'n3'].map(one => makeVerdict(one));
    const nodes = [
      makePlanNode(makeReadyNode('n1'), { done: false }),
      makePlanNode(makeReadyNode('n2'), { due: false }),
      makePlanNode(makeReadyNode('n3')),
    ];
    const over = decided({ nodes, verdicts }, { expressions: { due: 'is it old' } });
    assert.deepEqual([over.phase, over.counts.due, over.counts.dueAgain], ['Complete', 0, 1]);
    assert.match(
      over.message,
      /^3 done, 0 failed, 0 due of 3 nodes; 1 are due again, .*drydock plan rerun kernel$/,
    );
    const skipped = decided(
      { nodes, verdicts },
      { expressions: { due: 'is it old' }, skips: new Map([['n1', '']]) },
    );
    assert.equal(skipped.counts.dueAgain, 0);
  });

  test('a plan that leaves out what others have cordoned counts it as skipped, not as due', () => {
    const outages: PlanSnapshot['outages'] = new Map([
      ['n1', [{ reason: 'ForeignCordon', by: 'a cordon' }]],
    ]);
    const { phase, counts } = decided(
      { outages, nodes: nodesOf(1) },
      { concurrency: { maxInFlight: 1, perTopology: [], foreignCordon: 'Skip' } },
    );
    assert.deepEqual([phase, counts.due, counts.skipped], ['Complete', 0, 1]);
  });
});

describe('who is chosen', () => {
  test('the node of the operator waits for those that begin by themselves, not for those that others keep', () => {
    const dead = makePlanNode(makeReadyNode('n1', { conditions: [] }));
    const own = makePlanNode(makeReadyNode('n2'));
    const of = { nodes: [dead, own], ownNode: 'n2' };
    assert.deepEqual(begun(of), ['n2']);
    const cordoned: PlanSnapshot['outages'] = new Map([
      ['n1', [{ reason: 'ForeignCordon', by: 'a cordon of n1' }]],
    ]);
    assert.deepEqual(
      begun(
        { nodes: nodesOf(2), ownNode: 'n2', outages: cordoned },
        {
          concurrency: {
            maxInFlight: 1,
            perTopology: [{ key: 'zone', maxDomains: 1 }],
            foreignCordon: 'Wait',
          },
        },
      ),
      [],
      'the last one in service stays',
    );
    assert.deepEqual(
      begun({
        nodes: nodesOf(3),
        ownNode: 'n2',
        outages: new Map([...cordoned, ['n3', [{ reason: 'Deleting', by: 'Machine m3' }]]]),
      }),
      [],
      'the last one in service stays',
    );
    const shut = makeWindow({
      openings: [{ from: at(5000), to: at(9000) }],
      nodeSelector: { matchLabels: { zone: 'a' } },
    });
    const zoned = makePlanNode(makeReadyNode('n1', { labels: { zone: 'a' } }));
    assert.deepEqual(
      begun({
        nodes: [zoned, own, makePlanNode(makeReadyNode('n3', { labels: { zone: 'a' } }))],
        ownNode: 'n2',
        windows: [shut],
      }),
      [],
      'their window opens by itself',
    );
  });

  test('a node that is down says how it is left out', () => {
    const decision = decided({ nodes: [makePlanNode(makeReadyNode('n1', { conditions: [] }))] });
    assert.match(
      decision.waiting[0]?.message ?? '',
      /Node n1 is not Ready: .*drydock plan skip kernel n1$/,
    );
  });

  test('a node on which another plan has failed is nobody’s first choice; one that another plan has in flight is shared', () => {
    const outages: PlanSnapshot['outages'] = new Map([
      ['n3', [{ reason: 'Plan', by: 'plan firmware' }]],
    ]);
    assert.deepEqual(begun({ outages }), ['n1']);
    const only = decided({ outages, nodes: nodesOf(3).slice(2) });
    assert.equal(words(only), 'Running HeldBy');
    assert.match(
      only.waiting[0]?.message ?? '',
      /^plan firmware has failed on it and left it held: .*drydock plan skip kernel n3$/,
    );
    const others = [
      { name: 'firmware', selected: new Set(['n3']), inFlight: [makeInFlight('n3')] },
    ];
    assert.deepEqual(begun({ outages, others }), ['n3']);
    const gone: PlanSnapshot['outages'] = new Map([
      ['n1', [{ reason: 'Plan', by: 'plan kernel' }]],
    ]);
    assert.deepEqual(begun({ outages: gone }), ['n1'], 'what it has left itself is its own');
  });
});
