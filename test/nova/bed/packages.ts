import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { announced } from '../../control-plane/build/progress.ts';
import { run } from '../../control-plane/processes/command.ts';
import type { LeftOut } from '../../integrations/builds.ts';

/**
 * The services of OpenStack as Debian packages them, without their init scripts and without a
 * hypervisor.
 */
const packages = [
  'python3-nova',
  'python3-keystone',
  'python3-placement',
  'python3-neutron',
  'python3-pymysql',
  'mariadb-server',
  'rabbitmq-server',
  'uwsgi-core',
  'uwsgi-plugin-python3',
];

async function isInstalled(name: string): Promise<boolean> {
  const { code, stdout } = await run('dpkg-query', ['-W', '-f', '${db:Status-Status}', name]);
  return code === 0 && stdout === 'installed';
}

function isDebian12(): boolean {
  try {
    return /^VERSION_ID="12"$/m.test(readFileSync('/etc/os-release', 'utf8'));
  } catch {
    return false;
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Debian asks it whether a service may be started when its package is installed. */
const policy = '/usr/sbin/policy-rc.d';

async function apt(...args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await run(
    'apt-get',
    ['-q', '-o', 'DPkg::Lock::Timeout=1800', '-o', 'Acquire::Retries=3', ...args],
    {
      environment: { DEBIAN_FRONTEND: 'noninteractive' },
      timeoutMs: 30 * 60_000,
    },
  );
  if (code !== 0)
    throw new Error(
      `apt-get ${args.join(' ')} ended with ${code}:\n${stdout.slice(-2000)}${stderr.slice(-2000)}`,
    );
}

async function install(missing: readonly string[]): Promise<void> {
  // Nothing of it is to be started as a service: the tests start their own, on ports of their own.
  const isOurs = !existsSync(policy);
  if (isOurs) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await apt('update');
    await apt('install', '-y', '--no-install-recommends', ...missing);
  } finally {
    if (isOurs) rmSync(policy, { force: true });
  }
}

/**
 * Sees to it that the packages are there. Only Debian 12 as root can have them: whoever asks for
 * these tests has agreed to their installation.
 */
export async function ensurePackages(): Promise<LeftOut | undefined> {
  if (!isDebian12() || !isRoot())
    return {
      kind: 'left-out',
      why: 'OpenStack for the tests is made of packages of Debian 12, installed and run as root',
    };
  const there = await Promise.all(packages.map(isInstalled));
  const missing = packages.filter((_, index) => there[index] !== true);
  const what = `installing ${missing.length} Debian packages of OpenStack for the tests, one to two minutes the first time,`;
  if (missing.length > 0) await announced(what, () => install(missing));
  return undefined;
}
