// `npm test [TIER…]`: the check, then every tier of tests that this machine can run. Says at the end, loudly, what was left out and why.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { tiers } from './tiers.mjs';

const node = bootstrap();
const wanted = process.argv.slice(2);
const known = ['check', ...tiers.map(({ name }) => name)];
const unknown = wanted.filter(name => !known.includes(name));
if (unknown.length > 0) {
  console.error(`drydock: there is no tier "${unknown[0]}"; there are: ${known.join(', ')}`);
  process.exit(2);
}
const isWanted = name => wanted.length === 0 || wanted.includes(name);

const seconds = since => ((performance.now() - since) / 1000).toFixed(1);
const rows = [];
let passed = 0;
let failed = 0;
let skipped = 0;
const leftOut = new Set();
const failures = [];

if (isWanted('check')) {
  const since = performance.now();
  const { status } = spawnSync(process.execPath, [join(root, 'scripts', 'check.mjs')], { stdio: 'inherit', cwd: root });
  rows.push(`check: ${status === 0 ? 'clean' : 'FAILED'}, ${seconds(since)} s`);
  if (status !== 0) failed += 1;
}

/** A tier that hangs is a failure like any other. */
const patienceMinutes = 40;

const count = (output, word) => Number(new RegExp(`^ℹ ${word} (\\d+)$`, 'm').exec(output)?.[1] ?? 0);

for (const { name, what, files, concurrency, environment, asked, longerMinutes = 0 } of tiers.filter(tier => isWanted(tier.name))) {
  if (asked !== undefined && !wanted.includes(name)) {
    leftOut.add(`${name} (${what}): ${asked} runs them`);
    continue;
  }
  console.log(`\n== ${name}: ${what}`);
  const since = performance.now();
  const minutes = patienceMinutes + longerMinutes;
  const args = [
    '--import',
    join(root, 'test', 'instants.ts'),
    '--test',
    '--test-reporter=spec',
    `--test-concurrency=${concurrency}`,
    ...files,
  ];
  const run = spawnSync(node, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
    timeout: minutes * 60_000,
    killSignal: 'SIGKILL',
  });
  process.stdout.write(run.stdout);
  if (run.error?.code === 'ETIMEDOUT') console.error(`drydock: the tier ${name} did not end in ${minutes} minutes`);
  const numbers = {
    passed: count(run.stdout, 'pass'),
    failed: count(run.stdout, 'fail') + count(run.stdout, 'cancelled'),
    skipped: count(run.stdout, 'skipped'),
  };
  if (run.status !== 0 && numbers.failed === 0) numbers.failed = 1;
  const told = run.stdout.indexOf('\n✖ failing tests:');
  if (told >= 0) failures.push(`\n== ${name}${run.stdout.slice(told)}`);
  for (const [, why] of run.stdout.matchAll(/# (\w[\w ]* left out: .*)$/gm)) leftOut.add(why);
  passed += numbers.passed;
  failed += numbers.failed;
  skipped += numbers.skipped;
  rows.push(`${name}: ${numbers.passed} passed, ${numbers.failed} failed, ${numbers.skipped} skipped, ${seconds(since)} s`);
}

// Once more at the end: of a log that is cut, the end is what people see.
for (const failure of failures) console.log(failure.slice(0, 20_000));
console.log(`\n${rows.join('\n')}`);
for (const why of leftOut) console.log(`\n!! LEFT OUT !! ${why}`);
console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exit(failed === 0 ? 0 : 1);
