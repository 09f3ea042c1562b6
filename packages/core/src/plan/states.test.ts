import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import type { Node } from '../node/node.ts';
import type { MaintenanceRequest } from '../request/request.ts';
import { at, makeRequest } from '../testing/make.ts';
import {
  makeInFlight,
  makePlan,
  makePlanNode,
  makePlanSnapshot,
  makeReadyNode,
  makeWorkPod,
} from '../testing/make-plan.ts';
import { advance, stepOf } from './advance.ts';
import { decidePlan } from './decide.ts';
import type { InFlight, NodeState } from './in-flight.ts';
import { begunWork, type Plan, type Work } from './plan.ts';
import { rebootPodSpec } from './pods/work-pods.ts';
import type { PlanNode, PlanSnapshot, WorkPod } from './snapshot.ts';
import type { NodeStepResult } from './states/common.ts';
import type { Stop } from './stop.ts';
import { childNameOf, createPodWrite, podNameFor, workPurpose } from './writes.ts';

/** Each state of a node in flight by itself: what leads out of it, and where to. */

const now = at(0);
const work: Work = {
  kind: 'job',
  podSpec: { containers: [{ name: 'up', image: 'i' }] },
  rebootsNode: true,
  timeoutSeconds: 100,
  attempts: 2,
};
const held: Partial<Node> = { unschedulable: true, holdRecord: '{}' };

type Given = {
  readonly state: NodeState;
  readonly plan?: Partial<Plan>;
  readonly one?: Partial<InFlight>;
  readonly node?: Partial<PlanNode>;
  readonly of?: Partial<Node>;
  readonly child?: Partial<MaintenanceRequest> | 'none';
  readonly pod?: Partial<WorkPod>;
  readonly others?: PlanSnapshot['others'];
  readonly withdrawn?: boolean;
  readonly stop?: Stop;
  readonly image?: string;
};

function given({
  state,
  plan = {},
  one = {},
  node = {},
  of = held,
  child = {},
  pod,
  others = [],
  withdrawn = false,
  stop,
  image,
}: Given): Parameters<typeof advance> {
  const full = makePlan({ work, rebooted: 'Required', ...plan });
  const begun = makeInFlight('n1', {
    state,
    attempt: 1,
    bootIdBefore: 'n1-boot-1',
    work: begunWork(full.work),
    ...one,
  });
  const name = childNameOf(full, begun.uid);
  const request = makeRequest(name, {
    plan: 'kernel',
    history: { ...makeRequest('x').history, state: 'Drained' },
    status: { observedGeneration: 1 },
    ...(child === 'none' ? {} : child),
  });
  const podName = podNameFor(makePlanSnapshot({ plan: full }), workPurpose(full, begun));
  const slot = pod === undefined && begun.podUid === undefined ? begun : { ...begun, pod: podName };
  const worker = makeWorkPod(podName, 'n1', { uid: 'pod-1', message: 'exit code 1', ...pod });
  const snapshot = makePlanSnapshot({
    plan: full,
    nodes: [makePlanNode(makeReadyNode('n1', of), node)],
    children: child === 'none' ? new Map() : new Map([[name, request]]),
    pods: pod === undefined ? new Map() : new Map([[podName, worker]]),
    others,
    settings: {
      workNamespace: 'drydock-plans',
      machineNamespace: 'drydock-system',
      ...(image !== undefined && { image }),
    },
  });
  return [snapshot, slot, { withdrawn, stop }, now];
}

/** What the state itself comes to. */
function step(what: Given): NodeStepResult {
  return stepOf(...given(what));
}

/** How far it gets at once. */
function far(what: Given): NodeStepResult {
  return advance(...given(what));
}

/** Where it is then, in short: the state, or the verdict and whether the node stays held. */
function inShort({ slot: one, writes = [], waiting }: NodeStepResult): string {
  if (one === undefined) return 'free';
  const { outcome } = one;
  const what =
    outcome === undefined ? one.state : `${outcome.verdict}${outcome.held ? ' held' : ''}`;
  return [
    what,
    ...writes.map(({ description: text }) => text.split(' ').slice(0, 3).join(' ')),
    ...(outcome === undefined && waiting ? [waiting.reason] : []),
  ].join(', ');
}

function to(what: Given): string {
  return inShort(step(what));
}

describe('a node in flight', () => {
  test('goes through every state that has nothing to wait for and nothing to do, in one step', () => {
    assert.equal(
      inShort(far({ state: 'Starting' })),
      'Working, create the pod, Working',
      'its node is drained already',
    );
    const booted = { pod: { phase: 'Succeeded' }, of: { ...held, bootId: 'next' } } as const;
    const proven = far({
      state: 'Working',
      one: { podUid: 'pod-1' },
      ...booted,
      plan: { soakSeconds: 0 },
    });
    assert.equal(inShort(proven), 'Done, delete the pod, delete the maintenance');
    assert.deepEqual(
      [proven.slot?.rebooted, proven.slot?.rebootStartedAt, proven.slot?.workEndedAt],
      [true, now, now],
    );
    const quiet = far({
      state: 'Working',
      one: { podUid: 'pod-1' },
      ...booted,
      plan: { soakSeconds: 30 },
    });
    assert.equal(inShort(quiet), 'Soaking, Soaking', 'until its soak time is over');
    const seen = far({ state: 'Working', pod: { phase: 'Pending' } });
    assert.deepEqual(
      [inShort(seen), seen.slot?.podUid],
      ['Working, Working', 'pod-1'],
      'what is waited for is told with it',
    );
    const failed = far({ state: 'Working', one: { podUid: 'pod-1' }, pod: { phase: 'Failed' } });
    assert.deepEqual(
      [inShort(failed), failed.slot?.attempt],
      ['Working, create the pod, Working', 2],
    );
    const down = far({ state: 'Working', one: { podUid: 'pod-1' }, pod: { phase: 'Succeeded' } });
    assert.equal(inShort(down), 'Rebooting, Rebooting', 'until it has booted');
  });

  test('is held: its Maintenance is made once, and nothing goes on before it is drained', () => {
    assert.equal(
      to({ state: 'Starting', child: 'none' }),
      'Starting, create the maintenance, Holding',
    );
    assert.equal(to({ state: 'Starting' }), 'Holding');
    assert.equal(to({ state: 'Starting', child: { plan: 'another' } }), 'Failed');
    assert.equal(
      to({ state: 'Holding', child: { history: makeRequest('x').history } }),
      'Holding, Draining',
    );
    assert.equal(
      to({
        state: 'Holding',
        child: { history: { ...makeRequest('x').history, state: 'Failed' } },
      }),
      'Failed',
    );
    assert.equal(to({ state: 'Holding', child: 'none' }), 'Failed');
    assert.equal(to({ state: 'Holding', of: {} }), 'Holding, HoldLost');
    assert.equal(to({ state: 'Holding' }), 'Working');
    assert.equal(
      step({ state: 'Holding' }).slot?.bootIdBefore,
      'n1-boot-1',
      'noted before the work begins',
    );
  });

  test('shares its hold with another plan: one works, and proves that, after the other', () => {
    const beside = (state: InFlight['state'], more: Partial<InFlight> = {}): string =>
      to({
        state: 'Holding',
        others: [
          {
            name: 'firmware',
            selected: new Set(['n1']),
            inFlight: [makeInFlight('n1', { state, ...more })],
          },
        ],
      });
    for (const state of ['Working', 'Rebooting', 'Verifying', 'Soaking'] as const)
      assert.equal(
        beside(state),
        'Holding, OtherPlanWorks',
        `a boot while it is ${state} would be taken for its own`,
      );
    const outcome = { verdict: 'Done', state: 'Soaking', message: 'Done', held: false } as const;
    assert.equal(
      beside('Releasing', { outcome, soakSince: at(-1) }),
      'Holding, OtherPlanWorks',
      'it is watched after its release',
    );
    assert.equal(beside('Releasing', { outcome }), 'Working');
    assert.equal(beside('Holding'), 'Working', 'whoever is drained first is first');
    assert.equal(
      beside('Releasing', { outcome, uid: 'uid-before', pod: 'p' }),
      'Holding, OtherPlanWorks',
      'pods are bound to the name',
    );
  });

  test('whose drain is stuck is given back and comes again, so many times', () => {
    const draining = { state: 'Holding', child: { history: makeRequest('x').history } } as const;
    const plan = { drainStuck: { afterSeconds: 60, times: 1 } };
    assert.equal(to({ ...draining, plan }), 'Requeued');
    assert.equal(to({ ...draining, plan, one: { since: at(-59) } }), 'Holding, Draining');
    assert.equal(
      to({ ...draining, plan: { drainStuck: { afterSeconds: 60, times: 0 } } }),
      'Failed',
    );
  });

  test('is worked on by one pod an attempt; what has been seen is not made again', () => {
    assert.equal(to({ state: 'Working' }), 'Working, create the pod, Working');
    assert.equal(step({ state: 'Working', pod: {} }).slot?.podUid, 'pod-1');
    assert.equal(to({ state: 'Working', pod: {}, one: { podUid: 'pod-1' } }), 'Working, Working');
    assert.equal(
      to({ state: 'Working', pod: { ownerUid: 'another' } }),
      'Failed',
      'no pod of its own has run',
    );
    const failed = step({ state: 'Working', pod: { phase: 'Failed' }, one: { podUid: 'pod-1' } });
    assert.deepEqual(
      [failed.slot?.state, failed.slot?.attempt, failed.slot?.podUid],
      ['Working', 2, undefined],
    );
    assert.equal(
      to({ state: 'Working', pod: { phase: 'Failed' }, one: { podUid: 'pod-1', attempt: 2 } }),
      'Failed held',
    );
    assert.equal(
      to({ state: 'Working', one: { podUid: 'pod-1', attempt: 2, ranAttempt: 2 } }),
      'Failed held',
      'somebody has deleted it',
    );
    assert.equal(
      to({ state: 'Working', pod: {}, one: { podUid: 'pod-1', since: at(-100) } }),
      'Failed held',
      'its time is up',
    );
    assert.equal(to({ state: 'Working', child: 'none' }), 'Failed', 'nothing holds it any more');
    assert.equal(
      to({ state: 'Working', child: 'none', pod: {}, one: { podUid: 'pod-1' } }),
      'Working, HoldLost',
      'work is not killed',
    );
    assert.equal(
      to({
        state: 'Working',
        child: { deleting: true },
        pod: { phase: 'Succeeded' },
        one: { podUid: 'pod-1' },
      }),
      'Failed',
    );
    assert.equal(
      to({ state: 'Working', child: 'none', pod: {}, one: { podUid: 'pod-1', since: at(-100) } }),
      'Failed',
      'its time is up',
    );
    assert.equal(
      to({
        state: 'Working',
        pod: { phase: 'Failed' },
        one: { podUid: 'pod-1', attempt: 2 },
        plan: { onFailure: 'Release' },
      }),
      'Failed',
    );
  });

  test('that reboots itself is judged by its boot, whatever became of the pod', () => {
    const seen = { podUid: 'pod-1' };
    assert.equal(to({ state: 'Working', pod: { phase: 'Succeeded' }, one: seen }), 'Rebooting');
    assert.equal(
      to({
        state: 'Working',
        pod: { phase: 'Failed' },
        one: seen,
        of: { ...held, conditions: [] },
      }),
      'Rebooting',
    );
    assert.equal(
      to({
        state: 'Working',
        pod: { phase: 'Failed' },
        one: seen,
        of: { ...held, bootId: 'next' },
      }),
      'Rebooting',
    );
    assert.equal(
      to({ state: 'Working', pod: { phase: 'Failed', killed: true }, one: seen }),
      'Rebooting',
      'ended by the shutdown',
    );
    assert.equal(to({ state: 'Rebooting' }), 'Rebooting, Rebooting');
    assert.equal(
      to({ state: 'Rebooting', of: { ...held, bootId: 'next', conditions: [] } }),
      'Rebooting, Rebooting',
    );
    assert.equal(to({ state: 'Rebooting', of: { ...held, bootId: 'next' } }), 'Verifying');
    assert.equal(
      to({ state: 'Rebooting', one: { since: at(-100) } }),
      'Failed held',
      'exit code 0 without the reboot',
    );
    assert.match(step({ state: 'Rebooting' }).waiting?.message ?? '', /it has not booted yet/);
    const untold = makeInFlight('n1', { state: 'Rebooting', attempt: 1, work: begunWork(work) });
    const snapshot = makePlanSnapshot({
      plan: makePlan({ work }),
      nodes: [makePlanNode(makeReadyNode('n1', held))],
    });
    assert.match(
      stepOf(snapshot, untold, { withdrawn: false }, now).waiting?.message ?? '',
      /it reports no boot ID/,
    );
    const still = { ...work, rebootsNode: false } as const;
    assert.equal(
      to({ state: 'Working', pod: { phase: 'Succeeded' }, one: seen, plan: { work: still } }),
      'Verifying',
    );
  });

  test('is rebooted by a pod of Drydock where that is the work', () => {
    const plan = { work: { kind: 'reboot', timeoutSeconds: 100 } } as const;
    const [rebootContainer] = rebootPodSpec('drydock:1')['containers'] as readonly object[];
    const [write] = step({ state: 'Working', plan, image: 'drydock:1' }).writes ?? [];
    const spec = (write?.body['spec'] ?? {}) as ReturnType<typeof rebootPodSpec>;
    assert.deepEqual(spec['containers'], [
      { ...rebootContainer, terminationMessagePolicy: 'FallbackToLogsOnError' },
    ]);
    assert.equal(
      to({ state: 'Working', plan }),
      'Working, Working',
      'its image is not known: nothing is done',
    );
    assert.equal(
      to({ state: 'Working', plan: { work: { ...plan.work, image: 'own:1' } } }),
      'Working, create the pod, Working',
    );
    const failed = {
      pod: { phase: 'Failed' },
      one: { podUid: 'pod-1' },
      image: 'drydock:1',
      plan,
    } as const;
    assert.equal(to({ state: 'Working', ...failed }), 'Failed held', 'one attempt');
  });

  test('its pods are pulled with what the operator is pulled with, unless they say with what', () => {
    const { settings, ...rest } = makePlanSnapshot();
    const secretsOf = (podSpec: JsonObject, pullSecrets: readonly string[]): unknown => {
      const place = { name: 'p', node: 'n1', what: 'works', deadlineSeconds: 60 };
      const { body } = createPodWrite(
        { ...rest, settings: { ...settings, pullSecrets } },
        { podSpec },
        place,
      );
      return (body['spec'] as JsonObject)['imagePullSecrets'];
    };
    const own = { imagePullSecrets: [{ name: 'own' }] };
    assert.deepEqual(
      [secretsOf({}, ['registry']), secretsOf(own, ['registry'])],
      [[{ name: 'registry' }], own.imagePullSecrets],
    );
    assert.equal(secretsOf({}, []), undefined);
  });

  test('is done when it is Ready, has booted, and says so itself', () => {
    const booted = { ...held, bootId: 'next' };
    assert.equal(to({ state: 'Verifying', of: booted }), 'Soaking');
    const late = { since: at(-600) };
    assert.equal(
      to({ state: 'Verifying', of: booted, node: { done: false } }),
      'Verifying, Verifying',
      'the first look is not the verdict',
    );
    assert.equal(
      to({ state: 'Verifying', of: booted, node: { done: false }, one: late }),
      'Failed held',
      'back on the old version',
    );
    assert.equal(
      to({ state: 'Verifying' }),
      'Verifying, Verifying',
      'whoever works on it may boot it later',
    );
    assert.equal(to({ state: 'Verifying', one: late }), 'Failed held', 'it has not booted');
    assert.equal(
      to({ state: 'Verifying', of: { ...booted, conditions: [] } }),
      'Verifying, Verifying',
    );
    assert.equal(
      to({ state: 'Verifying', of: { ...booted, conditions: [] }, one: { since: at(-600) } }),
      'Failed held',
    );
    assert.equal(
      to({ state: 'Verifying', of: booted, node: { done: { error: 'no such key' } } }),
      'Verifying, Verifying',
    );
    const optional = { rebooted: 'Optional' } as const;
    assert.equal(
      to({ state: 'Verifying', node: { done: false }, plan: optional }),
      'Verifying, Verifying',
      'a kubelet may take a moment to tell its version',
    );
  });

  test('has to stay well without a break: a break begins its quiet time anew', () => {
    const booted = { ...held, bootId: 'next' };
    const soaking = { state: 'Soaking', of: booted, plan: { soakSeconds: 30 } } as const;
    const since = (seconds: number, of: Partial<Node> = booted): Partial<InFlight> => {
      const { soakMark } = step({ ...soaking, of, one: { rebooted: true } }).slot ?? {};
      return { soakSince: at(seconds), ...(soakMark !== undefined && { soakMark }) };
    };
    assert.equal(to({ ...soaking, one: since(-29) }), 'Soaking, Soaking');
    assert.equal(to({ ...soaking, of: held, one: since(-30, held) }), 'Soaking, SoakBroken');
    assert.equal(
      to({ ...soaking, of: held, one: { ...since(-30, held), rebooted: true } }),
      'Done',
      'that it has booted is proven',
    );
    assert.equal(to({ ...soaking, one: since(-30) }), 'Done');
    const broken = step({ ...soaking, of: { ...booted, conditions: [] }, one: since(-29) });
    assert.deepEqual([broken.slot?.soakSince, broken.waiting?.reason], [undefined, 'SoakBroken']);
    assert.equal(step(soaking).slot?.soakSince?.toString(), now.toString());
    assert.equal(
      to({ ...soaking, node: { done: false }, one: since(-30) }),
      'Soaking, SoakBroken',
      'it may boot once more',
    );
    assert.equal(
      to({ ...soaking, node: { done: false }, one: { ...since(-30), soakBrokenAt: at(-600) } }),
      'Failed held',
    );
  });

  test('is released before its verdict is recorded, and its slot is free after that', () => {
    const outcome = { verdict: 'Done', state: 'Soaking', message: 'Done', held: false } as const;
    const releasing = { state: 'Releasing', one: { outcome } } as const;
    const writes = (given: Given): readonly string[] =>
      (step(given).writes ?? []).map(({ description: what }) => what);
    const [pod, hold] = [
      'delete the pod that has worked on the node',
      'delete the maintenance of the node',
    ];
    assert.deepEqual(
      writes({ ...releasing, pod: { phase: 'Succeeded' } }),
      [pod, hold],
      'in this order',
    );
    assert.deepEqual(writes({ ...releasing, pod: { phase: 'Succeeded' }, child: 'none' }), [pod]);
    assert.deepEqual(writes({ ...releasing, pod: { phase: 'Succeeded', deleting: true } }), [hold]);
    assert.deepEqual(writes(releasing), [hold]);
    assert.deepEqual(writes({ ...releasing, child: { deleting: true } }), []);
    assert.deepEqual(writes({ ...releasing, child: 'none' }), ['record the verdict']);
    const held = {
      state: 'Releasing',
      one: { outcome: { ...outcome, verdict: 'Failed', held: true } },
    } as const;
    assert.deepEqual(writes(held), ['record the verdict'], 'it keeps its Maintenance');
  });

  test('is worked on only while it is held and empty, another time too', () => {
    assert.equal(
      to({ state: 'Working', one: { attempt: 2 }, of: { ...held, unschedulable: false } }),
      'Working, HoldLost',
    );
    assert.equal(
      to({ state: 'Working', one: { attempt: 2 }, child: { history: makeRequest('x').history } }),
      'Working, HoldLost',
    );
    const late = { since: at(-100) };
    assert.equal(
      to({ state: 'Working', one: late, of: { ...held, unschedulable: false } }),
      'Failed',
      'its time is up, and nothing is done',
    );
    const worked = { ...late, attempt: 2, ranAttempt: 1 };
    assert.equal(
      to({ state: 'Working', one: worked, of: { ...held, unschedulable: false } }),
      'Failed held',
      'its time is up',
    );
  });

  test('is released when the plan is halted before its work began; work that has begun goes on', () => {
    const stop: Stop = {
      kind: 'Halted',
      message: 'a canary has failed',
      halted: 'a canary has failed',
    };
    assert.equal(to({ state: 'Starting', child: 'none', stop }), 'Requeued');
    assert.equal(to({ state: 'Starting', stop }), 'Requeued');
    assert.equal(
      to({ state: 'Holding', stop, child: { history: makeRequest('x').history } }),
      'Requeued',
      'in the middle of its drain',
    );
    assert.equal(to({ state: 'Holding', stop }), 'Requeued');
    assert.equal(to({ state: 'Working', stop }), 'Requeued', 'its pod is not made yet');
    assert.equal(
      to({ state: 'Working', one: { podUid: 'pod-1' }, pod: { phase: 'Running' }, stop }),
      'Working, Working',
    );
    assert.equal(to({ state: 'Verifying', stop, of: { ...held, bootId: 'next' } }), 'Soaking');
  });

  test('that was begun with before an edit gets nothing of the other work: it is given back, or finishes its own', () => {
    const old = { revision: 'r0' };
    assert.equal(to({ state: 'Starting', child: 'none', one: old }), 'Skipped');
    assert.equal(to({ state: 'Holding', one: old }), 'Skipped');
    assert.equal(to({ state: 'Working', one: old }), 'Skipped', 'its pod was never made');
    assert.equal(
      to({ state: 'Working', one: { ...old, attempt: 2, ranAttempt: 1 } }),
      'Failed held',
      'the first attempt has changed it',
    );
    assert.equal(
      to({ state: 'Working', one: { ...old, podUid: 'pod-1' }, pod: {} }),
      'Working, Working',
    );
    assert.equal(
      to({ state: 'Working', one: { ...old, podUid: 'pod-1' }, pod: { phase: 'Failed' } }),
      'Failed held',
      'no other attempt',
    );
    const none = { work: { kind: 'none' } } as const;
    assert.equal(
      to({
        state: 'Working',
        one: { ...old, podUid: 'pod-1', work: begunWork(work) },
        pod: { phase: 'Succeeded' },
        plan: none,
      }),
      'Rebooting',
    );
    const external = {
      ...old,
      work: { kind: 'external', rebootsNode: false, timeoutSeconds: 60 },
    } as const;
    assert.equal(
      to({ state: 'Working', one: external, node: { finished: true } }),
      'Failed held',
      'another expression says so',
    );
    const booted = { ...held, bootId: 'next' };
    assert.equal(to({ state: 'Verifying', one: old, of: booted }), 'Skipped');
    assert.equal(
      to({
        state: 'Soaking',
        one: { ...old, soakSince: at(-1) },
        of: booted,
        node: { done: false },
      }),
      'Skipped',
    );
  });

  test('that an earlier revision has left held waits for somebody, and passes no stage, approval or gate', () => {
    const outcome = { verdict: 'Failed', state: 'Working', message: 'no', held: true } as const;
    const left = { state: 'Releasing', one: { revision: 'r0', outcome } } as const;
    assert.equal(to({ ...left, node: { due: false } }), 'Skipped');
    assert.equal(to(left), 'Failed held');
    const asked = step(left).slot;
    assert.equal(asked?.revision, 'r1', 'it is recorded in this run');
    assert.match(asked?.outcome?.message ?? '', /drydock plan retry kernel n1/);
  });

  test('whose pod is still ending has it named, so that no other plan begins beside it', () => {
    const outcome = { verdict: 'Failed', state: 'Working', message: 'no', held: true } as const;
    // The turn began anew with the edit: the pod has the name of the turn before.
    const ending = {
      name: 'kernel-0123456789abcdef-n1-1',
      phase: 'Running',
      deleting: true,
    } as const;
    const left = { state: 'Releasing', one: { outcome, startedAt: at(-1) } } as const;
    assert.equal(step({ ...left, pod: ending }).slot?.pod !== undefined, true);
    assert.equal(step({ ...left, pod: { ...ending, phase: 'Failed' } }).slot?.pod, undefined);
  });
});

describe('a plan that is deleted or aborted', () => {
  test('gives back what nothing was done to, and finishes the rest', () => {
    const ends = {
      Starting: 'Skipped',
      Holding: 'Skipped',
      Working: 'Skipped',
      Rebooting: 'Rebooting',
      Verifying: 'Verifying',
      Soaking: 'Soaking',
    };
    for (const [state, wanted] of Object.entries(ends)) {
      const got = to({
        state: state as NodeState,
        withdrawn: true,
        one: { soakSince: at(-1) },
        ...(state === 'Soaking' && { of: { ...held, bootId: 'next' }, plan: { soakSeconds: 60 } }),
      });
      assert.equal(got.split(', ')[0], wanted, state);
    }
    const running = {
      state: 'Working',
      withdrawn: true,
      one: { podUid: 'pod-1' },
      pod: { phase: 'Running' },
    } as const;
    assert.equal(to(running), 'Working, Working', 'its pod is followed to its end');
  });
});

describe('what everything depends on', () => {
  test('nothing begins while every node is NotReady, and the plan goes on by itself when they are back', () => {
    const dead = [1, 2, 3].map(index =>
      makePlanNode(makeReadyNode(`n${index}`, { conditions: [] })),
    );
    const outages = new Map(
      dead.map(
        ({ node }) =>
          [
            node.name,
            [{ reason: 'NotReady', by: `Node ${node.name} is not Ready` } as const],
          ] as const,
      ),
    );
    const plan = makePlan({
      concurrency: { maxInFlight: 3, perTopology: [], foreignCordon: 'TakeFirst' },
    });
    assert.deepEqual(
      decidePlan(makePlanSnapshot({ plan, nodes: dead, outages }), now).inFlight,
      [],
    );
    const [first] = dead;
    const back = [makePlanNode(makeReadyNode('n1')), ...dead.slice(1)];
    const some = new Map([...outages].filter(([name]) => name !== first?.node.name));
    assert.deepEqual(
      decidePlan(makePlanSnapshot({ plan, nodes: back, outages: some }), now)
        .waiting.map(({ reason }) => reason)
        .toSorted(),
      ['LastHealthy', 'NotReady'],
    );
  });

  test('of 1, 3 and 5 control-plane nodes, with one lost, none begins that costs the quorum', () => {
    const begins = (many: number, lost: number): boolean => {
      const names = Array.from({ length: many }, (_, index) => `m${index + 1}`);
      const members = names.map((name, index) => ({ name, ready: index >= lost, held: false }));
      const nodes = names
        .slice(lost)
        .map(name =>
          makePlanNode(
            makeReadyNode(name, { labels: { 'node-role.kubernetes.io/control-plane': '' } }),
          ),
        );
      const outages = new Map(
        names
          .slice(0, lost)
          .map(name => [name, [{ reason: 'NotReady', by: name } as const]] as const),
      );
      return (
        decidePlan(
          makePlanSnapshot({ plan: makePlan({ controlPlane: 'First' }), nodes, members, outages }),
          now,
        ).inFlight.length > 0
      );
    };
    assert.deepEqual(
      [begins(1, 0), begins(3, 0), begins(3, 1), begins(5, 0), begins(5, 1), begins(5, 2)],
      [true, true, false, true, true, false],
    );
  });
});
