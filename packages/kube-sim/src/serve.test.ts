import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { VirtualClock } from '@drydock/utils';
import { createCluster } from './cluster.ts';
import { seeded } from './object.ts';
import { administrator, type RequestLog, type Serving, serve } from './serve.ts';

describe('the embedded API server over HTTP', () => {
  const heard: RequestLog[] = [];
  let serving: Serving;
  before(async () => {
    const cluster = createCluster({ clock: new VirtualClock(), random: seeded(1) });
    serving = await serve(cluster, {
      tokens: { secret: administrator },
      heard: call => heard.push(call),
    });
  });
  after(() => serving.close());

  const ask = (
    method: string,
    path: string,
    headers: Record<string, string>,
    body = Buffer.alloc(0),
  ) =>
    new Promise<{ readonly status: number; readonly reason: string }>((resolve, reject) => {
      const asked = request(
        serving.url + path,
        { method, headers: { authorization: 'Bearer secret', ...headers } },
        answer => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.once('end', () => {
            const { reason = '' } = JSON.parse(Buffer.concat(chunks).toString()) as {
              readonly reason?: string;
            };
            resolve({ status: answer.statusCode ?? 0, reason });
          });
        },
      );
      asked.once('error', reject).end(body);
    });
  const pods = '/api/v1/namespaces/default/pods';

  test('a watch by web socket is sent to plain HTTP, and hangs nowhere', async () => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    };
    assert.deepEqual(await ask('GET', `${pods}?watch=true`, headers), {
      status: 503,
      reason: 'ServiceUnavailable',
    });
  });

  test('a body that is too large is refused, whatever it is', async () => {
    for (const type of ['application/json', 'application/vnd.kubernetes.protobuf'])
      assert.deepEqual(
        await ask('POST', pods, { 'content-type': type }, Buffer.alloc(3 * 1024 * 1024 + 1, 32)),
        {
          status: 413,
          reason: 'RequestEntityTooLarge',
        },
      );
  });

  test('the largest body there may be is read', async () => {
    const { status } = await ask(
      'POST',
      pods,
      { 'content-type': 'application/json' },
      Buffer.alloc(3 * 1024 * 1024, 32),
    );
    assert.equal(status, 400);
  });

  test('a connection that has nothing to do stays open for longer than client-go keeps it', async () => {
    const { promise, resolve, reject } = Promise.withResolvers<string | readonly string[]>();
    const headers = { authorization: 'Bearer secret', connection: 'keep-alive' };
    const asked = request(`${serving.url}${pods}`, { headers, agent: false }, answer => {
      resolve(answer.headers['keep-alive'] ?? '');
      answer.destroy();
    });
    asked.once('error', reject).end();
    const [, seconds] = /^timeout=(\d+)$/.exec(String(await promise)) ?? [];
    assert.ok(Number(seconds) > 90, `${seconds} s`);
  });

  test('nobody without a token is heard', async () => {
    const before = heard.length;
    assert.equal((await ask('GET', pods, { authorization: 'Bearer other' })).status, 401);
    assert.equal(heard.length, before);
    assert.equal((await ask('GET', pods, { 'content-type': 'text/odd' })).status, 200);
    assert.equal(heard.at(-1)?.contentType, 'text/odd');
  });
});
