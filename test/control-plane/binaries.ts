import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { sweep } from './folder.ts';

/** The programs a control plane is made of, or why this machine has none. */
export type Binaries =
  | { readonly kind: 'ready'; readonly controlplane: string; readonly kubectl: string; readonly kwok: string; readonly attend: string }
  | { readonly kind: 'left-out'; readonly why: string };

export const kubernetesVersion = 'v1.36.3';
const kwokModule = 'sigs.k8s.io/kwok/cmd/kwok@v0.8.0';
const module = import.meta.dirname;

/** kubectl and the API server say their version; without these flags it is v0.0.0-master and both warn. */
const versionFlags = [
  `k8s.io/component-base/version.gitVersion=${kubernetesVersion}`,
  'k8s.io/component-base/version.gitMajor=1',
  'k8s.io/component-base/version.gitMinor=36',
  `k8s.io/client-go/pkg/version.gitVersion=${kubernetesVersion}`,
];
const linkerFlags = `-s -w ${versionFlags.map(flag => `-X ${flag}`).join(' ')}`;

const cacheFolder = (): string => {
  const given = process.env['XDG_CACHE_HOME'];
  if (given !== undefined && given !== '') return join(given, 'drydock');
  return process.platform === 'darwin' ? join(homedir(), 'Library', 'Caches', 'drydock') : join(homedir(), '.cache', 'drydock');
};

const sources = (): readonly string[] =>
  readdirSync(module, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.go') || name === 'go.mod' || name === 'go.sum')
    .sort();

/** Everything the binaries depend on, so that a changed pin or source is a new folder and an old checkout still finds its own. */
const fingerprint = (): string => {
  const hash = createHash('sha256').update(`${linkerFlags}\n${kwokModule}\n${process.platform}/${process.arch}\n`);
  for (const name of sources()) hash.update(`${name}\n`).update(readFileSync(join(module, name)));
  return hash.digest('hex').slice(0, 16);
};

const inFolder = (folder: string): Binaries => ({
  kind: 'ready',
  controlplane: join(folder, 'controlplane'),
  kubectl: join(folder, 'kubectl'),
  kwok: join(folder, 'kwok'),
  attend: join(folder, 'attend'),
});

const go = async (args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<void> => {
  const child = spawn('go', args, { cwd: module, stdio: ['ignore', 2, 2], env: { ...process.env, ...environment } });
  const killWithUs = (): void => void child.kill();
  process.once('exit', killWithUs);
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once('error', reject).once('exit', resolve);
  const code = await promise.finally(() => process.off('exit', killWithUs));
  if (code !== 0) throw new Error(`go ${args[0] ?? ''} ended with ${String(code)}; its messages are above`);
};

const build = async (folder: string): Promise<void> => {
  await go(['build', '-o', join(folder, 'attend'), '-ldflags', '-s -w', './attend']);
  await go(['build', '-o', join(folder, 'controlplane'), '-ldflags', linkerFlags, '.']);
  await go(['install', '-ldflags', '-s -w', kwokModule], { GOBIN: folder });
  symlinkSync('controlplane', join(folder, 'kubectl'));
};

/** The rename is what makes two builders at once harmless: the second finds the folder there and throws its own away. */
const publish = (built: string, folder: string): void => {
  try {
    renameSync(built, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(built, { recursive: true, force: true });
  }
};

/**
 * Builds the control plane from Go modules, once per version of the sources, into the user's cache folder. A machine without Go gets a
 * value that says so, for the tests to repeat loudly; a build that fails is an exception, for then something is wrong.
 */
export const ensureBinaries = async (): Promise<Binaries> => {
  const parent = join(cacheFolder(), 'control-plane');
  const folder = join(parent, fingerprint());
  if (existsSync(folder)) return inFolder(folder);
  const found = spawnSync('go', ['version'], { encoding: 'utf8' });
  if (found.error !== undefined || found.status !== 0) {
    return { kind: 'left-out', why: 'there is no Go on the PATH to build the control plane with (https://go.dev/dl, 1.21 or newer)' };
  }
  mkdirSync(parent, { recursive: true });
  sweep(parent, 'building-');
  const temporary = mkdtempSync(join(parent, `building-${process.pid}-`));
  process.stderr.write(
    `drydock: building Kubernetes ${kubernetesVersion} for the tests into ${folder}; about 5 minutes the first time …\n`,
  );
  try {
    await build(temporary);
    publish(temporary, folder);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  return inFolder(folder);
};
