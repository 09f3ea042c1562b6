import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import { FakeLog, response, ScriptedApi } from '../testing/fakes.ts';
import { logServerRelease } from './served-kinds.ts';

function asking(log: FakeLog, clock = new VirtualClock()) {
  return {
    clock,
    log,
    defects: new PanicHandler({ log }),
    signal: new AbortController().signal,
  };
}
async function said(body: unknown, status = 200): Promise<FakeLog> {
  const log = new FakeLog();
  await logServerRelease({ ...asking(log), api: new ScriptedApi(() => response(status, body)) });
  return log;
}

test('what an older release lacks is said in one line', async () => {
  const log = await said({ major: '1', minor: '30', gitVersion: 'v1.30.14' });
  const [line, ...more] = log.lines;
  assert.deepEqual(more, []);
  assert.match(
    JSON.stringify(line),
    /discovered the API server.*v1\.30\.14.*field selectors of custom resources \(since 1\.31\): kubectl get/,
  );
  assert.deepEqual(log.of('warn'), []);
});

test('the newest lacks nothing; one that is too old is warned of', async () => {
  assert.ok(
    !JSON.stringify((await said({ major: '1', minor: '37' })).of('info')).includes('lacks'),
  );
  assert.match(
    JSON.stringify((await said({ major: '1', minor: '29' })).of('warn')),
    /older than 1\.30/,
  );
});

test('a server that does not say its version is warned of once', async () => {
  for (const [body, status] of [
    ['no json', 200],
    [{ message: 'no' }, 403],
  ] as const)
    assert.equal((await said(body, status)).of('warn').length, 1);
});

test('a server that cannot be reached is asked again', async () => {
  const clock = new VirtualClock();
  const log = new FakeLog();
  const responses = [
    () => Promise.reject(new Error('connection refused')),
    () => response(503),
    () => response(200, { major: '1', minor: '37' }),
  ];
  const api = new ScriptedApi(() => (responses.shift() ?? (() => response(500)))());
  const told = logServerRelease({ ...asking(log, clock), api });
  await clock.advance(5000);
  await told;
  assert.equal(log.of('warn').length, 2);
  assert.equal(log.of('info').length, 1);
});
