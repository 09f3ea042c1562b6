import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ConfigFileError } from './http-client.ts';
import { readMonitoringConfig } from './sources-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'drydock-'));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'sources.yaml');
function read(text: string) {
  writeFileSync(file, text);
  return readMonitoringConfig(file);
}

test('a source has usual settings, and its files are beside the file that names them', () => {
  assert.deepEqual(read('sources: [{kind: prometheus, url: "http://prometheus:9090/base/"}]'), {
    everyMs: 15_000,
    sources: [
      {
        kind: 'prometheus',
        name: 'default',
        url: 'http://prometheus:9090/base',
        timeoutMs: 10_000,
        startupGraceMs: 120_000,
        tls: { insecure: false },
      },
    ],
  });
  const full = read(`
poll_interval: 30s
sources:
  - kind: alertmanager
    name: main
    url: https://alertmanager:9093
    timeout: 500ms
    startup_grace: 1h
    authorization: {type: Token, credentials_file: token}
    tls_config: {ca_file: /etc/ca.crt, cert_file: tls.crt, key_file: tls.key, server_name: alerts, insecure_skip_verify: true}
  - kind: prometheus
    name: main
    url: https://prometheus:9090
    basic_auth: {username: me, password_file: password}
`);
  const [alerts, metrics] = full.sources;
  assert.deepEqual(
    [full.everyMs, alerts?.timeoutMs, alerts?.startupGraceMs],
    [30_000, 500, 3_600_000],
  );
  assert.deepEqual(alerts?.authorization, {
    type: 'Token',
    credentialsFile: join(folder, 'token'),
  });
  assert.deepEqual(alerts.tls, {
    caFile: '/etc/ca.crt',
    certFile: join(folder, 'tls.crt'),
    keyFile: join(folder, 'tls.key'),
    serverName: 'alerts',
    insecure: true,
  });
  assert.deepEqual(metrics?.basicAuth, { username: 'me', passwordFile: join(folder, 'password') });
});

function source(more: string): string {
  return `sources: [{kind: prometheus, url: "http://p:9090", ${more}}]`;
}

const wrong: readonly (readonly [what: string, text: string, says: RegExp])[] = [
  ['no YAML', 'sources: [\n  password: "s3cret', /is not valid YAML: line \d$/],
  ['no map', '- s3cret', /^the file in .*sources\.yaml is no map of keys and values$/],
  ['nothing', '', /is no map/],
  ['no sources', 'sources: []', /^sources in .* is no list with something in it$/],
  [
    'another key',
    'sorces: []',
    /^sorces in .* is not known here: there are poll_interval, sources$/,
  ],
  [
    'a secret in the file itself',
    source('authorization: {credentials: s3cret}'),
    /^sources\[0\]\.authorization\.credentials in .* is not known/,
  ],
  [
    'a password in the file itself',
    source('basic_auth: {username: x, password: s3cret}'),
    /^sources\[0\]\.basic_auth\.password .*not known/,
  ],
  [
    'both ways to log in',
    source('basic_auth: {}, authorization: {}'),
    /^sources\[0\]\.basic_auth in .* cannot be there beside authorization$/,
  ],
  [
    'a misspelled file',
    source('tls_config: {ca_flie: x}'),
    /^sources\[0\]\.tls_config\.ca_flie in .*there are ca_file, cert_file/,
  ],
  [
    'a certificate without a key',
    source('tls_config: {cert_file: x}'),
    /^sources\[0\]\.tls_config\.key_file in .* is missing$/,
  ],
  [
    'another kind',
    'sources: [{kind: graphite, url: "http://p"}]',
    /^sources\[0\]\.kind in .* is none of prometheus, alertmanager$/,
  ],
  ['no address', 'sources: [{kind: prometheus}]', /^sources\[0\]\.url in .* is missing$/],
  [
    'another protocol',
    'sources: [{kind: prometheus, url: "file:///etc/passwd"}]',
    /is no http:\/\/ or https:\/\/ address$/,
  ],
  [
    'a password in the address',
    'sources: [{kind: prometheus, url: "http://me:s3cret@p"}]',
    /has a password in it: basic_auth names a file/,
  ],
  [
    'a query in the address',
    'sources: [{kind: prometheus, url: "http://p/?token=s3cret"}]',
    /has a query in it/,
  ],
  ['an odd name', source('name: Main/1'), /^sources\[0\]\.name in .* is no name/],
  ['a number for a name', source('name: 7'), /^sources\[0\]\.name in .* is no text$/],
  [
    'no duration',
    source('timeout: soon'),
    /^sources\[0\]\.timeout in .* is no duration from 0\.1 s to 60 s, for example 10s$/,
  ],
  ['too long a time limit', source('timeout: 2m'), /is no duration from/],
  [
    'too quick a question',
    'poll_interval: 10ms\nsources: [{kind: prometheus, url: "http://p"}]',
    /^poll_interval in .* from 1 s to 3600 s/,
  ],
  [
    'neither true nor false',
    source('tls_config: {insecure_skip_verify: maybe}'),
    /is neither true nor false$/,
  ],
  [
    'the same name twice',
    'sources: [{kind: prometheus, url: "http://p"}, {kind: prometheus, name: default, url: "http://q"}]',
    /^sources in .* has prometheus default twice$/,
  ],
];
for (const [what, text, says] of wrong) {
  test(`${what} is one message that names the place, and quotes no value`, () => {
    assert.throws(
      () => read(text),
      (error: unknown) => {
        assert.ok(error instanceof ConfigFileError);
        assert.match(error.message, says);
        assert.doesNotMatch(error.message, /s3cret|\n/);
        return true;
      },
    );
  });
}

test('a file that is not there has no sources; one that is no file is told by its name', () => {
  assert.deepEqual(readMonitoringConfig(join(folder, 'none.yaml')), {
    everyMs: 15_000,
    sources: [],
  });
  assert.throws(() => readMonitoringConfig(folder), {
    name: 'ConfigFileError',
    message: /cannot be read: EISDIR/,
  });
});
