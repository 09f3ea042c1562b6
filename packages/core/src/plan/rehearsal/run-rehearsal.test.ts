import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { at } from '../../testing/make.ts';
import {
  makeInFlight,
  makePlan,
  makePlanNode,
  makePlanSnapshot,
  makeReadyNode,
  makeVerdict,
  makeWorkPod,
} from '../../testing/make-plan.ts';
import { decidePlan } from '../decide.ts';
import type { NodeVerdict } from '../in-flight.ts';
import type { Plan } from '../plan.ts';
import type { PlanDecision, WorkPod } from '../snapshot.ts';
import {
  type RehearsalSummary,
  type RehearsalTask,
  type Rehearse,
  type RehearsedForecast,
  summaryText,
} from './rehearsal.ts';

/**
 * Rehearsals: stored before their pod is made, one at a time, and what they foretell may keep a run
 * from its first node.
 */

const now = at(0);

const rehearse: Rehearse = { required: true, refuse: [], timeoutSeconds: 900, specHash: 'h1' };

const summary: RehearsalSummary = {
  snapshotTime: at(-5),
  finishes: true,
  end: at(600),
  latestEnd: at(900),
  nodes: 2,
  windows: 1,
  podsMoved: 10,
  podsMovedAgain: 1,
  blocked: [],
  blockedNodes: 0,
  lowest: [],
  firstNodes: [],
};

function forecast(over: Partial<RehearsedForecast> = {}): RehearsedForecast {
  return {
    ...summary,
    runId: '1',
    specHash: 'h1',
    rehearsedAt: at(-60),
    firstEnd: at(600),
    ...over,
  };
}

function task(over: Partial<RehearsalTask> = {}): RehearsalTask {
  return {
    runId: '1',
    specHash: 'h1',
    state: 'Running',
    attempt: 1,
    since: at(-10),
    pod: 'kernel-x-hook-1',
    message: '',
    ...over,
  };
}

function podOf(over: Partial<WorkPod> = {}): WorkPod {
  return makeWorkPod('kernel-x-hook-1', 'any', {
    uid: 'pod-1',
    message: 'container rehearse: Error, exit code 2: nodes is forbidden',
    ...over,
  });
}

type Given = {
  readonly plan?: Partial<Plan>;
  readonly pods?: readonly WorkPod[];
  readonly verdicts?: readonly NodeVerdict[];
};

function decide({ plan = {}, pods = [], verdicts = [] }: Given): PlanDecision {
  return decidePlan(
    makePlanSnapshot({
      plan: makePlan({ rehearse, ...plan }),
      nodes: ['n1', 'n2'].map(name => makePlanNode(makeReadyNode(name))),
      pods: new Map(pods.map(pod => [pod.name, pod])),
      verdicts,
      settings: {
        workNamespace: 'drydock-plans',
        machineNamespace: 'drydock-system',
        image: 'drydock:1',
      },
    }),
    now,
  );
}

function words({ waiting }: PlanDecision): readonly string[] {
  return waiting.map(({ reason }) => reason);
}
function begun({ inFlight }: PlanDecision): readonly string[] {
  return inFlight.map(({ node }) => node);
}

describe('before the run', () => {
  test('nothing begins before the plan has been rehearsed; the rehearsal is stored before its pod is made', () => {
    const first = decide({});
    assert.deepEqual(
      [begun(first), words(first), first.rehearsal?.state, first.writes],
      [[], ['NotRehearsed'], 'Running', []],
    );
    const second = decide({ plan: { rehearsal: first.rehearsal as RehearsalTask } });
    const [write] = second.writes;
    const body = write?.body as {
      readonly metadata: { readonly name: string };
      readonly spec: { readonly serviceAccountName: string };
    };
    assert.deepEqual(
      [second.writes.length, write?.method, body.metadata.name, body.spec.serviceAccountName],
      [1, 'POST', first.rehearsal?.pod, 'drydock-rehearsal'],
    );
    const seen = decide({ plan: { rehearsal: task() }, pods: [podOf()] });
    assert.deepEqual([seen.rehearsal?.podUid, seen.writes], ['pod-1', []]);
  });

  test('what its pod says is stored, its pod is deleted, and the first node begins', () => {
    const pods = [podOf({ phase: 'Succeeded', output: summaryText(summary) })];
    const told = decide({ plan: { rehearsal: task({ podUid: 'pod-1' }) }, pods });
    assert.deepEqual(
      [told.rehearsal?.state, told.rehearsed?.end, told.rehearsed?.firstEnd],
      ['Succeeded', at(600), at(600)],
    );
    const after = decide({
      plan: { rehearsal: task({ podUid: 'pod-1', state: 'Succeeded' }), forecast: forecast() },
      pods,
    });
    assert.deepEqual([after.writes[0]?.method, begun(after)], ['DELETE', ['n1']]);
    const gone = decide({
      plan: { rehearsal: task({ podUid: 'pod-1', state: 'Succeeded' }), forecast: forecast() },
    });
    assert.deepEqual([gone.rehearsal, gone.rehearsed], [undefined, forecast()]);
  });

  test('a pod that fails, or says something else, is named, and tried again later and later', () => {
    const failed = decide({
      plan: { rehearsal: task({ podUid: 'pod-1' }) },
      pods: [podOf({ phase: 'Failed' })],
    });
    assert.deepEqual(
      [failed.rehearsal?.state, failed.rehearsal?.message],
      ['Failed', podOf().message],
    );
    const odd = decide({
      plan: { rehearsal: task({ podUid: 'pod-1' }) },
      pods: [podOf({ phase: 'Succeeded', output: 'hello' })],
    });
    assert.match(odd.rehearsal?.message ?? '', /not a forecast/);
    const rests = decide({
      plan: { rehearsal: task({ state: 'Failed', attempt: 2, message: 'forbidden' }) },
    });
    assert.deepEqual([rests.rehearsal?.attempt, rests.requeueAt, begun(rests)], [2, at(110), []]);
    assert.match(
      rests.waiting[0]?.message ?? '',
      /^its rehearsal has failed: forbidden; it is retried automatically, or at once by drydock plan retry/,
    );
    const next = decide({
      plan: { rehearsal: task({ state: 'Failed', attempt: 2, since: at(-120) }) },
    });
    assert.deepEqual([next.rehearsal?.attempt, next.rehearsal?.state], [3, 'Running']);
    const asked = decide({
      plan: { rehearsal: task({ state: 'Failed', attempt: 2 }), retries: new Map([['*', at(-1)]]) },
    });
    assert.equal(asked.rehearsal?.attempt, 3);
  });

  test('a paused plan, and one that waits for an approval, is rehearsed: whoever decides wants to know', () => {
    for (const plan of [{ paused: true }, { needsApproval: true }])
      assert.equal(decide({ plan }).rehearsal?.state, 'Running');
    assert.equal(decide({ plan: { aborted: true } }).rehearsal, undefined);
  });

  test('an edit of the plan, and another run, make the forecast void', () => {
    for (const old of [forecast({ specHash: 'h0' }), forecast({ runId: '0' })]) {
      const decision = decide({ plan: { forecast: old } });
      assert.deepEqual(
        [words(decision), decision.rehearsal?.state, begun(decision)],
        [['NotRehearsed'], 'Running', []],
      );
    }
    const stale = decide({ plan: { rehearsal: task({ specHash: 'h0' }) }, pods: [podOf()] });
    assert.deepEqual(
      [stale.writes[0]?.method],
      ['DELETE'],
      'its pod plays what the plan is no more',
    );
  });

  test('where it is not required, nodes begin beside it', () => {
    const decision = decide({ plan: { rehearse: { ...rehearse, required: false } } });
    assert.deepEqual([begun(decision), decision.rehearsal?.state], [['n1'], 'Running']);
  });
});

describe('what is foretold', () => {
  const refuse = {
    ...rehearse,
    refuse: ['MissesDeadline', 'BlockedNodes', 'Unfinished'],
  } as const satisfies Rehearse;
  const pace = { deadline: at(300), mode: 'AsSoonAsPossible' } as const;
  const stuck = {
    finishes: false,
    blockedNodes: 1,
    blocked: [{ node: 'n2', message: 'budget shop/web never allows it' }],
  };

  test('a run does not begin where the plan refuses what is foretold, and it is rehearsed again', () => {
    const blocked = decide({ plan: { rehearse: refuse, forecast: forecast(stuck) } });
    assert.deepEqual(
      [begun(blocked), words(blocked), blocked.requeueAt],
      [[], ['Forecast'], at(540)],
    );
    assert.match(
      blocked.waiting[0]?.message ?? '',
      /1 node gets stuck \(n2: budget shop\/web never allows it\); the plan does not finish/,
    );
    const late = decide({ plan: { rehearse: refuse, forecast: forecast(), pace } });
    assert.match(late.waiting[0]?.message ?? '', /it ends at .*, and the deadline is /);
    assert.deepEqual(begun(decide({ plan: { rehearse: refuse, forecast: forecast() } })), ['n1']);
    assert.deepEqual(
      begun(decide({ plan: { forecast: forecast(stuck) } })),
      ['n1'],
      'nothing is refused',
    );
  });

  test('what has begun goes on, whatever is foretold', () => {
    const decision = decide({
      plan: { rehearse: refuse, forecast: forecast(stuck) },
      verdicts: [makeVerdict('n1')],
    });
    assert.deepEqual(begun(decision), ['n2']);
  });

  test('the deadline is measured by it as long as it is fresh', () => {
    const before = decide({ plan: { forecast: forecast(), pace } }).forecast;
    assert.deepEqual([before.deadline?.isMet, before.end], [false, at(600)]);
    assert.match(before.deadline?.message ?? '', /by the rehearsal of /);
    const repeated = { ...rehearse, everySeconds: 300 };
    const inFlight = [makeInFlight('n1', { state: 'Working' })];
    const fresh = decide({
      plan: { rehearse: repeated, forecast: forecast(), pace, inFlight },
    }).forecast;
    const old = decide({
      plan: { rehearse: repeated, forecast: forecast({ rehearsedAt: at(-601) }), pace, inFlight },
    }).forecast;
    assert.deepEqual([fresh.end, old.end === fresh.end], [at(600), false]);
  });

  test('it is repeated while the plan runs, and keeps what the first one of the run had said', () => {
    const plan = {
      rehearse: { ...rehearse, everySeconds: 300 },
      forecast: forecast({ rehearsedAt: at(-301) }),
    };
    assert.equal(decide({ plan }).rehearsal?.state, 'Running');
    assert.equal(decide({ plan: { ...plan, paused: true } }).rehearsal, undefined);
    const pods = [
      podOf({ phase: 'Succeeded', output: summaryText({ ...summary, end: at(1000) }) }),
    ];
    const told = decide({ plan: { ...plan, rehearsal: task({ podUid: 'pod-1' }) }, pods });
    assert.deepEqual([told.rehearsed?.end, told.rehearsed?.firstEnd], [at(1000), at(600)]);
  });

  test('nodes that cost least begin', () => {
    const plan = { order: ['Cost', 'Name'] as const, forecast: forecast({ firstNodes: ['n2'] }) };
    assert.deepEqual(begun(decide({ plan })), ['n2']);
    assert.deepEqual(begun(decide({ plan: { ...plan, order: ['Name'] } })), ['n1']);
  });
});

test('a plan that is over, or is rehearsed no more, takes its pod away; a deleted one waits for that', () => {
  const pods = [podOf()];
  const { rehearse: _rehearse, ...without } = makePlan();
  const given = makePlanSnapshot({
    plan: { ...without, rehearsal: task() },
    pods: new Map(pods.map(pod => [pod.name, pod])),
  });
  assert.equal(decidePlan(given, now).writes[0]?.method, 'DELETE');
  const deleted = decide({ plan: { deleting: true, rehearsal: task() }, pods });
  assert.deepEqual([deleted.own, deleted.writes[0]?.method], [undefined, 'DELETE']);
  assert.ok(decide({ plan: { deleting: true } }).own !== undefined);
});
