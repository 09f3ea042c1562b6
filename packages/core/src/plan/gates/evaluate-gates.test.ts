import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { at, makeRequest } from '../../testing/make.ts';
import {
  makeInFlight,
  makePlan,
  makePlanNode,
  makePlanSnapshot,
  makeReadyNode,
  makeVerdict,
} from '../../testing/make-plan.ts';
import { advance } from '../advance.ts';
import { decidePlan } from '../decide.ts';
import type { Plan } from '../plan.ts';
import type { PlanDecision } from '../snapshot.ts';
import { childNameOf } from '../writes.ts';
import type { Gate, GateState, GateValue } from './gate.ts';

/**
 * Gates: what keeps nodes from being begun with, what breaks a quiet time, and what stops a plan.
 */

const now = at(0);
const gate: Gate = {
  name: 'ceph',
  kind: 'workloads',
  namespaces: [],
  at: ['BeforeNode', 'Soak'],
  onFalse: 'Wait',
  forSeconds: 0,
};
const yes: GateValue = { value: 'True', message: '' };
const no: GateValue = { value: 'False', message: 'it is degraded' };
const unknown: GateValue = { value: 'Unknown', message: 'nobody answers' };

function decide(
  value: GateValue | undefined,
  over: Partial<Plan> = {},
  stored: Partial<GateState> = {},
  done = false,
): PlanDecision {
  const gateStates = new Map(
    value === undefined ? [] : [['ceph', { name: 'ceph', since: at(-100), ...value, ...stored }]],
  );
  return decidePlan(
    makePlanSnapshot({
      plan: makePlan({ gates: [gate], gateStates, ...over }),
      nodes: ['n1', 'n2', 'n3'].map(name => makePlanNode(makeReadyNode(name))),
      gates: new Map(value === undefined ? [] : [['ceph', value]]),
      verdicts: done ? [makeVerdict('n3')] : [],
    }),
    now,
  );
}

function told({ inFlight, waiting }: PlanDecision): string {
  return inFlight.length > 0 ? 'begins' : `${waiting[0]?.reason}: ${waiting[0]?.message}`;
}

describe('a gate', () => {
  test('lets a node begin when it is true, and only then', () => {
    assert.equal(told(decide(yes)), 'begins');
    assert.equal(told(decide(no)), 'Gate: gate ceph: it is degraded');
    assert.equal(told(decide(unknown)), 'GateUnknown: gate ceph is unknown: nobody answers');
    assert.equal(
      told(decide(undefined)),
      'GateUnknown: gate ceph is unknown: it has not been evaluated yet',
    );
    assert.equal(
      told(decide(no, { gates: [{ ...gate, at: ['Soak'] }] })),
      'begins',
      'it is asked elsewhere',
    );
  });

  test('has to have been true for its time without a break', () => {
    const gates = [{ ...gate, forSeconds: 60 }];
    assert.equal(told(decide(yes, { gates })), 'begins');
    const early = decide(yes, { gates }, { since: at(-59) });
    assert.equal(told(early), 'Gate: gate ceph has not been true for 60 s yet');
    assert.equal(early.requeueAt?.toString(), at(1).toString());
    const flapped = decide(yes, { gates }, { value: 'False' });
    assert.equal(
      told(flapped),
      'Gate: gate ceph has not been true for 60 s yet',
      'it was false a moment ago',
    );
    assert.equal(flapped.gates[0]?.since.toString(), now.toString());
    assert.equal(
      decide(yes, { gates }).gates[0]?.since.toString(),
      at(-100).toString(),
      'since when is kept',
    );
  });

  test('breaks the quiet time of a node, which begins anew', () => {
    const plan = makePlan({ gates: [gate], soakSeconds: 60 });
    const one = makeInFlight('n1', { state: 'Soaking', soakSince: at(-30), attempt: 1 });
    const child = makeRequest(childNameOf(plan, one.uid), { plan: plan.name });
    const soaking = (value: GateValue, gates: readonly Gate[] = [gate]): string => {
      const snapshot = makePlanSnapshot({
        plan: { ...plan, gates },
        nodes: [makePlanNode(makeReadyNode('n1'))],
        children: new Map([[child.name, child]]),
        gates: new Map([['ceph', value]]),
      });
      const { slot: next, waiting } = advance(snapshot, one, { withdrawn: false }, now);
      return `${waiting?.reason} ${next?.soakSince === undefined ? 'anew' : 'on'}`;
    };
    assert.equal(soaking(yes), 'Soaking on');
    assert.equal(soaking(no), 'SoakBroken anew');
    assert.equal(soaking(unknown), 'SoakBroken anew');
    assert.equal(soaking(no, [{ ...gate, at: ['BeforeNode'] }]), 'Soaking on');
  });

  test('that halts stops the plan once a node has been begun with, until somebody sets it aside', () => {
    const gates = [{ ...gate, onFalse: 'Halt' as const }];
    assert.deepEqual(
      [decide(no, { gates }).phase, decide(no, { gates }).gateHalt],
      ['Running', undefined],
      'nothing was done yet',
    );
    const halted = decide(no, { gates }, {}, true);
    assert.equal(halted.phase, 'Halted');
    assert.match(halted.message, /gate ceph was false: it is degraded/);
    assert.deepEqual(halted.gateHalt, { gate: 'ceph', message: 'it is degraded', at: now });
    const gateHalt = { gate: 'ceph', message: 'it was degraded', at: at(-50) };
    assert.equal(
      decide(yes, { gates, gateHalt }, {}, true).phase,
      'Halted',
      'true again is not enough',
    );
    assert.equal(
      decide(unknown, { gates }, {}, true).phase,
      'Running',
      'what cannot be told stops nothing for good',
    );
    const retries = new Map([['*', at(-40)]]);
    assert.equal(decide(yes, { gates, gateHalt, retries }, {}, true).phase, 'Running');
    assert.equal(
      decide(no, { gates, gateHalt, retries }, {}, true).phase,
      'Halted',
      'it is false still',
    );
  });
});
