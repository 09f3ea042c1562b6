import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { begun, decided, nodesOf, words } from '../testing/decided.ts';
import { at } from '../testing/make.ts';
import {
  makeApproval,
  makeInFlight,
  makePlanNode,
  makeReadyNode,
  makeVerdict,
  soakedRun,
} from '../testing/make-plan.ts';
import { makeWindow } from '../testing/make-window.ts';
import type { Plan } from './plan.ts';
import type { HookRun } from './pods/hook.ts';
import type { PlanNode, PlanSnapshot } from './snapshot.ts';
import type { NodeUnavailability } from './unavailability.ts';
import { childNameOf } from './writes.ts';

function out(...names: readonly string[]): PlanSnapshot['outages'] {
  return new Map(
    names.map(name => [
      name,
      [
        { reason: 'NotReady', by: `Node ${name} is not Ready` },
      ] satisfies readonly NodeUnavailability[],
    ]),
  );
}

function cordoned(...names: readonly string[]): PlanSnapshot['outages'] {
  return new Map(
    names.map(name => [
      name,
      [
        { reason: 'ForeignCordon', by: `a cordon of ${name} that is not ours` },
      ] satisfies readonly NodeUnavailability[],
    ]),
  );
}

const takeFirst = { maxInFlight: 1, perTopology: [], foreignCordon: 'TakeFirst' } as const;

describe('the plan itself', () => {
  test('is claimed before anything is begun', () => {
    assert.deepEqual(decided({}, { finalizers: ['other/x'] }).own?.body, {
      metadata: { finalizers: ['other/x', 'drydock.dev/maintenance-plan'], resourceVersion: '7' },
    });
  });

  test('begins with one node at a decision, and its Maintenance is made once the slot is stored', () => {
    const { inFlight, writes, phase } = decided(
      {},
      { concurrency: { maxInFlight: 3, perTopology: [], foreignCordon: 'Wait' } },
    );
    assert.equal(phase, 'Running');
    assert.deepEqual(
      inFlight.map(({ node, state, stage }) => [node, state, stage]),
      [['n1', 'Starting', 'rest']],
    );
    assert.deepEqual(
      writes.map(({ method, path }) => `${method} ${path}`),
      ['POST /apis/drydock.dev/v1alpha1/maintenances'],
    );
    const { metadata, spec } = (writes[0] as { readonly body: unknown }).body as {
      metadata: { name: string; annotations: object };
      spec: { start: object; drain: object };
    };
    assert.equal(metadata.name, childNameOf({ name: 'kernel' }, 'uid-n1'));
    assert.deepEqual(metadata.annotations, { 'drydock.dev/maintenance-plan': 'kernel' });
    assert.deepEqual(spec.start, { windows: 'Ignore' });
    assert.deepEqual(spec.drain, {
      ignorePods: [
        {
          namespaces: ['drydock-plans'],
          podSelector: {
            matchExpressions: [{ key: 'drydock.dev/maintenance-plan', operator: 'Exists' }],
          },
        },
      ],
    });
  });

  test('is complete when every node has its verdict, and begins again when another comes', () => {
    const verdicts = ['n1', 'n2', 'n3'].map(name => makeVerdict(name));
    assert.equal(decided({ verdicts }).phase, 'Complete');
    assert.deepEqual(begun({ verdicts, nodes: nodesOf(4) }), ['n4']);
    const late = makePlanNode(makeReadyNode('n4'), { createdAt: at(-5) });
    assert.deepEqual(
      begun({ verdicts, nodes: [...nodesOf(3), late] }, { membership: 'Snapshot' }),
      [],
      'it came after the run had begun',
    );
  });

  test('starts nothing as long as it is paused, aborted, deleted, wrong, or all plans are halted; what is in flight goes on', () => {
    const plan = {
      inFlight: [makeInFlight('n1')],
      concurrency: { maxInFlight: 2, perTopology: [], foreignCordon: 'Wait' } as const,
    };
    for (const [over, phase] of [
      [{ problem: 'spec.due.expression: no such variable' }, 'Pending'],
    ] as const) {
      const { inFlight, writes, phase: got } = decided({}, { ...plan, ...over });
      assert.deepEqual([inFlight.length, writes.length, got], [1, 1, phase], JSON.stringify(over));
    }
    const paused = decided({}, { ...plan, paused: true });
    assert.deepEqual(
      [paused.inFlight[0]?.state, paused.writes.length, paused.phase],
      ['Starting', 0, 'Paused'],
      'not even taken out of service',
    );
    const halted = decided({ halted: 'power is low' }, plan);
    assert.deepEqual(
      [halted.phase, halted.inFlight[0]?.outcome?.verdict, halted.writes.length],
      ['Halted', 'Requeued', 1],
    );
    // Nothing has been done to n1 yet: it is given up.
    for (const over of [{ aborted: true }, { deleting: true }]) {
      assert.equal(decided({}, { ...plan, ...over }).inFlight[0]?.outcome?.verdict, 'Skipped');
    }
  });

  test('is paused until a time, by its clock, and says why; what is paused without an end stays so', () => {
    const message = (over: Partial<Plan>): string => {
      const { phase, message } = decided({}, over);
      return phase === 'Paused' ? message : phase;
    };
    const [later, before] = [
      { reason: 'release', until: at(60) },
      { reason: 'release', until: at(0) },
    ];
    assert.equal(message({ pause: later }), 'Paused until 2026-11-21T08:01:00Z: release');
    assert.equal(
      message({ pause: later, inFlight: [makeInFlight('n1')] }),
      'Paused until 2026-11-21T08:01:00Z; 1 in flight continue: release',
    );
    assert.equal(message({ pause: { until: at(60) } }), 'Paused until 2026-11-21T08:01:00Z');
    assert.equal(message({ pause: {} }), 'Paused');
    assert.equal(message({ pause: { reason: 'release' }, paused: true }), 'Paused: release');
    assert.equal(message({ pause: later, paused: true }), 'Paused: release', 'it has no end');
    assert.equal(
      message({ pause: before, paused: true }),
      'Paused',
      'what is over says nothing of this one',
    );
    assert.equal(message({ pause: before }), 'Running');
    assert.deepEqual(decided({}, { pause: later }).requeueAt, at(60));
    for (const over of [{ pause: later, paused: true }, { pause: before }])
      assert.notDeepEqual(decided({}, over).requeueAt, at(60));
    assert.equal(decided({}, { pause: later }).inFlight.length, 0);
    assert.equal(decided({}, { pause: before }).inFlight.length, 1);
  });

  test('that is deleted finishes its nodes where it says so: none begins, none is got ready, hooks of nodes run', () => {
    const finishing = { deleting: true, onDelete: 'FinishNodes' } as const;
    const { phase, inFlight, writes } = decided(
      {},
      { ...finishing, inFlight: [makeInFlight('n1')] },
    );
    assert.deepEqual(
      [phase, inFlight.map(({ node, outcome }) => [node, outcome]), writes.length],
      ['Deleting', [['n1', undefined]], 1],
    );
    const hook = {
      name: 'h',
      at: 'BeforeNode',
      podSpec: {},
      timeoutSeconds: 60,
      onFailure: 'Pause',
    } as const;
    const prepare = { podSpec: {}, timeoutSeconds: 60, refusalCode: 3 };
    const before = decided(
      {},
      { ...finishing, hooks: [hook], prepare, inFlight: [makeInFlight('n1')] },
    );
    assert.deepEqual(
      [before.hooks.length, before.preparing, before.inFlight[0]?.state],
      [1, [], 'Starting'],
    );
    const runs = [{ ...before.hooks[0], scope: 'run', name: 'r', pod: 'r' } as HookRun];
    assert.deepEqual(
      decided({}, { ...finishing, hookRuns: runs }).hooks,
      [],
      'what is left of its run goes with the last node',
    );
    for (const over of [{ aborted: true }, { onDelete: 'Release' }] as const)
      assert.equal(
        decided({}, { ...finishing, ...over, inFlight: [makeInFlight('n1')] }).inFlight[0]?.outcome
          ?.verdict,
        'Skipped',
      );
    const halted = decided(
      { halted: 'power is low' },
      { ...finishing, inFlight: [makeInFlight('n1')] },
    );
    assert.equal(halted.inFlight[0]?.outcome?.verdict, 'Requeued');
    assert.deepEqual(decided({}, finishing).own?.body, {
      metadata: { finalizers: [], resourceVersion: '7' },
    });
  });

  test('is let go when it is deleted and nothing is in flight any more', () => {
    assert.equal(
      decided({}, { deleting: true, inFlight: [makeInFlight('n1', { state: 'Working' })] }).own,
      undefined,
    );
    assert.deepEqual(decided({}, { deleting: true }).own?.body, {
      metadata: { finalizers: [], resourceVersion: '7' },
    });
  });

  test('another runID, and an edit of the work, begin a new run', () => {
    const verdicts = ['n1', 'n2', 'n3'].map(name => makeVerdict(name));
    assert.deepEqual(begun({ verdicts }, { runId: '2' }), ['n1']);
    assert.deepEqual(begun({ verdicts }, { revision: 'r2' }), ['n1']);
    assert.equal(decided({ verdicts }, { revision: 'r2' }).run?.revision, 'r2');
    assert.deepEqual(begun({ verdicts }), []);
  });
});

describe('which node is begun with', () => {
  test('due ones only; where the expression fails a node is blocked and named', () => {
    const [n1, n2] = nodesOf(3);
    assert.deepEqual(begun({ nodes: [{ ...(n1 as PlanNode), due: false }, n2 as PlanNode] }), [
      'n2',
    ]);
    const blocked = decided({ nodes: [{ ...(n1 as PlanNode), due: { error: 'no such key: x' } }] });
    assert.equal(words(blocked), 'Running Blocked');
    assert.equal(blocked.waiting[0]?.node, 'n1');
    assert.equal(blocked.counts.blocked, 1);
  });

  test('in the order of the plan, zone by zone, the own node last', () => {
    const zoned = ['b', 'a', 'b', 'a'].map((zone, index) =>
      makePlanNode(
        makeReadyNode(`n${index + 1}`, { labels: { 'topology.kubernetes.io/zone': zone } }),
      ),
    );
    assert.deepEqual(begun({ nodes: zoned }, { order: ['Zone', 'Name'] }), ['n2']);
    assert.deepEqual(begun({ nodes: zoned }, { order: ['Name'] }), ['n1']);
    assert.deepEqual(
      begun({ nodes: zoned.map((one, index) => ({ ...one, rank: -index })) }),
      ['n4'],
      'the expression decides first',
    );
    assert.deepEqual(begun({ nodes: nodesOf(2), ownNode: 'n1' }), ['n2']);
    assert.deepEqual(begun({ nodes: nodesOf(2), ownNode: 'n1', verdicts: [makeVerdict('n2')] }), [
      'n1',
    ]);
  });

  test('what somebody has moved to the front comes first in its stage, and changes no stage by that', () => {
    const first = ['n3', 'n2'];
    assert.deepEqual(begun({}, { first }), ['n3']);
    assert.deepEqual(begun({ verdicts: [makeVerdict('n3')] }, { first }), ['n2']);
    assert.deepEqual(
      begun({ verdicts: [makeVerdict('n3', { verdict: 'Requeued' })] }, { first }),
      ['n3'],
      'it was given back before',
    );
    assert.deepEqual(
      begun({ outages: cordoned('n1') }, { first, concurrency: takeFirst }),
      ['n3'],
      'n1 would cost nothing',
    );
    assert.deepEqual(begun({}, { first: ['elsewhere', 'n2'] }), ['n2']);
    const stages = [{ name: 'canary', limit: 1, soakSeconds: 0, approveAfter: false }];
    assert.deepEqual(begun({}, { first, stages }), ['n1'], 'n3 is no canary');
    assert.deepEqual(
      begun({ nodes: nodesOf(3).map((one, index) => ({ ...one, rank: index })) }, { first }),
      ['n3'],
      'whatever its rank',
    );
  });

  test('none that is not Ready, and none that somebody else has cordoned, unless the plan says so', () => {
    const dead = makePlanNode(makeReadyNode('n1', { conditions: [] }));
    assert.deepEqual(begun({ nodes: [dead, ...nodesOf(2).slice(1)] }), ['n2']);
    assert.equal(words(decided({ nodes: [dead], outages: out('n1') })), 'Running NotReady');
    const going: PlanSnapshot['outages'] = new Map([
      ['n1', [{ reason: 'Deleting', by: 'Machine m1, which is being deleted' }]],
    ]);
    assert.deepEqual(begun({ outages: going }), ['n2']);
    assert.equal(
      words(decided({ outages: going, nodes: nodesOf(1) })),
      'Running HeldBy',
      'it is gone soon',
    );
    const concurrency = (foreignCordon: 'TakeFirst' | 'Skip') => ({
      concurrency: { maxInFlight: 1, perTopology: [], foreignCordon },
    });
    const outages = cordoned('n1');
    assert.deepEqual(begun({ outages }), ['n2']);
    assert.equal(words(decided({ outages, nodes: nodesOf(1) })), 'Running HeldBy');
    assert.deepEqual(
      begun({ outages: cordoned('n3') }, concurrency('TakeFirst')),
      ['n3'],
      'it costs nothing: it comes first',
    );
    assert.equal(decided({ outages, nodes: nodesOf(1) }, concurrency('Skip')).phase, 'Complete');
  });

  test('skipped ones never, failed ones when they are retried', () => {
    assert.deepEqual(begun({}, { skips: new Map([['n1', 'broken']]) }), ['n2']);
    const failed = { verdicts: [makeVerdict('n1', { verdict: 'Failed' })], nodes: nodesOf(1) };
    assert.deepEqual(begun(failed), []);
    assert.deepEqual(begun(failed, { retries: new Map([['n1', at(-1)]]) }), ['n1']);
    assert.deepEqual(begun(failed, { retries: new Map([['*', at(-1)]]) }), ['n1']);
    assert.deepEqual(
      begun(failed, { retries: new Map([['n1', at(-301)]]) }),
      [],
      'it has failed after that',
    );
  });
});

describe('limits', () => {
  const many = (
    maxInFlight: number | string,
    more: Partial<Plan['concurrency']> = {},
  ): Pick<Plan, 'concurrency'> => ({
    concurrency: { maxInFlight, perTopology: [], foreignCordon: 'Wait', ...more },
  });

  test('maxInFlight, of the plan and of the stage', () => {
    const inFlight = [makeInFlight('n1')];
    assert.equal(words(decided({}, { inFlight })), 'Running MaxInFlight Holding');
    assert.deepEqual(begun({}, { inFlight, ...many(2) }), ['n2']);
    assert.deepEqual(begun({}, many(0)), []);
    assert.deepEqual(begun({}, many('1%')), ['n1']);
    const stages = [{ name: 'a', maxInFlight: 1, soakSeconds: 0, approveAfter: false }];
    assert.deepEqual(
      begun({}, { inFlight: [makeInFlight('n1', { stage: 'a' })], stages, ...many(3) }),
      [],
    );
  });

  test('maxUnavailable counts whatever took a node, and names it', () => {
    const inFlight = [makeInFlight('n1')];
    const outages = new Map([
      ...out('n3'),
      ['n1', [{ reason: 'Plan', by: 'plan kernel' } as const]] as const,
    ]);
    const nodes = nodesOf(4).map(one =>
      one.node.name === 'n3' ? makePlanNode(makeReadyNode('n3', { conditions: [] })) : one,
    );
    const decision = decided({ outages, nodes }, { inFlight, ...many(3, { maxUnavailable: 2 }) });
    assert.equal(words(decision), 'Running NotReady MaxUnavailable Holding');
    assert.match(
      decision.waiting[1]?.message ?? '',
      /2 of the selected nodes .* allows 2: Node n3 is not Ready, plan kernel/,
    );
    assert.deepEqual(begun({ outages, nodes }, { inFlight, ...many(3, { maxUnavailable: 3 }) }), [
      'n2',
    ]);
  });

  test('a node that stays held because the plan has failed on it is named with the way out', () => {
    const outages = new Map([['n1', [{ reason: 'Plan', by: 'plan kernel' } as const]] as const]);
    const verdicts = [makeVerdict('n1', { verdict: 'Failed', held: true })];
    const { waiting } = decided({ outages, verdicts }, many(3, { maxUnavailable: 1 }));
    assert.equal(
      waiting.find(({ reason }) => reason === 'MaxUnavailable')?.message,
      '1 of the selected nodes are out of service, and concurrency.maxUnavailable allows 1: node n1, on which it has failed (drydock plan retry kernel n1)',
    );
  });

  test('of a share and a number of nodes out of service the lower one binds, and is named', () => {
    const nodes = [
      ...nodesOf(10),
      ...['n11', 'n12'].map(name => makePlanNode(makeReadyNode(name, { conditions: [] }))),
    ];
    const outages = out('n11', 'n12');
    for (const [more, limit, who] of [
      [
        { maxUnavailable: '50%', maxUnavailableAbsolute: 2 },
        2,
        /concurrency\.maxUnavailableAbsolute allows 2/,
      ],
      [
        { maxUnavailable: '10%', maxUnavailableAbsolute: 5 },
        1,
        /concurrency\.maxUnavailable allows 1/,
      ],
      [{ maxUnavailableAbsolute: 2 }, 2, /concurrency\.maxUnavailableAbsolute allows 2/],
    ] as const) {
      const { counts, waiting } = decided({ nodes, outages }, many(9, more));
      assert.equal(counts.maxUnavailable, limit, JSON.stringify(more));
      assert.match(waiting.find(({ reason }) => reason === 'MaxUnavailable')?.message ?? '', who);
    }
    assert.deepEqual(
      begun({ nodes, outages }, many(9, { maxUnavailable: '50%', maxUnavailableAbsolute: 3 })),
      ['n1'],
    );
  });

  test('no start breaks the limit of another plan; a node that the other has out already is shared', () => {
    const other = {
      name: 'firmware',
      selected: new Set(['n1', 'n2', 'n3']),
      maxUnavailable: 1,
      inFlight: [makeInFlight('n3')],
    };
    const outages = new Map([['n3', [{ reason: 'Plan', by: 'plan firmware' } as const]] as const]);
    assert.deepEqual(begun({ others: [other], outages }, many(2)), ['n3']);
    const decision = decided({ others: [other], outages, nodes: nodesOf(2) }, many(2));
    assert.equal(words(decision), 'Running OtherPlanLimit');
    assert.match(decision.waiting[0]?.message ?? '', /plan firmware allows 1 .*: plan firmware/);
  });

  test('nodes of one domain, and of how many domains', () => {
    const key = 'zone';
    const nodes = ['a', 'a', 'b'].map((zone, index) =>
      makePlanNode(makeReadyNode(`n${index + 1}`, { labels: { zone } })),
    );
    const inFlight = [makeInFlight('n1')];
    const outages = new Map([['n1', [{ reason: 'Plan', by: 'plan kernel' } as const]] as const]);
    assert.deepEqual(
      begun(
        { nodes, outages },
        { inFlight, ...many(3, { perTopology: [{ key, maxUnavailable: 1 }] }) },
      ),
      ['n3'],
    );
    assert.deepEqual(
      begun(
        { nodes, outages },
        { inFlight, ...many(3, { perTopology: [{ key, maxDomains: 1 }] }) },
      ),
      ['n2'],
    );
  });

  test('a ramp grows by successes and falls back after a failure', () => {
    const ramp = { start: 1, factor: 2 };
    const inFlight = [makeInFlight('n9')];
    const nodes = nodesOf(9);
    const after = (...verdicts: readonly ReturnType<typeof makeVerdict>[]): string =>
      words(decided({ nodes, verdicts }, { inFlight, ...many(9, { ramp }) }));
    assert.equal(after(), 'Running Ramp Holding');
    assert.equal(after(makeVerdict('n1')), 'Running Holding Holding');
    assert.equal(
      after(makeVerdict('n1'), makeVerdict('n2', { verdict: 'Failed', completedAt: at(-200) })),
      'Running Ramp Holding',
    );
  });

  test('quorum, whatever the limits allow, and the last node in service', () => {
    const members = ['n1', 'n2', 'n3'].map(name => ({ name, ready: name !== 'n3', held: false }));
    assert.equal(
      words(decided({ members, outages: out('n3'), nodes: nodesOf(2) }, many(3))),
      'Running Quorum',
    );
    assert.equal(
      words(
        decided(
          { outages: out('n2', 'n3'), nodes: [...nodesOf(1), ...nodesOf(3).slice(1)] },
          many(3),
        ),
      ),
      'Running Holding',
    );
    const two = decided({ outages: cordoned('n2'), nodes: nodesOf(2) }, many(3));
    assert.equal(words(two), 'Running HeldBy LastHealthy');
  });

  test('windows: nothing begins before all are known, unless the plan ignores them', () => {
    const decision = decided({ windowsProblem: 'the server is busy' });
    assert.deepEqual(
      [words(decision), decision.waiting[0]?.message],
      ['Running WindowsUnknown', 'not all maintenance windows are known: the server is busy'],
    );
    assert.deepEqual(begun({ windowsProblem: 'the server is busy' }, { windows: 'Ignore' }), [
      'n1',
    ]);
  });

  test('windows: only what is expected to end inside begins', () => {
    const nights = makeWindow({ openings: [{ cron: '0 22 * * *', seconds: 4 * 3600 }] });
    const decision = decided({ windows: [nights] });
    assert.equal(words(decision), 'Running Window');
    assert.equal(decision.requeueAt?.toString(), '2026-11-21T22:00:00Z');
    const open = makeWindow({ openings: [{ cron: '0 7 * * *', seconds: 2 * 3600 }] });
    assert.deepEqual(begun({ windows: [open] }, { expectedSeconds: 3600 }), ['n1']);
    assert.deepEqual(begun({ windows: [open] }, { expectedSeconds: 3601 }), []);
    assert.equal(
      words(decided({ windows: [open] }, { expectedSeconds: 7201 })),
      'Running WouldNotFit',
    );
    assert.deepEqual(begun({ windows: [nights] }, { windows: 'Ignore' }), ['n1']);
    // Half as much again as the longest that was seen, and no failure among them.
    const seen = (seconds: number) => [
      makeVerdict('n1', { startedAt: at(-9000), completedAt: at(-9000 + seconds) }),
      makeVerdict('n2', { startedAt: at(-9000), completedAt: at(-8990) }),
    ];
    assert.deepEqual(begun({ windows: [open], verdicts: seen(2400) }), ['n3']);
    assert.deepEqual(begun({ windows: [open], verdicts: seen(2401) }), []);
    assert.deepEqual(
      begun({
        windows: [open],
        verdicts: [makeVerdict('n1', { verdict: 'Failed', startedAt: at(-9000) })],
      }),
      ['n2'],
    );
  });
});

describe('stages', () => {
  const stages = [{ name: 'canary', limit: 1, soakSeconds: 600, approveAfter: true }];

  test('one after the other: the canary, its quiet time, its approval, the rest', () => {
    assert.equal(decided({}, { stages }).inFlight[0]?.stage, 'canary');
    const done = makeVerdict('n1', { stage: 'canary', completedAt: at(-300) });
    const unseen = decided({ verdicts: [done] }, { stages });
    assert.deepEqual(
      [words(unseen), unseen.requeueAt?.toString()],
      ['Running StageSoak', at(600).toString()],
      'nobody has watched it so far',
    );
    const soaking = decided({ verdicts: [done] }, { stages, run: soakedRun('canary', 300) });
    assert.equal(words(soaking), 'Running StageSoak');
    assert.equal(soaking.requeueAt?.toString(), at(300).toString());
    const over = { verdicts: [{ ...done, completedAt: at(-600) }] };
    const run = soakedRun('canary', 600);
    assert.equal(words(decided(over, { stages, run })), 'AwaitingApproval Approval');
    const approval = makeApproval({ stage: 'canary' });
    assert.deepEqual(begun({ ...over, approvals: [approval] }, { stages, run }), ['n2']);
    assert.deepEqual(
      begun({ ...over, approvals: [{ ...approval, revision: 'r0' }] }, { stages, run }),
      [],
      'given to an earlier edit of the work',
    );
    assert.deepEqual(
      begun({ ...over, approvals: [{ ...approval, run: '0' }] }, { stages, run }),
      [],
    );
    assert.deepEqual(
      begun({ ...over, approvals: [{ ...approval, specHash: 'h0' }] }, { stages, run }),
      [],
      'the approver was shown another plan',
    );
    const { specHash: _none, ...unnamed } = approval;
    const seen = decided({ ...over, approvals: [unnamed] }, { stages, run });
    assert.deepEqual(
      [seen.inFlight.map(({ node }) => node), seen.run?.agreed],
      [['n2'], new Map([['a', 'h1']])],
      'as it was first seen',
    );
    const edited = { stages, specHash: 'h2', ...(seen.run && { run: { ...run, ...seen.run } }) };
    assert.equal(
      words(decided({ ...over, approvals: [unnamed] }, edited)),
      'AwaitingApproval Approval',
      'an edit voids it',
    );
  });

  test('a promotion ends the quiet time of one stage, or of all, and is the approval of them', () => {
    const given = makeApproval();
    const verdicts = [makeVerdict('n1', { stage: 'canary' })];
    for (const [more, word] of [
      [{ stage: 'canary' }, 'Running StageSoak'],
      [{ stage: 'canary', promote: 'Stage' }, 'Running Holding'],
      [{ stage: 'second', promote: 'Stage' }, 'Running StageSoak'],
      [{ promote: 'Full' }, 'Running Holding'],
      [{ promote: 'Full', revision: 'r0' }, 'Running StageSoak'],
      [{}, 'Running StageSoak'],
    ] as const)
      assert.equal(
        words(decided({ verdicts, approvals: [{ ...given, ...more }] }, { stages })),
        word,
        JSON.stringify(more),
      );
    assert.deepEqual(
      begun({ approvals: [{ ...given, promote: 'Full' }] }, { needsApproval: true }),
      ['n1'],
    );
    assert.deepEqual(
      begun(
        { approvals: [{ ...given, stage: 'canary', promote: 'Stage' }] },
        { needsApproval: true, stages },
      ),
      [],
    );
  });

  test('a node stays in the stage that it was begun in, whatever comes before it in the order', () => {
    const done = makeVerdict('n1', { stage: 'canary', completedAt: at(-6000) });
    const nodes = [...nodesOf(3), makePlanNode(makeReadyNode('a0'))];
    const run = soakedRun('canary', 600);
    assert.equal(
      words(decided({ nodes, verdicts: [done] }, { stages, run })),
      'AwaitingApproval Approval',
      'a0 is no second canary',
    );
  });

  test('the control plane comes first, last, or not at all', () => {
    const master = makePlanNode(
      makeReadyNode('z1', { labels: { 'node-role.kubernetes.io/control-plane': '' } }),
    );
    const nodes = [...nodesOf(2), master];
    assert.deepEqual(begun({ nodes }, { controlPlane: 'First' }), ['z1']);
    assert.deepEqual(begun({ nodes }, { controlPlane: 'Last' }), ['n1']);
    assert.equal(
      decided(
        { nodes, verdicts: [makeVerdict('n1'), makeVerdict('n2')] },
        { controlPlane: 'Never' },
      ).phase,
      'Complete',
    );
  });

  test('an approval of the whole run', () => {
    assert.equal(words(decided({}, { needsApproval: true })), 'AwaitingApproval Approval');
    const approval = makeApproval();
    assert.deepEqual(begun({ approvals: [approval] }, { needsApproval: true }), ['n1']);
  });
});

describe('halting', () => {
  const failed = (name: string, more: object = {}) =>
    makeVerdict(name, { verdict: 'Failed', held: true, ...more });

  test('the last failure that is allowed does not halt, the next does', () => {
    const halt = { maxFailures: 1 };
    assert.deepEqual(begun({ verdicts: [failed('n1')] }, { halt }), ['n2']);
    assert.equal(decided({ verdicts: [failed('n1'), failed('n2')] }, { halt }).phase, 'Halted');
    assert.deepEqual(
      begun(
        { verdicts: [failed('n1'), failed('n2')] },
        { halt, retries: new Map([['n1', at(0)]]) },
      ),
      ['n1'],
    );
  });

  test('too many in a row, and too many in the first of several stages', () => {
    const halt = { consecutive: 2 };
    const later = { completedAt: at(-100) };
    assert.equal(
      decided({ verdicts: [failed('n1'), failed('n2', later)], nodes: nodesOf(4) }, { halt }).phase,
      'Halted',
    );
    assert.deepEqual(
      begun({ verdicts: [failed('n1'), makeVerdict('n2', later)], nodes: nodesOf(4) }, { halt }),
      ['n3'],
    );
    const stages = [{ name: 'canary', limit: 1, soakSeconds: 0, approveAfter: false }];
    assert.equal(
      decided(
        { verdicts: [failed('n1', { stage: 'canary' })] },
        { stages, halt: { inFirstStage: 1 } },
      ).phase,
      'Halted',
    );
  });

  test('what is in flight goes on', () => {
    const inFlight = [makeInFlight('n3', { state: 'Soaking', soakSince: at(-1), attempt: 1 })];
    const decision = decided(
      { verdicts: [failed('n1'), failed('n2')] },
      { halt: { maxFailures: 1 }, inFlight },
    );
    assert.equal(decision.inFlight[0]?.state, 'Releasing');
  });
});
