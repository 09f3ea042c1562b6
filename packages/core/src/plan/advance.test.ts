import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decided } from '../testing/decided.ts';
import { makeInFlight } from '../testing/make-plan.ts';
import { nodeStates } from './in-flight.ts';

test('a node about which a write has no answer yet stays as it is, whatever is asked of the plan, and others go on', () => {
  for (const state of nodeStates) {
    const inFlight = [makeInFlight('n1', { state }), makeInFlight('n2')];
    const status = {
      waiting: [
        {
          reason: 'Draining',
          message: 'pod web cannot go',
          node: 'n1',
          since: '2026-11-21T07:59:00Z',
          until: '2026-11-21T08:01:00Z',
        },
      ],
    };
    for (const asked of [
      {},
      { aborted: true },
      { skips: new Map([['n1', '']]) },
      { revision: 'r2' },
    ]) {
      const decision = decided({ unanswered: new Set(['n1']) }, { inFlight, status, ...asked });
      const own = decision.inFlight.find(({ node }) => node === 'n1');
      assert.deepEqual(own, inFlight[0], state);
      assert.deepEqual(
        decision.waiting
          .filter(({ node }) => node === 'n1')
          .map(({ reason, message, until }) => [reason, message, until?.toString()]),
        [['Draining', 'pod web cannot go', '2026-11-21T08:01:00Z']],
      );
      assert.ok(!decision.writes.some(({ of }) => of === 'n1'));
      const other = decision.inFlight.find(({ node }) => node === 'n2');
      assert.ok(
        other?.state !== 'Starting' || decision.writes.some(({ of }) => of === 'n2'),
        'the other one goes on',
      );
    }
  }
});
