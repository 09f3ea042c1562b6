import assert from 'node:assert/strict';
import { test } from 'node:test';
import { environmentProxies, ProxyError, proxyFromEnvironment } from '@drydock/utils';
import { proxyFor } from './user-credentials.ts';

const proxy = 'http://p:1';
function through(server: string, env: Readonly<Record<string, string>>): string | undefined {
  return proxyFromEnvironment(env)(new URL(server));
}

test('the variable of the scheme, in capitals first', () => {
  const env = { HTTPS_PROXY: proxy, https_proxy: 'http://small', HTTP_PROXY: 'http://plain' };
  assert.equal(through('https://near', env), proxy);
  assert.equal(through('http://near', env), 'http://plain');
  assert.equal(through('https://near', { https_proxy: 'small:3128' }), 'http://small:3128');
  assert.equal(
    through('https://near', { HTTP_PROXY: proxy }),
    undefined,
    'it is not meant for https',
  );
  assert.equal(through('https://near', { HTTPS_PROXY: '' }), undefined);
});

test('what is no HTTP proxy is refused by the name of its variable, where somebody needs it', () => {
  const env = { HTTPS_PROXY: 'socks5://somebody:secret@p:1', NO_PROXY: 'near' };
  assert.throws(
    () => through('https://far', env),
    (error: Error) =>
      error instanceof ProxyError &&
      /of HTTPS_PROXY, socks5:\/\/\*\*\*@p:1, .*not supported/.test(error.message),
  );
  assert.equal(through('https://near', env), undefined);
});

test('a library with servers of its own has the proxies, and the exceptions in the words of Node', () => {
  const env = { HTTPS_PROXY: proxy, http_proxy: 'plain', NO_PROXY: 'a.com, .b.com,10.0.0.0/8' };
  assert.deepEqual(environmentProxies(env), {
    proxyEnv: {
      HTTPS_PROXY: proxy,
      HTTP_PROXY: 'http://plain',
      NO_PROXY: 'a.com,.a.com, .b.com,10.0.0.0/8',
    },
  });
  assert.deepEqual(environmentProxies({ NO_PROXY: 'a.com' }), {});
  assert.throws(() => environmentProxies({ HTTPS_PROXY: 'socks5://p:1' }), ProxyError);
});

test("the kubeconfig's proxy-url comes first, and knows no exceptions", () => {
  const env = { HTTPS_PROXY: proxy, NO_PROXY: 'far' };
  assert.equal(proxyFor('https://far', 'http://q:2', env), 'http://q:2');
  assert.equal(proxyFor('https://far', '', env), undefined);
  assert.equal(proxyFor('https://near', undefined, env), proxy);
  assert.throws(
    () => proxyFor('https://far', 'socks5://p:1', {}),
    /the kubeconfig's proxy-url, socks5:\/\/p:1, .*SOCKS proxies are not supported/,
  );
  assert.throws(() => proxyFor('https://far', 'p:1', {}), /it must start with http/);
});

/**
 * The server, NO_PROXY, and whether the proxy is left out. As Go's own answers to them
 * (golang.org/x/net/http/httpproxy).
 */
const cases: readonly (readonly [server: string, noProxy: string, isExempt: boolean])[] = [
  ['https://172.30.0.1:443', '.cluster.local,.svc,10.0.0.0/16,172.30.0.0/16,localhost', true],
  ['https://172.31.0.1:443', '.cluster.local,.svc,10.0.0.0/16,172.30.0.0/16,localhost', false],
  ['https://10.0.0.1', '10.0.0.1', true],
  ['https://10.0.0.1', '10.0.0.10', false],
  ['https://10.0.0.1:6443', '10.0.0.1:6443', true],
  ['https://10.0.0.1', '10.0.0.1:6443', false],
  ['https://10.0.0.1', '10.0.0.1:443', true],
  ['http://10.0.0.1', '10.0.0.1:80', true],
  ['https://10.0.0.1', '10.0.0.0/33', false],
  ['https://10.0.0.1', '10.0.0.0/', false],
  ['https://[fd00::1]:6443', 'fd00::/8', true],
  ['https://[fd00::1]:6443', 'fd00::1', true],
  ['https://[fd00::1]:6443', '[fd00::1]:6443', true],
  ['https://[fd00::1]:6443', '[fd00::1]:443', false],
  ['https://[fd00::1]:6443', 'fc00::/8', false],
  ['https://api.example.com', 'example.com', true],
  ['https://example.com', 'example.com', true],
  ['https://badexample.com', 'example.com', false],
  ['https://api.example.com', '.example.com', true],
  ['https://example.com', '.example.com', false],
  ['https://api.example.com', '*.example.com', true],
  ['https://example.com', '*.example.com', false],
  ['https://API.Example.com', ' .EXAMPLE.com , x', true],
  ['https://api.example.com:6443', 'example.com:6443', true],
  ['https://api.example.com', 'example.com:6443', false],
  ['https://api.example.com', ',:443,,', false],
  ['https://api.example.com', 'x,*', true],
  ['https://api.example.com', '10.0.0.0/8', false],
  ['https://localhost:6443', '', true],
  ['https://127.8.0.1:6443', '', true],
  ['https://[::1]:6443', '', true],
  ['https://128.0.0.1:6443', '', false],
];

for (const [server, noProxy, isExempt] of cases) {
  test(`${server} with NO_PROXY="${noProxy}": ${isExempt ? 'directly' : 'through the proxy'}`, () => {
    assert.equal(
      through(server, { HTTPS_PROXY: proxy, HTTP_PROXY: proxy, NO_PROXY: noProxy }),
      isExempt ? undefined : proxy,
    );
  });
}
