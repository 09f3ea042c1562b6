import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { clientA, clientB, serverPair, testAuthority } from '@drydock/kube-client/testing';
import type { Log } from '@drydock/utils';
import { silentLog, systemClock, VirtualClock } from '@drydock/utils';
import { type Answer, type ServedRequest, serving } from '@drydock/utils/testing';
import type { Monitoring, QueryResult } from '../ports.ts';
import { openMonitoring } from './sources.ts';

/**
 * What a real Prometheus or Alertmanager does not do when it is told to:
 * test/integrations/monitoring has the real ones.
 */

const folder = mkdtempSync(join(tmpdir(), 'drydock-'));
after(() => rmSync(folder, { recursive: true }));
const { signal } = new AbortController();
const secret = 'Zm9yIHlvdXIgZXllcyBvbmx5';

type Bench = {
  readonly monitoring: Monitoring;
  readonly clock: VirtualClock;
  readonly file: string;
  readonly counted: readonly string[];
  readonly logged: readonly string[];
  readonly asked: readonly ServedRequest[];
};

async function bench(
  answer: (asked: ServedRequest) => Answer,
  use: (bench: Bench) => Promise<void>,
  more = '',
): Promise<void> {
  await using server = await serving(answer);
  const file = join(folder, 'sources.yaml');
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, `${secret}\n`);
  const source = (kind: string) =>
    `{kind: ${kind}, url: "${server.base}/base", timeout: 5s, authorization: {credentials_file: token}${more}}`;
  writeFileSync(file, `sources: [${source('prometheus')}, ${source('alertmanager')}]`);
  const clock = new VirtualClock(Temporal.Instant.from('2026-11-21T08:00:00Z'));
  const counted: string[] = [];
  const logged: string[] = [];
  const line = (text: string, fields?: object): void =>
    void logged.push(`${text} ${JSON.stringify(fields)}`);
  const log: Log = { ...silentLog, info: line, warn: line };
  const meter = {
    queried: (kind: string, result: string) => void counted.push(`${kind} ${result}`),
  };
  await use({
    monitoring: openMonitoring(file, { clock, log, meter }),
    clock,
    file,
    counted,
    logged,
    asked: server.asked,
  });
  assert.doesNotMatch(logged.join('\n'), new RegExp(secret));
}

function json(body: unknown, status = 200): Answer {
  return { status, text: JSON.stringify(body) };
}
function vector(...result: readonly unknown[]): Answer {
  return json({ status: 'success', data: { resultType: 'vector', result } });
}
function said(told: QueryResult<unknown>): unknown {
  return 'problem' in told ? told.problem : told.value;
}

test('a query is one POST with its time limit, below the path of the address, with the token of that moment', async () => {
  await bench(
    () => vector({ metric: { __name__: 'up', odd: 1 }, value: [1, '1e-3'] }),
    async ({ monitoring, asked, counted }) => {
      assert.deepEqual(said(await monitoring.samples('default', 'a + b', signal)), [
        { labels: { __name__: 'up' }, value: 0.001 },
      ]);
      const [one] = asked;
      assert.deepEqual(
        [one?.method, one?.path, one?.headers.authorization],
        ['POST', '/base/api/v1/query', `Bearer ${secret}`],
      );
      assert.deepEqual(Object.fromEntries(new URLSearchParams(one?.body)), {
        query: 'a + b',
        timeout: '5s',
        limit: '1001',
      });
      writeFileSync(join(folder, 'token'), 'another');
      await monitoring.samples('default', 'a', signal);
      assert.equal(asked[1]?.headers.authorization, 'Bearer another');
      assert.deepEqual(counted, ['promql answered', 'promql answered']);
    },
  );
});

const answers: readonly (readonly [what: string, answer: Answer, says: RegExp, counted: string])[] =
  [
    [
      'a redirect',
      { status: 302, headers: { location: 'http://169.254.169.254/' } },
      /redirect \(302\), which is not followed/,
      'failed',
    ],
    [
      'a refusal that quotes the token',
      json({ error: `bad ${secret}` }, 400),
      /^source default refuses the question: bad \*\*\*$/,
      'refused',
    ],
    [
      'a long refusal',
      json({ error: 'x'.repeat(10_000) }, 400),
      /^source default refuses the question: x{200}$/,
      'refused',
    ],
    [
      'lines',
      json({ error: 'one\n\u001b[31mtwo' }, 422),
      /^source default refuses the question: one \[31mtwo$/,
      'refused',
    ],
    [
      'nobody there',
      { status: 404, text: '<html>' },
      /^source default responds with 404$/,
      'failed',
    ],
    [
      'trouble',
      json({ error: 'query timed out' }, 503),
      /^source default responds with 503: query timed out$/,
      'failed',
    ],
    [
      'another page',
      { text: '<html>' },
      /^source default does not respond like a Prometheus$/,
      'unusable',
    ],
    ['another API', json({ status: 'success' }), /does not respond like a Prometheus/, 'unusable'],
    [
      'an error with 200',
      json({ status: 'error', data: {} }),
      /does not respond like a Prometheus/,
      'unusable',
    ],
    ['a vector of something', vector(7), /does not respond like a Prometheus/, 'unusable'],
    [
      'a value that is no text',
      vector({ metric: {}, value: [1, 1] }),
      /does not respond like a Prometheus/,
      'unusable',
    ],
    [
      'an empty value',
      vector({ metric: {}, value: [1, ''] }),
      /does not respond like a Prometheus/,
      'unusable',
    ],
    [
      'a value in words',
      vector({ metric: {}, value: [1, '0x10'] }),
      /does not respond like a Prometheus/,
      'unusable',
    ],
    ['histograms', vector({ metric: {}, histogram: [1, {}] }), /native histograms/, 'unusable'],
    [
      'warnings',
      json({
        status: 'success',
        data: { resultType: 'scalar', result: [1, '1'] },
        warnings: ['a store is away'],
      }),
      /^source default warns that its response may be incomplete: a store is away$/,
      'unusable',
    ],
    [
      'more than anybody reads',
      { text: `"${'x'.repeat(9 * 1024 * 1024)}"` },
      /is larger than 8 MiB: query less$/,
      'unusable',
    ],
  ];
for (const [what, answer, says, result] of answers) {
  test(`${what} is told in one short line, and is no answer`, () =>
    bench(
      () => answer,
      async ({ monitoring, counted, asked }) => {
        const problem = said(await monitoring.samples('default', 'a', signal));
        assert.match(String(problem), says);
        assert.deepEqual(counted, [`promql ${result}`]);
        assert.equal(asked.length, 1, 'nobody else is asked');
      },
    ));
}

test('values are numbers as Go writes them', () =>
  bench(
    () =>
      vector(
        ...['NaN', '+Inf', '-Inf', '-0.5', '3', '1.5e+06', '5e-324'].map(value => ({
          metric: {},
          value: [1, value],
        })),
      ),
    async ({ monitoring }) => {
      const told = await monitoring.samples('default', 'a', signal);
      const values = 'value' in told ? told.value.map(({ value }) => value) : [];
      assert.deepEqual(values, [
        Number.NaN,
        Number.POSITIVE_INFINITY,
        Number.NEGATIVE_INFINITY,
        -0.5,
        3,
        1_500_000,
        Number.MIN_VALUE,
      ]);
    },
  ));

test('who does not answer is left after the time limit; who asks may leave at any time', () =>
  bench(
    () => 'hang',
    async ({ monitoring, clock, asked, logged }) => {
      const heard = async (count: number): Promise<void> => {
        while (asked.length < count) await new Promise(resolve => setImmediate(resolve));
      };
      const first = monitoring.samples('default', 'a', signal);
      await heard(1);
      await clock.advance(5000);
      assert.equal(said(await first), 'source default does not respond: nothing within 5 s');
      assert.equal(logged.length, 1);
      const stop = new AbortController();
      const second = monitoring.samples('default', 'a', stop.signal);
      await heard(2);
      stop.abort(new Error('enough'));
      await assert.rejects(second, /enough/);
    },
  ));

test('trouble is logged when it begins and when it is over; what a plan has written is not', async () => {
  let answer: Answer = { status: 500 };
  await bench(
    () => answer,
    async ({ monitoring, logged }) => {
      const ask = () => monitoring.samples('default', 'a', signal);
      await ask();
      await ask();
      assert.equal(logged.length, 1);
      assert.match(
        logged[0] ?? '',
        /^failed to query a monitoring source .*"source":"default","kind":"prometheus"/,
      );
      answer = json({ error: 'parse error' }, 400);
      await ask();
      answer = vector();
      await ask();
      await ask();
      assert.match(logged[1] ?? '', /^a monitoring source responds again /);
      assert.equal(logged.length, 2);
      unlinkSync(join(folder, 'token'));
      assert.match(
        String(said(await ask())),
        /^the operator cannot read the credentials or certificates of source default: its log names the file$/,
      );
      assert.match(logged[2] ?? '', /ENOENT.*token/);
    },
  );
});

test('a source that is not known is told with those that are; the file is read again when it changes, and counts no more while it is wrong', () =>
  bench(
    () => vector(),
    async ({ monitoring, clock, file, logged, counted }) => {
      const ask = async (name: string) => said(await monitoring.samples(name, 'a', signal));
      assert.match(
        String(await ask('main')),
        /^the operator knows no source main of kind prometheus; it knows default: its administrator/,
      );
      assert.deepEqual([await ask('default'), counted], [[], ['promql answered']]);
      writeFileSync(file, 'sources: [{kind: prometheus, name: main, url: "http://127.0.0.1:9"}]');
      await ask('default');
      clock.jump(10_000);
      assert.match(String(await ask('default')), /it knows main/);
      assert.match(
        String(said(await monitoring.firing('main', [], signal))),
        /knows no source main of kind alertmanager; it knows none/,
      );
      writeFileSync(file, 'sources: {}');
      clock.jump(10_000);
      for (const name of ['main', 'main'])
        assert.match(
          String(await ask(name)),
          /^the sources of the operator are not known: sources in .*sources\.yaml is no list/,
        );
      writeFileSync(
        file,
        'poll_interval: 20s\nsources: [{kind: prometheus, name: main, url: "http://127.0.0.1:9"}]',
      );
      clock.jump(10_000);
      assert.match(String(await ask('main')), /does not respond: ECONNREFUSED/);
      assert.equal(monitoring.everyMs, 20_000);
      assert.deepEqual(
        logged.map(text => text.split(' {')[0]),
        [
          'failed to read the file of --monitoring-config: all gates that use a source are unknown',
          'the file of --monitoring-config can be read again',
          'failed to query a monitoring source',
        ],
      );
    },
  ));

function alert(alertname: string | undefined, state = 'active') {
  return { labels: { alertname, node: 'w1' }, status: { state } };
}
function begun(uptime: unknown, cluster?: unknown): Answer {
  return {
    text: JSON.stringify({ uptime, cluster }),
    headers: { date: 'Sat, 21 Nov 2026 09:00:00 GMT' },
  };
}
const settled = begun('2026-11-21T08:58:00Z');

const alerts: readonly (readonly [what: string, alerts: Answer, status: Answer, says: unknown])[] =
  [
    [
      'what fires',
      json([alert('A'), alert('B', 'suppressed'), alert('C', 'unprocessed'), alert(undefined)]),
      'hang',
      [
        { name: 'A', about: ['w1'] },
        { name: 'C', about: ['w1'] },
        { name: 'an alert without a name', about: ['w1'] },
      ],
    ],
    ['nothing', json([]), settled, []],
    [
      'nothing, of one that has just begun',
      json([]),
      begun('2026-11-21T08:58:01Z'),
      'source default has begun less than 120 s ago, and may not know all alerts yet',
    ],
    [
      'nothing, of one that waits for its peers',
      json([]),
      begun('2026-11-20T08:00:00Z', { status: 'settling' }),
      'source default waits for its peers, and may not know of all alerts',
    ],
    [
      'nothing, of one that says no time',
      json([]),
      begun(7),
      'source default does not respond like an Alertmanager',
    ],
    [
      'nothing, of one that fails then',
      json([]),
      { status: 500 },
      'source default responds with 500',
    ],
    ['no list', json({}), settled, 'source default does not respond like an Alertmanager'],
    ['no JSON', { text: 'OK' }, settled, 'source default does not respond like an Alertmanager'],
    [
      'a refusal in a text',
      json('bad matcher format: x', 400),
      settled,
      'source default refuses the question: bad matcher format: x',
    ],
  ];
for (const [what, listed, status, says] of alerts) {
  test(`alerts: ${what}`, () =>
    bench(
      ({ path }) => (path.startsWith('/base/api/v2/alerts?') ? listed : status),
      async ({ monitoring, asked }) => {
        assert.deepEqual(
          said(await monitoring.firing('default', ['a="b"', 'c!~"d&e"'], signal)),
          says,
        );
        assert.equal(
          asked[0]?.path,
          '/base/api/v2/alerts?active=true&silenced=false&inhibited=false&filter=a%3D%22b%22&filter=c%21%7E%22d%26e%22',
        );
      },
    ));
}

test('TLS: the name of the certificate, the authority and the certificate of ours are those of the file, and are read again when they change', async () => {
  const seen: string[] = [];
  const options = {
    ...serverPair,
    ca: testAuthority,
    requestCert: true,
    rejectUnauthorized: false,
  };
  const server = createServer(options, (request, response) => {
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    seen.push(String(subject?.CN));
    response.end(JSON.stringify({ status: 'success', data: { resultType: 'vector', result: [] } }));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  try {
    const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const source = (name: string, serverName: string, tls = 'ca_file: ca.crt') =>
      `{name: ${name}, kind: prometheus, url: "${url}", tls_config: {${tls}, cert_file: own.crt, key_file: own.key, server_name: ${serverName}}}`;
    const all = [
      source('right', 'kubernetes.test'),
      source('wrong', 'other.test'),
      source('any', 'other.test', 'insecure_skip_verify: true'),
    ];
    write('tls.yaml', `sources: [${all.join(', ')}]`);
    write('ca.crt', testAuthority);
    const own = ({ cert, key }: typeof clientA): void => {
      write('own.crt', cert);
      write('own.key', key);
    };
    own(clientA);
    const monitoring = openMonitoring(join(folder, 'tls.yaml'), {
      clock: systemClock,
      log: silentLog,
    });
    const ask = async (name: string) => said(await monitoring.samples(name, 'up', signal));
    assert.deepEqual(await ask('right'), []);
    own(clientB);
    assert.deepEqual(await ask('right'), []);
    assert.deepEqual(seen, ['client-a', 'client-b']);
    assert.equal(await ask('wrong'), 'source wrong does not respond: ERR_TLS_CERT_ALTNAME_INVALID');
    assert.deepEqual(await ask('any'), []);
    write('own.key', 'no key');
    assert.match(String(await ask('right')), /^source right does not respond: ERR_[A-Z_]+$/);
    write('ca.crt', clientA.cert);
    own(clientA);
    assert.match(String(await ask('right')), /^source right does not respond: [A-Z_]+$/);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
