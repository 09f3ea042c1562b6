import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { MachineEvent, TroubleReason } from '@drydock/core/machine';
import type { Clock } from '@drydock/utils';
import { serving } from '@drydock/utils/testing';
import { type Account, ec2Answer, ec2Server, type Fault } from '../testing/ec2.ts';
import { openEc2 } from './client.ts';
import { scanEc2 } from './scan.ts';

const region = 'us-east-1';
const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };
const clock: Clock = {
  now: () => Temporal.Instant.from('2030-01-10T00:00:00Z'),
  sleep: async () => {},
  after: () => () => {},
};
const { signal } = new AbortController();
function id(n: number): string {
  return `i-${n.toString(16).padStart(17, '0')}`;
}
const ids = Array.from({ length: 250 }, (_, n) => id(n));

function account(more: Partial<Account> = {}): Account {
  return {
    instances: new Map(
      ids.map((id, n) => [
        id,
        n % 50 === 0
          ? [
              {
                InstanceEventId: `e-${n}`,
                Code: 'system-reboot',
                Description: '[Completed] a & b',
                NotBefore: new Date('2030-01-01T00:00:00Z'),
              },
              {
                InstanceEventId: `f-${n}`,
                Code: 'instance-stop',
                Description: 'c',
                NotBefore: new Date('2030-02-01T00:00:00Z'),
              },
            ]
          : undefined,
      ]),
    ),
    stopped: new Set([id(50)]),
    ...more,
  };
}

function words({
  id,
  instance,
  kind,
  state,
  description,
  notBefore,
}: MachineEvent): readonly unknown[] {
  return [id, instance, kind, state, description, String(notBefore)];
}

test('the SDK asks for batches of ids without MaxResults, for stopped ones too, and for events only', async () => {
  await using server = await ec2Server(account());
  using client = await openEc2({ region, credentials, endpoint: server.base });
  const { events, looked, unknown, trouble } = await scanEc2({
    instances: [...ids, id(9999)],
    client,
    source: 'aws',
    clock,
    signal,
  });
  assert.deepEqual([looked.size, unknown, trouble], [250, [id(9999)], undefined]);
  assert.deepEqual(events.map(words).slice(2, 4), [
    ['e-50', id(50), 'reboot', 'Completed', 'a & b', '2030-01-01T00:00:00Z'],
    ['f-50', id(50), 'stop', 'Scheduled', 'c', '2030-02-01T00:00:00Z'],
  ]);
  assert.equal(events.length, 10);
  const forms = server.asked.map(({ body }) => new URLSearchParams(body));
  assert.equal(forms.length, 4);
  for (const form of forms) {
    assert.deepEqual(
      [
        form.get('Action'),
        form.get('IncludeAllInstances'),
        form.has('MaxResults'),
        form.get('Filter.1.Name'),
      ],
      ['DescribeInstanceStatus', 'true', false, 'event.code'],
    );
  }
  assert.match(
    server.asked[0]?.headers.authorization ?? '',
    /Credential=AKIDEXAMPLE\/\d+\/us-east-1\/ec2\//,
  );
});

const faults: readonly (readonly [Fault, TroubleReason, number])[] = [
  [
    {
      status: 403,
      code: 'UnauthorizedOperation',
      message: 'You are not authorized to perform this operation.',
    },
    'NotAuthorized',
    1,
  ],
  [
    {
      status: 401,
      code: 'AuthFailure',
      message: 'AWS was not able to validate the provided access credentials',
    },
    'CredentialsRefused',
    1,
  ],
  [
    { status: 400, code: 'RequestExpired', message: 'Request has expired.' },
    'CredentialsExpired',
    1,
  ],
  [
    {
      status: 400,
      code: 'InvalidRequest',
      message: '130 exceeds the maximum number of instance IDs',
    },
    'Failed',
    1,
  ],
];
for (const [fault, reason, calls] of faults) {
  test(`${fault.code} is ${reason}, after ${calls} call`, async () => {
    await using server = await ec2Server(account({ faults: [fault] }));
    using client = await openEc2({ region, credentials, endpoint: server.base });
    const { looked, trouble } = await scanEc2({
      instances: [id(0)],
      client,
      source: 'aws',
      clock,
      signal,
    });
    assert.deepEqual([looked.size, trouble?.reason, server.asked.length], [0, reason, calls]);
    assert.ok(
      trouble?.message.includes(fault.message.replace(/\.$/, '')) === true,
      trouble?.message ?? 'no trouble',
    );
  });
}

test('throttling that ends within the three calls of the SDK is nobody`s trouble', async () => {
  const throttle: Fault = {
    status: 503,
    code: 'RequestLimitExceeded',
    message: 'Request limit exceeded.',
  };
  await using server = await ec2Server(account({ faults: [throttle] }));
  using client = await openEc2({ region, credentials, endpoint: server.base });
  const { looked, trouble } = await scanEc2({
    instances: [id(0)],
    client,
    source: 'aws',
    clock,
    signal,
  });
  assert.deepEqual([looked.size, trouble, server.asked.length], [1, undefined, 2]);
});

test('nobody listens: unreachable', async () => {
  const server = await ec2Server(account());
  await server[Symbol.asyncDispose]();
  using client = await openEc2({ region, credentials, endpoint: server.base });
  const { trouble } = await scanEc2({ instances: [id(0)], client, source: 'aws', clock, signal });
  assert.equal(trouble?.reason, 'Unreachable');
});

test('a call that hangs ends with the signal, and rejects with its reason', async () => {
  await using server = await serving(() => 'hang');
  using client = await openEc2({ region, credentials, endpoint: server.base });
  const stop = new AbortController();
  const reason = new Error('enough');
  const scan = assert.rejects(
    scanEc2({ instances: [id(0)], client, source: 'aws', clock, signal: stop.signal }),
    reason,
  );
  while (server.asked.length === 0) await new Promise(resolve => setTimeout(resolve, 5));
  stop.abort(reason);
  await scan;
});

/**
 * Sets the environment for as long as a test lasts; every variable of AWS that is not named is
 * taken off.
 */
function environment(wanted: Readonly<Record<string, string>>): Disposable {
  const before = { ...process.env };
  for (const name of Object.keys(process.env))
    if (name.startsWith('AWS_')) delete process.env[name];
  const none = {
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  };
  Object.assign(process.env, none, wanted);
  return {
    [Symbol.dispose]: () => {
      for (const name of Object.keys(process.env))
        if (name.startsWith('AWS_')) delete process.env[name];
      Object.assign(process.env, before);
    },
  };
}

function keyOf(authorization: string | undefined): string | undefined {
  return /Credential=([^/]+)/.exec(authorization ?? '')?.[1];
}

test('without credentials of its own it takes those of the environment', async () => {
  using _ = environment({ AWS_ACCESS_KEY_ID: 'AKIDENV', AWS_SECRET_ACCESS_KEY: 'x' });
  await using server = await ec2Server(account());
  using client = await openEc2({ region, endpoint: server.base });
  assert.equal((await client.describe([id(0)], signal)).failure, undefined);
  assert.equal(keyOf(server.asked[0]?.headers.authorization), 'AKIDENV');
});

test('without any credentials it says that they are missing', async () => {
  using _ = environment({});
  await using server = await ec2Server(account());
  using client = await openEc2({ region, endpoint: server.base });
  const { trouble } = await scanEc2({ instances: [id(0)], client, source: 'aws', clock, signal });
  assert.deepEqual([trouble?.reason, server.asked.length], ['CredentialsMissing', 0]);
});

const stsAnswer = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
  <Credentials><AccessKeyId>ASIAWEB</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>
  <Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;

test('the web identity of a pod is changed for credentials by STS', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'drydock-'));
  try {
    writeFileSync(join(folder, 'token'), 'a.b.c');
    await using server = await serving(asked =>
      new URLSearchParams(asked.body).get('Action') === 'AssumeRoleWithWebIdentity'
        ? { text: stsAnswer, headers: { 'content-type': 'text/xml' } }
        : ec2Answer(account(), asked),
    );
    using _ = environment({
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/drydock',
      AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'token'),
      AWS_ENDPOINT_URL_STS: server.base,
      AWS_REGION: region,
    });
    using client = await openEc2({ region, endpoint: server.base });
    assert.equal((await client.describe([id(0)], signal)).failure, undefined);
    const [sts, ec2] = server.asked;
    assert.equal(new URLSearchParams(sts?.body ?? '').get('WebIdentityToken'), 'a.b.c');
    assert.equal(keyOf(ec2?.headers.authorization), 'ASIAWEB');
    assert.equal(ec2?.headers['x-amz-security-token'], 't');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the role of an instance is asked for at its metadata service', async () => {
  const role = {
    Code: 'Success',
    AccessKeyId: 'ASIAROLE',
    SecretAccessKey: 's',
    Token: 't',
    Expiration: '2099-01-01T00:00:00Z',
  };
  await using server = await serving(asked => {
    if (asked.path === '/latest/api/token') return { text: 'token' };
    if (asked.path.endsWith('/security-credentials/')) return { text: 'drydock' };
    if (asked.path.endsWith('/security-credentials/drydock')) return { text: JSON.stringify(role) };
    return ec2Answer(account(), asked);
  });
  using _ = environment({
    AWS_EC2_METADATA_DISABLED: 'false',
    AWS_EC2_METADATA_SERVICE_ENDPOINT: server.base,
  });
  using client = await openEc2({ region, endpoint: server.base });
  assert.equal((await client.describe([id(0)], signal)).failure, undefined);
  assert.equal(keyOf(server.asked.at(-1)?.headers.authorization), 'ASIAROLE');
});

test('the SDK is loaded by the first client, and not before', () => {
  const url = new URL('client.ts', import.meta.url).href;
  const code = `import { createRequire, syncBuiltinESMExports } from 'node:module';
    const loaded = () => Object.keys(createRequire(import.meta.url).cache).some(path => path.includes('client-ec2'));
    const { openEc2 } = await import('${url}');
    const before = loaded();
    (await openEc2({ region: 'us-east-1' }))[Symbol.dispose]();
    console.log(before, loaded());`;
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
    cwd: import.meta.dirname,
  });
  assert.equal(said.trim(), 'false true');
});

test('through the proxy of the environment, but for what NO_PROXY names', async () => {
  await using server = await ec2Server(account());
  const through = async (noProxy: string, signal: AbortSignal) => {
    const env = { HTTP_PROXY: server.base, NO_PROXY: noProxy };
    using client = await openEc2({ region, credentials, endpoint: 'http://ec2.far.test', env });
    return await scanEc2({ instances: [id(0)], client, source: 'aws', clock, signal });
  };
  const { looked, trouble } = await through('near.test', signal);
  assert.deepEqual(
    [looked.size, trouble, server.asked[0]?.path],
    [1, undefined, 'http://ec2.far.test/'],
  );
  const { trouble: direct } = await through('far.test', signal);
  assert.equal(direct?.reason, 'Unreachable');
});
