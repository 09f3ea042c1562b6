import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node } from '../../node/node.ts';
import { begun, decided, words } from '../../testing/decided.ts';
import { at } from '../../testing/make.ts';
import {
  makeApproval,
  makeInFlight,
  makePlanNode,
  makeReadyNode,
  makeVerdict,
  soakedRun,
} from '../../testing/make-plan.ts';
import type { Plan, StageSoak } from '../plan.ts';
import type { PlanDecision, PlanNode } from '../snapshot.ts';

/**
 * The soak time of a stage watches its nodes: what breaks it has it start again, and is a failure
 * at its bound.
 */

const canary = makePlanNode(makeReadyNode('n1'));
const [dead, old] = [
  makePlanNode(makeReadyNode('n1', { conditions: [] })),
  { ...canary, done: false },
];
const others = ['n2', 'n3'].map(name => makePlanNode(makeReadyNode(name)));
const stages = [{ name: 'canary', limit: 1, soakSeconds: 100, approveAfter: false }];
const verdicts = [makeVerdict('n1', { stage: 'canary', completedAt: at(-900) })];
function lack(seconds: number): StageSoak {
  return { stage: 'canary', lacking: [{ node: 'n1', uid: 'uid-n1', since: at(-seconds) }] };
}

type Given = {
  readonly nodes?: readonly PlanNode[];
  readonly soak?: StageSoak;
  readonly watchedSince?: Temporal.Instant;
  readonly plan?: Partial<Plan>;
};

function look({ nodes = [canary, ...others], soak, watchedSince, plan = {} }: Given): PlanDecision {
  const run = { ...soakedRun('canary', 0), ...(soak && { soak }) };
  return decided(
    { nodes, verdicts, ...(watchedSince && { watchedSince }) },
    { stages, provenWithinSeconds: 60, run, ...plan },
  );
}

function unmarked(soak: StageSoak | undefined): StageSoak | undefined {
  const { mark: _mark, ...rest } = soak ?? { lacking: [], stage: '' };
  return soak && rest;
}

function soaked(seconds: number): StageSoak {
  return { stage: 'canary', since: at(-seconds), lacking: [] };
}

/** The verdict that is recorded instead of the one that was. */
function recorded({ writes }: PlanDecision): unknown {
  return writes.flatMap(({ cache: store, body }) => {
    const { verdicts: all = {} } = (body['spec'] ?? {}) as {
      readonly verdicts?: Readonly<Record<string, { verdict: string; message: string }>>;
    };
    return store === 'planRecords'
      ? Object.entries(all).map(([node, { verdict, message }]) => `${node} ${verdict}: ${message}`)
      : [];
  });
}

describe('the soak time of a stage', () => {
  test('is over when all was well for so long; it begins when somebody looks', () => {
    assert.deepEqual(
      look({ soak: soaked(100) }).inFlight.map(({ node }) => node),
      ['n2'],
    );
    const before = look({ soak: soaked(99) });
    assert.deepEqual([words(before), before.waiting[0]?.until], ['Running StageSoak', at(1)]);
    const { run: first } = decided({ nodes: [canary, ...others], verdicts }, { stages });
    assert.deepEqual(unmarked(first?.soak), soaked(0));
  });

  for (const [what, node, text] of [
    ['is not Ready', dead, /^node n1 is not Ready since /],
    ['is old again', old, /^node n1 was done and is not any more since /],
    [
      'cannot be told to be done',
      { ...canary, done: { error: 'no such key' } },
      /^node n1 may not be done any more: no such key since /,
    ],
  ] as const) {
    test(`starts again when a node ${what}, whether it was over or not, and says until when`, () => {
      for (const seconds of [50, 100, 5000]) {
        const decision = look({ nodes: [node, ...others], soak: soaked(seconds) });
        assert.deepEqual([words(decision), decision.inFlight], ['Running SoakBroken', []]);
        assert.match(decision.waiting[0]?.message ?? '', text);
        assert.deepEqual(
          [decision.waiting[0]?.until, decision.requeueAt, decision.run?.soak],
          [at(60), at(60), lack(0)],
        );
      }
    });

    test(`and the node has failed when it ${what} at its bound`, () => {
      assert.deepEqual(recorded(look({ nodes: [node, ...others], soak: lack(59) })), []);
      const [text] = recorded(
        look({ nodes: [node, ...others], soak: lack(60) }),
      ) as readonly string[];
      assert.match(
        text ?? '',
        /^n1 Failed: It was done, and failed in the soak time of stage canary: it .* for 60 s, which is its limit$/,
      );
    });
  }

  test('starts again when a node has booted, or was not Ready, between two looks; not when it is deleted, or another one is done', () => {
    const ready = (lastTransitionTime: string) => [
      { ...canary.node.conditions[0]!, lastTransitionTime },
    ];
    const node = (over: Partial<Node> = {}, name = 'n1') =>
      makePlanNode(
        makeReadyNode(name, {
          labels: { canary: 'yes' },
          conditions: ready('2026-11-21T07:00:00Z'),
          ...over,
        }),
      );
    const done = [...verdicts, makeVerdict('m1', { stage: 'canary', completedAt: at(-900) })];
    const at50 = (nodes: readonly PlanNode[], soak: StageSoak) =>
      decided(
        { nodes: [...nodes, ...others], verdicts: done },
        {
          stages: [
            {
              name: 'canary',
              nodeSelector: { matchLabels: { canary: 'yes' } },
              soakSeconds: 100,
              approveAfter: false,
            },
          ],
          run: { ...soakedRun('canary', 0), soak },
        },
      ).run?.soak;
    const both = [node(), node({}, 'm1')];
    const first = at50(both, soaked(50)) as StageSoak;
    assert.deepEqual([first.since, typeof first.mark], [at(-50), 'string']);
    assert.deepEqual(at50(both, first), first);
    for (const [what, nodes] of [
      ['was not Ready', [node({ conditions: ready('2026-11-21T07:59:00Z') }), both[1]!]],
      ['had another clock', [node({ conditions: ready('2026-11-20T07:00:00Z') }), both[1]!]],
      ['has booted', [both[0]!, node({ bootId: 'next' }, 'm1')]],
    ] as const)
      assert.deepEqual(at50(nodes, first)?.since, at(0), what);
    const alone = at50([node()], first) as StageSoak;
    assert.deepEqual(alone.since, at(-50), 'deleted');
    assert.notEqual(alone.mark, first.mark);
    assert.deepEqual(
      at50([node({ conditions: ready('2026-11-21T07:59:00Z') })], alone)?.since,
      at(0),
    );
    assert.deepEqual(
      at50(both, alone)?.since,
      at(-50),
      'done since: its verdict begins the soak time anew, if anything does',
    );
  });

  test('that was broken begins anew with the moment in which all is well again', () => {
    const back = look({ soak: lack(30) });
    assert.deepEqual(
      [words(back), unmarked(back.run?.soak), back.waiting[0]?.until],
      ['Running StageSoak', soaked(0), at(100)],
    );
  });

  test('a node that broke, and was deleted by whoever repairs nodes, has failed; one that was well has not', () => {
    const [text] = recorded(look({ nodes: others, soak: lack(1) })) as readonly string[];
    assert.match(text ?? '', /^n1 Failed: .* it was not well, and does not exist any more$/);
    assert.deepEqual(
      begunIn(look({ nodes: others, soak: lack(1) })),
      [],
      'nothing begins before that is recorded',
    );
    const joined = look({
      nodes: [dead, ...others, makePlanNode(makeReadyNode('m1'))],
      soak: lack(30),
      plan: { stages: [{ ...stages[0]!, limit: 2 }] },
    });
    assert.deepEqual(
      [joined.inFlight[0]?.stage, joined.run?.soak],
      ['canary', lack(30)],
      'another node has come to the stage: it is watched on',
    );
    const again = makePlanNode(makeReadyNode('n1', { uid: 'uid-again' }), { due: false });
    assert.equal(
      (recorded(look({ nodes: [again, ...others], soak: lack(1) })) as readonly string[]).length,
      1,
    );
    const quiet = look({
      nodes: others,
      soak: soaked(40),
      plan: { stages: [{ ...stages[0]!, nodeSelector: { matchLabels: { no: 'node' } } }] },
    });
    assert.deepEqual([recorded(quiet), words(quiet)], [[], 'Running StageSoak']);
  });

  test('the failure halts the plan, and is told of as any other', () => {
    const failed = {
      nodes: [dead, ...others],
      verdicts: [makeVerdict('n1', { stage: 'canary', verdict: 'Failed' })],
    };
    assert.equal(decided(failed, { stages, halt: { inFirstStage: 1 } }).phase, 'Halted');
  });

  test('counts no time that nobody of this process has watched', () => {
    assert.equal(words(look({ soak: soaked(5000), watchedSince: at(-99) })), 'Running StageSoak');
    assert.deepEqual(begunIn(look({ soak: soaked(5000), watchedSince: at(-100) })), ['n2']);
    assert.deepEqual(
      recorded(look({ nodes: [dead, ...others], soak: lack(5000), watchedSince: at(-59) })),
      [],
      'nor for the bound',
    );
  });

  test('is watched while the plan is paused, and while somebody is asked or a limit is in the way', () => {
    assert.deepEqual(
      look({ nodes: [dead, ...others], soak: soaked(100), plan: { paused: true } }).run?.soak,
      lack(0),
    );
    const approved = { stages: [{ ...stages[0]!, approveAfter: true }] };
    assert.equal(words(look({ soak: soaked(100), plan: approved })), 'AwaitingApproval Approval');
    assert.equal(
      words(look({ nodes: [dead, ...others], soak: soaked(100), plan: approved })),
      'Running SoakBroken',
    );
  });

  test('is over for good with the first node that begins behind it, but for another node of its own', () => {
    const inFlight = [
      makeInFlight('n2', { startedAt: at(-800), state: 'Soaking', soakSince: at(-1) }),
    ];
    const concurrency = { maxInFlight: 2, perTopology: [], foreignCordon: 'Wait' } as const;
    const later = look({
      nodes: [dead, ...others],
      plan: { inFlight, concurrency, soakSeconds: 9000 },
    });
    assert.deepEqual(
      [later.run?.soak, later.inFlight.map(({ node }) => node)],
      [undefined, ['n2', 'n3']],
    );
    const left = [makeInFlight('n2', { startedAt: at(-901), state: 'Soaking', soakSince: at(-1) })];
    assert.equal(
      look({ soak: soaked(1), plan: { inFlight: left, concurrency, soakSeconds: 9000 } }).inFlight
        .length,
      1,
    );
  });

  test('is ended by whoever promotes the stage', () => {
    const approvals = [makeApproval({ stage: 'canary', promote: 'Stage', createdAt: at(-50) })];
    assert.deepEqual(
      begun(
        { nodes: [dead, ...others], verdicts, approvals },
        { stages, run: { ...soakedRun('canary', 1) } },
      ),
      ['n2'],
    );
  });
});

function begunIn({ inFlight }: PlanDecision): readonly string[] {
  return inFlight.map(({ node }) => node);
}
