import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cached, makeCached } from '../control-plane/build/cache.ts';
import { type Built, ensureBuilt, type GoBuild } from '../control-plane/build/go-build.ts';
import { run } from '../control-plane/processes/command.ts';

/** Why a neighbour is not here, for the tests to say loudly. */
export type LeftOut = { readonly kind: 'left-out'; readonly why: string };

/** For the option `skip` of tests: the reason why they cannot run, or false. */
export function skipOf(started: LeftOut | { readonly kind: 'started' }): string | false {
  return started.kind === 'left-out' ? `real systems left out: ${started.why}` : false;
}

/** Programs of a neighbour, from Go modules. */
export function ensureProgram(wanted: GoBuild): Promise<Built> {
  return ensureBuilt(wanted);
}

async function must(command: string, ...args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await run(command, args, { timeoutMs: 15 * 60_000 });
  if (code !== 0)
    throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
}

async function works(python: string): Promise<boolean> {
  try {
    return (await run(python, ['-c', 'import moto'])).code === 0;
  } catch {
    return false;
  }
}

/** Debian has the module that makes them in a package of its own. */
async function canMakeVenvs(): Promise<boolean> {
  try {
    return (await run('python3', ['-c', 'import venv, ensurepip'])).code === 0;
  } catch {
    return false;
  }
}

/** A Python with the packages of a requirements file; the path of its program. */
export async function ensurePython(
  name: string,
  requirements: string,
): Promise<{ readonly kind: 'ready'; readonly python: string } | LeftOut> {
  const key = createHash('sha256')
    .update(`${process.platform}/${process.arch}\n`)
    .update(readFileSync(requirements))
    .digest('hex')
    .slice(0, 16);
  // A venv can be moved as long as only its python is called: that one finds its packages by where
  // it is itself.
  const pythonIn = (folder: string): string => join(folder, 'bin', 'python');
  const before = cached({ name, key });
  // The system's Python may have gone since, and the venv is only a link to it.
  if (before !== undefined && (await works(pythonIn(before))))
    return { kind: 'ready', python: pythonIn(before) };
  if (!(await canMakeVenvs()))
    return {
      kind: 'left-out',
      why: `there is no Python 3 with venv to install ${name} with (on Debian: apt-get install python3-venv)`,
    };
  if (before !== undefined) rmSync(before, { recursive: true, force: true });
  const folder = await makeCached({
    name,
    key,
    announcement: 'installing what plays EC2 for the tests, about half a minute the first time,',
    make: async temporary => {
      await must('python3', '-m', 'venv', temporary);
      await must(
        pythonIn(temporary),
        '-m',
        'pip',
        'install',
        '--quiet',
        '--disable-pip-version-check',
        '-r',
        requirements,
      );
    },
  });
  return { kind: 'ready', python: pythonIn(folder) };
}

/**
 * Programs that are no part of Drydock need a control plane of processes that is nobody else's; why
 * there is none, where that is so.
 */
export function otherCluster(): LeftOut | undefined {
  if (
    (process.env['DRYDOCK_TEST_KUBECONFIG'] ?? '') === '' &&
    process.env['DRYDOCK_TEST_CLUSTER'] !== 'embedded'
  )
    return undefined;
  return {
    kind: 'left-out',
    why: 'they run beside the control plane of the tests only, and another cluster was asked for',
  };
}

/** The same for controllers. */
export async function ensureController(wanted: GoBuild): Promise<Built> {
  return otherCluster() ?? ensureProgram(wanted);
}
