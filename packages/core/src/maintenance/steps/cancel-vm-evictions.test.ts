import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type MaintenanceRequest, noHistory } from '../../request/request.ts';
import { at, heldNode, makeNode, makeRequest } from '../../testing/make.ts';
import { makeContext, makeProgress } from '../../testing/make-context.ts';
import { makeVmi, makeVms } from '../../testing/make-vms.ts';
import type { RequestProgress } from '../reconcile-context.ts';
import type { NodeSnapshot } from '../snapshot.ts';
import { cancelVmEvictions } from './release.ts';

/** Whether the VM of the node, which is marked to leave it, is called back. */
function calledBack(
  progresses: readonly RequestProgress[],
  leaving: readonly MaintenanceRequest[],
  over: Partial<NodeSnapshot> = {},
): boolean {
  const vms = makeVms({ vmis: [makeVmi('a', { evacuatedFrom: 'n1' })] });
  return (
    cancelVmEvictions({ ...makeContext(progresses, { vms, node: makeNode(), ...over }), leaving })
      .context.writes.length > 0
  );
}
function requestIn(
  history: Partial<MaintenanceRequest['history']>,
  over: Partial<MaintenanceRequest> = {},
) {
  return makeRequest('one', { history: { ...noHistory, ...history }, ...over });
}
const begun = requestIn({ drainStartedAt: at(0) });

describe('with the release of a node its VMs are called back', () => {
  const states = [
    'Draining',
    'Detaching',
    'Drained',
    'Failed',
    'Pending',
    'Announced',
    'Cordoned',
  ] as const;
  for (const state of states) {
    const expected = ['Draining', 'Detaching', 'Drained', 'Failed'].includes(state);
    test(`${state}: ${expected ? 'they may have been asked for' : 'nobody has asked for them'}`, () =>
      assert.equal(calledBack([], [requestIn({ state })]), expected));
  }

  test('once the drain began, and by one of several that leave', () => {
    assert.equal(calledBack([], [begun]), true);
    assert.equal(calledBack([], [requestIn({}), begun]), true);
    assert.equal(calledBack([], []), false);
  });

  test('but not from a node that is still held, cordoned or missing, nor while somebody else drains it', () => {
    assert.equal(calledBack([], [begun], { node: heldNode }), false);
    assert.equal(calledBack([], [begun], { node: makeNode({ unschedulable: true }) }), false);
    assert.equal(calledBack([makeProgress()], [begun]), false);
    const context = makeContext([], {
      vms: makeVms({ vmis: [makeVmi('a', { evacuatedFrom: 'n1' })] }),
    });
    const { node: _, ...snapshot } = context.snapshot;
    assert.deepEqual(
      cancelVmEvictions({ ...context, snapshot, leaving: [begun] }).context.writes,
      [],
      'nobody knows whether it is held',
    );
  });
});

describe('a drain that does not go on calls back what it asked for', () => {
  const rows: readonly (readonly [what: string, Partial<RequestProgress>, boolean])[] = [
    ['it pauses', { request: begun, paused: true }, true],
    ['it has failed', { request: begun, failure: 'DeadlineExceeded' }, true],
    ['it goes on', { request: begun }, false],
    ['it waits for its lease', { request: begun, granted: false }, false],
    ['it has never begun, and pauses', { request: requestIn({}), paused: true }, false],
    [
      'it has failed, and does not hold the node',
      { request: begun, failure: 'Released', holds: false },
      false,
    ],
    [
      'it pauses, and does not hold the node',
      { request: begun, paused: true, holds: false },
      false,
    ],
  ];
  for (const [what, progress, expected] of rows)
    test(`${what}: ${expected ? 'called back' : 'left alone'}`, () => {
      assert.equal(calledBack([makeProgress(progress)], [], { node: heldNode }), expected);
    });
  test('it pauses, and another goes on: left alone', () => {
    assert.equal(
      calledBack([makeProgress({ request: begun, paused: true }), makeProgress()], [], {
        node: heldNode,
      }),
      false,
    );
  });
});
