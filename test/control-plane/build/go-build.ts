import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cached, makeCached } from './cache.ts';
import { Progress } from './progress.ts';

/** Programs of a Go module that tests need. */
export type GoBuild = {
  /** Of the folder in the user's cache. */
  readonly name: string;
  /** The folder with the sources, and with go.mod. */
  readonly module: string;
  /** Another go.mod, with its go.sum beside it. */
  readonly goMod?: string;
  /** Whatever else than the sources the result depends on. */
  readonly salt: string;
  /** Said before building: what, and how long it takes. */
  readonly announcement: string;
  /** Builds into a folder. */
  readonly build: (folder: string, go: Go) => Promise<void>;
};

/** Runs the go command in the module. */
type Go = (
  args: readonly string[],
  environment?: Readonly<Record<string, string>>,
) => Promise<void>;

/** Where the programs are, or why this machine has none. */
export type Built =
  | { readonly kind: 'ready'; readonly folder: string }
  | { readonly kind: 'left-out'; readonly why: string };

function sources(module: string): readonly string[] {
  return readdirSync(module, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.go'))
    .sort();
}

function fingerprint({ module, salt, goMod = join(module, 'go.mod') }: GoBuild): string {
  const hash = createHash('sha256').update(`${salt}\n${process.platform}/${process.arch}\n`);
  for (const name of sources(module))
    hash.update(`${name}\n`).update(readFileSync(join(module, name)));
  for (const file of [goMod, goMod.replace(/\.mod$/, '.sum')])
    if (existsSync(file)) hash.update(readFileSync(file));
  return hash.digest('hex').slice(0, 16);
}

/** Of what it compiles go says with `-v` nothing but the path of each package. */
const packagePath = /^[\w.~-]+(\/[\w.~-]+)*$/;

/** A build says how far it is; what go has to say beyond that is shown as it comes. */
function verbose([command = '', ...rest]: readonly string[]): readonly string[] {
  return command === 'build' || command === 'install'
    ? [command, '-v', ...rest]
    : [command, ...rest];
}

function goIn(module: string, name: string): Go {
  return async (args, environment = {}) => {
    const child = spawn('go', verbose(args), {
      cwd: module,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment },
    });
    child.stdout.pipe(process.stderr, { end: false });
    const progress = new Progress(name);
    createInterface({ input: child.stderr }).on('line', line => {
      if (packagePath.test(line)) progress.step(line);
      else process.stderr.write(`${line}\n`);
    });
    const killWithUs = (): void => void child.kill();
    process.once('exit', killWithUs);
    const { promise, resolve, reject } = Promise.withResolvers<number | null>();
    child.once('error', reject).once('close', resolve);
    const code = await promise.finally(() => process.off('exit', killWithUs));
    if (code !== 0)
      throw new Error(`go ${args[0] ?? ''} ended with ${String(code)}; its messages are above`);
  };
}

/**
 * Builds from Go modules, once per version of the sources, into the user's cache folder. A machine
 * without Go gets a value that says so, for the tests to repeat loudly; a build that fails is an
 * exception, for then something is wrong.
 */
export async function ensureBuilt(wanted: GoBuild): Promise<Built> {
  const { name, module, announcement, build } = wanted;
  const key = fingerprint(wanted);
  const folder = cached({ name, key });
  if (folder !== undefined) return { kind: 'ready', folder };
  const found = spawnSync('go', ['version'], { encoding: 'utf8' });
  if (found.error !== undefined || found.status !== 0)
    return {
      kind: 'left-out',
      why: `there is no Go on the PATH to build ${name} with (https://go.dev/dl, 1.21 or newer)`,
    };
  return {
    kind: 'ready',
    folder: await makeCached({
      name,
      key,
      announcement,
      make: temporary => build(temporary, goIn(module, name)),
    }),
  };
}
