import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { silentLog, VirtualClock } from '@drydock/utils';
import { FakeLog } from '../../testing/fakes.ts';
import { own } from '../testing/make.ts';
import { MemoryServer } from '../testing/server.ts';
import { type CertificateSet, dueOf, makeAuthority, makeServing } from './plan.ts';
import { bundleOf, selfMade } from './self-made.ts';

const start = Temporal.Instant.from('2026-11-21T08:00:00Z');
function days(count: number): Temporal.Instant {
  return start.add({ hours: count * 24 });
}
const names = [
  'drydock-webhook.drydock-system.svc',
  'drydock-webhook.drydock-system.svc.cluster.local',
  '127.0.0.1',
  '::1',
];
function parse(pem: string): X509Certificate {
  return new X509Certificate(pem);
}
function iso(date: Date): string {
  return date.toISOString().slice(0, 19);
}

describe('a certificate that is made', () => {
  test('is vouched for by its authority, for its names, for a year', async () => {
    const authority = await makeAuthority(start);
    const pair = await makeServing(authority, names, start);
    const [ca, serving] = [parse(authority.cert), parse(pair.cert)];
    assert.ok(serving.checkIssued(ca) && serving.verify(ca.publicKey));
    assert.ok(ca.ca && !serving.ca);
    assert.ok(
      serving.checkPrivateKey(createPrivateKey(pair.key)) &&
        ca.checkPrivateKey(createPrivateKey(authority.key)),
    );
    assert.deepEqual(
      [serving.checkHost(names[0] ?? ''), serving.checkHost(names[1] ?? '')],
      names.slice(0, 2),
    );
    assert.deepEqual([serving.checkIP('127.0.0.1'), serving.checkIP('::1')], ['127.0.0.1', '::1']);
    assert.equal(serving.checkHost('somebody.else.svc'), undefined);
    assert.deepEqual(
      [iso(serving.validFromDate), iso(serving.validToDate)],
      ['2026-11-21T07:00:00', '2027-11-21T08:00:00'],
    );
    assert.deepEqual(
      [iso(ca.validFromDate), iso(ca.validToDate)],
      ['2026-11-21T07:00:00', '2036-11-18T08:00:00'],
    );
    assert.equal(serving.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1');
    assert.deepEqual(serving.keyUsage, ['1.3.6.1.5.5.7.3.1'], 'a server, nothing else');
    assert.match(serving.serialNumber, /^[4-7][0-9A-F]{31}$/);
  });

  test('authorities of different days have different names', async () => {
    assert.notEqual(
      parse((await makeAuthority(start)).cert).subject,
      parse((await makeAuthority(days(1))).cert).subject,
    );
  });
});

async function makeSet(at = start): Promise<CertificateSet> {
  const authority = await makeAuthority(at);
  return {
    authorities: [authority.cert],
    authorityKey: authority.key,
    serving: await makeServing(authority, names, at),
  };
}

describe('what is due', () => {
  test('nothing, until a third of the life of the serving certificate is left', async () => {
    const set = await makeSet();
    for (const [day, due] of [
      [0, 'nothing'],
      [243, 'nothing'],
      [244, 'serving'],
      [364, 'serving'],
      [400, 'serving'],
    ] as const) {
      assert.equal(dueOf(set, names, days(day)), due, `day ${day}`);
    }
  });

  test('another name', async () => {
    const set = await makeSet();
    assert.equal(dueOf(set, [...names, 'localhost'], start), 'serving');
    assert.equal(dueOf(set, [...names, '10.0.0.1'], start), 'serving');
  });

  test('an authority, two years before the old one ends, but not together with what it signs', async () => {
    const old = await makeSet();
    const late = await makeServing(
      { cert: old.authorities[0] ?? '', key: old.authorityKey },
      names,
      days(2900),
    );
    const set = { ...old, serving: late };
    assert.equal(dueOf(set, names, days(2919)), 'nothing');
    assert.equal(dueOf(set, names, days(2921)), 'authority');
    const next = await makeAuthority(days(3150));
    const both: CertificateSet = {
      authorities: [next.cert, ...old.authorities],
      authorityKey: next.key,
      serving: late,
    };
    assert.equal(dueOf(both, names, days(3150)), 'nothing', 'nobody may have heard of it yet');
    assert.equal(dueOf(both, names, days(3150).add({ minutes: 11 })), 'serving');
  });

  test('everything, when there is nothing, or nothing of use', async () => {
    const [set, other] = [await makeSet(), await makeSet()];
    assert.equal(dueOf(undefined, names, start), 'everything');
    assert.equal(dueOf({ ...set, authorities: [] }, names, start), 'everything');
    assert.equal(dueOf({ ...set, authorityKey: other.authorityKey }, names, start), 'everything');
    assert.equal(
      dueOf({ ...set, serving: { cert: set.serving.cert, key: other.serving.key } }, names, start),
      'everything',
    );
    assert.equal(dueOf({ ...set, serving: { cert: 'x', key: 'y' } }, names, start), 'everything');
    assert.equal(dueOf(set, names, days(3651)), 'everything');
  });

  test('a serving certificate that no authority vouches for', async () => {
    const [set, other] = [await makeSet(), await makeSet()];
    assert.equal(dueOf({ ...set, serving: other.serving }, names, start), 'serving');
  });
});

const secrets = `/api/v1/namespaces/${own}/secrets`;
const path = `${secrets}/drydock-webhook-cert`;

/** Time passes where somebody waits. */
class WaitingClock extends VirtualClock {
  readonly pauses: number[] = [];

  override async sleep(milliseconds: number): Promise<void> {
    this.pauses.push(milliseconds);
    this.jump(milliseconds);
    await new Promise(resolve => setImmediate(resolve));
  }
}

describe('certificates of our own', () => {
  const signal = new AbortController().signal;
  const replica = (
    api: MemoryServer,
    clock: VirtualClock,
    extra: readonly string[] = [],
  ): Promise<CertificateSet> =>
    selfMade({ api, clock, log: silentLog, namespace: own, names: [...names, ...extra] }, signal);

  test('are made once, by one of many replicas, and kept in a Secret', async () => {
    const api = new MemoryServer([secrets]);
    const clock = new WaitingClock(start);
    const sets = await Promise.all(Array.from({ length: 4 }, () => replica(api, clock)));
    for (const set of sets) assert.deepEqual(set, sets[0]);
    assert.deepEqual(await replica(api, clock), sets[0]);
    const stored = api.get(path) as unknown as {
      readonly type: string;
      readonly data: Readonly<Record<string, string>>;
    };
    assert.equal(stored.type, 'kubernetes.io/tls');
    assert.deepEqual(Object.keys(stored.data).sort(), ['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);
    assert.equal(
      Buffer.from(stored.data['ca.crt'] ?? '', 'base64').toString(),
      bundleOf(sets[0] as CertificateSet),
    );
  });

  test('are renewed for ever, and whoever trusts the bundle of yesterday trusts the certificate of today', async () => {
    const api = new MemoryServer([secrets]);
    const clock = new VirtualClock(start);
    let before = await replica(api, clock);
    const authorities = new Set(before.authorities);
    const servings = new Set([before.serving.cert]);
    for (let day = 0; day < 7400; day += 20) {
      clock.jump(20 * 86_400_000);
      const set = await replica(api, clock);
      const serving = parse(set.serving.cert);
      const vouches = (pem: string): boolean =>
        serving.checkIssued(parse(pem)) && serving.verify(parse(pem).publicKey);
      assert.ok(
        before.authorities.some(vouches),
        `day ${day}: a stranger to whoever heard of the last bundle`,
      );
      assert.ok(
        serving.validToDate.getTime() > clock.now().epochMilliseconds + 30 * 86_400_000,
        `day ${day}: about to end`,
      );
      assert.ok(set.authorities.length <= 2, `day ${day}: ${set.authorities.length} authorities`);
      for (const authority of set.authorities) authorities.add(authority);
      servings.add(set.serving.cert);
      before = set;
    }
    assert.equal(authorities.size, 3, 'one authority in eight years');
    assert.ok(servings.size > 25 && servings.size < 40, `${servings.size} serving certificates`);
  });

  test('two replicas with names of their own do not renew in turns', async () => {
    const api = new MemoryServer([secrets]);
    const clock = new VirtualClock(start);
    await replica(api, clock, ['one.example']);
    const both = await replica(api, clock, ['two.example']);
    assert.deepEqual(await replica(api, clock, ['one.example']), both);
    assert.deepEqual(parse(both.serving.cert).checkHost('one.example'), 'one.example');
  });

  test('what others put on the Secret stays when they are renewed, and the log says which of the two it was', async () => {
    const api = new MemoryServer([secrets]);
    const clock = new VirtualClock(start);
    const log = new FakeLog();
    const renew = (): Promise<CertificateSet> =>
      selfMade({ api, clock, log, namespace: own, names }, signal);
    await renew();
    const stored = api.get(path) as JsonObject & {
      readonly metadata: JsonObject;
      readonly data: JsonObject;
    };
    const others = {
      labels: {
        ...(stored.metadata['labels'] as JsonObject),
        'argocd.argoproj.io/instance': 'drydock',
      },
      annotations: { 'reflector.v1.k8s.emberstack.com/reflection-allowed': 'true' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'u' }],
    };
    api.put(path, {
      ...stored,
      metadata: { ...stored.metadata, ...others },
      data: { ...stored.data, 'extra.pem': 'eA==' },
    });
    clock.jump(400 * 86_400_000);
    await renew();
    const renewed = api.get(path) as JsonObject & {
      readonly metadata: JsonObject;
      readonly data: JsonObject;
    };
    assert.notEqual(renewed.data['tls.crt'], stored.data['tls.crt']);
    for (const [field, value] of Object.entries(others))
      assert.deepEqual(renewed.metadata[field], value, field);
    assert.equal(renewed.data['extra.pem'], 'eA==');
    assert.deepEqual(log.of('info'), [
      'created webhook certificate',
      'renewed webhook certificate',
    ]);
    assert.deepEqual(
      api.calls.filter(({ method }) => method !== 'GET').map(({ method }) => method),
      ['POST', 'PATCH'],
    );
  });

  test('that somebody has spoilt are made anew', async () => {
    const api = new MemoryServer([secrets]);
    const clock = new VirtualClock(start);
    const first = await replica(api, clock);
    api.put(path, {
      metadata: { name: 'drydock-webhook-cert' },
      data: { 'tls.crt': 'bm9uc2Vuc2U=' },
    });
    const second = await replica(api, clock);
    assert.notDeepEqual(second, first);
    assert.deepEqual(await replica(api, clock), second);
  });

  test('in a Secret that cannot be changed: the error says how it is made anew', async () => {
    const api = new MemoryServer([secrets]);
    api.put(path, { metadata: { name: 'drydock-webhook-cert' }, data: {} });
    const message =
      'Secret "drydock-webhook-cert" is invalid: data: Forbidden: field is immutable when `immutable` is set';
    api.intercept = ({ method }) =>
      method === 'PATCH' ? { status: 422, headers: {}, body: { message } } : undefined;
    await assert.rejects(
      replica(api, new VirtualClock(start)),
      /field is immutable .*\. Delete it, and it is made anew: kubectl -n drydock-system delete secret drydock-webhook-cert$/,
    );
  });

  test('cannot be had without the right to: the error says what the API server said', async () => {
    const api = new MemoryServer([secrets]);
    api.intercept = () => ({ status: 403, headers: {}, body: { message: 'secrets is forbidden' } });
    await assert.rejects(
      replica(api, new VirtualClock(start)),
      /cannot read Secret drydock-system\/drydock-webhook-cert: secrets is forbidden/,
    );
    api.intercept = ({ method }) =>
      method === 'POST' ? { status: 403, headers: {}, body: { message: 'no' } } : undefined;
    await assert.rejects(
      replica(api, new VirtualClock(start)),
      /cannot write Secret drydock-system\/drydock-webhook-cert: no/,
    );
    api.intercept = ({ method }) =>
      method === 'POST' ? { status: 409, headers: {}, body: {} } : undefined;
    const clock = new WaitingClock(start);
    await assert.rejects(replica(api, clock), /keeps being changed by another writer/);
    assert.deepEqual(clock.pauses, [100, 200, 400, 800], 'with a pause before each further round');
  });
});
