import assert from 'node:assert/strict';
import { Agent, request } from 'node:https';
import { after, describe, test } from 'node:test';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import type { WebhookKind } from '@drydock/apis/admission-rules';
import { clientA, testAuthority } from '@drydock/kube-client/testing';
import type { KeyPair } from '@drydock/utils';
import { PanicHandler, silentLog } from '@drydock/utils';
import { FakeLog } from '../testing/fakes.ts';
import { makeAuthority, makeServing } from './certificates/plan.ts';
import { type AdmissionVerdict, allowed, denied, type Review } from './review.ts';
import { type ServerOptions, serveWebhook, type WebhookServer } from './server.ts';
import { creation, medik8s, object } from './testing/make.ts';

const now = Temporal.Now.instant();
const authority = await makeAuthority(now);
const pair = await makeServing(authority, ['127.0.0.1'], now);
const path = medik8s.paths[0];

const closing: (() => Promise<void>)[] = [];
after(() => Promise.all(closing.map(close => close())));

async function serving(
  decide: ServerOptions['decide'],
  shown: KeyPair | 'none' = pair,
  log = silentLog,
): Promise<WebhookServer> {
  const server = await serveWebhook({ port: 0, decide, log, defects: new PanicHandler({ log }) });
  closing.push(() => server.close());
  if (shown !== 'none') server.show(shown);
  return server;
}

type Answer = {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly certificate: PeerCertificate;
  readonly protocol: string | null;
};
type Asked = {
  readonly method?: string;
  readonly path?: string;
  readonly type?: string;
  readonly ca?: string;
  readonly agent?: Agent;
};

function ask(port: number, body: string, asked: Asked = {}): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const options = {
    host: '127.0.0.1',
    port,
    path: asked.path ?? path,
    method: asked.method ?? 'POST',
    ca: asked.ca ?? authority.cert,
  };
  const headers = {
    'content-type': asked.type ?? 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  const sent = request(
    { ...options, headers, agent: asked.agent ?? new Agent({ keepAlive: false }) },
    answer => {
      const socket = answer.socket as TLSSocket;
      const seen = { certificate: socket.getPeerCertificate(), protocol: socket.getProtocol() };
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.once('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          type: answer.headers['content-type'] ?? '',
          text,
          ...seen,
        }),
      );
      answer.once('error', reject);
    },
  );
  sent.once('error', reject);
  sent.end(body);
  return promise;
}

const { object: created } = creation(medik8s, object('one', 'n1'));
const reviewBody = JSON.stringify({
  apiVersion: 'admission.k8s.io/v1beta1',
  kind: 'AdmissionReview',
  request: { uid: 'u1', operation: 'CREATE', kind: { kind: 'NodeMaintenance' }, object: created },
});

describe('the webhook server', () => {
  test('hands the review to the kind of its path, and answers as decided', async () => {
    const seen: [WebhookKind, Review][] = [];
    const decide = async (kind: WebhookKind, review: Review): Promise<AdmissionVerdict> => {
      seen.push([kind, review]);
      return denied('because');
    };
    const { port } = await serving(decide);
    const { status, type, text, protocol } = await ask(port, reviewBody, {
      path: `${path}?timeout=15s`,
    });
    assert.deepEqual([status, type, protocol], [200, 'application/json', 'TLSv1.3']);
    assert.deepEqual(JSON.parse(text), {
      apiVersion: 'admission.k8s.io/v1beta1',
      kind: 'AdmissionReview',
      response: {
        uid: 'u1',
        allowed: false,
        status: { code: 403, reason: 'Forbidden', message: 'because' },
      },
    });
    assert.deepEqual(
      seen.map(([kind, { uid }]) => [kind.name, uid]),
      [[medik8s.name, 'u1']],
    );
  });

  test('answers on the path of the older KubeVirt operator too', async () => {
    const { port } = await serving(async kind => denied(kind.name));
    const { text } = await ask(port, reviewBody, {
      path: '/validate-nodemaintenance-kubevirt-io-v1beta1-nodemaintenances',
    });
    assert.match(text, /"message":"nodemaintenances.nodemaintenance.kubevirt.io"/);
  });

  const refused: readonly (readonly [string, Asked, string, number, string])[] = [
    ['another path', { path: '/validate' }, reviewBody, 404, 'no webhook at this path\n'],
    ['another method', { method: 'GET' }, '', 405, 'only POST is allowed\n'],
    [
      'another type',
      { type: 'text/plain' },
      reviewBody,
      415,
      'the content type is text/plain; it must be application/json\n',
    ],
    ['something else than a review', {}, 'nonsense', 400, 'the body is not a JSON object\n'],
    [
      'too much',
      {},
      ' '.repeat(3 * 1024 * 1024 + 1),
      413,
      'the body is larger than 3145728 bytes\n',
    ],
  ];
  for (const [what, asked, body, status, text] of refused) {
    test(`refuses ${what} with ${status} and a message`, async () => {
      const { port } = await serving(async () => allowed);
      const answer = await ask(port, body, asked);
      assert.deepEqual([answer.status, answer.text], [status, text]);
    });
  }

  test('tells nobody but the log what went wrong inside', async () => {
    const log = new FakeLog();
    const { port } = await serving(() => Promise.reject(new Error('secret')), pair, log);
    const { status, text } = await ask(port, reviewBody);
    assert.equal(status, 500);
    assert.doesNotMatch(text, /secret|at .*\.ts/);
    assert.deepEqual(log.of('error'), ['admission failed']);
  });

  test('has no certificate at first, and shows a new one without losing anybody', async () => {
    const server = await serving(async () => allowed, 'none');
    await assert.rejects(ask(server.port, reviewBody), 'no handshake without a certificate');
    server.show(pair);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const first = await ask(server.port, reviewBody, { agent });
    const other = await makeServing(authority, ['127.0.0.1'], now);
    server.show(other);
    const kept = await ask(server.port, reviewBody, { agent });
    agent.destroy();
    const renewed = await ask(server.port, reviewBody);
    assert.equal(kept.status, 200);
    assert.equal(
      kept.certificate.serialNumber,
      first.certificate.serialNumber,
      'open connections stay',
    );
    assert.notEqual(
      renewed.certificate.serialNumber,
      first.certificate.serialNumber,
      'new ones see the new certificate',
    );
  });

  test('with an authority for clients, whoever shows no certificate of it is not served', async () => {
    let asked = 0;
    const decide = async (): Promise<AdmissionVerdict> => ((asked += 1), allowed);
    const server = await serveWebhook({
      port: 0,
      decide,
      log: silentLog,
      defects: new PanicHandler({ log: silentLog }),
      clientCa: testAuthority,
    });
    closing.push(() => server.close());
    server.show(pair);
    await assert.rejects(ask(server.port, reviewBody), 'without a certificate');
    const stranger = new Agent({ keepAlive: false, cert: pair.cert, key: pair.key });
    await assert.rejects(
      ask(server.port, reviewBody, { agent: stranger }),
      'with one of somebody else',
    );
    assert.equal(asked, 0);
    const { status } = await ask(server.port, reviewBody, {
      agent: new Agent({ keepAlive: false, ...clientA }),
    });
    assert.deepEqual([status, asked], [200, 1]);
  });

  test('refuses a key that is not the one of its certificate, and goes on with what it had', async () => {
    const server = await serving(async () => allowed);
    const other = await makeServing(authority, ['127.0.0.1'], now);
    assert.throws(() => server.show({ cert: pair.cert, key: other.key }));
    assert.equal((await ask(server.port, reviewBody)).status, 200);
  });

  test('lets answers that are being made go out when it closes', async () => {
    const { promise: asked, resolve: begun } = Promise.withResolvers<void>();
    const { promise: decided, resolve: decide } = Promise.withResolvers<AdmissionVerdict>();
    const server = await serving(() => {
      begun();
      return decided;
    });
    const answer = ask(server.port, reviewBody);
    await asked;
    const closed = server.close();
    decide(allowed);
    assert.equal((await answer).status, 200);
    await closed;
    await assert.rejects(ask(server.port, reviewBody), /ECONNREFUSED/);
  });

  test('goes on answering while it drains, on connections that are used no further', async () => {
    const server = await serving(async () => allowed);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await ask(server.port, reviewBody, { agent });
    const free = (): number => Object.values(agent.freeSockets).flat().length;
    assert.equal(free(), 1, 'kept for the next request');
    server.drain();
    assert.equal((await ask(server.port, reviewBody, { agent })).status, 200);
    assert.equal(free(), 0);
    assert.equal(
      (await ask(server.port, reviewBody)).status,
      200,
      'a new connection is answered as well',
    );
    agent.destroy();
  });

  test('a port that is taken is an error', async () => {
    const { port } = await serving(async () => allowed);
    await assert.rejects(
      serveWebhook({
        port,
        decide: async () => allowed,
        log: silentLog,
        defects: new PanicHandler({ log: silentLog }),
      }),
      /EADDRINUSE/,
    );
  });
});
