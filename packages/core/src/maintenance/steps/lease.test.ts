import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Lease } from '../../lease/lease.ts';
import { type MaintenanceRequest, noHistory } from '../../request/request.ts';
import { at, heldNode, makeNode, makeRequest, makeSnapshot, ourLease } from '../../testing/make.ts';
import { type ReconcileContext, type RequestProgress, startContext } from '../reconcile-context.ts';
import { emptyMemo, type NodeSnapshot } from '../snapshot.ts';
import { lease, leaseRelease } from './lease.ts';

/**
 * Leases are asked for an hour and renewed a quarter of an hour after that they were renewed last.
 */
const now = at(100);
const foreign: Lease = { ...ourLease, holder: 'miau', renewTime: at(99) };
function leases(one?: Lease): NodeSnapshot['leases'] {
  return new Map(one === undefined ? [] : [[ourLease.key, one]]);
}

function walked(over: Partial<NodeSnapshot>, moment = now) {
  return lease(startContext(makeSnapshot(over), moment)).context;
}
function first({ progresses }: ReconcileContext): RequestProgress {
  return (progresses as [RequestProgress])[0];
}
function seconds({ moments }: ReconcileContext): readonly number[] {
  return moments.map(moment => (moment.epochMilliseconds - at(0).epochMilliseconds) / 1000);
}
function whats({ writes }: ReconcileContext): readonly string[] {
  return writes.map(
    ({ description: what, method, style, path }) =>
      `${what}: ${method}${style === undefined ? '' : ` (${style})`} ${path}`,
  );
}
const collection = '/apis/coordination.k8s.io/v1/namespaces/leases/leases';

describe('the node may be held, and drained, once the lease is ours', () => {
  // Granted: pods may go. Holds: the marks belong on the node.
  const rows: readonly (readonly [
    string,
    Partial<NodeSnapshot>,
    granted: boolean,
    holds: boolean,
    writes: readonly string[],
  ])[] = [
    ['ours and in its time', { node: makeNode() }, true, true, []],
    [
      'ours, and due to be renewed, on a held node',
      { leases: leases({ ...ourLease, renewTime: at(-2000) }) },
      true,
      true,
      [`renew the node lease: PATCH (merge) ${collection}/node-n1`],
    ],
    [
      'ours, and due, on a node that is not held yet',
      { node: makeNode(), leases: leases({ ...ourLease, renewTime: at(-2000) }) },
      false,
      false,
      [`renew the node lease: PATCH (merge) ${collection}/node-n1`],
    ],
    [
      'nobody has it',
      { node: makeNode(), leases: leases() },
      false,
      false,
      [`create the node lease: POST ${collection}`],
    ],
    [
      'it is gone from a held node: that stays so for the time of a write',
      { leases: leases() },
      false,
      true,
      [`create the node lease: POST ${collection}`],
    ],
    [
      'another one has let it run out',
      { node: makeNode(), leases: leases({ ...foreign, renewTime: at(-5000) }) },
      false,
      false,
      [`renew the node lease: PATCH (merge) ${collection}/node-n1`],
    ],
    ['another one has it', { node: makeNode(), leases: leases(foreign) }, false, false, []],
    ['another one has it, and the node is held', { leases: leases(foreign) }, false, true, []],
  ];
  for (const [what, over, granted, holds, writes] of rows) {
    test(what, () => {
      const context = walked(over);
      assert.deepEqual(
        { granted: first(context).granted, holds: first(context).holds, writes: whats(context) },
        { granted, holds, writes },
      );
      // Only a lease that was asked for and is in the hands of another is missed.
      assert.equal('leaseMissedAt' in context, !granted && holds && writes.length === 0);
    });
  }

  test('a kind that asks for none has it', () => {
    const request = makeRequest('one');
    const none = { ...request, adapter: { ...request.adapter, lease: () => undefined } };
    const context = walked({ node: makeNode(), requests: [none], leases: leases(foreign) });
    assert.deepEqual(
      [first(context).granted, first(context).holds, whats(context)],
      [true, true, []],
    );
    assert.equal(context.leaseMissedAt, undefined);
  });

  test('who only announces, has released or has to wait asks for none', () => {
    const announced = walked({
      node: makeNode(),
      requests: [makeRequest('one', { level: 'Announce' })],
      leases: leases(),
    });
    assert.deepEqual([whats(announced), first(announced).granted], [[], false]);
    const over = makeRequest('one', { history: { ...noHistory, failure: 'Released' } });
    assert.deepEqual(whats(walked({ node: makeNode(), requests: [over], leases: leases() })), []);
    const start = startContext(makeSnapshot({ node: makeNode(), leases: leases() }), now);
    const barred = lease({
      ...start,
      progresses: start.progresses.map(progress => ({ ...progress, barred: true })),
    }).context;
    assert.deepEqual(
      [whats(barred), first(barred).granted, barred.leaseMissedAt],
      [[], false, undefined],
    );
  });

  test('two requests with one lease write it once', () => {
    const requests = [makeRequest('one'), makeRequest('two')];
    assert.equal(walked({ node: makeNode(), requests, leases: leases() }).writes.length, 1);
  });

  test('a node that is gone asks for none', () => {
    const { node: _, ...gone } = makeSnapshot({ leases: leases() });
    assert.deepEqual(whats(lease(startContext(gone, now)).context), []);
  });
});

describe('when to look again', () => {
  test('a lease of ours: when it is due', () => assert.deepEqual(seconds(walked({})), [900]));
  test('one of another, on a node that is not ours: at its end, and in five minutes at the latest', () => {
    assert.deepEqual(seconds(walked({ node: makeNode(), leases: leases(foreign) })), [400]);
    assert.deepEqual(
      seconds(walked({ node: makeNode(), leases: leases({ ...foreign, durationSeconds: 60 }) })),
      [160],
    );
  });
  test('one of another, on a node that we hold: in five seconds, or when it ends', () => {
    assert.deepEqual(seconds(walked({ leases: leases(foreign) })), [105]);
    assert.deepEqual(
      seconds(walked({ leases: leases({ ...foreign, durationSeconds: 3 }) })),
      [103],
    );
  });
});

describe('a lease that is lost', () => {
  const lost = (leaseErrors: number, over: Partial<MaintenanceRequest['history']> = {}) =>
    makeRequest('one', { history: { ...noHistory, leaseErrors, ...over } });
  const missed = (requests: readonly MaintenanceRequest[], missedAt?: number) =>
    walked({
      requests,
      leases: leases(foreign),
      memo: { ...emptyMemo, ...(missedAt !== undefined && { leaseMissedAt: at(missedAt) }) },
    });
  const says = (context: ReconcileContext) => [
    first(context).leaseErrors,
    first(context).failure,
    context.leaseMissedAt?.toString(),
  ];

  test('is counted once in five seconds, and noted', () => {
    assert.deepEqual(says(missed([lost(0)])), [1, undefined, now.toString()]);
    assert.deepEqual(
      says(missed([lost(1)], 96)),
      [1, undefined, at(96).toString()],
      'the last time counts on',
    );
    assert.deepEqual(says(missed([lost(1)], 95)), [2, undefined, now.toString()]);
  });

  test('is given up after more than three times', () => {
    assert.deepEqual(says(missed([lost(3)])), [4, undefined, now.toString()]);
    const over = missed([lost(4)]);
    assert.deepEqual(
      [first(over).failure, first(over).holds, first(over).granted],
      ['LeaseLost', false, false],
    );
    assert.match(first(over).problem?.message ?? '', /could not be extended after 4 attempts/);
    const stays = missed([lost(4, { failure: 'LeaseLost' })]);
    assert.deepEqual(
      [first(stays).failure, first(stays).problem?.reason],
      ['LeaseLost', 'LeaseLost'],
    );
  });

  test('counts no more once it is free again; what failed for another reason stays failed', () => {
    const relocked = walked({ requests: [lost(4, { failure: 'LeaseLost' })] });
    assert.deepEqual(
      [first(relocked).granted, first(relocked).leaseErrors, first(relocked).failure],
      [true, 0, undefined],
    );
    assert.equal(
      first(walked({ requests: [lost(0, { failure: 'DeadlineExceeded' })] })).failure,
      'DeadlineExceeded',
    );
  });

  test('one of two requests that misses its lease is enough to note it, and to keep the note', () => {
    const own = makeRequest('one');
    const none = { ...makeRequest('two'), adapter: { ...own.adapter, lease: () => undefined } };
    assert.equal(missed([none, lost(0)]).leaseMissedAt?.toString(), now.toString());
    assert.equal(missed([none, lost(1)], 98).leaseMissedAt?.toString(), at(98).toString());
  });

  test('the note goes when nobody holds without the lease any more', () => {
    const notes = { ...emptyMemo, leaseMissedAt: at(98) };
    assert.equal('leaseMissedAt' in walked({ memo: notes }), false);
    assert.equal(
      'leaseMissedAt' in walked({ memo: notes, node: makeNode(), leases: leases(foreign) }),
      false,
    );
  });
});

describe('giving it up', () => {
  const name = (released: 'deleted' | 'blanked') => ({
    namespace: 'leases',
    name: 'node-n1',
    holder: 'us',
    released,
  });
  const released = (how: 'deleted' | 'blanked', one?: Lease) =>
    leaseRelease(
      startContext(makeSnapshot({ node: heldNode, leases: leases(one) }), now),
      name(how),
    );

  test('ours is deleted as it was seen, or left behind empty', () => {
    assert.deepEqual(released('deleted', ourLease)?.body, {
      preconditions: { uid: 'lease-uid', resourceVersion: '40' },
    });
    assert.equal(released('deleted', ourLease)?.method, 'DELETE');
    assert.equal(released('blanked', ourLease)?.method, 'PATCH');
  });

  test('nothing is written where there is none, another one has it, or it is empty already', () => {
    assert.equal(released('deleted'), undefined);
    assert.equal(released('deleted', foreign), undefined);
    const {
      durationSeconds: _d,
      acquireTime: _a,
      renewTime: _r,
      transitions: _t,
      ...blank
    } = ourLease;
    assert.equal(released('blanked', blank), undefined);
    assert.equal(released('deleted', blank)?.method, 'DELETE');
  });
});
