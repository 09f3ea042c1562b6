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
import { hookPurpose, podNameFor as nameFor } from '../writes.ts';
import type { Hook, HookPlace, HookRun } from './hook.ts';
import { haltScope, ofNode, runScope, stageScope } from './run-hooks.ts';

/**
 * Hooks: each runs once for what it is about, stored before its pod is made, and what comes behind
 * it waits.
 */

const now = at(0);
function hookAt(place: HookPlace, over: Partial<Hook> = {}): Hook {
  return {
    name: 'ring',
    at: place,
    podSpec: { containers: [{ name: 'c', image: 'i', env: [{ name: 'OWN', value: 'x' }] }] },
    timeoutSeconds: 100,
    onFailure: 'Pause',
    ...over,
  };
}

function podNameFor(of: string, attempt = 1): string {
  return nameFor(makePlanSnapshot(), hookPurpose(makePlan(), `ring/${of}`, attempt));
}

function runOf(scope: string, over: Partial<HookRun> = {}): HookRun {
  return {
    name: 'ring',
    scope,
    attempt: 1,
    state: 'Running',
    since: at(-10),
    pod: podNameFor(scope),
    message: '',
    ...over,
  };
}

function podFor(of: string, over: Partial<WorkPod> = {}): WorkPod {
  return makeWorkPod(podNameFor(of), 'any', {
    uid: 'pod-1',
    message: 'exit code 1: no bell',
    ...over,
  });
}

type Given = {
  readonly plan: Partial<Plan>;
  readonly pods?: readonly WorkPod[];
  readonly verdicts?: readonly NodeVerdict[];
  readonly halted?: string;
};

function decide({ plan, pods = [], verdicts = [], halted }: Given): PlanDecision {
  return decidePlan(
    makePlanSnapshot({
      plan: makePlan(plan),
      nodes: ['n1', 'n2'].map(name => makePlanNode(makeReadyNode(name))),
      ...(halted !== undefined && { halted }),
      pods: new Map(pods.map(pod => [pod.name, pod])),
      verdicts,
    }),
    now,
  );
}

function text({ hooks, inFlight, waiting, writes, phase }: PlanDecision): string {
  return [
    phase,
    ...hooks.map(
      ({ scope, state, attempt }) => `${scope} ${state}${attempt > 1 ? ` ${attempt}` : ''}`,
    ),
    ...inFlight.map(({ node, state }) => `${node} ${state}`),
    ...waiting.slice(0, 1).map(({ reason }) => reason),
    ...writes.filter(({ path }) => path.includes('/pods')).map(({ method }) => method),
  ].join(', ');
}

describe('a hook before the run', () => {
  const hooks = [hookAt('BeforeRun')];
  test('is stored, then made, then waited for; the first node begins when that it has ended is stored', () => {
    assert.equal(text(decide({ plan: { hooks } })), 'Running, run Running, Hook');
    const made = decide({ plan: { hooks, hookRuns: [runOf(runScope)] } });
    assert.equal(text(made), 'Running, run Running, Hook, POST');
    const spec = (made.writes[0]?.body['spec'] ?? {}) as {
      readonly nodeName?: string;
      readonly containers?: readonly { readonly env: readonly object[] }[];
    };
    assert.equal(spec.nodeName, undefined, 'beside the nodes');
    assert.deepEqual(spec.containers?.[0]?.env.slice(0, 2), [
      { name: 'OWN', value: 'x' },
      { name: 'DRYDOCK_PLAN', value: 'kernel' },
    ]);
    const seen = { plan: { hooks, hookRuns: [runOf(runScope, { podUid: 'pod-1' })] } };
    assert.equal(text(decide({ ...seen, pods: [podFor(runScope)] })), 'Running, run Running, Hook');
    const ended = decide({ ...seen, pods: [podFor(runScope, { phase: 'Succeeded' })] });
    assert.equal(text(ended), 'Running, run Succeeded, DELETE');
    assert.equal(
      text(decide({ plan: { hooks, hookRuns: [runOf(runScope, { state: 'Succeeded' })] } })),
      'Running, run Succeeded, n1 Starting, Holding',
    );
  });

  test('that fails keeps the run until somebody has it run again, or does not matter', () => {
    const seen = [runOf(runScope, { podUid: 'pod-1' })];
    const failed = decide({
      plan: { hooks, hookRuns: seen },
      pods: [podFor(runScope, { phase: 'Failed' })],
    });
    assert.equal(failed.hooks[0]?.message, 'exit code 1: no bell');
    const stored = [runOf(runScope, { state: 'Failed', message: 'no bell' })];
    const kept = decide({ plan: { hooks, hookRuns: stored } });
    assert.equal(
      kept.waiting[0]?.message,
      'hook ring has failed: no bell; drydock plan retry kernel --failed runs it again',
    );
    const retries = new Map([['*', at(0)]]);
    assert.equal(
      text(decide({ plan: { hooks, hookRuns: stored, retries } })),
      'Running, run Running 2, Hook',
    );
    const careless = [hookAt('BeforeRun', { onFailure: 'Continue' })];
    assert.equal(
      text(decide({ plan: { hooks: careless, hookRuns: stored } })),
      'Running, run Failed, n1 Starting, Holding',
    );
    assert.equal(
      decide({ plan: { hooks, hookRuns: [runOf(runScope, { since: at(-100) })] } }).hooks[0]
        ?.message,
      'it has not ended within 100 s',
    );
  });
});

describe('hooks at other moments', () => {
  const stages = [{ name: 'canary', limit: 1, soakSeconds: 0, approveAfter: false }];
  const canaryDone = [
    makeVerdict('n1', { stage: 'canary', startedAt: at(-9), completedAt: at(-5) }),
  ];

  test('before and after a stage', () => {
    const before = [hookAt('BeforeStage')];
    assert.equal(
      text(decide({ plan: { hooks: before, stages } })),
      'Running, stage canary Running, Hook',
    );
    const [first, second] = [
      runOf(stageScope('canary'), { state: 'Succeeded' }),
      runOf(stageScope('rest'), { state: 'Succeeded' }),
    ] as const;
    assert.equal(
      text(decide({ plan: { hooks: before, stages, hookRuns: [first] } })),
      'Running, stage canary Succeeded, n1 Starting, Holding',
    );
    const next = decide({
      plan: { hooks: before, stages, hookRuns: [first] },
      verdicts: canaryDone,
    });
    assert.equal(text(next), 'Running, stage canary Succeeded, stage rest Running, Hook');
    const begun = decide({
      plan: { hooks: before, stages, hookRuns: [first, second] },
      verdicts: canaryDone,
    });
    assert.match(text(begun), /n2 Starting/);
    const after = [hookAt('AfterStage')];
    assert.match(
      text(decide({ plan: { hooks: after, stages }, verdicts: canaryDone })),
      /^Running, stage canary Running, Hook/,
    );
    assert.match(
      text(decide({ plan: { hooks: after, stages, hookRuns: [first] }, verdicts: canaryDone })),
      /n2 Starting/,
    );
  });

  test('after the last stage and the run: it is complete when they have ended', () => {
    const hooks = [hookAt('AfterRun')];
    const verdicts = [makeVerdict('n1'), makeVerdict('n2')];
    assert.equal(text(decide({ plan: { hooks }, verdicts })), 'Running, run Running, Hook');
    assert.equal(
      text(
        decide({ plan: { hooks, hookRuns: [runOf(runScope, { state: 'Succeeded' })] }, verdicts }),
      ),
      'Complete, run Succeeded',
    );
    assert.equal(
      text(decide({ plan: { hooks: [hookAt('AfterStage')] }, verdicts })),
      'Running, stage rest Running, Hook',
    );
  });

  test('before and after a node: it is held, and its slot free, when they have ended', () => {
    const one = makeInFlight('n1');
    const before = { hooks: [hookAt('BeforeNode')], inFlight: [one] };
    const asked = decide({ plan: before });
    assert.deepEqual(
      [asked.hooks[0]?.scope, asked.writes.length],
      [ofNode(one), 0],
      'no Maintenance yet',
    );
    const ended = decide({
      plan: { ...before, hookRuns: [runOf(ofNode(one), { state: 'Succeeded' })] },
    });
    assert.equal(ended.writes[0]?.description, 'create the maintenance of the node');
    const outcome = { verdict: 'Done', state: 'Soaking', message: 'Done', held: false } as const;
    const over = makeInFlight('n1', { state: 'Releasing', attempt: 1, outcome });
    const after = { hooks: [hookAt('AfterNode')], inFlight: [over] };
    assert.deepEqual(decide({ plan: after }).writes, []);
    const recorded = decide({
      plan: { ...after, hookRuns: [runOf(ofNode(over), { state: 'Succeeded' })] },
    });
    assert.match(recorded.writes[0]?.description ?? '', /record the verdict/);
  });

  test('after a node that a deleted plan finishes: none waits for a halt that ends with a retry, all wait for the end of a halt of all plans', () => {
    const outcome = { verdict: 'Failed', state: 'Working', message: 'x', held: true } as const;
    const inFlight = [makeInFlight('n1', { state: 'Releasing', attempt: 1, outcome })];
    const halt = { hooks: [hookAt('AfterNode')], halt: { consecutive: 1 }, inFlight };
    const deleted = { ...halt, deleting: true, onDelete: 'FinishNodes' } as const;
    const failed = [makeVerdict('n2', { verdict: 'Failed' })];
    const waits = ({ phase, hooks, waiting }: PlanDecision) => [
      phase,
      hooks.length,
      waiting[0]?.reason,
      waiting[0]?.message.split(': ')[1],
    ];
    assert.deepEqual(waits(decide({ plan: halt, verdicts: failed })), [
      'Halted',
      0,
      'Halted',
      '1 nodes in a row have failed',
    ]);
    assert.deepEqual(waits(decide({ plan: deleted, verdicts: failed })), [
      'Deleting',
      1,
      'Hook',
      undefined,
    ]);
    const gateHalt = { gate: 'calm', message: 'no', at: at(-5) };
    assert.deepEqual(waits(decide({ plan: { ...deleted, gateHalt } })), [
      'Deleting',
      1,
      'Hook',
      undefined,
    ]);
    const all = decide({ plan: deleted, verdicts: failed, halted: 'power is low' });
    assert.deepEqual(waits(all), ['Deleting', 0, 'Halted', 'all plans are halted']);
  });

  test('when it is halted, each time anew', () => {
    const hooks = [hookAt('OnHalt')];
    const halt = { hooks, halt: { consecutive: 1 } };
    const failed = [makeVerdict('n1', { verdict: 'Failed' })];
    assert.equal(text(decide({ plan: halt, verdicts: failed })), 'Halted, halt Running');
    assert.equal(
      text(
        decide({
          plan: { ...halt, hookRuns: [runOf(haltScope, { state: 'Succeeded' })] },
          verdicts: failed,
        }),
      ),
      'Halted, halt Succeeded',
    );
    const goesOn = decide({
      plan: { hooks, hookRuns: [runOf(haltScope, { state: 'Succeeded' })] },
    });
    assert.deepEqual(goesOn.hooks, [], 'the next halt runs it again');
  });

  test('a halt of all plans rings for none whose run has not begun, waits for its approval, or is long over', () => {
    const hooks = [hookAt('OnHalt')];
    const rings = (plan: Partial<Plan>, verdicts: readonly NodeVerdict[] = []): number =>
      decide({ plan: { hooks, ...plan }, verdicts, halted: 'power is low' }).hooks.length;
    assert.deepEqual([rings({}), rings({ needsApproval: true })], [0, 0]);
    assert.equal(rings({}, [makeVerdict('n1'), makeVerdict('n2')]), 0, 'it is over');
    assert.equal(rings({}, [makeVerdict('n1')]), 1);
    assert.equal(rings({ inFlight: [makeInFlight('n1')] }), 1);
  });

  test('of an earlier run say nothing, and leave no pod behind', () => {
    const hooks = [hookAt('BeforeRun')];
    const old = runOf(runScope, { state: 'Running', pod: 'kernel-old-hook-1', podUid: 'pod-1' });
    const next = decide({
      plan: { hooks, hookRuns: [old] },
      pods: [podFor(runScope, { name: 'kernel-old-hook-1' })],
    });
    assert.equal(text(next), 'Running, run Running, run Running, Hook, DELETE');
    assert.equal(
      text(decide({ plan: { hooks, hookRuns: [old] } })),
      'Running, run Running, Hook',
      'its pod is gone',
    );
  });

  test('leave nothing behind in a plan that is given up', () => {
    const hooks = [hookAt('BeforeRun')];
    const given = decide({
      plan: { hooks, hookRuns: [runOf(runScope, { podUid: 'pod-1' })], aborted: true },
      pods: [podFor(runScope)],
    });
    assert.equal(text(given), 'Aborted, run Running, DELETE');
    assert.deepEqual(
      decide({ plan: { hooks, hookRuns: [runOf(runScope)], aborted: true } }).hooks,
      [],
    );
  });
});
