import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Api } from '@drydock/kube-client';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import { FakeLog, response, ScriptedApi } from '../testing/fakes.ts';
import { type DiscoveryOptions, isOpenShift } from './served-kinds.ts';

function asking(api: Api, given: Partial<DiscoveryOptions> = {}): DiscoveryOptions {
  const log = given.log ?? new FakeLog();
  return {
    api,
    clock: new VirtualClock(),
    signal: new AbortController().signal,
    log,
    defects: new PanicHandler({ log }),
    ...given,
  };
}

for (const [status, is] of [
  [200, true],
  [404, false],
] as const) {
  test(`a cluster that answers ${status} for config.openshift.io/v1 is ${is ? 'one' : 'none'}`, async () => {
    const api = new ScriptedApi(() => response(status));
    assert.equal(await isOpenShift(asking(api)), is);
    assert.deepEqual(api.asked, ['GET /apis/config.openshift.io/v1']);
  });
}

test('it is asked until there is a yes or a no', async () => {
  const clock = new VirtualClock();
  const log = new FakeLog();
  const responses = [
    () => Promise.reject(new Error('connection refused')),
    () => response(503),
    () => response(200),
  ];
  const api = new ScriptedApi(() => (responses.shift() ?? (() => response(500)))());
  const asked = isOpenShift(asking(api, { clock, log }));
  await clock.advance(5000);
  assert.equal(await asked, true);
  assert.equal(log.of('warn').length, 2);
});

test('it is asked no more once the operator stops', async () => {
  const clock = new VirtualClock();
  const over = new AbortController();
  const api = new ScriptedApi(() => Promise.reject(new Error('connection refused')));
  const asked = isOpenShift(asking(api, { clock, signal: over.signal }));
  await clock.advance(100);
  over.abort();
  assert.equal(await asked, false);
  assert.equal(api.calls.length, 1);
});
