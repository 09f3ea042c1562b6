import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { create } from 'tar';
import { type Platform, platforms } from '../../tools/release/node-binaries.ts';
import { type NodeOrigin, originOf, verdictOn } from '../../tools/release/node-origin.ts';
import { dist, manifest, root } from '../../tools/release/paths.ts';
import { run } from '../control-plane/processes/command.ts';

/** The Node that is shipped, compared with what Node publishes: a server here stands for Node's. */

const folder = mkdtempSync(join(tmpdir(), 'drydock-origin-'));
const [platform] = platforms as readonly [Platform];
const name = 'node-v1.2.3-linux-x64';
const path = `/v1.2.3/${name}.tar.gz`;

function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** An archive as Node publishes it; without a text, one that has no bin/node. */
async function archiveOf(text: string | undefined): Promise<Buffer> {
  const place = mkdtempSync(join(folder, 'archive-'));
  mkdirSync(join(place, name, 'bin'), { recursive: true });
  writeFileSync(join(place, name, 'LICENSE'), 'a licence');
  if (text !== undefined) writeFileSync(join(place, name, 'bin', 'node'), text);
  const chunks: Buffer[] = [];
  for await (const chunk of create({ gzip: true, cwd: place }, [name]))
    chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

describe('the Node that is shipped', () => {
  const answers = new Map<string, { readonly status: number; readonly body: Uint8Array }>();
  const asked: string[] = [];
  let server: Server;
  let mirror = '';
  const binary = join(folder, 'node');
  let published: Buffer;

  before(async () => {
    writeFileSync(binary, 'the binary');
    published = await archiveOf('the binary');
    server = createServer((request, response) => {
      asked.push(request.url ?? '');
      const { status, body } = answers.get(request.url ?? '') ?? { status: 404, body: Buffer.of() };
      response.writeHead(status).end(body);
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    mirror = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  function line(bytes: Uint8Array, file = `${name}.tar.gz`): string {
    return `${sha256(bytes)}  ${file}`;
  }
  function compare(
    sums: string,
    answer: { readonly status: number; readonly body: Uint8Array } | undefined,
    more: { readonly mirror?: string; readonly folder?: string } = {},
  ): Promise<NodeOrigin> {
    answers.clear();
    if (answer !== undefined) answers.set(path, answer);
    asked.length = 0;
    const place = { mirror, folder: mkdtempSync(join(folder, 'kept-')), ...more };
    return originOf({ platform, version: '1.2.3', binary, sums, ...place });
  }
  const signed = (text: string): string =>
    `-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n${text}\n-----BEGIN PGP SIGNATURE-----\n`;

  test('is the same, byte for byte; the archive is fetched once, and read again', async () => {
    const others = [line(Buffer.from('x'), `${name}.tar.xz`), line(Buffer.from('y'), 'node.exe')];
    const sums = signed([...others, line(published)].join('\n'));
    const place = mkdtempSync(join(folder, 'kept-'));
    const expected = {
      platform,
      version: '1.2.3',
      sha256: sha256('the binary'),
      archive: { url: `https://nodejs.org/dist${path}`, sha256: sha256(published) },
      check: { kind: 'same' },
    };
    const answer = { status: 200, body: published };
    assert.deepEqual(await compare(sums, answer, { folder: place }), expected);
    assert.deepEqual(asked, [path]);
    assert.deepEqual(await compare(sums, undefined, { folder: place }), expected);
    assert.deepEqual(asked, []);
    // Whatever has become of what is kept, it is not believed.
    const [kept = ''] = readdirSync(place);
    writeFileSync(join(place, kept), 'something else');
    const { check } = await compare(sums, undefined, { folder: place });
    assert.equal(check.kind, 'unchecked');
    assert.deepEqual(await compare(sums, answer, { folder: place }), expected);
  });

  test('is refused when it is another one, or nothing that can be compared', async () => {
    const other = await archiveOf('another binary');
    await assert.rejects(compare(line(other), { status: 200, body: other }), error => {
      assert.match(String(error), /is not the Node that Node has published: its hash is /);
      for (const hash of [sha256('the binary'), sha256('another binary')])
        assert.ok(String(error).includes(hash));
      return true;
    });
    const empty = await archiveOf(undefined);
    await assert.rejects(
      compare(line(empty), { status: 200, body: empty }),
      /bin\/node cannot be read/,
    );
  });

  test('is refused when another archive is served under the name of the published one', async () => {
    for (const body of [
      await archiveOf('the binary, and more'),
      Buffer.from('<html>Log in</html>'),
    ])
      await assert.rejects(
        compare(line(published), { status: 200, body }),
        new RegExp(`^Error: http://127.0.0.1:\\d+${path} is not what .*SHASUMS256.txt.asc names`),
      );
  });

  test('is refused without its one checksum: a list that cannot be read proves nothing', async () => {
    const answer = { status: 200, body: published };
    const wrong = {
      'an empty list': '',
      'a page of a proxy': '<html>Log in</html>',
      'another version': line(published, 'node-v1.2.4-linux-x64.tar.gz'),
      'a hash that is cut': line(published).slice(1),
      'a name that only begins so': line(published, `${name}.tar.gz.bak`),
    };
    for (const [what, sums] of Object.entries(wrong))
      await assert.rejects(
        compare(sums, answer),
        /has no checksum of node-v1\.2\.3-linux-x64\.tar\.gz: put https:\/\/nodejs\.org\/dist\/v1\.2\.3\/SHASUMS256\.txt\.asc in its place/,
        what,
      );
    const two = `${line(published)}\n${line(Buffer.from('x'))}`;
    await assert.rejects(compare(two, answer), /has several checksums of/);
  });

  test('is unchecked, and no more than that, where the archive cannot be had', async () => {
    for (const [answer, more] of [
      [undefined, {}],
      [{ status: 503, body: Buffer.of() }, {}],
      [undefined, { mirror: 'http://127.0.0.1:1' }],
    ] as const) {
      const origin = await compare(line(published), answer, more);
      assert.equal(origin.check.kind, 'unchecked');
      const why = `not checked: https://nodejs.org/dist${path} could not be fetched`;
      assert.equal(verdictOn(origin), why);
    }
  });

  test('is refused by the release itself, before anything is made', {
    skip: existsSync(`${root}node_modules/${platform.brings}`) ? false : 'of another platform',
  }, async () => {
    const version = manifest.optionalDependencies[platform.brings] ?? '';
    const real = `/v${version}/node-v${version}-${platform.name}.tar.gz`;
    answers.set(real, { status: 200, body: Buffer.from('<html>Log in</html>') });
    const made = existsSync(dist) ? readdirSync(dist) : [];
    const args = ['tools/release.ts', '--only', 'executables'];
    const environment = { DRYDOCK_NODE_MIRROR: mirror, XDG_CACHE_HOME: folder };
    const { code, stdout, stderr } = await run(process.execPath, args, { cwd: root, environment });
    assert.deepEqual([code, stdout], [1, ''], stderr);
    assert.match(stderr, /^release: http:\S+ is not what .* names: its hash is [^\n]*\n$/);
    assert.deepEqual(existsSync(dist) ? readdirSync(dist) : [], made);
  });
});
