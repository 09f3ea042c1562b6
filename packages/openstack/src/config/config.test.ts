import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { findNovaConfig } from './clouds-yaml.ts';
import { NovaConfigError } from './config.ts';

const folder = mkdtempSync(join(tmpdir(), 'drydock-'));
after(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const seed = `IdentityEndpoint: http://keystone-api:5000/v3/
Username: admin
Password: 12345
TenantName: service
DomainID: default
`;

test('the flat file of nova-kubernetes-drain is read, numbers as they are written', () => {
  const source = write('seed.yaml', seed);
  assert.deepEqual(findNovaConfig({ configPath: source }, { OS_CLOUD: 'other' }), {
    authUrl: 'http://keystone-api:5000/v3',
    login: {
      kind: 'password',
      user: { name: 'admin' },
      userDomain: { id: 'default' },
      password: '12345',
      scope: { project: { name: 'service' }, projectDomain: { id: 'default' } },
    },
    interface: 'internal',
    insecure: false,
    source,
  });
});

const environment = {
  OS_AUTH_URL: 'https://keystone.example:5000',
  OS_USERNAME: 'drydock',
  OS_PASSWORD: 's3cret',
  OS_PROJECT_NAME: 'admin',
};

test('the OS_* variables are read, with domains, region, interface and CA file', () => {
  const config = findNovaConfig(
    {},
    {
      ...environment,
      OS_USER_DOMAIN_NAME: 'People',
      OS_PROJECT_DOMAIN_ID: 'd2',
      OS_REGION_NAME: 'RegionTwo',
      OS_INTERFACE: 'public',
      OS_CACERT: '/etc/ca.pem',
      OS_INSECURE: 'true',
    },
  );
  assert.deepEqual(config, {
    authUrl: 'https://keystone.example:5000/v3',
    login: {
      kind: 'password',
      user: { name: 'drydock' },
      userDomain: { name: 'People' },
      password: 's3cret',
      scope: { project: { name: 'admin' }, projectDomain: { id: 'd2' } },
    },
    interface: 'public',
    region: 'RegionTwo',
    caFile: '/etc/ca.pem',
    insecure: true,
    source: 'the environment',
  });
});

test('ids need no domains, and who names no domain means the first', () => {
  const byId = findNovaConfig(
    {},
    { OS_AUTH_URL: 'http://k/v3', OS_USER_ID: 'u', OS_PASSWORD: 'p', OS_PROJECT_ID: 'x' },
  );
  assert.deepEqual(byId.login, {
    kind: 'password',
    user: { id: 'u' },
    password: 'p',
    scope: { project: { id: 'x' } },
  });
  const byName = findNovaConfig({}, environment).login;
  assert.deepEqual(byName.kind === 'password' && [byName.userDomain, byName.scope.projectDomain], [
    { id: 'default' },
    { id: 'default' },
  ]);
});

const clouds = `clouds:
  mine:
    region_name: RegionOne
    interface: admin
    cacert: /ca.pem
    verify: false
    auth:
      auth_url: http://keystone/v3
      username: admin
      project_name: admin
      user_domain_name: Default
  credential:
    auth_type: v3applicationcredential
    regions: [{name: Only}]
    auth:
      auth_url: http://keystone:5000/v2.0/
      application_credential_id: abc
`;
const secure = `clouds:
  mine: {auth: {password: hidden}}
  credential: {auth: {application_credential_secret: hidden2}}
`;

test('a cloud of clouds.yaml is read, with its secrets from secure.yaml', () => {
  const home = join(folder, 'home');
  mkdirSync(join(home, '.config', 'openstack'), { recursive: true });
  const file = write(join('home', '.config', 'openstack', 'clouds.yaml'), clouds);
  write(join('home', '.config', 'openstack', 'secure.yaml'), secure);
  const mine = findNovaConfig({ region: 'Flag' }, { HOME: home, OS_CLOUD: 'mine' });
  assert.deepEqual(
    [
      mine.login.kind === 'password' && mine.login.password,
      mine.region,
      mine.interface,
      mine.insecure,
      mine.caFile,
      mine.source,
    ],
    ['hidden', 'Flag', 'admin', true, '/ca.pem', `cloud mine of ${file}`],
  );
  const other = findNovaConfig(
    { cloud: 'credential' },
    { OS_CLIENT_CONFIG_FILE: file, OS_CLOUD: 'mine' },
  );
  assert.deepEqual(other.login, {
    kind: 'applicationCredential',
    credential: { id: 'abc' },
    secret: 'hidden2',
  });
  assert.deepEqual([other.authUrl, other.region], ['http://keystone:5000/v3', 'Only']);
  assert.throws(
    () => findNovaConfig({ cloud: 'none' }, { HOME: home }),
    /clouds.yaml has no cloud none; it has credential, mine/,
  );
});

const bad: readonly (readonly [string, () => unknown, RegExp])[] = [
  [
    'no such file',
    () => findNovaConfig({ configPath: join(folder, 'none.yaml') }, {}),
    /there is no file .*none\.yaml/,
  ],
  [
    'a key that is missing',
    () => findNovaConfig({ configPath: write('a.yaml', seed.replace(/Password.*\n/, '')) }, {}),
    /^Password is missing in .*a\.yaml$/,
  ],
  [
    'what is not valid YAML',
    () => findNovaConfig({ configPath: write('b.yaml', 'Password: "s3cret\nUsername: [') }, {}),
    /b\.yaml is not valid YAML: line \d/,
  ],
  [
    'what is no map',
    () => findNovaConfig({ configPath: write('c.yaml', '- 1\n') }, {}),
    /c\.yaml is no map/,
  ],
  [
    'no address',
    () => findNovaConfig({ configPath: write('d.yaml', seed.replace('http:', 'ftp:')) }, {}),
    /^IdentityEndpoint in .*d\.yaml is no http/,
  ],
  [
    'a variable that is missing',
    () => findNovaConfig({}, { ...environment, OS_PASSWORD: '' }),
    /^OS_PASSWORD is missing in the environment$/,
  ],
  [
    'an interface that there is not',
    () => findNovaConfig({ interface: 'secret' }, environment),
    /^--interface in the command line is secret/,
  ],
  [
    'a way to log in that is not served',
    () => findNovaConfig({}, { ...environment, OS_AUTH_TYPE: 'v3oidc' }),
    /auth_type v3oidc .* is not served/,
  ],
  [
    'no clouds.yaml',
    () => findNovaConfig({ cloud: 'x' }, { OS_CLIENT_CONFIG_FILE: join(folder, 'no.yaml') }),
    /there is no clouds\.yaml: looked for/,
  ],
  ['nothing at all', () => findNovaConfig({}, {}), /no OpenStack is configured/],
];
for (const [what, read, message] of bad) {
  test(`${what} is one message that names key and place, and no secret`, () => {
    assert.throws(read, error => {
      assert.ok(error instanceof NovaConfigError);
      assert.match(error.message, message);
      assert.ok(!error.message.includes('s3cret') && !error.message.includes('12345'));
      return true;
    });
  });
}

test("Keystone's address may end in any version, or in none: version 3 is at the same place", () => {
  const urls: readonly (readonly [told: string, authUrl: string])[] = [
    ['http://k:5000', 'http://k:5000/v3'],
    ['http://k:5000/', 'http://k:5000/v3'],
    ['http://k:5000/v3', 'http://k:5000/v3'],
    ['http://k:5000/v3/', 'http://k:5000/v3'],
    ['http://k:5000/v2.0', 'http://k:5000/v3'],
    ['http://k:5000/v2.0/', 'http://k:5000/v3'],
    ['http://k:5000/v3/auth/tokens', 'http://k:5000/v3'],
    ['https://cloud.example/identity', 'https://cloud.example/identity/v3'],
    ['https://cloud.example/identity/v2.0', 'https://cloud.example/identity/v3'],
    ['https://v3.example/keystone', 'https://v3.example/keystone/v3'],
  ];
  for (const [told, authUrl] of urls) {
    const config = findNovaConfig(
      {},
      { OS_AUTH_URL: told, OS_USER_ID: 'u', OS_PASSWORD: 'p', OS_PROJECT_ID: 'x' },
    );
    assert.equal(config.authUrl, authUrl, told);
  }
});
