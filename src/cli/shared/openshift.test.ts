import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lines, response, ScriptedApi } from '../../operator/testing/fakes.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { isOpenShift } from './openshift.ts';

const never = new AbortController().signal;

for (const [status, is] of [
  [200, true],
  [404, false],
] as const) {
  test(`a cluster that answers ${status} for config.openshift.io/v1 is ${is ? 'one' : 'none'}`, async () => {
    const api = new ScriptedApi(() => response(status));
    assert.equal(await isOpenShift(api, new VirtualClock(), new Lines(), never), is);
    assert.deepEqual(api.asked, ['GET /apis/config.openshift.io/v1']);
  });
}

test('it is asked until there is a yes or a no', async () => {
  const clock = new VirtualClock();
  const log = new Lines();
  const responses = [() => Promise.reject(new Error('connection refused')), () => response(503), () => response(200)];
  const api = new ScriptedApi(() => (responses.shift() ?? (() => response(500)))());
  const asking = isOpenShift(api, clock, log, never);
  await clock.advance(5000);
  assert.equal(await asking, true);
  assert.equal(log.of('warn').length, 2);
});

test('it is asked no more once the operator stops', async () => {
  const clock = new VirtualClock();
  const over = new AbortController();
  const api = new ScriptedApi(() => Promise.reject(new Error('connection refused')));
  const asking = isOpenShift(api, clock, new Lines(), over.signal);
  await clock.advance(100);
  over.abort();
  assert.equal(await asking, false);
  assert.equal(api.calls.length, 1);
});
