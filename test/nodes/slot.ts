import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../control-plane/build/cache.ts';
import { announced } from '../control-plane/build/progress.ts';
import { until } from '../control-plane/wait.ts';

/**
 * What the nodes of one test process take of the machine, by number: the bridge `drydock-N` with
 * the network 10.N.0.0/16, and the cgroups
 * `drydock-nodes-N`, with the nodes' links and groups. Everything else goes with the processes. A
 * file says whose a number is; what a process that was killed has left goes when the next one takes
 * a number.
 */
export type Slot = {
  readonly number: number;
  readonly bridge: string;
  readonly cgroup: string;
  /** Of this machine on the bridge: where the API server listens. */
  readonly address: string;
  release(): void;
};

const folder = '/run/drydock-nodes';
const [first, last] = [80, 99];
function fileOf(number: number): string {
  return join(folder, String(number));
}
function bridgeOf(number: number): string {
  return `drydock-${number}`;
}
function cgroupOf(number: number): string {
  return `drydock-nodes-${number}`;
}

/** A process by its number and when it began: numbers come again. */
function identityOf(pid: number): string {
  const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : '';
  return `${pid} ${stat.slice(stat.lastIndexOf(')')).split(' ')[20] ?? ''}`;
}

function isDead(owner: string): boolean {
  return identityOf(Number(owner.split(' ')[0])) !== owner;
}

/**
 * Removes empty groups, the innermost first. One that still has a process is an error: nobody is
 * left who would end it.
 */
export function removeGroups(group: string): void {
  const roots = ['', ...readdirSync('/sys/fs/cgroup')].map(name =>
    join('/sys/fs/cgroup', name, group),
  );
  for (const root of roots.filter(existsSync)) {
    const below = readdirSync(root, { recursive: true, withFileTypes: true, encoding: 'utf8' });
    const folders = below
      .filter(entry => entry.isDirectory())
      .map(entry => join(entry.parentPath, entry.name));
    for (const one of [...folders.toSorted((a, b) => b.length - a.length), root]) rmdirSync(one);
  }
}

/**
 * What is still in the groups of a number: processes of a test that was killed die a moment after
 * it.
 */
function groupsGone(group: string, attempts = 50): void {
  try {
    removeGroups(group);
  } catch (error) {
    if (attempts === 0) throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    groupsGone(group, attempts - 1);
  }
}

function ip(...args: readonly string[]): string {
  return execFileSync('/usr/sbin/ip', args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/**
 * A link of a node outlives its processes for minutes: connections that nobody has closed hold the
 * network namespace.
 */
export function removeLink(name: string): void {
  const isThere = (): boolean => existsSync(`/sys/class/net/${name}`);
  if (!isThere()) return;
  try {
    ip('link', 'delete', name);
  } catch (error) {
    // The namespace may have taken it along between the look and the call.
    if (isThere()) throw error;
  }
}

function clear(number: number): void {
  groupsGone(cgroupOf(number));
  const bridge = bridgeOf(number);
  for (const link of readdirSync('/sys/class/net'))
    if (link.startsWith(`${bridge}-`) || link === bridge) removeLink(link);
  rmSync(fileOf(number), { force: true });
}

function sweep(): void {
  for (const name of readdirSync(folder))
    if (isDead(readFileSync(join(folder, name), 'utf8'))) clear(Number(name));
}

function claim(file: string): boolean {
  try {
    writeFileSync(file, identityOf(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Nobody else builds meanwhile: two files of tests that start together would do everything twice,
 * each in twice the time.
 */
export async function alone<T>(build: () => Promise<T>): Promise<T> {
  mkdirSync(cacheFolder(), { recursive: true });
  const lock = join(cacheFolder(), 'node-building');
  const free = async (): Promise<boolean> => {
    if (existsSync(lock) && isDead(readFileSync(lock, 'utf8'))) rmSync(lock, { force: true });
    return claim(lock);
  };
  const wait = (): Promise<unknown> =>
    until('another process to have built', free, { deadlineMs: 30 * 60_000, everyMs: 500 });
  if (!(await free()))
    await announced(
      `waiting for another process, which builds what the nodes need (${lock})`,
      wait,
    );
  try {
    return await build();
  } finally {
    rmSync(lock, { force: true });
  }
}

/** A network of somebody else's at that place, on a bridge, a tunnel, or the way to it. */
function isTaken(number: number): boolean {
  return (
    spawnSync('/usr/sbin/ip', ['route', 'show', 'root', `10.${number}.0.0/16`]).stdout.length > 0
  );
}

/** Takes the first number that is free, and makes its bridge. */
export function takeSlot(): Slot {
  mkdirSync(folder, { recursive: true });
  sweep();
  for (let number = first; number <= last; number += 1) {
    if (isTaken(number) || !claim(fileOf(number))) continue;
    const [bridge, address] = [bridgeOf(number), `10.${number}.0.1`];
    ip('link', 'add', bridge, 'type', 'bridge');
    ip('address', 'add', `${address}/24`, 'dev', bridge);
    ip('link', 'set', bridge, 'up');
    return { number, bridge, cgroup: cgroupOf(number), address, release: () => clear(number) };
  }
  throw new Error(`no free network from 10.${first}.0.0/16 to 10.${last}.0.0/16`);
}
