import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { clientA, clientB, serverPair } from '@drydock/kube-client/testing';
import type { KeyPair } from '@drydock/utils';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import { FakeLog } from '../../testing/fakes.ts';
import type { CertificateSet } from './plan.ts';
import { type FollowOptions, followCertificate, mountedPair, mountedPlaces } from './self-made.ts';

function setOf(serving: KeyPair, authority: string): CertificateSet {
  return { authorities: [authority], authorityKey: '', serving };
}

function follow(given: Partial<FollowOptions>): {
  readonly clock: VirtualClock;
  readonly seen: string[];
  readonly log: FakeLog;
  readonly stop: () => Promise<void>;
} {
  const [clock, log, seen, over] = [
    new VirtualClock(),
    new FakeLog(),
    [] as string[],
    new AbortController(),
  ];
  const nameOf = ({ cert }: KeyPair): string =>
    cert === clientA.cert ? 'A' : cert === clientB.cert ? 'B' : cert;
  const options: FollowOptions = {
    clock,
    log,
    defects: new PanicHandler({ log }),
    mounted: async () => undefined,
    selfMade: () => Promise.reject(new Error('not asked for')),
    show: pair => seen.push(`show ${nameOf(pair)}`),
    trust: pem => seen.push(`trust ${pem}`),
    ...given,
  };
  const work = followCertificate(options, over.signal);
  const stop = (): Promise<void> => {
    over.abort();
    return work;
  };
  return { clock, seen, log, stop };
}

describe('the certificate that is shown', () => {
  test('is a mounted one if there is one; nobody is told to trust it, and a new one is shown within ten seconds', async () => {
    let pair = clientA;
    const { clock, seen, stop } = follow({ mounted: async () => pair });
    await clock.advance(25_000);
    assert.deepEqual(seen, ['show A']);
    pair = clientB;
    await clock.advance(10_000);
    assert.deepEqual(seen, ['show A', 'show B']);
    await stop();
  });

  test('is our own otherwise, which is trusted before it is shown, and again when it is renewed', async () => {
    let set = setOf(clientA, 'CA1');
    const { clock, seen, stop } = follow({ selfMade: async () => set });
    await clock.advance(0);
    assert.deepEqual(seen, ['trust CA1', 'show A']);
    set = setOf(clientB, 'CA2');
    await clock.advance(10_000);
    assert.deepEqual(seen.slice(2), ['trust CA2', 'show B']);
    await stop();
  });

  test('is the mounted one as soon as that appears, and from then on no other, even if that is taken away for a while', async () => {
    let pair: KeyPair | undefined;
    let made = 0;
    const { clock, seen, stop } = follow({
      mounted: async () => pair,
      selfMade: async () => {
        made += 1;
        return setOf(clientA, 'CA');
      },
    });
    await clock.advance(0);
    pair = clientB;
    await clock.advance(10_000);
    pair = undefined;
    await clock.advance(30_000);
    assert.deepEqual(seen, ['trust CA', 'show A', 'show B']);
    assert.equal(made, 1);
    await stop();
  });

  test('stays when the next one cannot be had: said once, tried every two seconds', async () => {
    let tries = 0;
    let pair: KeyPair | Error = clientA;
    const mounted = async (): Promise<KeyPair> => {
      tries += 1;
      if (pair instanceof Error) throw pair;
      return pair;
    };
    const { clock, seen, log, stop } = follow({ mounted });
    await clock.advance(0);
    pair = new Error('half written');
    await clock.advance(20_000);
    assert.ok(tries >= 6, `${tries} tries`);
    assert.deepEqual(log.of('warn'), ['failed to obtain the webhook certificate; retrying']);
    pair = clientB;
    await clock.advance(2000);
    assert.deepEqual(seen, ['show A', 'show B']);
    await stop();
  });
});

describe('mounted files', () => {
  const folder = mkdtemp(join(tmpdir(), 'drydock-test-'));
  after(async () => rm(await folder, { recursive: true }));
  const place = async (name: string): Promise<string> => join(await folder, name);
  const write = async (
    path: string,
    cert: string | undefined,
    key: string | undefined,
  ): Promise<void> => {
    await mkdir(path, { recursive: true });
    if (cert !== undefined) await writeFile(join(path, 'tls.crt'), cert);
    if (key !== undefined) await writeFile(join(path, 'tls.key'), key);
  };
  const at = (...paths: readonly string[]): Parameters<typeof mountedPair>[0] =>
    paths.map(path => ({ cert: join(path, 'tls.crt'), key: join(path, 'tls.key') }));

  test('are looked for in the given folder, where OLM puts them, and where controller-runtime looked for them', () => {
    const places = mountedPlaces('/certs').map(({ cert, key }) => [cert, key]);
    assert.deepEqual(places, [
      ['/certs/tls.crt', '/certs/tls.key'],
      [
        '/apiserver.local.config/certificates/apiserver.crt',
        '/apiserver.local.config/certificates/apiserver.key',
      ],
      [
        join(tmpdir(), 'k8s-webhook-server/serving-certs/tls.crt'),
        join(tmpdir(), 'k8s-webhook-server/serving-certs/tls.key'),
      ],
    ]);
    assert.equal(mountedPlaces(undefined).length, 2);
  });

  test('count as a pair only: the first place with both is taken', async () => {
    const [none, half, whole, other] = [
      await place('none'),
      await place('half'),
      await place('whole'),
      await place('other'),
    ];
    await write(half, clientA.cert, undefined);
    await write(whole, clientA.cert, clientA.key);
    await write(other, clientB.cert, clientB.key);
    assert.equal(await mountedPair(at(none, half)), undefined);
    assert.deepEqual(await mountedPair(at(none, half, whole, other)), clientA);
  });

  test('are seen through the symbolic links that a kubelet swaps', async () => {
    const [one, two, link] = [await place('..one'), await place('..two'), await place('..data')];
    await write(one, clientA.cert, clientA.key);
    await write(two, clientB.cert, clientB.key);
    await symlink(one, link);
    assert.deepEqual(await mountedPair(at(link)), clientA);
    await symlink(two, `${link}_tmp`);
    await rename(`${link}_tmp`, link);
    assert.deepEqual(await mountedPair(at(link)), clientB);
  });

  test('that do not belong together, or are something else, are an error that names them', async () => {
    const [mixed, odd] = [await place('mixed'), await place('odd')];
    await write(mixed, clientA.cert, serverPair.key);
    await write(odd, 'x', 'y');
    await assert.rejects(
      mountedPair(at(mixed)),
      /mixed\/tls\.key is not the key of .*mixed\/tls\.crt$/,
    );
    await assert.rejects(
      mountedPair(at(odd)),
      /odd\/tls\.crt and .*odd\/tls\.key are not a certificate and a key in PEM$/,
    );
  });
});
