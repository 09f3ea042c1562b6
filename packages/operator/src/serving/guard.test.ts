import assert from 'node:assert/strict';
import { request as ask } from 'node:https';
import { test } from 'node:test';
import type { Api, ApiCall, ApiResponse } from '@drydock/kube-client';
import { PanicHandler, silentLog, systemClock, VirtualClock } from '@drydock/utils';
import { makeAuthority, makeServing } from '../admission/certificates/plan.ts';
import { Guard, listenSecurely } from './server.ts';

const defects = new PanicHandler({ log: silentLog });

function answer(body: unknown, status = 201): ApiResponse {
  return { status, headers: {}, body };
}

/**
 * Knows the token `good` of `prometheus`, who may get /metrics, and `other` of somebody who may
 * not.
 */
class Reviewer implements Api {
  readonly calls: ApiCall[] = [];
  broken = false;

  async call(call: ApiCall): Promise<ApiResponse> {
    this.calls.push(call);
    if (this.broken) throw new Error('connection refused');
    const { spec } = call.body as {
      readonly spec: {
        readonly token?: string;
        readonly user?: string;
        readonly nonResourceAttributes?: unknown;
      };
    };
    if (call.path.endsWith('/tokenreviews')) {
      const user = { good: 'prometheus', other: 'stranger' }[spec.token ?? ''];
      return answer({
        status:
          user === undefined
            ? { authenticated: false }
            : { authenticated: true, user: { username: user, groups: ['g'], uid: 'u' } },
      });
    }
    return answer({
      status: {
        allowed:
          spec.user === 'prometheus' &&
          JSON.stringify(spec.nonResourceAttributes) === '{"path":"/metrics","verb":"get"}',
      },
    });
  }
}

test('who has no token, an unknown one, or no right is told so; who has both is let in', async () => {
  const guard = new Guard(new Reviewer(), new VirtualClock(), defects);
  const says = async (authorization?: string): Promise<unknown> => {
    const checked = await guard.check(authorization, '/metrics');
    return checked === 'allowed' ? checked : checked.status;
  };
  assert.equal(await says(), 401);
  assert.equal(await says('Basic good'), 401);
  assert.equal(await says('Bearer bad'), 401);
  assert.equal(await says('Bearer other'), 403);
  assert.equal(await says('Bearer good'), 'allowed');
  assert.equal(await says(`Bearer ${'x'.repeat(20_000)}`), 401);
});

test('answers count for a while, so that a scrape every few seconds costs nothing; a right that is taken away counts no more after a minute', async () => {
  const [api, clock] = [new Reviewer(), new VirtualClock()];
  const guard = new Guard(api, clock, defects);
  for (let scrape = 0; scrape < 4; scrape += 1)
    assert.equal(await guard.check('Bearer good', '/metrics'), 'allowed');
  assert.equal(api.calls.length, 2);
  await clock.advance(60_001);
  api.broken = true;
  assert.deepEqual(await guard.check('Bearer good', '/metrics'), {
    status: 503,
    text: 'the request to the API server failed: connection refused',
  });
  api.broken = false;
  assert.equal(
    await guard.check('Bearer good', '/metrics'),
    'allowed',
    'trouble is not remembered',
  );
});

test('a flood of tokens keeps neither the API server busy nor memory', async () => {
  const api = new Reviewer();
  const guard = new Guard(api, new VirtualClock(), defects);
  const flood = await Promise.all(
    Array.from({ length: 500 }, (_, index) => guard.check(`Bearer bad-${index}`, '/metrics')),
  );
  assert.equal(flood.filter(one => one !== 'allowed' && one.status === 503).length, 500 - 16);
  assert.equal(api.calls.length, 16);
  assert.equal(await guard.check('Bearer good', '/metrics'), 'allowed');
});

test('over TLS, and to nobody who is not known, not even that a page is missing', async () => {
  const now = systemClock.now();
  const authority = await makeAuthority(now);
  const pages = { '/metrics': async () => ({ status: 200, type: 'text/plain', text: 'up 1\n' }) };
  const { port, close, show } = await listenSecurely(
    { host: '127.0.0.1', port: 0 },
    pages,
    new Guard(new Reviewer(), new VirtualClock(), defects),
    defects,
  );
  show(await makeServing(authority, ['127.0.0.1'], now));
  const get = (path: string, token?: string): Promise<readonly [number | undefined, string]> =>
    new Promise((resolve, reject) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const sent = ask(
        {
          host: '127.0.0.1',
          port,
          path,
          headers,
          ca: authority.cert,
          checkServerIdentity: () => undefined,
        },
        response => {
          let text = '';
          response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
          response.once('end', () => resolve([response.statusCode, text]));
        },
      );
      sent.once('error', reject);
      sent.end();
    });
  assert.deepEqual(await get('/metrics', 'good'), [200, 'up 1\n']);
  assert.equal((await get('/metrics'))[0], 401);
  assert.equal((await get('/nothing'))[0], 401);
  assert.equal((await get('/nothing', 'good'))[0], 403);
  await assert.rejects(fetch(`http://127.0.0.1:${port}/metrics`));
  close();
});
