import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../testing/make.ts';
import { makeEvent } from '../testing/make-machine.ts';
import { deadlineOf } from './event.ts';

test('the deadline is the earliest of the events that are still to be reckoned with', () => {
  const { deadline: _, ...timeless } = makeEvent();
  const told = (...events: Parameters<typeof deadlineOf>[0]) => deadlineOf(events)?.toString();
  assert.equal(
    told(makeEvent({ deadline: at(9) }), makeEvent({ deadline: at(8) }), timeless),
    at(8).toString(),
  );
  assert.equal(
    told(
      makeEvent({ deadline: at(1), state: 'Cancelled' }),
      makeEvent({ deadline: at(9), state: 'Active' }),
    ),
    at(9).toString(),
  );
  assert.equal(told(makeEvent({ state: 'Completed' }), timeless), undefined);
});
