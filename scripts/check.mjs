// `npm run check`: types, lint (with the import table), formatting, dead code, generated files, and
// whether what documents claim of real systems has been seen lately. Runs them all and fails if one
// does.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';

const node = bootstrap();
function bin(name) {
  return join(root, 'node_modules', '.bin', name);
}

const checks = [
  { what: 'types', command: bin('tsc'), args: ['-p', '.'] },
  { what: 'types of the pure core', command: bin('tsc'), args: ['-p', 'tsconfig.core.json'] },
  {
    what: 'types of the page',
    command: bin('tsc'),
    args: ['-p', join('packages', 'dashboard', 'ui')],
  },
  {
    what: 'types of the browser tests',
    command: bin('tsc'),
    args: ['-p', join('test', 'browser')],
  },
  {
    what: 'lint',
    command: bin('oxlint'),
    args: ['--type-aware', '--quiet', 'packages', 'test', 'bench', 'tools', 'scripts'],
  },
  { what: 'format', command: bin('biome'), args: ['check', '.'] },
  {
    what: 'dead code',
    command: node,
    args: [join(root, 'node_modules', 'knip', 'bin', 'knip.js')],
  },
  { what: 'generated files', command: node, args: [join(root, 'tools', 'generate.ts'), '--check'] },
  {
    what: 'tiers of real systems',
    command: node,
    args: [join(root, 'tools', 'neighbours', 'main.ts'), 'check'],
    remarks: true,
  },
];

let failures = 0;
for (const { what, command, args, remarks } of checks) {
  const since = performance.now();
  // The tools that are scripts look for `node` on PATH: it has to be the one that runs everything
  // else.
  const env = { ...process.env, PATH: `${join(root, 'node_modules', '.bin')}:${process.env.PATH}` };
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    env,
  });
  const clean = status === 0;
  console.log(
    `${clean ? 'ok  ' : 'FAIL'} ${what} (${((performance.now() - since) / 1000).toFixed(1)} s)`,
  );
  if (clean && remarks && stdout !== '') console.log(stdout.trimEnd());
  if (clean) continue;
  failures += 1;
  console.log(`${stdout ?? ''}${stderr ?? ''}`);
}
process.exit(failures === 0 ? 0 : 1);
