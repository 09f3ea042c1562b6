import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { silentLog, VirtualClock } from '@drydock/utils';
import { type Connection, connect } from './connect.ts';
import { clientA, clientB, serverPair, testAuthority } from './testing/certificates.ts';
import { connectionFailure } from './testing/connection-failure.ts';
import { type FaultResponder, FaultServer, json } from './testing/fault-server.ts';

const tls = { ...serverPair, ca: testAuthority, requestCert: true, rejectUnauthorized: false };
function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
const authority = `certificate-authority-data: ${base64(testAuthority)}`;
const get = { method: 'GET', path: '/api' } as const;

/** The common name of the client's certificate, as the test server sees it. */
function peers(): { readonly names: string[]; readonly response: FaultResponder } {
  const names: string[] = [];
  return {
    names,
    response: (_, incoming) => {
      const subject = (incoming.socket as TLSSocket).getPeerCertificate().subject as
        | { readonly CN?: string }
        | undefined;
      names.push(subject?.CN ?? 'nobody');
      json(incoming, 200, {});
    },
  };
}

async function workplace(response: FaultResponder, secure = true) {
  const server = await FaultServer.start(response, secure ? tls : undefined);
  const home = await mkdtemp(join(tmpdir(), 'drydock-connect-'));
  const clock = new VirtualClock();
  const open: Connection[] = [];
  return {
    server,
    home,
    clock,
    write: (name: string, text: string) => writeFile(join(home, name), text),
    connect: async (
      user: string,
      cluster = authority,
      options: Partial<Parameters<typeof connect>[0]> = {},
      address = server.url,
    ): Promise<Connection> => {
      const text = `{current-context: t, contexts: [{name: t, context: {cluster: c, user: u}}]}`;
      const entries = `clusters:\n- name: c\n  cluster:\n    server: ${address}\n    ${cluster}\nusers:\n- name: u\n  user: ${user}\n`;
      await writeFile(join(home, 'names'), text);
      await writeFile(join(home, 'config'), entries);
      const env = {
        KUBECONFIG: `${join(home, 'names')}:${join(home, 'config')}`,
        PATH: process.env['PATH'],
      };
      const connection = await connect({ env, userAgent: 'drydock/test', clock, ...options });
      open.push(connection);
      return connection;
    },
    [Symbol.asyncDispose]: async () => {
      for (const connection of open) connection.close();
      await server[Symbol.asyncDispose]();
      await rm(home, { recursive: true });
    },
  };
}

test('a client certificate from files: one connection for many calls, and a replaced file is used', async () => {
  const { names, response } = peers();
  await using it = await workplace(response);
  await it.write('c.crt', clientA.cert);
  await it.write('c.key', clientA.key);
  const connection = await it.connect('{client-certificate: c.crt, client-key: c.key}');
  await connection.call(get);
  await connection.call(get);
  // The certificate first: for a moment it does not fit its key, and the pair from before stays.
  await it.write('c.crt', clientB.cert);
  await it.clock.advance(11_000);
  await connection.call(get);
  assert.equal(it.server.connections, 1);
  await it.write('c.key', clientB.key);
  await it.clock.advance(11_000);
  await connection.call(get);
  assert.deepEqual(names, ['client-a', 'client-a', 'client-a', 'client-b']);
  assert.equal(it.server.connections, 2);
});

test('a client certificate in the kubeconfig', async () => {
  const { names, response } = peers();
  await using it = await workplace(response);
  const connection = await it.connect(
    `{client-certificate-data: ${base64(clientA.cert)}, client-key-data: ${base64(clientA.key)}}`,
  );
  await connection.call(get);
  assert.deepEqual(names, ['client-a']);
});

test('an authority that did not sign the server is refused, before anything is sent; insecure and server name as the kubeconfig says', async () => {
  await using it = await workplace((_, incoming) => json(incoming, 200, {}));
  const strict = await it.connect(
    '{token: t}',
    `certificate-authority-data: ${base64(clientA.cert)}`,
  );
  const error = await connectionFailure(strict.call({ ...get, method: 'POST' }));
  assert.deepEqual(
    [error.reason, error.mayHaveHappened, it.server.requests.length],
    ['tls', false, 0],
  );
  const named = await it.connect(
    '{token: t}',
    `${authority}\n    tls-server-name: kubernetes.test`,
  );
  assert.equal((await named.call(get)).status, 200);
  const misnamed = await it.connect('{token: t}', `${authority}\n    tls-server-name: other.test`);
  assert.equal((await connectionFailure(misnamed.call(get))).reason, 'tls');
  const insecure = await it.connect('{token: t}', 'insecure-skip-tls-verify: true');
  assert.equal((await insecure.call(get)).status, 200);
});

test('a token file is read again when it is due, and at once after 401', async () => {
  const accepted = new Set(['Bearer one', 'Bearer two']);
  await using it = await workplace((request, incoming) =>
    json(incoming, accepted.has(request.headers.authorization ?? '') ? 200 : 401, {}),
  );
  await it.write('token', 'one\n');
  const connection = await it.connect('{tokenFile: token}');
  await connection.call(get);
  await it.write('token', 'two');
  await it.clock.advance(11_000);
  await connection.call(get);
  await it.write('token', 'three');
  accepted.clear();
  accepted.add('Bearer three');
  assert.equal((await connection.call(get)).status, 200);
  assert.deepEqual(
    it.server.requests.map(({ headers }) => headers.authorization),
    ['Bearer one', 'Bearer two', 'Bearer two', 'Bearer three'],
  );
});

test('a password, and acting as somebody else', async () => {
  await using it = await workplace((_, incoming) => json(incoming, 200, {}));
  const connection = await it.connect(
    '{username: u, password: p, as: jane, as-groups: [x, y], as-user-extra: {Scope: [s]}}',
  );
  await connection.call(get);
  const headers = it.server.requests[0]?.headers ?? {};
  assert.equal(headers.authorization, `Basic ${base64('u:p')}`);
  assert.deepEqual(
    [headers['impersonate-user'], headers['impersonate-group'], headers['impersonate-extra-scope']],
    ['jane', 'x, y', 's'],
  );
});

test('what would let others be this user is not sent to an http:// server, where everybody on the way can read it', async () => {
  await using it = await workplace((_, incoming) => json(incoming, 200, {}), false);
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  for (const user of [
    '{token: t}',
    '{username: u, password: p, as: jane}',
    `{tokenFile: ${join(it.home, 'names')}}`,
    exec('no-such-program'),
  ]) {
    const connection = await it.connect(user, '', { log });
    assert.equal((await connection.call(get)).status, 200);
    assert.equal(it.server.requests.at(-1)?.headers.authorization, undefined, user);
  }
  assert.equal(
    it.server.requests[1]?.headers['impersonate-user'],
    'jane',
    'whom one acts as is no secret',
  );
  assert.deepEqual(
    warnings,
    Array(4).fill("the server is http://: the user's credentials are not sent to it"),
  );
});

async function plugin(it: Awaited<ReturnType<typeof workplace>>, body: string): Promise<string> {
  const path = join(it.home, 'login');
  await writeFile(
    path,
    `#!/bin/sh\necho run >> '${it.home}/runs'\nprintf %s "$KUBERNETES_EXEC_INFO" > '${it.home}/info'\n${body}\n`,
  );
  await chmod(path, 0o755);
  return './login';
}
async function runs(it: Awaited<ReturnType<typeof workplace>>): Promise<number> {
  return (await readFile(join(it.home, 'runs'), 'utf8')).trim().split('\n').length;
}
function credential(status: unknown): string {
  return JSON.stringify({
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status,
  });
}
function exec(command: string, more = ''): string {
  return `{exec: {apiVersion: client.authentication.k8s.io/v1, command: ${command}, interactiveMode: IfAvailable${more}}}`;
}

test('a credential program runs once for 20 calls, is told about the cluster, and again after a 401', async () => {
  let accepted = 'first';
  await using it = await workplace((request, incoming) =>
    json(incoming, request.headers.authorization === `Bearer ${accepted}` ? 200 : 401, {}),
  );
  const command = await plugin(
    it,
    `sleep 0.1; echo '${credential({ token: 'TOKEN' })}' | sed "s/TOKEN/$(cat '${it.home}/next')/"; test "$EXTRA" = yes`,
  );
  await it.write('next', 'first');
  const connection = await it.connect(
    exec(command, ', provideClusterInfo: true, env: [{name: EXTRA, value: "yes"}]'),
    `${authority}\n    extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: x}}]`,
  );
  const responses = await Promise.all(Array.from({ length: 20 }, () => connection.call(get)));
  assert.deepEqual(
    [new Set(responses.map(({ status }) => status)), await runs(it)],
    [new Set([200]), 1],
  );
  const info = JSON.parse(await readFile(join(it.home, 'info'), 'utf8'));
  assert.deepEqual(
    [info.apiVersion, info.spec.interactive, info.spec.cluster.server, info.spec.cluster.config],
    ['client.authentication.k8s.io/v1', false, it.server.url, { audience: 'x' }],
  );
  assert.equal(info.spec.cluster['certificate-authority-data'], base64(testAuthority));
  await it.write('next', 'second');
  accepted = 'second';
  await it.clock.advance(11_000);
  const after = await Promise.all(Array.from({ length: 20 }, () => connection.call(get)));
  assert.deepEqual(
    [new Set(after.map(({ status }) => status)), await runs(it)],
    [new Set([200]), 2],
  );
});

test('a credential program is run again shortly before its credentials expire, and they are used meanwhile', async () => {
  await using it = await workplace((_, incoming) => json(incoming, 200, {}));
  const expirationTimestamp = it.clock.now().add({ minutes: 10 }).toString();
  const command = await plugin(it, `echo '${credential({ token: 't', expirationTimestamp })}'`);
  const connection = await it.connect(exec(command));
  await connection.call(get);
  await it.clock.advance(8 * 60_000);
  await connection.call(get);
  assert.equal(await runs(it), 1);
  await it.clock.advance(90_000);
  await connection.call(get);
  for (let wait = 0; wait < 500 && (await runs(it)) < 2; wait += 1)
    await new Promise(resolve => setTimeout(resolve, 10));
  assert.equal(await runs(it), 2);
});

test('a client certificate from a credential program', async () => {
  const { names, response } = peers();
  await using it = await workplace(response);
  await it.write(
    'out',
    credential({ clientCertificateData: clientA.cert, clientKeyData: clientA.key }),
  );
  const connection = await it.connect(exec(await plugin(it, `cat '${it.home}/out'`)));
  await connection.call(get);
  assert.deepEqual(names, ['client-a']);
});

test('a credential program that fails or is missing: its own words and the hint', async () => {
  await using it = await workplace(() => {});
  const failing = await it.connect(
    exec(
      await plugin(it, 'echo "please log in" >&2; exit 3'),
      ', installHint: "get it at example.com"',
    ),
  );
  const error = await connectionFailure(failing.call(get));
  assert.equal(error.reason, 'credentials');
  assert.match(
    error.message,
    /login of the kubeconfig gave none: it ended with exit code 3: please log in\nget it at example\.com/,
  );
  const missing = await it.connect(exec('no-such-program-here', ', installHint: "get it"'));
  assert.match((await connectionFailure(missing.call(get))).message, /ENOENT\nget it/);
  const asking = await it.connect(
    `{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login, interactiveMode: Always}}`,
  );
  assert.match((await connectionFailure(asking.call(get))).message, /there is no terminal/);
});

test('what kubectl refuses, and what is not supported, is refused with a reason', async () => {
  await using it = await workplace(() => {});
  await assert.rejects(it.connect('{auth-provider: {name: gcp}}'), /uses the auth-provider "gcp"/);
  await assert.rejects(it.connect('{token: t, username: u}'), /both a token and a username/);
  await assert.rejects(
    it.connect('{}', `${authority}\n    insecure-skip-tls-verify: true`),
    /only one is allowed/,
  );
  await assert.rejects(
    it.connect('{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}}'),
    /only client\.authentication\.k8s\.io\/v1 and v1beta1/,
  );
  await assert.rejects(
    it.connect('{}', `${authority}\n    proxy-url: socks5://127.0.0.1:1`),
    /SOCKS proxies are not supported/,
  );
  await assert.rejects(it.connect('{client-certificate: x}'), /without a key/);
});

/** Leads every CONNECT to this port of this machine. */
async function startProxy(upstreamPort: number) {
  const asked: string[] = [];
  const proxy = createServer().on('connect', (request, socket, head) => {
    asked.push(request.url ?? '');
    const upstream = dial(upstreamPort, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    for (const end of [socket, upstream]) end.on('error', () => {});
  });
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return { asked, url: `http://127.0.0.1:${port}`, [Symbol.dispose]: () => void proxy.close() };
}

test('proxy-url: five calls to an https server are one CONNECT and one TLS connection, with the client certificate', async () => {
  const { names, response } = peers();
  await using it = await workplace(response);
  using proxy = await startProxy(it.server.port);
  const user = `{client-certificate-data: ${base64(clientA.cert)}, client-key-data: ${base64(clientA.key)}}`;
  const connection = await it.connect(user, `${authority}\n    proxy-url: ${proxy.url}`);
  for (let n = 0; n < 5; n += 1) assert.equal((await connection.call(get)).status, 200);
  assert.deepEqual(
    [proxy.asked, it.server.connections, names[0]],
    [[`127.0.0.1:${it.server.port}`], 1, 'client-a'],
  );
  connection.close();
  const broken = await it.connect(user, `${authority}\n    proxy-url: http://127.0.0.1:1`);
  const error = await connectionFailure(broken.call({ ...get, method: 'POST' }));
  assert.deepEqual([error.reason, error.mayHaveHappened], ['unreachable', false]);
});

test('HTTPS_PROXY: a server elsewhere is spoken to through it, unless NO_PROXY has its network', async () => {
  await using it = await workplace((_, incoming) => json(incoming, 200, {}));
  using proxy = await startProxy(it.server.port);
  const speakTo = async (noProxy: string): Promise<Connection> => {
    const cluster = `${authority}\n    tls-server-name: kubernetes.test`;
    const env = {
      KUBECONFIG: `${join(it.home, 'names')}:${join(it.home, 'config')}`,
      HTTPS_PROXY: proxy.url,
      NO_PROXY: noProxy,
    };
    return await it.connect('{}', cluster, { env }, 'https://192.0.2.1:6443');
  };
  const through = await speakTo('10.0.0.0/8');
  assert.equal((await through.call(get)).status, 200);
  const direct = await speakTo('192.0.2.0/24');
  await assert.rejects(direct.call(get, AbortSignal.timeout(100)));
  assert.deepEqual(proxy.asked, ['192.0.2.1:6443']);
});

test('precedence: --kubeconfig, KUBECONFIG, ~/.kube/config, then the pod; else a message that names all four', async () => {
  await using it = await workplace((_, incoming) => json(incoming, 200, {}));
  const pod = {
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: String(it.server.port),
  };
  const options = { userAgent: 't', serviceAccountFolder: it.home };
  const file = (server: string): string =>
    `{current-context: t, contexts: [{name: t, context: {cluster: c}}], clusters: [{name: c, cluster: {server: "${server}"}}]}`;
  await mkdir(join(it.home, '.kube'));
  await it.write('.kube/config', file('https://home'));
  await it.write('flag', file('https://flag'));
  await it.write('variable', file('https://variable'));
  const server = async (given: Omit<Parameters<typeof connect>[0], 'userAgent'>): Promise<string> =>
    (await connect({ ...options, ...given })).server;
  assert.equal(
    await server({
      kubeconfig: join(it.home, 'flag'),
      env: { KUBECONFIG: join(it.home, 'variable') },
    }),
    'https://flag',
  );
  assert.equal(
    await server({ env: { HOME: it.home, KUBECONFIG: join(it.home, 'variable'), ...pod } }),
    'https://variable',
  );
  assert.equal(await server({ env: { HOME: it.home, ...pod } }), 'https://home');
  assert.equal(await server({ env: { HOME: '/nowhere', ...pod } }), it.server.url);
  await assert.rejects(server({ env: { HOME: '/nowhere' } }), /no cluster is configured/);
  await assert.rejects(
    server({ env: { KUBECONFIG: '/nowhere/config' } }),
    /none of the files of KUBECONFIG exists: \/nowhere\/config/,
  );
  await assert.rejects(
    server({ env: pod, context: 'x' }),
    /no kubeconfig to take the context "x" from/,
  );
});

test('in a pod: token, authority and namespace of the service account', async () => {
  await using it = await workplace((_, incoming) => json(incoming, 200, {}));
  await it.write('token', 'pod-token');
  await it.write('ca.crt', testAuthority);
  await it.write('namespace', 'drydock-system\n');
  const env = {
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: String(it.server.port),
  };
  const connection = await connect({
    env,
    userAgent: 't',
    clock: it.clock,
    serviceAccountFolder: it.home,
  });
  await connection.call(get);
  connection.close();
  assert.deepEqual(
    [connection.namespace, it.server.requests[0]?.headers.authorization],
    ['drydock-system', 'Bearer pod-token'],
  );
});
