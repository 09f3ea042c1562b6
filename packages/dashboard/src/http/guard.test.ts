import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostsOf, rejectForeignOrigin, withoutToken } from './guard.ts';

const hosts = hostsOf('127.0.0.1', 8720);

const cases: readonly (readonly [
  what: string,
  headers: Readonly<Record<string, string>>,
  welcome: boolean,
])[] = [
  ['by its address', { host: '127.0.0.1:8720' }, true],
  ['by name', { host: 'localhost:8720' }, true],
  ['by name, shouted', { host: 'LOCALHOST:8720' }, true],
  ['over IPv6', { host: '[::1]:8720' }, true],
  ['without a host', {}, false],
  ['under the name of another site (DNS rebinding)', { host: 'evil.example:8720' }, false],
  ['under a name that begins alike', { host: 'localhost.evil.example:8720' }, false],
  ['under another port', { host: 'localhost:8721' }, false],
  ['under no port', { host: 'localhost' }, false],
  ['from the page itself', { host: 'localhost:8720', origin: 'http://localhost:8720' }, true],
  [
    'from the page under its other name',
    { host: 'localhost:8720', origin: 'http://127.0.0.1:8720' },
    false,
  ],
  ['from another site', { host: 'localhost:8720', origin: 'https://evil.example' }, false],
  [
    'from a page of another port',
    { host: 'localhost:8720', origin: 'http://localhost:3000' },
    false,
  ],
  [
    'over https, which this is not',
    { host: 'localhost:8720', origin: 'https://localhost:8720' },
    false,
  ],
  ['from a sandboxed frame or a file', { host: 'localhost:8720', origin: 'null' }, false],
  [
    'as the browser says of the page itself',
    { host: 'localhost:8720', 'sec-fetch-site': 'same-origin' },
    true,
  ],
  [
    'as the browser says of an address typed in',
    { host: 'localhost:8720', 'sec-fetch-site': 'none' },
    true,
  ],
  [
    'as the browser says of another site',
    { host: 'localhost:8720', 'sec-fetch-site': 'cross-site' },
    false,
  ],
  [
    'as the browser says of another port',
    { host: 'localhost:8720', 'sec-fetch-site': 'same-site' },
    false,
  ],
];

for (const [what, headers, welcome] of cases) {
  test(`asked ${what}: ${welcome ? 'answered' : 'refused'}`, () => {
    assert.equal(rejectForeignOrigin(headers, hosts)?.status, welcome ? undefined : 403);
  });
}

const link = {
  host: 'localhost:8720',
  'sec-fetch-site': 'cross-site',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
};

test('a link to the page may stand anywhere, a web terminal for one; what is behind the page is not to be had so', () => {
  assert.equal(rejectForeignOrigin(link, hosts, true), undefined);
  assert.equal(rejectForeignOrigin(link, hosts)?.status, 403, 'not the data');
  for (const other of [
    { 'sec-fetch-dest': 'iframe' },
    { 'sec-fetch-mode': 'no-cors' },
    { origin: 'https://evil.example' },
    { host: 'evil.example:8720' },
  ]) {
    assert.equal(
      rejectForeignOrigin({ ...link, ...other }, hosts, true)?.status,
      403,
      JSON.stringify(other),
    );
  }
});

test('a refusal says what to do', () => {
  assert.equal(
    rejectForeignOrigin({ host: 'my-machine:8720' }, hosts)?.message,
    'this dashboard is not served as "my-machine:8720": open it as http://127.0.0.1:8720/',
  );
});

test('the host that it is bound to is its own too, and port 80 need not be named', () => {
  assert.ok(hostsOf('::1', 8720).has('[::1]:8720'));
  assert.ok(hostsOf('127.0.0.2', 8720).has('127.0.0.2:8720'));
  assert.ok(hostsOf('127.0.0.1', 80).has('localhost'));
});

test('the token has to be there, whole, and as a bearer', () => {
  assert.equal(withoutToken('Bearer secret', 'secret'), undefined);
  for (const header of [
    undefined,
    '',
    'secret',
    'Bearer',
    'Bearer ',
    'Bearer secre',
    'Bearer secrets',
    'bearer secret',
    'Basic secret',
  ]) {
    assert.equal(withoutToken(header, 'secret')?.status, 401, String(header));
  }
});
