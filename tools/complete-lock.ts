import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Completes package-lock.json after `npm install`: a registry that does not hold every platform's
 * build of a tool makes npm leave those out of the lock file, and then refuse `npm ci` because they
 * are missing from it. Each is added with the exact version that its tool asks for and the platform
 * that its name tells, so that every machine installs its own and skips the rest; and with its
 * hash, where the registry has that build.
 */

type Entry = {
  readonly version?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
};
type Lock = { readonly packages: Record<string, Entry & Readonly<Record<string, unknown>>> };

const systems = [
  'android',
  'darwin',
  'win32',
  'linux',
  'freebsd',
  'openbsd',
  'netbsd',
  'sunos',
  'aix',
  'openharmony',
];
const processors: Readonly<Record<string, string>> = {
  arm64: 'arm64',
  x64: 'x64',
  arm: 'arm',
  ia32: 'ia32',
  ppc64: 'ppc64',
  riscv64: 'riscv64',
  s390x: 's390x',
  loong64: 'loong64',
  mips64el: 'mips64el',
  wasm32: 'wasm32',
};

function platformOf(name: string): Readonly<Record<string, readonly string[]>> {
  const words = name.split(/[-/]/);
  const os = systems.find(system => words.includes(system));
  const cpu = words.map(word => processors[word]).find(word => word !== undefined);
  const musl = words.some(word => word.startsWith('musl'));
  return {
    ...(cpu !== undefined && { cpu: [cpu] }),
    ...(os !== undefined && { os: [os] }),
    ...(musl && { libc: ['musl'] }),
  };
}

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8')) as Lock;
const added: string[] = [];
for (const [path, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
  if (path === '') continue;
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const key = `node_modules/${name}`;
    if (lock.packages[key] !== undefined || lock.packages[`${path}/${key}`] !== undefined) continue;
    lock.packages[key] = {
      version,
      ...platformOf(name),
      ...(dev === true && { dev }),
      optional: true,
    };
    added.push(`${name}@${version}`);
  }
}
/** The hash that the registry tells of this build; undefined where it does not hold it. */
function integrityOf(name: string, version: string): string | undefined {
  const { status, stdout } = spawnSync('npm', ['view', `${name}@${version}`, 'dist.integrity'], {
    encoding: 'utf8',
  });
  return status === 0 && /^sha512-\S+$/.test(stdout.trim()) ? stdout.trim() : undefined;
}

const unhashed: string[] = [];
for (const [path, entry] of Object.entries(lock.packages)) {
  if (
    path === '' ||
    entry.link === true ||
    entry.integrity !== undefined ||
    entry.version === undefined
  )
    continue;
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const integrity = integrityOf(name, entry.version);
  if (integrity === undefined) unhashed.push(`${name}@${entry.version}`);
  else lock.packages[path] = { ...entry, integrity };
}
if (unhashed.length > 0)
  console.log(
    `this registry does not hold, so that they stay without a hash: ${unhashed.join(', ')}`,
  );

const sorted = Object.fromEntries(
  Object.entries(lock.packages).sort(([one], [other]) => one.localeCompare(other)),
);
writeFileSync(file, `${JSON.stringify({ ...lock, packages: sorted }, undefined, 2)}\n`);
console.log(
  added.length === 0
    ? 'package-lock.json is complete'
    : `added to package-lock.json: ${added.join(', ')}`,
);
