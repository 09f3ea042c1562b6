import assert from 'node:assert/strict';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ensureBuilt } from '../control-plane/build/go-build.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { create, podsReady } from '../control-plane/objects/cluster.ts';
import { deployment, namespace } from '../control-plane/objects/manifests.ts';
import { type Outcome, run } from '../control-plane/processes/command.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until } from '../control-plane/wait.ts';
import {
  maintenance,
  maintenancePath,
  makeNode,
  remove,
  untilFace,
  untilMaintenance,
} from '../operator/harness/look.ts';
import { drydock, installShipped, operatorUsers } from '../operator/harness/shipped.ts';
import { signatureOf } from './mach-o.ts';

/** What `npm run release` makes, as somebody uses it who has no clone. */

const root = join(import.meta.dirname, '..', '..');
const released = join(root, 'dist', 'release');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
};
const mebibyte = 2 ** 20;

async function release(only: string): Promise<void> {
  const { code, stderr } = await run(process.execPath, ['tools/release.ts', '--only', only], {
    cwd: root,
    timeoutMs: 600_000,
    // Nothing of Node's is fetched for a test.
    environment: { DRYDOCK_NODE_MIRROR: 'http://127.0.0.1:1' },
  });
  assert.deepEqual([code, stderr], [0, '']);
}
function sums(): ReadonlyMap<string, string> {
  return new Map(
    readFileSync(join(released, 'SHA256SUMS'), 'utf8')
      .trimEnd()
      .split('\n')
      .map(line => [line.slice(66), line.slice(0, 64)]),
  );
}
function fileOf(pattern: RegExp): string {
  return join(released, [...sums().keys()].find(name => pattern.test(name)) ?? 'none');
}

const folder = mkdtempSync(join(tmpdir(), 'drydock-released-'));
const prefix = join(folder, 'prefix');
const unpacked = join(folder, 'unpacked');

/** Of the package, as npm links it, and of the archive for this platform. */
const ways = {
  'the npm package': join(prefix, 'bin', 'drydock'),
  'the executable': join(unpacked, 'drydock'),
} as const;

before(
  async () => {
    await release('npm,executables');
    const installed = await run('npm', [
      'install',
      '--global',
      '--prefix',
      prefix,
      '--no-audit',
      '--no-fund',
      fileOf(/\.tgz$/),
    ]);
    assert.equal(installed.code, 0, installed.stderr);
    mkdirSync(unpacked);
    const archive = fileOf(new RegExp(`${process.platform}-${process.arch}\\.tar\\.gz$`));
    const { code, stderr } = await run('tar', ['-xzf', archive, '-C', unpacked]);
    assert.equal(code, 0, stderr);
  },
  { timeout: 600_000 },
);
after(() => rmSync(folder, { recursive: true, force: true }));

/** Nothing of the clone is near it. */
const elsewhere = { cwd: folder };

for (const [way, command] of Object.entries(ways)) {
  describe(way, () => {
    test('says its version, and its help as the clone does', async () => {
      assert.deepEqual(await run(command, ['--version'], elsewhere), {
        code: 0,
        stdout: `${version}\n`,
        stderr: '',
      });
      for (const args of [['--help'], ['operator', '--help'], ['rehearse', '--help']])
        assert.deepEqual(await run(command, args, elsewhere), await drydock(args), args.join(' '));
    });

    test('prints the same manifests and CRDs as the clone: it brings what it reads', async () => {
      for (const args of [['crds'], ['install'], ['install', '--with', 'agent']]) {
        const expected = await drydock(args);
        assert.deepEqual(await run(command, args, elsewhere), expected, args.join(' '));
        assert.ok(expected.stdout.length > 1000);
      }
    });

    test('refuses a wrong call in one line, with 2', async () => {
      const { code, stderr } = await run(command, ['crds', 'nowhere.example'], elsewhere);
      assert.equal(code, 2);
      assert.match(stderr, /^drydock: unknown group "nowhere\.example"; available: .*\n$/);
    });
  });
}

describe('the npm package', () => {
  test('is small, and has no package of its own to fetch but Node', () => {
    assert.ok(statSync(fileOf(/\.tgz$/)).size < 8 * mebibyte);
    const installed = join(prefix, 'lib', 'node_modules', 'drydock');
    const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
      readonly dependencies?: object;
    };
    assert.equal(dependencies, undefined);
    const others = existsSync(join(installed, 'node_modules'))
      ? readdirSync(join(installed, 'node_modules'))
      : [];
    assert.deepEqual(
      others.filter(name => !name.startsWith('node-') && !name.startsWith('.')),
      [],
    );
    assert.match(
      readFileSync(join(installed, 'LICENSES-OF-PACKAGES.txt'), 'utf8'),
      /^@aws-sdk\/client-ec2 [\d.]+ \(Apache-2\.0\)$/m,
    );
  });

  test('gives every command that the clone gives', async () => {
    assert.deepEqual(readdirSync(join(prefix, 'bin')).sort(), [
      'drainer',
      'drydock',
      'kubectl-drydock',
      'kubectl_complete-drydock',
    ]);
    const say = (name: string, ...args: string[]): Promise<Outcome> =>
      run(join(prefix, 'bin', name), args, elsewhere);
    assert.equal((await say('kubectl-drydock', '--version')).stdout, `${version}\n`);
    assert.deepEqual(await say('drainer', '--help'), await drydock(['nova', '--help']));
    assert.match((await say('kubectl_complete-drydock', 'mai')).stdout, /^maintain/m);
  });

  test('runs by npx as well', async () => {
    const { code, stdout, stderr } = await run(
      'npx',
      ['--yes', '--package', fileOf(/\.tgz$/), 'drydock', '--version'],
      elsewhere,
    );
    assert.deepEqual([code, stdout], [0, `${version}\n`], stderr);
  });

  test('is the same, byte for byte, when it is made again', async () => {
    const before = sums();
    const name = `drydock-${version}.tgz`;
    cpSync(released, join(folder, 'first'), { recursive: true });
    await release('npm');
    assert.equal(sums().get(name), before.get(name));
    rmSync(released, { recursive: true });
    cpSync(join(folder, 'first'), released, { recursive: true });
  });
});

const isLinux = process.platform === 'linux' ? false : 'the executables are tried on Linux';

describe('the executable', { skip: isLinux }, () => {
  test('has no path of the machine on which it was made', () => {
    assert.equal(readFileSync(ways['the executable']).includes(root), false);
  });

  test('is signed for macOS: every page is as its signature says', async () => {
    const place = join(folder, 'darwin');
    mkdirSync(place);
    assert.equal(
      (await run('tar', ['-xzf', fileOf(/darwin-arm64\.tar\.gz$/), '-C', place, 'drydock'])).code,
      0,
    );
    const file = readFileSync(join(place, 'drydock'));
    const { identifier, adHoc, pages, covered, wrong } = signatureOf(file);
    assert.deepEqual([identifier, adHoc, wrong], ['dev.drydock.drydock', true, []]);
    assert.ok(
      pages * 4096 >= covered && covered > 0.98 * file.length,
      `${pages} pages for ${covered} bytes`,
    );
    const at = file.indexOf('drydock: ');
    file.writeUInt8((file[at] ?? 0) + 1, at);
    assert.equal(signatureOf(file).wrong.length, 1, 'a changed byte is found');
  });

  test('needs the C and C++ libraries of the system, and nothing else', {
    skip: process.getuid?.() === 0 ? false : 'chroot needs root',
  }, async () => {
    const place = join(folder, 'bare');
    const { stdout } = await run('ldd', [ways['the executable']]);
    const libraries = [...stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, path]) => path ?? '');
    const known = /\/(ld-linux|libc|libm|libdl|libpthread|libstdc\+\+|libgcc_s|libatomic)[-.]/;
    assert.deepEqual(
      libraries.filter(path => !known.test(path)),
      [],
    );
    for (const file of libraries) {
      mkdirSync(join(place, dirname(file)), { recursive: true });
      copyFileSync(file, join(place, file));
    }
    cpSync(ways['the executable'], join(place, 'drydock'));
    const {
      code,
      stdout: said,
      stderr,
    } = await run('chroot', [place, '/drydock', 'crds'], {
      environment: { NODE_EXTRA_CA_CERTS: '' },
    });
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(said, (await drydock(['crds'])).stdout);
  });
});

const krew = await ensureBuilt({
  name: 'krew',
  module: join(import.meta.dirname, 'krew'),
  salt: '',
  announcement: 'building krew for the tests, a few seconds,',
  build: (to, go) =>
    go(['build', '-o', join(to, 'krew'), '-ldflags', '-s -w', 'sigs.k8s.io/krew/cmd/krew']),
});

test('krew takes the manifest, installs the archive, and kubectl drydock runs', {
  skip: krew.kind === 'left-out' ? krew.why : isLinux,
}, async () => {
  if (krew.kind === 'left-out') return;
  const environment = { KREW_ROOT: join(folder, 'krew') };
  const archive = fileOf(new RegExp(`${process.platform}-${process.arch}\\.tar\\.gz$`));
  const args = [
    'install',
    `--manifest=${join(released, 'drydock.krew.yaml')}`,
    `--archive=${archive}`,
  ];
  const { code, stderr } = await run(join(krew.folder, 'krew'), args, { environment });
  assert.equal(code, 0, stderr);
  const plugin = join(folder, 'krew', 'bin', 'kubectl-drydock');
  assert.equal((await run(plugin, ['--version'], elsewhere)).stdout, `${version}\n`);
});

const started = await startControlPlane({ audit: true, users: operatorUsers });
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const controlPlane = started as ControlPlane;

describe('on a real control plane', { skip: leftOut || isLinux, timeout: 180_000 }, () => {
  const { api } = controlPlane;
  before(() => installShipped(controlPlane));
  after(() => controlPlane.stop());

  for (const [at, [way, command]] of Object.entries(ways).entries()) {
    test(`the operator of ${way} drains a node and gives it back, and its commands follow that`, async () => {
      const name = `released-${at}`;
      const face = await makeNode(api, name);
      await create(
        api,
        namespace(name),
        deployment('web', { namespace: name, replicas: 2, onNodes: [name] }),
      );
      await podsReady(api, name, 2);
      const kubeconfig = ['--kubeconfig', controlPlane.kubeconfigOf('drydock')];
      const [health = 0, metrics = 0, webhook = 0] = await freePorts(3);
      const binds = [
        `--metrics-bind-address=127.0.0.1:${metrics}`,
        `--health-probe-bind-address=127.0.0.1:${health}`,
        '--metrics-secure',
      ];
      const args = ['operator', ...kubeconfig, ...binds, `--webhook-port=${webhook}`];
      const environment = { POD_NAMESPACE: 'drydock-system' };
      const operator = controlPlane.run({
        name,
        command,
        args,
        cwd: folder,
        patience: '10s',
        environment,
      });
      // It is ready once it has made the certificate of its webhook, by a package that is loaded
      // only then.
      await until(
        'the operator to be ready',
        async () => (await fetch(`http://127.0.0.1:${health}/readyz`)).status === 200,
      );
      await create(api, maintenance(name));
      await untilMaintenance(api, name, 'Drained');
      const status = await run(
        command,
        ['status', name, '--kubeconfig', controlPlane.kubeconfig],
        elsewhere,
      );
      assert.match(status.stdout, new RegExp(`^${name} +Maintenance +${name} +Drained`, 'm'));
      await remove(api, maintenancePath(name));
      await untilFace(api, name, face);
      await operator.stop();
    });
  }
});
