import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { sweep } from './folder.ts';

/** Programs of a Go module that tests need. */
export type GoBuild = {
  /** Of the folder in the user's cache. */
  readonly name: string;
  /** The folder with go.mod. */
  readonly module: string;
  /** Whatever else than the sources the result depends on. */
  readonly salt: string;
  /** Said before building: what, and how long it takes. */
  readonly announcement: string;
  /** Builds into a folder. */
  readonly build: (folder: string, go: Go) => Promise<void>;
};

/** Runs the go command in the module. */
type Go = (args: readonly string[], environment?: Readonly<Record<string, string>>) => Promise<void>;

/** Where the programs are, or why this machine has none. */
export type Built = { readonly kind: 'ready'; readonly folder: string } | { readonly kind: 'left-out'; readonly why: string };

const cacheFolder = (): string => {
  const given = process.env['XDG_CACHE_HOME'];
  if (given !== undefined && given !== '') return join(given, 'drydock');
  return process.platform === 'darwin' ? join(homedir(), 'Library', 'Caches', 'drydock') : join(homedir(), '.cache', 'drydock');
};

const sources = (module: string): readonly string[] =>
  readdirSync(module, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.go') || name === 'go.mod' || name === 'go.sum')
    .sort();

/** Everything the programs depend on, so that a changed pin or source is a new folder and an old checkout still finds its own. */
const fingerprint = ({ module, salt }: GoBuild): string => {
  const hash = createHash('sha256').update(`${salt}\n${process.platform}/${process.arch}\n`);
  for (const name of sources(module)) hash.update(`${name}\n`).update(readFileSync(join(module, name)));
  return hash.digest('hex').slice(0, 16);
};

const goIn =
  (module: string): Go =>
  async (args, environment = {}) => {
    const child = spawn('go', args, { cwd: module, stdio: ['ignore', 2, 2], env: { ...process.env, ...environment } });
    const killWithUs = (): void => void child.kill();
    process.once('exit', killWithUs);
    const { promise, resolve, reject } = Promise.withResolvers<number | null>();
    child.once('error', reject).once('exit', resolve);
    const code = await promise.finally(() => process.off('exit', killWithUs));
    if (code !== 0) throw new Error(`go ${args[0] ?? ''} ended with ${String(code)}; its messages are above`);
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

const buildInto = async (parent: string, folder: string, wanted: GoBuild): Promise<void> => {
  mkdirSync(parent, { recursive: true });
  sweep(parent, 'building-');
  const temporary = mkdtempSync(join(parent, `building-${process.pid}-`));
  process.stderr.write(`drydock: ${wanted.announcement} into ${folder} …\n`);
  try {
    await wanted.build(temporary, goIn(wanted.module));
    publish(temporary, folder);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
};

/**
 * Builds from Go modules, once per version of the sources, into the user's cache folder. A machine without Go gets a value that says so, for
 * the tests to repeat loudly; a build that fails is an exception, for then something is wrong.
 */
export const ensureBuilt = async (wanted: GoBuild): Promise<Built> => {
  const parent = join(cacheFolder(), wanted.name);
  const folder = join(parent, fingerprint(wanted));
  if (existsSync(folder)) return { kind: 'ready', folder };
  const found = spawnSync('go', ['version'], { encoding: 'utf8' });
  if (found.error !== undefined || found.status !== 0)
    return { kind: 'left-out', why: `there is no Go on the PATH to build ${wanted.name} with (https://go.dev/dl, 1.21 or newer)` };
  await buildInto(parent, folder, wanted);
  return { kind: 'ready', folder };
};
