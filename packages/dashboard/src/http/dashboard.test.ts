import assert from 'node:assert/strict';
import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { PanicHandler, silentLog, systemClock } from '@drydock/utils';
import type { DrainPreview, Scene } from '../scene.ts';
import { type DashboardHarness, deployment, place } from '../testing/place.ts';
import { type Dashboard, startDashboard } from './dashboard.ts';

const token = 'the-token-of-this-run';
const bearer = { authorization: `Bearer ${token}` };
const json = { ...bearer, 'content-type': 'application/json' };

type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
};

/** Sends exactly these headers: fetch would not let a Host or an Origin be forged. */
function ask(
  port: number,
  path: string,
  headers: OutgoingHttpHeaders = {},
  method = 'GET',
  body?: string,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const asked = httpRequest(
    { host: '127.0.0.1', port, path, method, headers, agent: false },
    response => {
      text(response).then(
        said =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: said }),
        reject,
      );
    },
  );
  asked.once('error', reject);
  asked.end(body);
  return promise;
}

function messageIn({ body }: Answer): string {
  return (JSON.parse(body) as { readonly message: string }).message;
}

/** Reads a stream until it has been told enough. */
async function listen(
  port: number,
  headers: Record<string, string>,
  enough: (told: string) => boolean,
): Promise<string> {
  const stop = new AbortController();
  const response = await fetch(`http://127.0.0.1:${port}/api/stream`, {
    headers,
    signal: stop.signal,
  });
  assert.deepEqual(
    [response.status, response.headers.get('content-type')],
    [200, 'text/event-stream; charset=utf-8'],
  );
  let told = '';
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    told += new TextDecoder().decode(chunk);
    if (enough(told)) break;
  }
  stop.abort();
  return told;
}

describe('the page', { timeout: 30_000 }, () => {
  let at: DashboardHarness;
  let link: Dashboard;
  let looking: Dashboard;

  before(async () => {
    at = place(systemClock);
    at.make('deployments.apps', deployment('web', 4));
    const common = {
      watcher: at.ports,
      adapters: at.adapters,
      cluster: 'test',
      port: 0,
      clock: systemClock,
      log: silentLog,
      defects: new PanicHandler({ log: silentLog }),
    };
    link = await startDashboard({ ...common, access: { kind: 'link', token, api: at.ports } });
    looking = await startDashboard({ ...common, access: { kind: 'read-only' } });
    await listen(link.port, bearer, told => told.includes('"loading":[]'));
    await listen(looking.port, {}, told => told.includes('"loading":[]'));
  });

  after(async () => {
    await Promise.all([link.close(), looking.close()]);
    await at.stop();
  });

  test('the link carries the token where browsers send it to nobody', () => {
    assert.equal(link.url, `http://127.0.0.1:${link.port}/#${token}`);
    assert.equal(looking.url, `http://127.0.0.1:${looking.port}/`);
  });

  test('the page itself needs no token and says nothing of the cluster; its headers let nothing else in', async () => {
    for (const [path, type] of [
      ['/', 'text/html'],
      ['/page.js', 'text/javascript'],
      ['/page.css', 'text/css'],
      ['/icon.svg', 'image/svg+xml'],
    ] as const) {
      const { status, headers } = await ask(link.port, path);
      assert.equal(status, 200, path);
      assert.match(String(headers['content-type']), new RegExp(`^${RegExp.escape(type)}`));
      assert.match(
        String(headers['content-security-policy']),
        /default-src 'none'.*script-src 'self';.*frame-ancestors 'none'/,
      );
      assert.doesNotMatch(String(headers['content-security-policy']), /unsafe|\*/);
      assert.deepEqual(
        [headers['x-content-type-options'], headers['x-frame-options']],
        ['nosniff', 'DENY'],
      );
      assert.equal(
        (await ask(link.port, path, { 'if-none-match': String(headers['etag']) })).status,
        304,
      );
      assert.deepEqual((await ask(link.port, path, {}, 'HEAD')).body, '');
    }
  });

  test('with the token: data, which nobody keeps', async () => {
    const { status, headers, body } = await ask(link.port, '/api/scene', bearer);
    assert.deepEqual([status, headers['cache-control']], [200, 'no-store']);
    const { scene } = JSON.parse(body) as { readonly scene: Scene };
    assert.deepEqual([scene.nodes.length, scene.facts.access], [3, 'link']);
  });

  const everything = [
    ['/api/scene', 'GET'],
    ['/api/stream', 'GET'],
    ['/api/outlook?node=w1', 'GET'],
    ['/api/maintain', 'POST'],
    ['/api/release', 'POST'],
    ['/api/approve', 'POST'],
    ['/api/steer-plan', 'POST'],
    ['/api/approve-plan', 'POST'],
    ['/api/announce', 'POST'],
  ] as const;

  test('without the token, or with another one, nobody looks and nobody acts', async () => {
    for (const [path, method] of everything) {
      for (const headers of [{}, { authorization: 'Bearer guess' }, { cookie: `token=${token}` }]) {
        const answer = await ask(
          link.port,
          path,
          { ...headers, 'content-type': 'application/json' },
          method,
          method === 'POST' ? '{}' : undefined,
        );
        assert.equal(answer.status, 401, path);
        assert.match(messageIn(answer), /printed link/);
      }
      assert.equal(
        (await ask(link.port, `${path}${path.includes('?') ? '&' : '?'}token=${token}`, {}, method))
          .status,
        401,
        'not in the address',
      );
    }
  });

  test('requests that a page of another site makes are refused, even with the token', async () => {
    const own = `127.0.0.1:${link.port}`;
    const strangers = [
      { host: 'evil.example' },
      { host: `evil.example:${link.port}` },
      { host: own, origin: 'http://evil.example' },
      { host: own, origin: 'http://127.0.0.1:1' },
      { host: own, origin: 'null' },
      { host: own, 'sec-fetch-site': 'cross-site' },
      { host: own, 'sec-fetch-site': 'same-site' },
    ];
    for (const [path, method] of [...everything, ['/', 'GET'] as const]) {
      for (const stranger of strangers) {
        const { status, headers } = await ask(
          link.port,
          path,
          { ...json, ...stranger },
          method,
          method === 'POST' ? '{}' : undefined,
        );
        assert.equal(status, 403, `${path} ${JSON.stringify(stranger)}`);
        assert.equal(headers['access-control-allow-origin'], undefined);
      }
    }
    assert.equal(
      (
        await ask(
          link.port,
          '/api/maintain',
          { host: own, origin: 'http://evil.example' },
          'OPTIONS',
        )
      ).status,
      403,
      'no preflight succeeds',
    );
  });

  const bad: readonly (readonly [
    what: string,
    path: string,
    method: string,
    headers: OutgoingHttpHeaders,
    body: string | undefined,
    status: number,
    message: RegExp,
  ])[] = [
    ['another method', '/api/maintain', 'GET', bearer, undefined, 405, /only POST/],
    ['another method for reading', '/api/scene', 'DELETE', bearer, undefined, 405, /only GET/],
    ['another method for the page', '/', 'POST', bearer, '', 405, /only GET, HEAD/],
    ['a path that is not there', '/api/nothing', 'GET', bearer, undefined, 404, /not found/],
    ['a path out of the folder', '/../dashboard.ts', 'GET', bearer, undefined, 404, /not found/],
    [
      'a form',
      '/api/maintain',
      'POST',
      { ...bearer, 'content-type': 'application/x-www-form-urlencoded' },
      'node=w1',
      415,
      /application\/json/,
    ],
    ['no type', '/api/release', 'POST', bearer, '{}', 415, /application\/json/],
    ['no JSON', '/api/maintain', 'POST', json, '{', 400, /not JSON/],
    ['an empty order', '/api/maintain', 'POST', json, '{}', 400, /node is missing/],
    [
      'a body without end',
      '/api/maintain',
      'POST',
      json,
      `"${'x'.repeat(100_000)}"`,
      413,
      /longer than 16384 bytes/,
    ],
    ['an unknown node', '/api/maintain', 'POST', json, '{"node":"w9"}', 404, /no node "w9"/],
    [
      'an unknown maintenance',
      '/api/release',
      'POST',
      json,
      '{"store":"maintenances.drydock.dev","name":"w9"}',
      404,
      /no maintenance "w9"/,
    ],
    [
      'an empty order to a plan',
      '/api/steer-plan',
      'POST',
      json,
      '{}',
      400,
      /plan and uid are missing/,
    ],
    [
      'an unknown plan',
      '/api/steer-plan',
      'POST',
      json,
      '{"plan":"kernel","uid":"u","what":"pause"}',
      404,
      /no such plan "kernel"/,
    ],
    [
      'the approval of an unknown plan',
      '/api/approve-plan',
      'POST',
      json,
      '{"plan":"kernel","uid":"u","run":"1","revision":"r","specHash":"h"}',
      404,
      /no such plan "kernel"/,
    ],
    [
      'the outlook of an unknown node',
      '/api/outlook?node=w9',
      'GET',
      bearer,
      undefined,
      404,
      /no node "w9"/,
    ],
  ];

  for (const [what, path, method, headers, body, status, message] of bad) {
    test(`${what} gets ${status} and one clear message`, async () => {
      const answer = await ask(link.port, path, headers, method, body);
      assert.equal(answer.status, status);
      assert.match(messageIn(answer), message);
    });
  }

  test('the outlook of a node', async () => {
    const { status, body } = await ask(link.port, '/api/outlook?node=w1&force=true', bearer);
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(JSON.parse(body) as DrainPreview), ['leave', 'stay', 'blockers']);
  });

  test('an order makes a maintenance, a release ends it, and the stream tells both', async () => {
    const said = await ask(
      link.port,
      '/api/maintain',
      json,
      'POST',
      '{"node":"w3","reason":"new disk"}',
    );
    assert.deepEqual([said.status, messageIn(said)], [201, 'maintenance of w3 created']);
    const held = await listen(link.port, bearer, told => /"name":"w3".*\n\n/.test(told));
    assert.match(held, /"reason":"new disk"/);
    const last = [...held.matchAll(/^id: (.+)$/gm)].at(-1)?.[1] ?? '';
    const given = await ask(
      link.port,
      '/api/release',
      json,
      'POST',
      '{"store":"maintenances.drydock.dev","name":"w3"}',
    );
    assert.equal(given.status, 200);
    const after = await listen(link.port, { ...bearer, 'last-event-id': last }, told =>
      /"key":"w3"[^}]*"holds":\[\]/.test(told),
    );
    assert.doesNotMatch(after, /^event: scene$/m, 'who comes back is told what it has missed');
  });

  test('a page for looking is read without a token, and changes nothing', async () => {
    const read = await ask(looking.port, '/api/scene');
    assert.equal(read.status, 200);
    for (const headers of [{ 'content-type': 'application/json' }, json]) {
      for (const path of [
        '/api/maintain',
        '/api/approve',
        '/api/steer-plan',
        '/api/approve-plan',
        '/api/announce',
      ]) {
        const refused = await ask(
          looking.port,
          path,
          headers,
          'POST',
          '{"node":"w1","what":"reboot"}',
        );
        assert.equal(refused.status, 403, path);
        assert.match(messageIn(refused), /is read-only/);
      }
    }
    assert.equal((await ask(looking.port, '/api/scene', { host: 'evil.example' })).status, 403);
  });

  test('where the machines are no simulation, nothing is announced from the page', async () => {
    const { scene } = JSON.parse((await ask(link.port, '/api/scene', bearer)).body) as {
      readonly scene: Scene;
    };
    assert.equal(scene.facts.simulated, undefined);
    const answer = await ask(
      link.port,
      '/api/announce',
      json,
      'POST',
      '{"node":"w1","what":"reboot"}',
    );
    assert.deepEqual([answer.status, messageIn(answer).includes('not simulated')], [404, true]);
  });

  test('a simulated cloud is told what to announce, and says what cannot be', async () => {
    const told: string[] = [];
    const hosts = {
      announce: (node: string, what: string): string | undefined => {
        told.push(`${node} ${what}`);
        return node === 'w2' ? 'w2 is no machine' : undefined;
      },
    };
    const common = {
      watcher: at.ports,
      adapters: at.adapters,
      cluster: 'test',
      port: 0,
      clock: systemClock,
      log: silentLog,
      defects: new PanicHandler({ log: silentLog }),
    };
    const simulated = await startDashboard({
      ...common,
      hosts,
      access: { kind: 'link', token, api: at.ports },
    });
    const send = (order: unknown): Promise<Answer> =>
      ask(simulated.port, '/api/announce', json, 'POST', JSON.stringify(order));
    try {
      const { scene } = JSON.parse((await ask(simulated.port, '/api/scene', bearer)).body) as {
        readonly scene: Scene;
      };
      assert.equal(scene.facts.simulated, true);
      for (const order of [
        null,
        {},
        { node: 'w1' },
        { node: 7, what: 'reboot' },
        { node: 'w1', what: 'explosion' },
      ]) {
        assert.equal((await send(order)).status, 400, JSON.stringify(order));
      }
      assert.deepEqual(told, []);
      assert.equal((await send({ node: 'w1', what: 'retirement' })).status, 201);
      const refused = await send({ node: 'w2', what: 'reboot' });
      assert.deepEqual([refused.status, messageIn(refused)], [409, 'w2 is no machine']);
      assert.deepEqual(told, ['w1 retirement', 'w2 reboot']);
      const foreign = await ask(
        simulated.port,
        '/api/announce',
        { ...json, origin: 'http://evil.example' },
        'POST',
        '{}',
      );
      assert.equal(foreign.status, 403);
    } finally {
      await simulated.close();
    }
  });

  test('a taken port is said at once', async () => {
    const common = {
      watcher: at.ports,
      adapters: at.adapters,
      cluster: 'test',
      clock: systemClock,
      log: silentLog,
      defects: new PanicHandler({ log: silentLog }),
    };
    await assert.rejects(
      startDashboard({ ...common, access: { kind: 'read-only' }, port: link.port }),
      { code: 'EADDRINUSE' },
    );
  });

  test('so many pages and no more', async () => {
    const stop = new AbortController();
    const open = (): Promise<Response> =>
      fetch(`http://127.0.0.1:${looking.port}/api/stream`, { signal: stop.signal });
    const responses = await Promise.all(Array.from({ length: 51 }, open));
    assert.deepEqual(
      responses.map(({ status }) => status).filter(status => status !== 200),
      [503],
    );
    stop.abort();
  });
});
