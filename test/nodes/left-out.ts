import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const groups = '/sys/fs/cgroup';

/** Which cgroups this machine has: a kubelet, and runc, work with either. */
function cgroupVersion(): 1 | 2 {
  return statfsSync(groups).type === 0x63677270 ? 2 : 1;
}

const controllers = [
  'cpu',
  'cpuacct',
  'cpuset',
  'memory',
  'devices',
  'freezer',
  'blkio',
  'pids',
  'systemd',
];

function missingController(): string | undefined {
  if (cgroupVersion() === 1)
    return controllers.find(name => !existsSync(join(groups, name, 'cgroup.procs')));
  const offered = readFileSync(join(groups, 'cgroup.controllers'), 'utf8').trim().split(' ');
  return ['cpu', 'cpuset', 'memory', 'pids'].find(name => !offered.includes(name));
}

const tools = ['/usr/sbin/ip', '/usr/bin/dpkg-deb', '/usr/bin/nsenter'];

/** Why real nodes cannot run on this machine, or undefined. */
export function whyNoNodes(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return 'their packages are of Debian for x86-64';
  if (process.getuid?.() !== 0) return 'namespaces, cgroups and a bridge need root';
  const system = readFileSync('/etc/os-release', 'utf8');
  if (!/^ID=debian$/m.test(system) || !/^VERSION_ID="12"$/m.test(system))
    return 'runc and nft are of Debian 12, and so are their libraries';
  const tool = tools.find(path => !existsSync(path));
  if (tool !== undefined) return `${tool} is missing`;
  const controller = missingController();
  return controller === undefined
    ? undefined
    : `the cgroup controller ${controller} is not to be had`;
}
