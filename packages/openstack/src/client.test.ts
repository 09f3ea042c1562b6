import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { serverPair, testAuthority } from '@drydock/kube-client/testing';
import { quickClock, serving } from '@drydock/utils/testing';
import { computeEndpoint } from './identity.ts';
import { httpExchange, type Nova, openNova } from './nova.ts';
import { makeHarness, simulatedConfig, type Tap } from './testing/harness.ts';

const { signal } = new AbortController();

function endpoint(name: string, region: string) {
  return { interface: name, region_id: region, url: `http://${name}.${region}/v2.1/` };
}
function catalog(endpoints: readonly ReturnType<typeof endpoint>[]) {
  return [
    { type: 'volumev3', endpoints: [] },
    { type: 'compute', endpoints },
  ];
}

const one = [endpoint('public', 'R1'), endpoint('internal', 'R1')];
const two = [...one, endpoint('internal', 'R2')];
const places: readonly (readonly [string, Parameters<typeof computeEndpoint>, string])[] = [
  ['the only one', [catalog(one), { interface: 'internal' }], 'http://internal.R1/v2.1'],
  ['another interface', [catalog(one), { interface: 'public' }], 'http://public.R1/v2.1'],
  [
    'a region of two',
    [catalog(two), { interface: 'internal', region: 'R2' }],
    'http://internal.R2/v2.1',
  ],
  [
    'two regions and no choice',
    [catalog(two), { interface: 'internal' }],
    'the catalog has several regions (R1, R2): choose one with --region',
  ],
  [
    'a region that there is not',
    [catalog(two), { interface: 'internal', region: 'R3' }],
    'the catalog has no region R3 with a compute endpoint; it has R1, R2',
  ],
  [
    'an interface that there is not',
    [catalog(one), { interface: 'admin' }],
    'the catalog has no admin endpoint of type compute; it has internal, public',
  ],
  [
    'no compute',
    [[], { interface: 'internal' }],
    'the catalog of Keystone has no service of type compute',
  ],
];
for (const [what, [entries, config], said] of places) {
  test(`the endpoint: ${what}`, () => {
    const { value, failure } = computeEndpoint(entries, config);
    assert.equal(value ?? failure?.message, said);
  });
}

async function failureOf(nova: Nova) {
  return (await nova.services(signal)).failure;
}

test('a wrong password is told in the words of Keystone, with where it is written, and is not tried again', async () => {
  const harness = makeHarness();
  let logins = 0;
  const config = simulatedConfig();
  assert.ok(config.login.kind === 'password');
  const nova = openNova(
    { ...config, login: { ...config.login, password: 'wr0ng' } },
    harness.clock,
    asking => {
      logins += 1;
      return harness.api.exchange(asking);
    },
  );
  const failure = await failureOf(nova);
  assert.equal(
    failure?.message,
    'Keystone refuses the login of the environment: The request you have made requires authentication.',
  );
  assert.deepEqual([failure.kind, logins], ['credentials', 1]);
});

test('an application credential logs in without a project', async () => {
  const harness = makeHarness();
  const login = {
    kind: 'applicationCredential',
    credential: { id: 'credential' },
    secret: 'secret',
  } as const;
  const nova = openNova({ ...simulatedConfig(), login }, harness.clock, asking =>
    harness.api.exchange(asking),
  );
  assert.equal((await nova.services(signal)).value?.length, 3);
});

test('the highest microversion that both know is spoken, and a Nova before Pike is refused', async () => {
  const asked = new Set<string | undefined>();
  const tap: Tap = (asking, carry) => {
    asked.add(asking.headers['openstack-api-version']);
    return carry();
  };
  for (const [most, spoken] of [
    [96, 'compute 2.93'],
    [60, 'compute 2.60'],
    [53, 'compute 2.53'],
  ] as const) {
    asked.clear();
    const nova = makeHarness({ minors: [1, most] }).open(tap);
    assert.ok((await nova.services(signal)).value);
    assert.ok(asked.has(spoken), [...asked].join(' '));
  }
  const old = await failureOf(makeHarness({ minors: [1, 38] }).open());
  assert.match(old?.message ?? '', /speaks microversions up to 2\.38; 2\.53 \(Pike\) is needed/);
});

test('hypervisors are not asked how long they have been up', async () => {
  const versions: (string | undefined)[] = [];
  const nova = makeHarness().open((asking, carry) => {
    if (asking.url.includes('os-hypervisors'))
      versions.push(asking.headers['openstack-api-version']);
    return carry();
  });
  assert.equal((await nova.hypervisors(signal)).value?.[0]?.host, 'compute-1');
  assert.deepEqual(versions, ['compute 2.87']);
});

test('many who ask at once log in once, and a token is renewed before it ends', async () => {
  const harness = makeHarness({ tokenSeconds: 80 });
  const nova = harness.open();
  await Promise.all(Array.from({ length: 5 }, () => nova.services(signal)));
  assert.equal(harness.api.keystone.logins, 1);
  await harness.clock.sleep(69_000);
  await nova.services(signal);
  assert.equal(harness.api.keystone.logins, 1);
  await harness.clock.sleep(2000);
  await nova.services(signal);
  assert.equal(harness.api.keystone.logins, 2);
});

test('a POST whose token has ended is repeated with a new one, and done once', async () => {
  const harness = makeHarness();
  const id = harness.add({ name: 'a', host: 'compute-1' });
  const nova = harness.open();
  await nova.services(signal);
  harness.api.keystone.revoke();
  assert.equal(
    (await nova.perform({ kind: 'live-migrate', server: id }, '', signal)).failure,
    undefined,
  );
  assert.deepEqual([harness.cloud.migrations.records.length, harness.api.keystone.logins], [1, 2]);
});

test('a GET without an answer is repeated, a POST is not', async () => {
  const harness = makeHarness();
  const id = harness.add({ name: 'a', host: 'compute-1' });
  let lost = 0;
  const nova = harness.open((asking, carry) => {
    if (lost > 0 && asking.url.includes('/servers/')) {
      lost -= 1;
      return Promise.reject(new Error('socket hang up'));
    }
    return carry();
  });
  await nova.services(signal);
  lost = 1;
  assert.equal((await nova.server(id, signal)).value?.name, 'a');
  lost = 1;
  assert.equal(
    (await nova.perform({ kind: 'live-migrate', server: id }, '', signal)).failure?.kind,
    'unreachable',
  );
  assert.equal(harness.cloud.migrations.records.length, 0);
});

test('a server that is booted from a volume has no image, and is read', async () => {
  const harness = makeHarness();
  harness.add({ name: 'local', host: 'compute-1' });
  harness.add({ name: 'volume', host: 'compute-1', volumeBacked: true });
  const nova = harness.open();
  const servers = (await nova.serversOn('compute-1', signal)).value ?? [];
  assert.deepEqual(Object.fromEntries(servers.map(one => [one.name, one.isVolumeBacked])), {
    local: false,
    volume: true,
  });
});

test('a page whose last server is deleted in the middle is begun anew', async () => {
  const harness = makeHarness({ pageSize: 2 });
  const ids = ['a', 'b', 'c', 'd', 'e'].map(name => harness.add({ name, host: 'compute-1' }));
  let pages = 0;
  const nova = harness.open((asking, carry) => {
    if (asking.url.includes('/servers/detail')) pages += 1;
    if (pages === 2) harness.cloud.deleteServer(ids[3] ?? '');
    return carry();
  });
  await nova.services(signal);
  const servers = (await nova.serversOn('compute-1', signal)).value ?? [];
  assert.deepEqual(servers.map(({ name }) => name).sort(), ['a', 'b', 'c', 'e']);
});

test('reasons are found with microversions that do not tell details', async () => {
  const harness = makeHarness({ minors: [1, 79] });
  const id = harness.add({ name: 'a', host: 'compute-1', pinned: true });
  const nova = harness.open();
  await nova.services(signal);
  await nova.perform({ kind: 'live-migrate', server: id }, '', signal);
  await harness.clock.sleep(1000);
  const [record] = (await nova.migrations('compute-1', undefined, signal)).value ?? [];
  assert.ok(record);
  assert.equal(await nova.reason(record, signal), 'NoValidHost');
  assert.equal(record.user, undefined);
});

test('what is no Keystone and what is no JSON is a failure, and no exception', async () => {
  await using web = await serving(({ path }) =>
    path.endsWith('/tokens') ? { status: 201, text: '<html>' } : { status: 404 },
  );
  const failure = await failureOf(openNova(simulatedConfig(`${web.base}/v3`), quickClock()));
  assert.match(failure?.message ?? '', /does not answer as a Keystone of version 3/);
  const nobody = await failureOf(openNova(simulatedConfig('http://127.0.0.1:9/v3'), quickClock()));
  assert.equal(nobody?.kind, 'unreachable');
});

test('TLS: the authority of a file, any certificate when told so, and neither without', async () => {
  const server = createServer({ cert: serverPair.cert, key: serverPair.key }, (_, response) =>
    response.writeHead(404).end('{"error":{"message":"seen"}}'),
  );
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const folder = mkdtempSync(join(tmpdir(), 'drydock-'));
  try {
    const caFile = join(folder, 'ca.pem');
    writeFileSync(caFile, testAuthority);
    const config = simulatedConfig(
      `https://127.0.0.1:${(server.address() as AddressInfo).port}/v3`,
    );
    const said = async (tls: { readonly caFile?: string; readonly insecure?: boolean }) =>
      (await failureOf(openNova({ ...config, ...tls }, quickClock())))?.message ?? '';
    assert.match(await said({ caFile }), /seen$/);
    assert.match(await said({ insecure: true }), /seen$/);
    assert.match(await said({}), /does not answer: .*(certificate|UNABLE_TO_VERIFY)/i);
    assert.throws(
      () => httpExchange({ caFile: join(folder, 'none.pem') }),
      /cannot read the CA file .*none\.pem/,
    );
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  }
});
