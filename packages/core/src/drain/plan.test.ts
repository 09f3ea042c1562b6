import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { at, makeBudget, makePod } from '../testing/make.ts';
import { launcherOf, makeVmi, makeVms } from '../testing/make-vms.ts';
import { vmPodsOf } from '../vm/vm-pod.ts';
import type { Budget, InFlightEviction } from './budgets/budget.ts';
import type { Attempt, EvictionOutcome } from './outcome/eviction-outcome.ts';
import { type EvictionCandidate, type PlanContext, plan } from './plan.ts';

function candidate(
  name: string,
  over: Partial<EvictionCandidate['pod']> = {},
  wave = 0,
): EvictionCandidate {
  return {
    pod: makePod(name, over),
    wave,
    method: 'evict',
    escalated: false,
  };
}
function around(over: Partial<PlanContext> = {}): PlanContext {
  return {
    nodeName: 'n1',
    vmPods: new Map(),
    budgets: [],
    inFlight: [],
    attempts: new Map(),
    recreations: new Map(),
    now: at(0),
    ...over,
  };
}
function names(candidates: readonly Pick<EvictionCandidate, 'pod'>[]): readonly string[] {
  return candidates.map(({ pod }) => pod.name);
}
function inFlightEviction(name: string, over: Partial<InFlightEviction> = {}): InFlightEviction {
  return {
    uid: `uid-shop-${name}`,
    podKey: `shop/${name}`,
    podName: name,
    nodeName: 'n2',
    budget: 'shop/b',
    state: 'sent',
    at: at(0),
    ...over,
  };
}
function refused(over: Partial<Attempt> = {}): Attempt {
  return {
    method: 'evict',
    outcome: { kind: 'budget', message: 'no' },
    at: at(0),
    tries: 1,
    budgetSeen: 'shop/b@20',
    ...over,
  };
}

test('without budgets all go at once', () => {
  assert.deepEqual(names(plan([candidate('b'), candidate('a')], around()).calls), ['a', 'b']);
});

test('a budget lets as many go as it allows, and the rest says what it waits for', () => {
  const result = plan(
    [candidate('a'), candidate('b'), candidate('c')],
    around({ budgets: [makeBudget('b', { disruptionsAllowed: 2 })] }),
  );
  assert.deepEqual(names(result.calls), ['a', 'b']);
  assert.deepEqual(result.waitsFor, ['shop/b']);
  assert.equal(result.blockerInfos[0]?.reason, 'DisruptionBudget');
});

test('a deletion does not ask its budget, and evictions leave that to it until the budget has counted it', () => {
  const budget = makeBudget('b', {
    disruptionsAllowed: 2,
    currentHealthy: 6,
    resourceVersion: '100',
  });
  const deletions = ['c', 'd', 'e'].map(
    (name): EvictionCandidate => ({ ...candidate(name), method: 'delete' }),
  );
  const result = plan([candidate('a'), ...deletions], around({ budgets: [budget] }));
  assert.deepEqual(names(result.calls), ['c', 'd', 'e']);
  assert.deepEqual(
    result.calls.map(({ overrules }) => overrules),
    [6, 5, 4].map(healthy => [{ budget: 'shop/b', healthy }]),
  );
  assert.deepEqual(result.waitsFor, ['shop/b']);
  // An eviction elsewhere has written the status since, which counts nothing anew.
  const { budget: _asked, ...rest } = inFlightEviction('c', {
    state: 'accepted',
    deletionVersion: '101',
  });
  const inFlight = [{ ...rest, overrules: [{ budget: 'shop/b', healthy: 6 }] }];
  const after = (over: Partial<Budget>): readonly string[] =>
    names(
      plan(
        [candidate('a'), candidate('b')],
        around({ budgets: [{ ...budget, ...over }], inFlight }),
      ).calls,
    );
  assert.deepEqual(after({ resourceVersion: '102' }), ['a']);
  assert.deepEqual(after({ resourceVersion: '102', currentHealthy: 5 }), ['a', 'b']);
  const sick: EvictionCandidate = { ...candidate('f', { ready: false }), method: 'delete' };
  const always = makeBudget('b', {
    disruptionsAllowed: 1,
    unhealthyPodEvictionPolicy: 'AlwaysAllow',
  });
  assert.deepEqual(
    names(plan([candidate('a'), sick], around({ budgets: [always] })).calls),
    ['f', 'a'],
    'it takes nothing',
  );
});

test('what is under way from any node counts', () => {
  const budgets = [makeBudget('b', { disruptionsAllowed: 2 })];
  assert.deepEqual(
    names(
      plan([candidate('a'), candidate('b')], around({ budgets, inFlight: [inFlightEviction('x')] }))
        .calls,
    ),
    ['a'],
  );
});

test('what the status shows already does not count twice', () => {
  const budgets = [makeBudget('b', { disruptionsAllowed: 1, disruptedPods: ['x'] })];
  assert.deepEqual(
    names(
      plan(
        [candidate('a')],
        around({ budgets, inFlight: [inFlightEviction('x', { state: 'accepted' })] }),
      ).calls,
    ),
    ['a'],
  );
});

test('a status that is younger than the deletion has counted it', () => {
  const budgets = [makeBudget('b', { resourceVersion: '100' })];
  const inFlight = [inFlightEviction('x', { state: 'accepted', deletionVersion: '99' })];
  assert.deepEqual(names(plan([candidate('a')], around({ budgets, inFlight })).calls), ['a']);
  const older = [inFlightEviction('x', { state: 'accepted', deletionVersion: '101' })];
  assert.deepEqual(names(plan([candidate('a')], around({ budgets, inFlight: older })).calls), []);
});

test('a status that is not of the current spec allows nothing', () => {
  const result = plan(
    [candidate('a')],
    around({ budgets: [makeBudget('b', { fresh: false, disruptionsAllowed: 5 })] }),
  );
  assert.deepEqual(result.calls, []);
  assert.equal(result.blockerInfos[0]?.reason, 'BudgetNotSynced');
});

test('a budget that can never allow is named as such', () => {
  const result = plan(
    [candidate('a')],
    around({
      budgets: [makeBudget('b', { disruptionsAllowed: 0, desiredHealthy: 4, expectedPods: 4 })],
    }),
  );
  assert.equal(result.blockerInfos[0]?.reason, 'BudgetNeverAllows');
});

test('a budget that counts no pods is named as one that never allows', () => {
  const budgets = [
    makeBudget('b', {
      disruptionsAllowed: 0,
      desiredHealthy: 0,
      currentHealthy: 0,
      expectedPods: 0,
    }),
  ];
  const [blockerInfo] = plan([candidate('a')], around({ budgets })).blockerInfos;
  assert.equal(blockerInfo?.reason, 'BudgetNeverAllows');
  assert.match(blockerInfo?.remedy ?? '', /minAvailable/);
});

test('two budgets: no call is made in vain', () => {
  const result = plan([candidate('a')], around({ budgets: [makeBudget('b'), makeBudget('c')] }));
  assert.deepEqual(result.calls, []);
  assert.deepEqual(result.blockerInfos[0]?.budgets, ['shop/b', 'shop/c']);
});

test('a pod that is not Ready costs a healthy budget nothing and goes first', () => {
  const budgets = [makeBudget('b', { disruptionsAllowed: 1 })];
  const result = plan(
    [candidate('a'), candidate('b'), candidate('z', { ready: false })],
    around({ budgets }),
  );
  assert.deepEqual(names(result.calls), ['z', 'a']);
});

test('a pod that is not Ready is held by a budget that is not healthy itself', () => {
  const budgets = [
    makeBudget('b', { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 3 }),
  ];
  assert.deepEqual(plan([candidate('z', { ready: false })], around({ budgets })).calls, []);
  const lenient = budgets.map(budget => ({ ...budget, unhealthyPodEvictionPolicy: 'AlwaysAllow' }));
  assert.deepEqual(
    names(plan([candidate('z', { ready: false })], around({ budgets: lenient })).calls),
    ['z'],
  );
});

test('pending and finished pods are no business of any budget', () => {
  const budgets = [makeBudget('b', { disruptionsAllowed: 0 }), makeBudget('c')];
  const result = plan(
    [candidate('a', { phase: 'Pending' }), candidate('b', { phase: 'Failed' })],
    around({ budgets }),
  );
  assert.deepEqual(names(result.calls), ['a', 'b']);
});

test('a terminating pod is waited for, not asked again', () => {
  const result = plan([candidate('a', { deletionTimestamp: at(30) })], around());
  assert.deepEqual(result.calls, []);
  assert.equal(result.blockerInfos[0]?.reason, 'Terminating');
});

test('past its grace period it counts as stuck', () => {
  const result = plan(
    [candidate('a', { deletionTimestamp: at(-31), finalizers: ['x/y'] })],
    around(),
  );
  assert.equal(result.blockerInfos[0]?.reason, 'StuckTerminating');
  assert.match(result.blockerInfos[0]?.message ?? '', /x\/y/);
});

test('a wave starts when nothing of the one before is left', () => {
  const first = candidate('a', { deletionTimestamp: at(30) }, 0);
  assert.deepEqual(plan([first, candidate('b', {}, 1)], around()).calls, []);
  assert.deepEqual(names(plan([candidate('b', {}, 1)], around()).calls), ['b']);
});

test('a refusal is not asked again before the budget has changed', () => {
  const attempts = new Map([['uid-shop-a', refused()]]);
  const budgets = [makeBudget('b')];
  assert.deepEqual(plan([candidate('a')], around({ budgets, attempts, now: at(1) })).calls, []);
  const changed = [makeBudget('b', { resourceVersion: '21' })];
  assert.deepEqual(
    names(plan([candidate('a')], around({ budgets: changed, attempts, now: at(1) })).calls),
    ['a'],
  );
});

test('and is asked again by the safety net', () => {
  const attempts = new Map([['uid-shop-a', refused()]]);
  assert.deepEqual(
    names(
      plan([candidate('a')], around({ budgets: [makeBudget('b')], attempts, now: at(37) })).calls,
    ),
    ['a'],
  );
});

test('pods that come to a held node again and again are moved on ever more slowly', () => {
  const late = (name: string): EvictionCandidate => candidate(name, { createdAt: at(100) });
  const ask = (count: number, seconds: number): ReturnType<typeof plan> => {
    const recreations = new Map([['shop/ReplicaSet/web-1', { count, lastAt: at(110) }]]);
    return plan(
      [late('a')],
      around({
        residents: new Set(),
        recreations: count === 0 ? new Map() : recreations,
        now: at(seconds),
      }),
    );
  };
  assert.equal(ask(0, 110).calls.length, 1);
  assert.equal(ask(1, 110).calls.length, 1);
  assert.equal(ask(2, 114).blockerInfos[0]?.reason, 'KeepsComing');
  assert.equal(ask(2, 115).calls.length, 1);
  assert.equal(ask(4, 129).calls.length, 0);
  assert.equal(ask(4, 130).calls.length, 1);
  assert.equal(ask(4, 130).recreations.get('shop/ReplicaSet/web-1')?.count, 5);
  assert.equal(
    plan([candidate('old')], around({ residents: new Set(['uid-shop-old']), now: at(110) }))
      .recreations.size,
    0,
  );
});

test('plain deletion asks no budget', () => {
  const result = plan(
    [{ ...candidate('a'), method: 'delete' }],
    around({ budgets: [makeBudget('b', { disruptionsAllowed: 0 })] }),
  );
  assert.deepEqual(names(result.calls), ['a']);
});

const pods = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'),
    ready: fc.boolean(),
    app: fc.constantFrom('web', 'db', 'none'),
    wave: fc.nat(2),
    phase: fc.constantFrom('Running', 'Running', 'Pending'),
  }),
  { selector: ({ name }) => name, maxLength: 12 },
);
const budgets = fc.array(
  fc.record({
    app: fc.constantFrom('web', 'db'),
    allowed: fc.nat(4),
    fresh: fc.boolean(),
    policy: fc.constantFrom('IfHealthyBudget', 'AlwaysAllow', 'Unknown'),
  }),
  { maxLength: 3 },
);
const flying = fc.array(
  fc.record({
    name: fc.constantFrom('x', 'y', 'z'),
    app: fc.nat(2),
    state: fc.constantFrom('queued' as const, 'sent' as const, 'accepted' as const),
  }),
  { maxLength: 3 },
);

const scene = fc.record({ pods, budgets, flying }).map(({ pods, budgets, flying }) => ({
  candidates: pods.map(({ name, ready, app, wave, phase }) =>
    candidate(name, { ready, phase, labels: { app } }, wave),
  ),
  planContext: around({
    budgets: budgets.map(({ app, allowed, fresh, policy }, index) =>
      makeBudget(`b${index}`, {
        selector: { matchLabels: { app } },
        disruptionsAllowed: allowed,
        fresh,
        unhealthyPodEvictionPolicy: policy,
      }),
    ),
    inFlight: flying.map(({ name, app, state }) =>
      inFlightEviction(name, { budget: `shop/b${app}`, state }),
    ),
  }),
}));

test('law: the order of the input never changes the plan', () => {
  fc.assert(
    fc.property(
      scene,
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      ({ candidates, planContext }, random) => {
        const keys = new Map(candidates.map(one => [one, random.next().value as number]));
        const shuffled = candidates.toSorted(
          (one, other) => (keys.get(one) ?? 0) - (keys.get(other) ?? 0),
        );
        const backwards = {
          ...planContext,
          budgets: planContext.budgets.toReversed(),
          inFlight: planContext.inFlight.toReversed(),
        };
        assert.deepEqual(plan(shuffled, backwards), plan(candidates, planContext));
      },
    ),
  );
});

test('law: evictions under way never exceed what a budget allows', () => {
  fc.assert(
    fc.property(scene, ({ candidates, planContext }) => {
      const { calls } = plan(candidates, planContext);
      for (const budget of planContext.budgets) {
        const taken = calls.filter(call => call.budget?.key === budget.key).length;
        const flyingNow = planContext.inFlight.filter(one => one.budget === budget.key).length;
        if (taken > 0)
          assert.ok(
            budget.fresh && taken + flyingNow <= budget.disruptionsAllowed,
            `${budget.key}: ${taken} and ${flyingNow} of ${budget.disruptionsAllowed}`,
          );
      }
    }),
  );
});

test("law: a Ready pod under a budget only ever goes at the budget's expense, and never under two", () => {
  const guards = (budgets: readonly Budget[], app: string | undefined): number =>
    budgets.filter(({ selector }) => selector?.matchLabels?.['app'] === app).length;
  fc.assert(
    fc.property(scene, ({ candidates, planContext }) => {
      for (const { pod, budget } of plan(candidates, planContext).calls) {
        const count = pod.phase === 'Running' ? guards(planContext.budgets, pod.labels['app']) : 0;
        assert.ok(count <= 1);
        if (count === 1 && pod.ready) assert.ok(budget !== undefined);
      }
    }),
  );
});

test('law: every pod that has to go is called, hindered or silently under way, never forgotten', () => {
  fc.assert(
    fc.property(scene, ({ candidates, planContext }) => {
      const { calls, blockerInfos } = plan(candidates, planContext);
      assert.equal(calls.length + blockerInfos.length, candidates.length);
    }),
  );
});

test('a pod that has ended since it was refused is asked for at once, and once', () => {
  const before = refused({ outcome: { kind: 'evacuating', message: '' } });
  const called = (attempt: Attempt): number =>
    plan(
      [candidate('a', { phase: 'Succeeded' })],
      around({ attempts: new Map([['uid-shop-a', attempt]]), now: at(1) }),
    ).calls.length;
  assert.equal(called(before), 1);
  assert.equal(called({ ...before, ended: true }), 0);
});

describe('after an answer, with one budget that has not changed', () => {
  const after = (
    outcome: EvictionOutcome,
    budgets = [makeBudget('b')],
    over: Partial<Attempt> = {},
  ) => {
    const attempts = new Map([['uid-shop-a', refused({ outcome, ...over })]]);
    const { calls, blockerInfos, waitsFor, requeueAt } = plan(
      [candidate('a')],
      around({ budgets, attempts, now: at(1) }),
    );
    return {
      calls: calls.length,
      says: blockerInfos.map(({ reason, message }) => `${reason} ${message}`),
      waitsFor,
      requeueAt: requeueAt !== undefined,
    };
  };
  const message = 'no';
  const ignored =
    'its eviction was accepted 5 times, and it is not being deleted: an admission webhook may have made a dry run of it';
  const rows: readonly (readonly [
    EvictionOutcome,
    says: readonly string[],
    waitsFor: readonly string[],
  ])[] = [
    [{ kind: 'accepted' }, [`EvictionIgnored ${ignored}`], []],
    [{ kind: 'gone' }, [], []],
    [{ kind: 'budget', message }, ['DisruptionBudget no'], ['shop/b']],
    [{ kind: 'budgetBehind', message }, ['BudgetNotSynced no'], ['shop/b']],
    [{ kind: 'denied', message }, ['AdmissionDenied no'], []],
    [{ kind: 'failed', message }, ['EvictionFailed no'], []],
  ];
  for (const [outcome, says, waitsFor] of rows)
    test(`${outcome.kind}: ${says[0] ?? 'nothing to say'}, ${waitsFor[0] ?? 'no budget'} is waited for`, () => {
      // The server fails for a second at first: asked a few times more it is left alone for longer.
      assert.deepEqual(after(outcome, [makeBudget('b')], { tries: 5 }), {
        calls: 0,
        says,
        waitsFor,
        requeueAt: true,
      });
    });

  test('for a budget that was not known here: it is asked for again as soon as one is known that has room, and takes from it', () => {
    const { budgetSeen: _, ...unseen } = refused();
    const attempts = new Map([['uid-shop-a', unseen]]);
    const callsWith = (disruptionsAllowed: number) =>
      plan(
        [candidate('a')],
        around({ budgets: [makeBudget('b', { disruptionsAllowed })], attempts, now: at(1) }),
      ).calls;
    assert.deepEqual(
      [callsWith(0).length, callsWith(1).map(({ budget }) => budget?.key)],
      [0, ['shop/b']],
    );
  });

  test('although the pod costs its budget nothing: it waits, for no change of the budget makes it go', () => {
    const { budgetSeen: _, ...unseen } = refused();
    const attempts = new Map([['uid-shop-a', unseen]]);
    const free = candidate('a', { ready: false });
    const budgets = [
      makeBudget('b', { disruptionsAllowed: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' }),
    ];
    assert.equal(plan([free], around({ budgets, attempts, now: at(1) })).calls.length, 0);
  });

  test('for a budget that is not known here: it waits, whatever is known meanwhile', () => {
    const { budgetSeen: _, ...unseen } = refused();
    const attempts = new Map([['uid-shop-a', unseen]]);
    const { calls, requeueAt } = plan(
      [candidate('a')],
      around({ budgets: [], attempts, now: at(1) }),
    );
    assert.deepEqual([calls.length, requeueAt !== undefined], [0, true]);
    assert.equal(
      plan([candidate('a')], around({ budgets: [], attempts, now: at(40) })).calls.length,
      1,
    );
  });

  test('for a budget that is gone: it is asked for again at once', () => {
    assert.equal(after({ kind: 'budget', message }, []).calls, 1);
  });

  test('of too many budgets, of which one at most is known here: it is asked for again, ever later', () => {
    const calls = (tries: number, seconds: number): number => {
      const attempts = new Map([
        [
          'uid-shop-a',
          { ...refused(), outcome: { kind: 'multipleBudgets', message } as const, tries },
        ],
      ]);
      return plan(
        [candidate('a')],
        around({ budgets: [makeBudget('b')], attempts, now: at(seconds) }),
      ).calls.length;
    };
    assert.deepEqual([calls(1, 0.9), calls(1, 1), calls(5, 4.9), calls(5, 5)], [0, 1, 0, 1]);
  });

  test('of too many budgets: it is asked for again once one is left', () => {
    const two = [makeBudget('b'), makeBudget('c')];
    assert.deepEqual(after({ kind: 'multipleBudgets', message }, two).says, ['MultipleBudgets no']);
    assert.equal(after({ kind: 'multipleBudgets', message }, two.slice(0, 1)).calls, 1);
    assert.equal(after({ kind: 'multipleBudgets', message }, []).calls, 1);
  });
});

test('a pod counts as come back when it was not there when the node was held, whenever it was made', () => {
  const counted = (residents: readonly string[] | undefined, createdAt: Temporal.Instant): number =>
    plan(
      [candidate('a', { createdAt })],
      around({ ...(residents && { residents: new Set(residents) }), now: at(9) }),
    ).recreations.size;
  for (const createdAt of [at(-3600), at(0), at(8), at(3600)]) {
    assert.equal(counted(['uid-shop-a'], createdAt), 0);
    assert.equal(counted(['uid-shop-b'], createdAt), 1);
    assert.equal(counted(undefined, createdAt), 0, 'not known yet');
  }
});

test('a pod that has been asked for is silently waited for until there is an answer', () => {
  const { budget: _, ...own } = inFlightEviction('a', { nodeName: 'n1' });
  const seen = (state: InFlightEviction['state']) => {
    const { calls, blockerInfos } = plan(
      [candidate('a')],
      around({ inFlight: [{ ...own, state }] }),
    );
    return [calls.length, blockerInfos.length];
  };
  assert.deepEqual(seen('queued'), [0, 0]);
  assert.deepEqual(seen('sent'), [0, 0]);
  assert.deepEqual(
    seen('accepted'),
    [1, 0],
    'and that is not remembered: it is asked for once more',
  );
});

describe('what an answer has taught stays until a newer one: while it is waited for, while the pod is asked for once more, and in the pass that does so', () => {
  const { budget: _, ...own } = inFlightEviction('a', { nodeName: 'n1', at: at(100) });
  const kinds = [
    'denied',
    'failed',
    'conflict',
    'forbidden',
    'invalid',
    'throttled',
    'namespaceTerminating',
    'notMigratable',
  ] as const;
  for (const kind of kinds)
    for (const method of ['evict', 'delete'] as const)
      test(`${kind}, ${method}`, () => {
        const attempts = new Map([
          ['uid-shop-a', refused({ method, outcome: { kind, message: 'no' } })],
        ]);
        const says = (over: Partial<PlanContext>) => {
          const { calls, blockerInfos } = plan(
            [{ ...candidate('a'), method }],
            around({ attempts, ...over }),
          );
          return [calls.length, ...blockerInfos.map(({ message }) => message)];
        };
        assert.deepEqual(says({ now: at(0) }), [0, 'no']);
        assert.deepEqual(says({ now: at(100) }), [1, 'no'], 'asked for once more');
        for (const state of ['queued', 'sent'] as const)
          assert.deepEqual(says({ now: at(600), inFlight: [{ ...own, state }] }), [0, 'no'], state);
      });

  test('an answer about a budget that has changed since has nothing to say any more', () => {
    const attempts = new Map([['uid-shop-a', refused()]]);
    const budgets = [makeBudget('b', { resourceVersion: '21' })];
    assert.deepEqual(
      plan([candidate('a')], around({ attempts, budgets, now: at(1) })).blockerInfos,
      [],
    );
  });

  test('nobody has answered the first time: said after five seconds, and that is looked out for', () => {
    const seen = (now: number) =>
      plan([candidate('a')], around({ now: at(now), inFlight: [{ ...own, state: 'sent' }] }));
    assert.deepEqual([seen(104.9).blockerInfos, seen(104.9).requeueAt], [[], at(105)]);
    assert.deepEqual(
      seen(105).blockerInfos.map(({ reason }) => reason),
      ['EvictionUnanswered'],
    );
  });
});

describe('an eviction that was accepted and changes nothing', () => {
  const seen = (
    now: number,
    over: Partial<Attempt> = {},
    pod: Partial<EvictionCandidate['pod']> = {},
  ) => {
    const attempts = new Map([['uid-shop-a', refused({ outcome: { kind: 'accepted' }, ...over })]]);
    return plan([candidate('a', pod)], around({ now: at(now), attempts }));
  };
  test('is told after half a minute at the latest, and that is looked out for', () => {
    assert.deepEqual(seen(1).blockerInfos, []);
    const { requeueAt } = seen(1);
    assert.ok(requeueAt !== undefined && Temporal.Instant.compare(requeueAt, at(30)) <= 0);
    for (const now of [30, 37, 300])
      assert.deepEqual(
        seen(now).blockerInfos.map(({ reason }) => reason),
        ['EvictionIgnored'],
        `${now}`,
      );
  });
  test('and is not told of a pod that is on its way out', () => {
    const { blockerInfos } = seen(31, {}, { deletionTimestamp: at(60) });
    assert.deepEqual(
      blockerInfos.map(({ reason }) => reason),
      ['Terminating'],
    );
  });
});

describe('a pod that is terminating is within reach of whatever gives it less time', () => {
  type Row = readonly [
    what: string,
    over: Partial<EvictionCandidate>,
    asked: readonly [string, number | undefined] | undefined,
  ];
  // It has an hour, of which its own spec asks 30 s.
  const rows: readonly Row[] = [
    ['an eviction that says nothing about it', {}, undefined],
    ['a shorter grace period', { gracePeriodSeconds: 5 }, ['evict', 5]],
    ['none at all', { gracePeriodSeconds: 0 }, ['evict', 0]],
    ['one that is as long', { gracePeriodSeconds: 3600 }, undefined],
    ['a longer one', { gracePeriodSeconds: 7200 }, undefined],
    [
      'a deletion past the budgets, with the time that the pod asks for',
      { method: 'delete' },
      ['delete', 30],
    ],
    ['and with a shorter one', { method: 'delete', gracePeriodSeconds: 7 }, ['delete', 7]],
    [
      'a rung of the ladder',
      { method: 'delete', escalated: true, gracePeriodSeconds: 10 },
      ['delete', 10],
    ],
    ['a rung without a time', { method: 'delete', escalated: true }, ['delete', 30]],
    [
      'a VM that is shut down',
      { method: 'delete', escalated: true, shutsDownVm: true, gracePeriodSeconds: 60 },
      ['delete', 60],
    ],
  ];
  const leaving = { deletionTimestamp: at(3600), deletionGraceSeconds: 3600 };
  const seen = (
    over: Partial<EvictionCandidate>,
    planContext: Partial<PlanContext> = {},
    pod: Partial<EvictionCandidate['pod']> = {},
  ) => plan([{ ...candidate('a', { ...leaving, ...pod }), ...over }], around(planContext));
  for (const [what, over, asked] of rows)
    test(what, () => {
      const { calls, blockerInfos } = seen(over);
      assert.deepEqual(
        calls.map(({ method, gracePeriodSeconds }) => [method, gracePeriodSeconds]),
        asked === undefined ? [] : [asked],
      );
      assert.ok(
        calls.every(
          ({ escalated, budget, overrules }) =>
            !escalated && budget === undefined && overrules === undefined,
        ),
        'nothing is overruled: it is going already',
      );
      assert.equal(calls.length + blockerInfos.length, 1);
    });

  test('it is asked once: not while that is under way, not before the retry, not once it has that time', () => {
    const shorter = { gracePeriodSeconds: 5 };
    const { budget: _, ...own } = inFlightEviction('a', { nodeName: 'n1' });
    const calls = (over: Partial<PlanContext>, pod: Partial<EvictionCandidate['pod']> = {}) =>
      seen(shorter, over, pod).calls.length;
    const accepted = refused({ outcome: { kind: 'accepted' } });
    const attempted = (attempt: Attempt) => ({ attempts: new Map([['uid-shop-a', attempt]]) });
    assert.equal(calls(attempted(accepted)), 1, 'the eviction that began its end gave it more');
    assert.equal(calls({ inFlight: [{ ...own, state: 'sent' }] }), 0);
    assert.equal(calls(attempted({ ...accepted, ...shorter })), 0);
    assert.equal(calls({ ...attempted({ ...accepted, ...shorter }), now: at(40) }), 1);
    assert.equal(calls({}, { deletionTimestamp: at(5), deletionGraceSeconds: 5 }), 0);
  });

  test('it is left to a responder that has its turn: how long its pod has is for the responder to say, unless a rung goes past it', () => {
    const responder = {
      name: 'mover.example/m',
      createdAt: at(-60),
      startTime: at(-60),
      heartbeatTime: at(-1),
    };
    const responders = new Map([['uid-shop-a', responder]]);
    const shorter = { gracePeriodSeconds: 5 };
    const { calls, blockerInfos } = seen(shorter, { responders });
    assert.deepEqual([calls.length, blockerInfos[0]?.reason], [0, 'Terminating']);
    assert.equal(seen({ ...shorter, escalated: true }, { responders }).calls.length, 1);
    assert.equal(
      seen(shorter, { responders: new Map([['uid-shop-a', { ...responder, isDefault: true }]]) })
        .calls.length,
      1,
    );
    assert.equal(
      seen(shorter, { responders, now: at(1500) }).calls.length,
      1,
      'it has been silent for too long',
    );
  });

  test('a refusal of that is told as any other', () => {
    const attempts = new Map([
      [
        'uid-shop-a',
        refused({ gracePeriodSeconds: 5, outcome: { kind: 'denied', message: 'no' } }),
      ],
    ]);
    const [blockerInfo] = seen({ gracePeriodSeconds: 5 }, { attempts, now: at(1) }).blockerInfos;
    assert.equal(blockerInfo?.reason, 'AdmissionDenied');
  });

  test('how long it has, and a way around a long time, is told', () => {
    const [blockerInfo] = seen({}).blockerInfos;
    assert.equal(
      blockerInfo?.message,
      'is terminating, and has until 2026-11-21T09:00:00Z (grace period 3600 s)',
    );
    assert.match(blockerInfo?.remedy ?? '', /drain\.ladder/);
    assert.equal(
      seen({}, {}, { deletionTimestamp: at(30), deletionGraceSeconds: 30 }).blockerInfos[0]?.remedy,
      undefined,
    );
  });
});

test('what a deletion overrules is told with what is on its way from its budget, and not at all where it has none', () => {
  const deletion: EvictionCandidate = { ...candidate('a'), method: 'delete' };
  const budgets = [makeBudget('b', { currentHealthy: 6 })];
  const [call] = plan(
    [deletion],
    around({ budgets, inFlight: [inFlightEviction('x'), inFlightEviction('y')] }),
  ).calls;
  assert.deepEqual(call?.overrules, [{ budget: 'shop/b', healthy: 4 }]);
  const [free] = plan([deletion], around()).calls;
  assert.equal(free !== undefined && 'overrules' in free, false);
});

test('VMs go after pods, ready or not; of two VMs one whose size is not known goes first, in whatever order they come', () => {
  const { memory: _, ...unknown } = makeVmi('z');
  const vmis = [makeVmi('a'), unknown];
  const launchers = vmis.map(vmi => launcherOf(vmi, { ready: false }));
  const vmPods = vmPodsOf('n1', launchers, makeVms({ vmis }));
  const candidates = [...launchers, makePod('web')].map(
    (pod): EvictionCandidate => ({ ...candidate('a'), pod }),
  );
  for (const all of [candidates, candidates.toReversed()])
    assert.deepEqual(names(plan(all, around({ vmPods })).calls), [
      'web',
      'virt-launcher-z-x',
      'virt-launcher-a-x',
    ]);
});
