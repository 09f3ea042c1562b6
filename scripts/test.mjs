// `npm test [-- TIER…]`: the check, then every tier of tests that this machine can run. Says at the
// end, loudly, what was left out and why.
// `--turn`: and then the one tier of real neighbours whose turn it is; `--minutes=N`: so long is
// left for all of it.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bootstrap, root } from './bootstrap.mjs';
import { runTier } from './run-tier.mjs';
import { tiers } from './tiers.mjs';

const node = bootstrap();

function wrong(message) {
  console.error(`drydock: ${message}`);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { turn: { type: 'boolean' }, minutes: { type: 'string' } },
    });
  } catch (error) {
    return wrong(error.message);
  }
}

const { values, positionals } = readArguments();
const minutesInAll =
  values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes);
if (Number.isNaN(minutesInAll)) wrong(`--minutes=${values.minutes} is no number`);

/** What is known of the tiers of real neighbours, asked in a Node that runs TypeScript. */
function neighbours(...args) {
  const { status, stdout } = spawnSync(
    node,
    [join(root, 'tools', 'neighbours', 'main.ts'), ...args],
    {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  if (status !== 0) wrong(`tools/neighbours/main.ts ${args.join(' ')} ended with ${status}`);
  return stdout.trim();
}

const wanted = positionals;
/** The tier of real neighbours whose turn it is, beside the others. */
const turn = values.turn === true ? neighbours('turn') : undefined;
const known = ['check', ...tiers.map(({ name }) => name)];
const unknown = wanted.filter(name => !known.includes(name));
if (unknown.length > 0) wrong(`there is no tier "${unknown[0]}"; there are: ${known.join(', ')}`);
function isAsked(name) {
  return wanted.includes(name) || name === turn;
}
function isWanted(name) {
  return wanted.length === 0 || isAsked(name);
}

const began = performance.now();
function seconds(since) {
  return ((performance.now() - since) / 1000).toFixed(1);
}
function minutesLeft() {
  return minutesInAll - (performance.now() - began) / 60_000;
}
const rows = [];
const total = { passed: 0, failed: 0, skipped: 0 };
const loud = new Set();
const failures = [];

if (isWanted('check')) {
  const since = performance.now();
  const { status } = spawnSync(process.execPath, [join(root, 'scripts', 'check.mjs')], {
    stdio: 'inherit',
    cwd: root,
  });
  rows.push(`check: ${status === 0 ? 'clean' : 'FAILED'}, ${seconds(since)} s`);
  if (status !== 0) total.failed += 1;
}

function noTime(name, why) {
  rows.push(`${name}: NOT FINISHED`);
  loud.add(
    `NO TIME !! ${name} has neither passed nor failed: ${why}. Run it by itself: npm test -- '${name}'`,
  );
}

/** One that cannot end in the time that is left is not begun. */
function hasTime({ name, neighbour: { minutes } = { minutes: 0 } }) {
  const left = minutesLeft();
  if (left >= minutes + 1) return true;
  noTime(
    name,
    `its tests alone take ${minutes} minutes, and ${Math.max(Math.floor(left), 0)} were left`,
  );
  return false;
}

const told = { passed: 'passed', failed: 'failed', skipped: 'skipped' };

/** Counts what has become of a tier, and says so. */
function take({ name, neighbour }, result, head) {
  const minutes = Math.round(result.seconds / 60);
  const building =
    result.buildSeconds > 1 ? `, ${Math.round(result.buildSeconds)} s of it building` : '';
  const numbers = Object.keys(told).map(key => `${result[key]} ${told[key]}`);
  if (result.outcome === 'no time')
    noTime(name, `it was cut off after ${minutes} minutes${building}`);
  else if (result.outcome === 'interrupted') rows.push(`${name}: INTERRUPTED`);
  else rows.push(`${name}: ${numbers.join(', ')}, ${result.seconds.toFixed(1)} s${building}`);
  if (result.outcome === 'failed' && result.isCut)
    failures.push(`\n== ${name} did not end in ${minutes} minutes${building}`);
  if (result.failures !== '') failures.push(`\n== ${name}${result.failures}`);
  if (result.logs !== undefined)
    failures.push(`\n== ${name}: the logs of what it started are in ${result.logs}`);
  for (const why of result.leftOut) loud.add(`LEFT OUT !! ${why}`);
  for (const key of Object.keys(told)) total[key] += result[key];
  if (neighbour === undefined || !result.isGreen) return;
  rows.push(
    neighbours(
      'record',
      name,
      String(result.passed),
      (result.seconds - result.buildSeconds).toFixed(0),
      head,
    ),
  );
}

for (const tier of tiers.filter(one => isWanted(one.name))) {
  const { name, what, asked } = tier;
  if (asked !== undefined && !isAsked(name)) {
    loud.add(`LEFT OUT !! ${name} (${what}): ${asked} runs them`);
    continue;
  }
  if (!hasTime(tier)) continue;
  console.log(`\n== ${name}: ${what}`);
  const head = tier.neighbour === undefined ? '' : neighbours('state');
  const result = await runTier(node, tier, minutesLeft());
  take(tier, result, head);
  if (result.outcome === 'interrupted') break;
}

// Once more at the end: of a log that is cut, the end is what people see.
for (const failure of failures) console.log(failure.slice(0, 20_000));
console.log(`\n${rows.join('\n')}`);
for (const line of loud) console.log(`\n!! ${line}`);
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(total.failed === 0 ? 0 : 1);
