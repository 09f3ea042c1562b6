import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MachineRequest } from '../../machine/request.ts';
import { at } from '../../testing/make.ts';
import { makeMachineRequest } from '../../testing/make-machine.ts';
import {
  makeInFlight,
  makePlan,
  makePlanNode,
  makePlanSnapshot,
  makeReadyNode,
  makeVerdict,
} from '../../testing/make-plan.ts';
import { stepOf } from '../advance.ts';
import { decidePlan } from '../decide.ts';
import type { InFlight } from '../in-flight.ts';
import { begunWork } from '../plan.ts';
import type { PlanNode } from '../snapshot.ts';
import { childNameOf } from '../writes.ts';

/**
 * Nodes whose machines are replaced: what leads out of each state, and what becomes of the run as
 * its nodes vanish.
 */

const now = at(0);
const machine = {
  apiVersion: 'machine.openshift.io/v1beta1',
  namespace: 'machines',
  name: 'm1',
  instance: 'i-1',
};
const plan = makePlan({
  work: { kind: 'replace', strategy: 'ReplaceWithSurge', timeoutSeconds: 100 },
  membership: 'Snapshot',
});

type Given = {
  readonly one: Partial<InFlight>;
  readonly node?: Partial<PlanNode> | 'gone';
  readonly request?: Partial<Omit<MachineRequest, 'history'>> & {
    readonly phase?: MachineRequest['history']['phase'];
  };
  readonly withdrawn?: boolean;
};

function step({ one, node = {}, request, withdrawn = false }: Given) {
  const slot = makeInFlight('n1', { attempt: 1, work: begunWork(plan.work), ...one });
  const name = childNameOf(plan, slot.uid);
  const { phase, ...more } = request ?? {};
  const found = makeMachineRequest({
    name,
    nodeName: 'n1',
    plan: plan.name,
    status: { message: 'draining' },
    history: phase === undefined ? {} : { phase },
    ...more,
  });
  const snapshot = makePlanSnapshot({
    plan,
    nodes: node === 'gone' ? [] : [makePlanNode(makeReadyNode('n1'), { machine, ...node })],
    replacements: request === undefined ? new Map() : new Map([[name, found]]),
  });
  return stepOf(snapshot, slot, { withdrawn }, now);
}

function to(given: Given): string {
  const { slot: one, writes = [], waiting } = step(given);
  const { outcome, state } = one ?? {};
  const what =
    outcome === undefined ? (state ?? 'free') : `${outcome.verdict}${outcome.held ? ' held' : ''}`;
  return [
    what,
    ...writes.map(({ method }) => method),
    ...(outcome === undefined && waiting ? [waiting.reason] : []),
  ].join(', ');
}

describe('a node whose machine is replaced', () => {
  test('gets a MachineMaintenance, once, that names it and its machine', () => {
    assert.equal(to({ one: { state: 'Starting' } }), 'Starting, POST, Holding');
    const [write] = step({ one: { state: 'Starting' } }).writes ?? [];
    const spec = (write?.body['spec'] ?? {}) as Readonly<Record<string, unknown>>;
    assert.deepEqual(
      [
        write?.path.split('/').at(-2),
        spec['machinelink'],
        spec['nodeName'],
        spec['strategy'],
        spec['maintenancescheduled'],
      ],
      ['drydock-system', 'm1', 'n1', 'ReplaceWithSurge', false],
    );
    assert.equal(to({ one: { state: 'Starting' }, request: {} }), 'Working');
    assert.equal(
      to({ one: { state: 'Starting' }, request: { nodeName: 'n2' } }),
      'Failed',
      'somebody else’s',
    );
    assert.equal(
      to({ one: { state: 'Starting' }, request: { phase: 'Cancelled' } }),
      'Starting, DELETE, Holding',
      'of an earlier attempt',
    );
    assert.equal(to({ one: { state: 'Starting' }, withdrawn: true }), 'Skipped');
  });

  test('is done when as many machines are Ready as should be, and it is gone', () => {
    const working = { state: 'Working' } as const;
    assert.equal(to({ one: working, request: { phase: 'Draining' } }), 'Working, Replacing');
    assert.equal(
      to({ one: working, request: { phase: 'Replacing' }, node: 'gone' }),
      'Working, Replacing',
      'that is the work',
    );
    assert.equal(to({ one: working, request: { phase: 'Succeeded' } }), 'Working, Replacing');
    assert.equal(to({ one: working, request: { phase: 'Succeeded' }, node: 'gone' }), 'Done');
    assert.equal(to({ one: working, request: { phase: 'Cancelled' } }), 'Failed');
    const impossible = {
      phase: 'Pending',
      status: { waitingFor: 'StrategyNotPossible', message: 'it belongs to no set' },
    } as const;
    assert.equal(to({ one: working, request: impossible }), 'Failed', 'its slot is free at once');
    assert.equal(
      step({ one: working, request: impossible }).slot?.outcome?.message,
      'It cannot be replaced: it belongs to no set',
    );
    assert.equal(to({ one: working }), 'Failed', 'somebody has deleted it');
    assert.equal(to({ one: working, node: 'gone' }), 'Failed');
    assert.equal(
      to({ one: { ...working, since: at(-100) }, request: { phase: 'Draining' } }),
      'Failed held',
      'and goes on by itself',
    );
  });

  test('is left alone when the plan is given up before anything was done, and finished afterwards', () => {
    const working = { state: 'Working' } as const;
    assert.equal(to({ one: working, withdrawn: true, request: { phase: 'Scheduled' } }), 'Skipped');
    assert.equal(
      to({ one: working, withdrawn: true, request: { phase: 'Draining' } }),
      'Skipped',
      'its machine has not been touched',
    );
    assert.equal(
      to({ one: working, withdrawn: true, request: { phase: 'Surging', deletionIssued: true } }),
      'Working, Replacing',
    );
    assert.equal(
      to({ one: working, withdrawn: true, request: { phase: 'Replacing' } }),
      'Working, Replacing',
    );
    const skipped = {
      state: 'Releasing',
      outcome: { verdict: 'Skipped', state: 'Working', message: '', held: false },
    } as const;
    assert.equal(to({ one: skipped, request: { phase: 'Scheduled' } }), 'Skipped, DELETE');
    assert.equal(to({ one: skipped, request: { phase: 'Draining' } }), 'Skipped, DELETE');
    const failed = { ...skipped, outcome: { ...skipped.outcome, verdict: 'Failed' } } as const;
    assert.equal(
      to({ one: failed, request: { phase: 'Pending' } }),
      'Failed, DELETE',
      'it could not be replaced',
    );
    assert.equal(
      to({ one: failed, request: { phase: 'Cancelled' } }),
      'Failed, PATCH',
      'what has begun stays as it is',
    );
    assert.equal(to({ one: skipped }), 'Skipped, PATCH', 'its record');
  });
});

describe('a run whose nodes vanish one after the other', () => {
  const canary = { name: 'canary', limit: 1, soakSeconds: 0, approveAfter: true } as const;
  const staged = { ...plan, stages: [canary] };
  const nodes = [
    makePlanNode(makeReadyNode('n2'), { machine }),
    makePlanNode(makeReadyNode('n3'), { machine }),
  ];

  test('its first stage is over with the node that was replaced: the approval is asked for, and no other node is taken', () => {
    const done = decidePlan(
      makePlanSnapshot({
        plan: staged,
        nodes,
        verdicts: [makeVerdict('n1', { stage: 'canary', startedAt: at(-5) })],
      }),
      now,
    );
    assert.deepEqual(
      [done.phase, done.inFlight.length, done.waiting[0]?.reason],
      ['AwaitingApproval', 0, 'Approval'],
    );
    assert.deepEqual(
      done.stages.map(({ name, selected, done: over, phase }) => [name, selected, over, phase]),
      [
        ['canary', 1, 1, 'AwaitingApproval'],
        ['rest', 2, 0, 'Pending'],
      ],
    );
    assert.equal(done.counts.selected, 3, 'percents are of all nodes of the run');
  });

  test('the next stage does not begin while the node is gone and its machine is not replaced', () => {
    const inFlight = [makeInFlight('n1', { stage: 'canary', state: 'Working', attempt: 1 })];
    const name = childNameOf(plan, 'uid-n1');
    const request = makeMachineRequest({ name, nodeName: 'n1', history: { phase: 'Replacing' } });
    const decided = decidePlan(
      makePlanSnapshot({
        plan: { ...staged, inFlight, concurrency: { ...staged.concurrency, maxInFlight: 2 } },
        nodes,
        replacements: new Map([[name, request]]),
      }),
      now,
    );
    assert.deepEqual(
      decided.inFlight.map(({ node }) => node),
      ['n1'],
    );
  });

  test('a node of the second in which the run began may be a successor, and is not replaced in its turn', () => {
    const of = (seconds: number) =>
      makePlanNode(makeReadyNode('n1'), { machine, createdAt: at(seconds) });
    const begins = (seconds: number): number =>
      decidePlan(makePlanSnapshot({ plan, nodes: [of(seconds), ...nodes] }), now).counts.selected;
    assert.deepEqual([begins(-4001), begins(-4000), begins(-3999)], [3, 2, 2]);
  });

  test('a node without a Machine is not begun with', () => {
    const [first] = nodes;
    const decided = decidePlan(
      makePlanSnapshot({ plan, nodes: [makePlanNode(makeReadyNode('n1')), first!] }),
      now,
    );
    assert.deepEqual(
      decided.inFlight.map(({ node }) => node),
      ['n2'],
    );
    assert.equal(decided.waiting[0]?.reason, 'NoMachine');
  });
});
