import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { at } from '../../testing/make.ts';
import {
  makePlan,
  makePlanNode,
  makePlanSnapshot,
  makeReadyNode,
  makeWorkPod,
} from '../../testing/make-plan.ts';
import { decidePlan } from '../decide.ts';
import type { Preparing } from '../in-flight.ts';
import type { Plan } from '../plan.ts';
import type { PlanDecision, WorkPod } from '../snapshot.ts';
import { podNameFor, preparePurpose } from '../writes.ts';

/**
 * Nodes that are got ready before they are held: several at once, at no cost, and those that refuse
 * are passed by.
 */

const now = at(0);
const prepare = {
  podSpec: { containers: [{ name: 'check', image: 'i' }] },
  timeoutSeconds: 100,
  refusalCode: 3,
};
const plan = makePlan({ prepare });
function podOf(node: string): string {
  return podNameFor(makePlanSnapshot({ plan }), preparePurpose(plan, `uid-${node}`));
}

function entry(node: string, over: Partial<Preparing> = {}): Preparing {
  return {
    node,
    uid: `uid-${node}`,
    state: 'Running',
    since: at(-10),
    pod: podOf(node),
    message: '',
    ...over,
  };
}

function worker(node: string, over: Partial<WorkPod> = {}): WorkPod {
  return makeWorkPod(podOf(node), node, { message: 'exit code 3: wrong firmware', ...over });
}

function decide(
  preparing: readonly Preparing[],
  pods: readonly WorkPod[] = [],
  over: Partial<Plan> = {},
): PlanDecision {
  return decidePlan(
    makePlanSnapshot({
      plan: { ...plan, preparing, ...over },
      nodes: ['n1', 'n2', 'n3', 'n4'].map(name => makePlanNode(makeReadyNode(name))),
      pods: new Map(pods.map(pod => [pod.name, pod])),
    }),
    now,
  );
}

function text({ preparing, inFlight, writes }: PlanDecision): string {
  return [
    ...preparing.map(
      ({ node, state, podUid }) => `${node} ${state}${podUid === undefined ? '' : ' seen'}`,
    ),
    ...inFlight.map(({ node }) => `begins ${node}`),
    ...writes
      .filter(({ path }) => path.includes('/pods'))
      .map(({ method, path }) => `${method} ${path.split('/').at(-1)}`),
  ].join(', ');
}

describe('nodes that are got ready', () => {
  test('come ahead of their turn, twice as many as may be in flight; their entries are stored before their pods are made', () => {
    assert.equal(text(decide([])), 'n1 Running, n2 Running');
    assert.equal(
      text(decide([entry('n1'), entry('n2')])),
      'n1 Running, n2 Running, POST pods, POST pods',
    );
    const seen = decide([entry('n1'), entry('n2')], [worker('n1'), worker('n2')]);
    assert.equal(text(seen), 'n1 Running seen, n2 Running seen');
    assert.equal(decide([entry('n1')]).waiting[0]?.reason, 'Preparing');
  });

  test('whose pods cannot begin keep no others from being got ready, and say why', () => {
    const stuck = ['n1', 'n2'].map(name => entry(name, { since: at(-60), podUid: `pod-${name}` }));
    const pulling = ['n1', 'n2'].map(name =>
      worker(name, { phase: 'Pending', ran: false, message: 'container check: ImagePullBackOff' }),
    );
    const decision = decide(stuck, pulling);
    assert.equal(text(decision), 'n1 Running seen, n2 Running seen, n3 Running, n4 Running');
    assert.equal(
      decision.waiting[0]?.message,
      'node n1 is being prepared: container check: ImagePullBackOff',
    );
    const fresh = ['n1', 'n2'].map(name => entry(name, { since: at(-59), podUid: `pod-${name}` }));
    assert.equal(
      text(decide(fresh, pulling)),
      'n1 Running seen, n2 Running seen',
      'it may just be pulling',
    );
    const late = ['n1', 'n2'].map(name => entry(name, { since: at(-100), podUid: `pod-${name}` }));
    assert.equal(
      decide(late, pulling).preparing[0]?.message,
      'it has not ended within 100 s: container check: ImagePullBackOff',
    );
    const patient = { prepare: { ...prepare, timeoutSeconds: 7200 } };
    const old = ['n1', 'n2'].map(name => entry(name, { since: at(-600), podUid: `pod-${name}` }));
    assert.equal(
      decide(old, pulling, patient).preparing[0]?.state,
      'Failed',
      'it has to begin, however long it may take then',
    );
    const running = pulling.map(pod => ({ ...pod, phase: 'Running' as const, ran: true }));
    assert.equal(decide(old, running, patient).preparing[0]?.state, 'Running');
  });

  test('begin when they are ready, whoever comes before them', () => {
    const known = { podUid: 'pod-n2' };
    const ready = decide(
      [entry('n1'), entry('n2', known)],
      [worker('n1'), worker('n2', { phase: 'Succeeded' })],
    );
    assert.equal(text(ready), 'n1 Running seen, n2 Prepared seen');
    const next = decide(
      [entry('n1', { podUid: 'pod-n1' }), entry('n2', { ...known, state: 'Prepared' })],
      [worker('n1')],
    );
    assert.equal(text(next), 'n1 Running seen, n2 Prepared seen, begins n2');
  });

  test('that refuse or fail are Blocked and said so, others pass, and a retry tries again', () => {
    const of = (over: Partial<WorkPod>) =>
      decide([entry('n1', { podUid: 'pod-n1' })], [worker('n1', { phase: 'Failed', ...over })]);
    assert.deepEqual(
      [of({ exitCode: 3 }).preparing[0]?.state, of({ exitCode: 1 }).preparing[0]?.state],
      ['Refused', 'Failed'],
    );
    const refused = entry('n1', { state: 'Refused', podUid: 'pod-n1', message: 'wrong firmware' });
    const passed = decide(
      [refused, entry('n2', { state: 'Prepared' })],
      [worker('n1', { phase: 'Failed' })],
    );
    assert.match(text(passed), /n1 Refused seen, n2 Prepared, n3 Running, begins n2/);
    assert.equal(
      passed.waiting[0]?.message,
      'its preparation refuses: wrong firmware; drydock plan retry kernel n1 tries again',
    );
    assert.equal(passed.counts.blocked, 1);
    const retries = new Map([['n1', at(0)]]);
    const next = decide([refused], [worker('n1', { phase: 'Failed' })], { retries });
    assert.match(text(next), /n1 Refused seen.*DELETE/, 'its pod goes first');
    assert.equal(
      text(decide([refused], [], { retries })),
      'n2 Running, n3 Running',
      'then its entry',
    );
    assert.equal(
      decide([entry('n1', { podUid: 'x' })]).preparing[0]?.message,
      'somebody has deleted its pod',
    );
    assert.equal(
      decide([entry('n1', { since: at(-100) })]).preparing[0]?.message,
      'it has not ended within 100 s',
    );
  });

  test('are well: a pod on a node that is not Ready would only run out of time', () => {
    const silent = makePlanNode(makeReadyNode('n1', { conditions: [] }));
    const well = makePlanNode(makeReadyNode('n2'));
    const of = (preparing: readonly Preparing[], pods: readonly WorkPod[]) =>
      decidePlan(
        makePlanSnapshot({
          plan: { ...plan, preparing },
          nodes: [silent, well],
          pods: new Map(pods.map(pod => [pod.name, pod])),
        }),
        now,
      );
    assert.equal(text(of([], [])), 'n2 Running');
    assert.match(
      text(of([entry('n1', { podUid: 'pod-n1' })], [worker('n1')])),
      /DELETE/,
      'it comes again when its node does',
    );
  });

  test('leave nothing behind: of another run, when the plan has none any more, and when it is given up', () => {
    const old = entry('n1', { pod: 'kernel-old-ready', state: 'Prepared' });
    const oldPod = worker('n1', { name: 'kernel-old-ready' });
    assert.match(text(decide([old], [oldPod])), /DELETE kernel-old-ready/);
    assert.doesNotMatch(
      text(decide([old])),
      /begins/,
      'what was got ready for other work says nothing',
    );
    assert.match(
      text(decide([entry('n1')], [worker('n1')], { aborted: true })),
      /^n1 Running, DELETE /,
    );
    assert.equal(text(decide([entry('n1')], [], { aborted: true })), '');
    assert.equal(
      text(decide([entry('n1', { state: 'Prepared' })], [], { paused: true })),
      'n1 Prepared',
      'kept',
    );
    const { prepare: _prepare, ...without } = plan;
    assert.match(
      text(
        decidePlan(
          makePlanSnapshot({
            plan: { ...without, preparing: [entry('n1')] },
            pods: new Map([[podOf('n1'), worker('n1')]]),
          }),
          now,
        ),
      ),
      /DELETE/,
    );
  });
});
