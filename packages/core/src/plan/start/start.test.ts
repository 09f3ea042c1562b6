import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { begun, decided, nodesOf, words } from '../../testing/decided.ts';
import { at } from '../../testing/make.ts';
import {
  makeApproval,
  makeInFlight,
  makePlanNode,
  makeReadyNode,
  makeVerdict,
} from '../../testing/make-plan.ts';
import { makeWindow } from '../../testing/make-window.ts';
import type { Plan, Stage } from '../plan.ts';
import type { Approval, PlanDecision, PlanNode, PlanSnapshot } from '../snapshot.ts';

/**
 * When nodes begin: how many in an opening of the windows, how fast, who reserves what, and for how
 * long an approval counts.
 */

const never = makeWindow({ openings: [{ from: at(5000), to: at(9000) }] });

describe('how many begin in one opening of the windows', () => {
  const concurrency = (more: Partial<Plan['concurrency']> = {}): Plan['concurrency'] => ({
    maxInFlight: 9,
    perTopology: [],
    foreignCordon: 'Wait',
    startsPerWindow: 2,
    ...more,
  });
  const [mornings, nights] = [
    makeWindow({ openings: [{ cron: '0 7 * * *', seconds: 7200 }] }),
    makeWindow({ name: 'nights', openings: [{ cron: '0 22 * * *', seconds: 7200 }] }),
  ];
  const nodes = nodesOf(9);
  const opened = at(-3600);
  const began = (name: string, startedAt: Temporal.Instant): ReturnType<typeof makeVerdict> =>
    makeVerdict(name, { startedAt });
  const plan = { concurrency: concurrency(), expectedSeconds: 60 };

  test('verdicts and nodes in flight count from the moment that it opened; the next opening is named', () => {
    const verdicts = [began('n1', opened), began('n2', at(-3601))];
    assert.deepEqual(
      begun({ nodes, verdicts, windows: [mornings] }, plan),
      ['n3'],
      'n2 began before',
    );
    const decision = decided(
      { nodes, verdicts, windows: [mornings] },
      { ...plan, inFlight: [makeInFlight('n3')] },
    );
    assert.equal(words(decision), 'Running Rate Holding');
    assert.match(
      decision.waiting[0]?.message ?? '',
      /^2 nodes have begun since 2026-11-21T07:00:00Z, and concurrency\.startsPerWindow allows 2$/,
    );
    assert.equal(decision.requeueAt?.toString(), '2026-11-22T07:00:00Z');
    const both = decided(
      { nodes, verdicts, windows: [mornings, nights] },
      { ...plan, inFlight: [makeInFlight('n3')] },
    );
    assert.equal(both.requeueAt?.toString(), '2026-11-21T22:00:00Z');
  });

  test('a node that has begun twice is one; a failure that was set aside has begun', () => {
    const failed = makeVerdict('n1', { verdict: 'Failed', startedAt: at(-600) });
    const retries = new Map([['n1', at(0)]]);
    assert.deepEqual(
      begun(
        { nodes, verdicts: [failed], windows: [mornings] },
        { ...plan, retries, inFlight: [makeInFlight('n1')] },
      ),
      ['n2'],
    );
    const full = { ...plan, retries, inFlight: [makeInFlight('n2')] };
    assert.equal(
      words(decided({ nodes, verdicts: [failed], windows: [mornings] }, full)),
      'Running Rate Holding',
    );
  });

  test('a freeze makes no other opening, overlapping openings count each by itself, and without windows it says nothing', () => {
    const verdicts = [began('n1', at(-3000)), began('n2', at(-3000))];
    const frozen = makeWindow({
      openings: mornings.openings,
      freezes: [{ from: at(-2000), to: at(-1000) }],
    });
    assert.equal(words(decided({ nodes, verdicts, windows: [frozen] }, plan)), 'Running Rate');
    const late = makeWindow({ name: 'late', openings: [{ cron: '50 7 * * *', seconds: 7200 }] });
    const decision = decided({ nodes, verdicts, windows: [mornings, late] }, plan);
    assert.equal(
      decision.requeueAt?.toString(),
      '2026-11-21T09:00:00Z',
      'the later one has room when the earlier one is over',
    );
    for (const windows of [[], [makeWindow({ freezes: [{ from: at(5000), to: at(6000) }] })]])
      assert.deepEqual(begun({ nodes, verdicts, windows }, plan), ['n3']);
    assert.deepEqual(
      begun({ nodes, verdicts, windows: [mornings] }, { ...plan, windows: 'Ignore' }),
      ['n3'],
    );
    const others = makeWindow({
      openings: mornings.openings,
      nodeSelector: { matchLabels: { pool: 'blue' } },
    });
    assert.deepEqual(begun({ nodes, verdicts, windows: [others] }, plan), ['n3']);
  });
});

test('the built-in reboot is for Linux: a node of another system waits, and the others have their turn', () => {
  const windows = makePlanNode(makeReadyNode('n1', { labels: { 'kubernetes.io/os': 'windows' } }));
  const linux = makePlanNode(makeReadyNode('n2', { labels: { 'kubernetes.io/os': 'linux' } }));
  const reboot: Partial<Plan> = {
    work: { kind: 'reboot', timeoutSeconds: 900 },
    rebooted: 'Required',
  };
  const job: Partial<Plan> = {
    work: {
      kind: 'job',
      podSpec: { containers: [] },
      timeoutSeconds: 900,
      attempts: 1,
      rebootsNode: false,
    },
  };
  assert.deepEqual(begun({ nodes: [windows, linux] }, reboot), ['n2']);
  assert.deepEqual(
    begun({ nodes: [windows, linux] }, job),
    ['n1'],
    'a pod of their own may be for any system',
  );
  const { waiting } = decided({ nodes: [windows] }, reboot);
  assert.deepEqual(
    waiting.map(({ reason, message }) => `${reason}: ${message}`),
    [
      'NotLinux: Node n1 runs windows, and spec.work.reboot is for Linux: reboot it by a pod of your own (spec.work.job), or leave it out with drydock plan skip kernel n1',
    ],
  );
});

describe('a node that is passed over', () => {
  // Of zone a one may be out: n1 waits for n9, and those of zone b begin.
  const zoned = (names: readonly string[]): readonly PlanNode[] =>
    names.map(name =>
      makePlanNode(
        makeReadyNode(name, { labels: { zone: name === 'n1' || name === 'n9' ? 'a' : 'b' } }),
      ),
    );
  const nodes = zoned(['n1', 'n2', 'n3', 'n9']);
  const inFlight = [makeInFlight('n9')];
  const outages: PlanSnapshot['outages'] = new Map([
    ['n9', [{ reason: 'Plan', by: 'plan kernel' }]],
  ]);
  const perTopology = [{ key: 'zone', maxUnavailable: 1 }];
  const plan = {
    inFlight,
    starvedAfterSeconds: 100,
    concurrency: { maxInFlight: 4, perTopology, foreignCordon: 'Wait' },
  } as const;
  const entry = (node: string, seconds: number) => ({
    node,
    uid: `uid-${node}`,
    since: at(seconds),
  });
  const names = ({ passedOver }: PlanDecision): readonly string[] =>
    passedOver.map(
      ({ node, since }) => `${node} ${since.epochMilliseconds - at(0).epochMilliseconds}`,
    );

  test('is remembered from the first start on that it has not been chosen for, and keeps its time', () => {
    const first = decided({ nodes, outages }, plan);
    assert.deepEqual([first.inFlight.at(-1)?.node, names(first)], ['n2', ['n1 0']]);
    const next = decided({ nodes, outages }, { ...plan, passedOver: [entry('n1', -99)] });
    assert.deepEqual([next.inFlight.at(-1)?.node, names(next)], ['n2', ['n1 -99000']]);
    const { starvedAfterSeconds: _seconds, ...never } = plan;
    assert.deepEqual(decided({ nodes, outages }, never).passedOver, []);
    const waits = decided({ nodes: zoned(['n1', 'n9']), outages }, plan);
    assert.deepEqual(waits.passedOver, [], 'nobody begins before it');
  });

  test('reserves its limits when it has waited for long enough, and comes first when it may', () => {
    const passedOver = [entry('n1', -100)];
    const decision = decided({ nodes, outages }, { ...plan, passedOver });
    assert.equal(words(decision), 'Running Starved Holding');
    assert.match(
      decision.waiting[0]?.message ?? '',
      /^n1 has been passed over since 2026-11-21T07:58:20Z: no other node begins before it, and it waits for Topology: /,
    );
    assert.deepEqual([decision.waiting[0]?.node, names(decision)], ['n1', ['n1 -100000']]);
    const free = decided(
      { nodes },
      { ...plan, inFlight: [makeInFlight('n2')], passedOver: [entry('n3', -100)] },
    );
    assert.deepEqual(
      [free.inFlight.at(-1)?.node, free.passedOver],
      ['n3', []],
      'n1 has not waited for so long',
    );
    assert.deepEqual(
      begun({ nodes, outages }, { ...plan, passedOver, first: ['n3'] }),
      ['n3'],
      'somebody has said so',
    );
  });

  test('reserves nothing where it waits for itself, for its windows, or for others alone', () => {
    const passedOver = [entry('n1', -100)];
    const held: PlanSnapshot['outages'] = new Map([
      ...outages,
      ['n1', [{ reason: 'ForeignCordon', by: 'a cordon' }]],
    ]);
    assert.deepEqual(begun({ nodes, outages: held }, { ...plan, passedOver }), ['n2']);
    const dead = [makePlanNode(makeReadyNode('n1', { conditions: [] })), ...nodes.slice(1)];
    assert.deepEqual(begun({ nodes: dead, outages }, { ...plan, passedOver }), ['n2']);
    const windows = [
      makeWindow({
        openings: [{ from: at(5000), to: at(9000) }],
        nodeSelector: { matchLabels: { zone: 'a' } },
      }),
    ];
    assert.deepEqual(begun({ nodes, outages, windows }, { ...plan, passedOver }), ['n2']);
    const foreign = new Map([
      ['n9', [{ reason: 'Maintenance', by: 'Maintenance disks' } as const]] as const,
    ]);
    assert.deepEqual(
      begun({ nodes, outages: foreign }, { ...plan, inFlight: [], passedOver }),
      ['n2'],
      'one at a time goes on',
    );
    assert.deepEqual(
      begun({ nodes, outages: foreign }, { ...plan, inFlight: [makeInFlight('n2')], passedOver }),
      [],
    );
  });

  test('is forgotten when it is not to begin any more, and by another run; twenty are remembered', () => {
    const passedOver = [entry('n1', -10), entry('gone', -10)];
    assert.deepEqual(names(decided({ nodes, outages }, { ...plan, passedOver })), ['n1 -10000']);
    assert.deepEqual(
      names(decided({ nodes, outages }, { ...plan, passedOver, skips: new Map([['n1', '']]) })),
      [],
    );
    assert.deepEqual(names(decided({ nodes, outages }, { ...plan, passedOver, runId: '2' })), [
      'n1 0',
    ]);
    assert.deepEqual(
      names(decided({ nodes, outages }, { ...plan, passedOver, paused: true })),
      ['n1 -10000', 'gone -10000'],
      'it goes on after a pause',
    );
    const many = Array.from({ length: 30 }, (_, index) => `a${index + 10}`);
    const crowd = [...many, 'n2', 'n9'].map(name =>
      makePlanNode(makeReadyNode(name, { labels: { zone: name === 'n2' ? 'b' : 'a' } })),
    );
    const decision = decided({ nodes: crowd, outages }, plan);
    assert.deepEqual([decision.inFlight.at(-1)?.node, decision.passedOver.length], ['n2', 20]);
  });
});

describe('a pace', () => {
  const spread = { deadline: at(10_000 + 600), mode: 'Spread' } as const;
  const plan = {
    pace: spread,
    expectedSeconds: 600,
    concurrency: { maxInFlight: 9, perTopology: [], foreignCordon: 'Wait' },
  } as const;
  const began = (seconds: number): ReturnType<typeof makeVerdict> =>
    makeVerdict('n1', { startedAt: at(seconds) });
  const nodes = nodesOf(5);

  test('spreads the starts over what is left until the last one can end in time', () => {
    assert.deepEqual(begun({ nodes }, plan), ['n1'], 'the first one begins at once');
    // 12,000 s from the last start on, and four nodes are left.
    const decision = decided({ nodes, verdicts: [began(-2000)] }, plan);
    assert.equal(words(decision), 'Running Pace');
    assert.equal(decision.waiting[0]?.until?.toString(), at(1000).toString());
    assert.deepEqual(
      begun({ nodes, verdicts: [began(-3334)] }, plan),
      ['n2'],
      'a quarter of what is left has passed',
    );
    assert.deepEqual(begun({ nodes, verdicts: [began(-3333)] }, plan), []);
    assert.deepEqual(
      begun(
        { nodes, verdicts: [began(-10)] },
        { ...plan, pace: { ...spread, mode: 'AsSoonAsPossible' } },
      ),
      ['n2'],
    );
    assert.deepEqual(
      begun({ nodes, verdicts: [began(-10)] }, { ...plan, pace: { ...spread, deadline: at(500) } }),
      ['n2'],
      'it is late',
    );
    assert.deepEqual(
      begun(
        { nodes, verdicts: [began(-3334)] },
        { ...plan, inFlight: [makeInFlight('n2', { startedAt: at(-60) })] },
      ),
      [],
    );
  });

  test('counts open time only', () => {
    // Open until 9, and from 22 to 23: of 3,000 and 3,600 s a quarter, from the last start on.
    const windows = [
      makeWindow({
        openings: [
          { cron: '0 7 * * *', seconds: 7200 },
          { cron: '0 22 * * *', seconds: 3600 },
        ],
      }),
    ];
    const pace = { ...spread, deadline: at(14 * 3600 + 3600 + 600) };
    const of = { nodes, windows };
    assert.equal(
      decided({ ...of, verdicts: [began(-600)] }, { ...plan, pace }).waiting[0]?.until?.toString(),
      at(-600 + 7800 / 4).toString(),
    );
    assert.deepEqual(begun({ ...of, verdicts: [began(-3600)] }, { ...plan, pace }), ['n2']);
  });
});

describe('an approval that expires', () => {
  const given = (more: Partial<Approval> = {}): Approval =>
    makeApproval({ createdAt: at(-99), ...more });
  const of = { needsApproval: true, approvalExpiresAfter: 100, createdAt: at(-9000) };

  test('is void for a run that has not begun, and says since when', () => {
    assert.deepEqual(begun({ approvals: [given()] }, of), ['n1']);
    assert.deepEqual(
      begun({ approvals: [given()] }, { ...of, createdAt: at(-98) }),
      [],
      'it was given to an earlier plan of this name',
    );
    assert.equal(
      decided({ approvals: [given()], windows: [never] }, of).requeueAt?.toString(),
      at(1).toString(),
      'somebody looks when it expires',
    );
    const late = decided({ approvals: [given({ createdAt: at(-100) })] }, of);
    assert.equal(words(late), 'AwaitingApproval Approval');
    assert.match(
      late.waiting[0]?.message ?? '',
      /drydock plan approve kernel; the approval of 2026-11-21T07:58:20Z has expired$/,
    );
    assert.deepEqual(
      begun({ approvals: [given({ createdAt: at(-100) })] }, { needsApproval: true }),
      ['n1'],
      'none expires by itself',
    );
    assert.deepEqual(
      begun({ approvals: [given({ createdAt: at(-100) }), given({ key: 'b' })] }, of),
      ['n1'],
      'somebody has agreed again',
    );
  });

  test('holds for what has begun under it: by verdicts, by nodes in flight, by failures that were set aside', () => {
    const approvals = [given({ createdAt: at(-5000) })];
    const begunInTime = at(-4901);
    const run = { id: '1', revision: 'r1', startedAt: at(-6000) };
    const concurrency = { maxInFlight: 2, perTopology: [], foreignCordon: 'Wait' } as const;
    assert.deepEqual(
      begun(
        { approvals, verdicts: [makeVerdict('n1', { startedAt: begunInTime })] },
        { ...of, run },
      ),
      ['n2'],
    );
    assert.deepEqual(
      begun({ approvals, verdicts: [makeVerdict('n1', { startedAt: at(-4900) })] }, { ...of, run }),
      [],
    );
    const inFlight = [makeInFlight('n1', { startedAt: begunInTime })];
    assert.deepEqual(begun({ approvals }, { ...of, run, concurrency, inFlight }), ['n2']);
    const failed = makeVerdict('n1', { verdict: 'Failed', startedAt: begunInTime });
    assert.deepEqual(
      begun({ approvals, verdicts: [failed] }, { ...of, run, retries: new Map([['*', at(0)]]) }),
      ['n1'],
    );
    for (const left of [{ revision: 'r0' }, { startedAt: at(-6001) }])
      assert.deepEqual(
        begun(
          { approvals },
          {
            ...of,
            run,
            concurrency,
            inFlight: [{ ...makeInFlight('n1', { startedAt: begunInTime }), ...left }],
          },
        ),
        [],
      );
  });

  test('holds although the verdict of what began first is replaced by a later one', () => {
    const run = { id: '1', revision: 'r1', startedAt: at(-6000) };
    const approvals = [given({ createdAt: at(-5000) })];
    const late = { approvals, verdicts: [makeVerdict('n1', { startedAt: at(-600) })] };
    assert.deepEqual(begun(late, { ...of, run }), []);
    assert.deepEqual(
      begun(late, { ...of, run: { ...run, begun: new Map([['rest', at(-4901)]]) } }),
      ['n2'],
    );
    const first = decided({ approvals: [given()] }, of).run?.begun;
    assert.deepEqual(
      [...(first ?? [])].map(([stage, time]) => [stage, time.toString()]),
      [['rest', at(0).toString()]],
    );
    assert.equal(decided().run?.begun, undefined, 'nobody asks for it');
  });

  test('counts for what follows its stage, and for a quiet time', () => {
    const stages = [
      { name: 'one', limit: 1, soakSeconds: 0, approveAfter: true },
      { name: 'two', limit: 1, soakSeconds: 1000, approveAfter: false },
    ];
    const plan = { approvalExpiresAfter: 100, stages, createdAt: at(-9000) };
    const one = makeVerdict('n1', { stage: 'one' });
    const two = makeVerdict('n2', { stage: 'two', startedAt: at(-200) });
    const old = given({ stage: 'one', createdAt: at(-250) });
    assert.deepEqual(begun({ verdicts: [one], approvals: [given({ stage: 'one' })] }, plan), [
      'n2',
    ]);
    assert.equal(
      words(decided({ verdicts: [one], approvals: [old] }, plan)),
      'AwaitingApproval Approval',
    );
    assert.equal(
      words(decided({ verdicts: [one, two], approvals: [old] }, plan)),
      'Running StageSoak',
      'stage two has begun under it',
    );
    const full = given({ promote: 'Full' });
    assert.deepEqual(begun({ verdicts: [one, two], approvals: [full] }, plan), ['n3']);
    const oldFull = given({ promote: 'Full', createdAt: at(-250) });
    assert.equal(
      words(decided({ verdicts: [one, two], approvals: [oldFull] }, plan)),
      'Running StageSoak',
    );
  });
});

describe('a stage before others is not passed by emptiness', () => {
  const canary = (of: Partial<Stage>): Stage => ({
    name: 'canary',
    nodeSelector: { matchLabels: { pool: 'canary' } },
    soakSeconds: 0,
    approveAfter: false,
    ...of,
  });
  const kinds = {
    approveAfter: canary({ approveAfter: true }),
    soakSeconds: canary({ soakSeconds: 60 }),
  };
  const labelled = (name: string, pool: string, over: Partial<PlanNode> = {}): PlanNode =>
    makePlanNode(makeReadyNode(name, { labels: { pool } }), over);
  const rest = [labelled('n2', 'rest'), labelled('n3', 'rest')];
  const one = labelled('n1', 'canary');
  const failed = makeVerdict('n1', { stage: 'canary', verdict: 'Failed' });

  /** How it came that nothing was done in it: the snapshot, and the plan. */
  const ways: Readonly<Record<string, readonly [Parameters<typeof decided>[0], Partial<Plan>]>> = {
    'its node is skipped': [{ nodes: [one, ...rest] }, { skips: new Map([['n1', '']]) }],
    'its node has another label': [{ nodes: [labelled('n1', 'rest'), ...rest] }, {}],
    'its node is deleted': [{ nodes: rest }, {}],
    'its node was deleted while it was worked on': [
      { nodes: rest, verdicts: [makeVerdict('n1', { stage: 'canary', verdict: 'Gone' })] },
      {},
    ],
    'its node was skipped in the middle': [
      {
        nodes: [one, ...rest],
        verdicts: [makeVerdict('n1', { stage: 'canary', verdict: 'Skipped' })],
      },
      {},
    ],
    'its node is not due': [{ nodes: [labelled('n1', 'canary', { due: false }), ...rest] }, {}],
    'whether its node is due cannot be said': [
      { nodes: [labelled('n1', 'canary', { due: { error: 'no such key' } }), ...rest] },
      {},
    ],
    'its node is not selected any more': [
      { nodes: [labelled('n1', 'canary', { selected: false }), ...rest] },
      {},
    ],
    'its node has a cordon of others': [
      { nodes: [one, ...rest], outages: new Map([['n1', [{ reason: 'ForeignCordon', by: 'x' }]]]) },
      { concurrency: { maxInFlight: 1, perTopology: [], foreignCordon: 'Skip' } },
    ],
    'its node has failed': [{ nodes: [one, ...rest], verdicts: [failed] }, {}],
    'its node has failed before, and in another stage': [
      { nodes: [one, ...rest], verdicts: [{ ...failed, stage: 'rest' }] },
      {},
    ],
  };

  for (const [kind, stage] of Object.entries(kinds)) {
    for (const [way, [snapshot, plan]] of Object.entries(ways)) {
      test(`${kind}: ${way}`, () => {
        const stages = { stages: [stage], ...plan };
        const waiting = decided(snapshot, stages);
        assert.deepEqual(waiting.inFlight, []);
        const word = kind === 'approveAfter' ? 'Approval' : 'StageEmpty';
        const said = waiting.waiting.find(one => one.reason === word);
        assert.match(
          said?.message ?? '',
          /stage canary has done nothing: .*drydock plan (approve|promote) kernel canary/,
        );
        const given = makeApproval({ createdAt: at(-50), stage: 'canary' });
        const approvals = [
          kind === 'approveAfter' ? given : { ...given, promote: 'Stage' as const },
        ];
        assert.notDeepEqual(
          begun({ ...snapshot, approvals }, stages),
          [],
          'a person may say that it goes on',
        );
      });
    }
  }

  test('a stage without approval and soak time is passed, and so is every stage when nothing is left to begin with', () => {
    assert.deepEqual(begun({ nodes: rest }, { stages: [canary({})] }), ['n2']);
    const done = rest.map(({ node }) => makeVerdict(node.name));
    assert.equal(
      decided({ nodes: rest, verdicts: done }, { stages: [kinds.approveAfter] }).phase,
      'Complete',
    );
  });
});

test('a plan that is undone takes its nodes the other way round, those that somebody has moved first before them, and says what it does', () => {
  const nodes = nodesOf(3);
  assert.deepEqual(begun({ nodes }, { undo: true }), ['n3']);
  assert.deepEqual(begun({ nodes }, { undo: true, first: ['n2'] }), ['n2']);
  const ranked = nodes.map((one, rank) => ({ ...one, rank }));
  assert.deepEqual(begun({ nodes: ranked }, { undo: true, order: [] }), ['n3']);
  assert.match(decided({ nodes }, { undo: true, paused: true }).message, /^Paused/);
  assert.equal(
    decided({ nodes }, { undo: true }).message,
    'Undone: 0 done, 0 failed, 3 due of 3 nodes',
  );
});
