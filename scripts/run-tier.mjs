// Runs one tier of the tests: what it does is shown while it does it, its numbers are counted, and
// where it fails the logs of the systems that it started stay. No import from node_modules here.
import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { root } from './bootstrap.mjs';

const logsPrefix = 'drydock-logs-';
const keptMark = 'kept';

/** One that was killed is a zombie until somebody asks for its exit code. */
function isZombie(pid) {
  const file = `/proc/${pid}/stat`;
  return existsSync(file) && /\) Z /.test(readFileSync(file, 'utf8'));
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return !isZombie(pid);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Folders named PREFIX, number of a process, dash, anything, whose process is no more. */
function orphans(prefix) {
  return readdirSync(tmpdir())
    .filter(name => name.startsWith(prefix))
    .filter(
      name =>
        Number(name.slice(prefix.length).split('-')[0]) > 0 &&
        !isAlive(Number(name.slice(prefix.length).split('-')[0])),
    )
    .map(name => join(tmpdir(), name));
}

/** What a run that was killed has left goes; what was kept for people stays. */
function sweep() {
  for (const folder of orphans(logsPrefix)) {
    if (!existsSync(join(folder, keptMark))) rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * A test file that was killed could not hand its logs over: the folders of its control planes are
 * still there, whole.
 */
function collect(logs, sinceMs) {
  for (const folder of orphans('drydock-control-plane-')) {
    if (statSync(folder).birthtimeMs >= sinceMs) renameSync(folder, join(logs, basename(folder)));
  }
}

/** For the logs of everything that a tier starts. */
function makeLogs() {
  sweep();
  const folder = mkdtempSync(join(tmpdir(), `${logsPrefix}${process.pid}-`));
  mkdirSync(join(folder, 'builds'));
  return folder;
}

/**
 * Seconds in which something was built or installed, and whether it still is:
 * `test/control-plane/build/progress.ts` notes it there.
 */
function buildingIn(logs, nowMs = Date.now()) {
  const folder = join(logs, 'builds');
  // Whoever cleans up the folder for temporary files may have taken it away.
  const spans = (existsSync(folder) ? readdirSync(folder) : [])
    .map(name => readFileSync(join(folder, name), 'utf8').trim().split(' ').map(Number))
    .filter(([from]) => from > 0)
    .sort(([one], [other]) => one - other);
  let [total, until] = [0, 0];
  for (const [from, to = nowMs] of spans) {
    total += Math.max(to - Math.max(from, until), 0);
    until = Math.max(until, to);
  }
  return { seconds: total / 1000, isUnderWay: spans.some(([, to]) => to === undefined) };
}

/**
 * A line a minute where the tests say nothing: whoever watches sees that they are at it, and for
 * how long.
 */
const silenceMs = 60_000;

function watchSilence(name, since, logs) {
  const tell = () => {
    const { isUnderWay } = buildingIn(logs);
    const minutes = Math.round((performance.now() - since) / 60_000);
    console.log(
      `… ${name}: ${isUnderWay ? 'something is being built' : 'at it'}, ${minutes} min since it began`,
    );
  };
  const timer = setInterval(tell, silenceMs);
  return { heard: () => timer.refresh(), end: () => clearInterval(timer) };
}

function count(output, word) {
  return Number(new RegExp(`^ℹ ${word} (\\d+)$`, 'm').exec(output)?.[1] ?? 0);
}

/** To everything that the tier has started, builds included: they share its group. */
function signalGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

const graceMs = 20_000;

/**
 * A tier that hangs is a failure like any other. What it builds takes as long as the machine makes
 * it take, but not for ever.
 */
const patienceMinutes = 40;
function isHanging(since, patience, logs) {
  const minutes = (performance.now() - since) / 60_000;
  return minutes - buildingIn(logs).seconds / 60 > patience || minutes > 3 * patience;
}

/**
 * Starts it, shows its output, and resolves with that, without colours, when it has ended or has
 * been ended.
 */
function watch(node, args, { environment, patience, minutesLeft, name, logs }) {
  return new Promise((resolve, reject) => {
    const since = performance.now();
    const child = spawn(node, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment, DRYDOCK_TEST_LOGS: logs },
      detached: true,
    });
    const silence = watchSilence(name, since, logs);
    const seen = { output: '', cut: undefined };
    const take = to => chunk => {
      silence.heard();
      to.write(chunk);
      if (to === process.stdout) seen.output += chunk;
    };
    child.stdout.setEncoding('utf8').on('data', take(process.stdout));
    child.stderr.setEncoding('utf8').on('data', take(process.stderr));
    let killing;
    const end = why => () => {
      // With what was seen by then: what is stopped from here on is no failure of the tests.
      seen.cut ??= {
        why,
        output: stripVTControlCharacters(seen.output),
        building: buildingIn(logs),
      };
      signalGroup(child, 'SIGTERM');
      killing ??= setTimeout(() => signalGroup(child, 'SIGKILL'), graceMs);
    };
    const timer = Number.isFinite(minutesLeft)
      ? setTimeout(end('time'), minutesLeft * 60_000)
      : undefined;
    const watchdog = setInterval(() => isHanging(since, patience, logs) && end('patience')(), 5000);
    const interrupted = end('signal');
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, interrupted);
    child.once('error', reject).once('close', code => {
      for (const one of [timer, killing]) clearTimeout(one);
      clearInterval(watchdog);
      silence.end();
      for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, interrupted);
      signalGroup(child, 'SIGKILL');
      resolve({
        code,
        output: stripVTControlCharacters(seen.output),
        cut: seen.cut,
        seconds: (performance.now() - since) / 1000,
      });
    });
  });
}

function hasFailure(output) {
  return /^\s*✖ /m.test(output);
}

/**
 * What has become of a tier that was ended because its time was over: tests that had failed by then
 * are failures, and so is a tier whose tests have run for more than twice as long as they take. All
 * that is left is one that had no time: it has not passed and not failed.
 */
function verdictOfCut({ why, output, building }, seconds, usualMinutes) {
  if (why === 'signal') return 'interrupted';
  if (why === 'patience' || hasFailure(output)) return 'failed';
  const tested = seconds - building.seconds;
  return building.isUnderWay || usualMinutes === undefined || tested < 2 * usualMinutes * 60
    ? 'no time'
    : 'failed';
}

function outcomeOf({ code, cut, seconds }, usualMinutes) {
  if (cut !== undefined) return verdictOfCut(cut, seconds, usualMinutes);
  return code === 0 ? 'ended' : 'failed';
}

function numbersOf({ output }, outcome) {
  const failed = count(output, 'fail') + count(output, 'cancelled');
  const numbers = { passed: count(output, 'pass'), failed, skipped: count(output, 'skipped') };
  if (outcome === 'no time') return { ...numbers, failed: 0 };
  // Somebody has ended it: what fell with it has not failed.
  if (outcome === 'interrupted') return { ...numbers, failed: 1 };
  return { ...numbers, failed: outcome === 'ended' ? failed : Math.max(failed, 1) };
}

/** The logs go where all is well, and are named where it is not. */
function keepOrRemove(logs, isWell) {
  if (!isWell) collect(logs, statSync(join(logs, 'builds')).birthtimeMs);
  rmSync(join(logs, 'builds'), { recursive: true, force: true });
  if (isWell || readdirSync(logs).length === 0) {
    rmSync(logs, { recursive: true, force: true, maxRetries: 3 });
    return undefined;
  }
  writeFileSync(join(logs, keptMark), 'npm test has kept this folder because its tests failed\n');
  return logs;
}

/**
 * A tier without the systems that it is about has shown nothing, however many of its tests have
 * passed. What an older release does not have is no system that is missing.
 */
function lacksSystems(leftOut) {
  return leftOut.some(why =>
    /^(real \w+|control plane|image|OLM.*) left out: (?!Kubernetes \S+ or newer has )/.test(why),
  );
}

/** Runs a tier with a Node of 26 or newer, for `minutesLeft` at most. */
export async function runTier(node, tier, minutesLeft = Number.POSITIVE_INFINITY) {
  const { name, files, concurrency, environment, neighbour, longerMinutes = 0 } = tier;
  const logs = makeLogs();
  const args = [
    '--import',
    join(root, 'test', 'instants.ts'),
    '--test',
    '--test-reporter=spec',
    `--test-concurrency=${concurrency}`,
  ];
  const patience = patienceMinutes + longerMinutes;
  const watched = await watch(node, [...args, ...files], {
    environment,
    patience,
    minutesLeft,
    name,
    logs,
  });
  const building = watched.cut?.building ?? buildingIn(logs);
  const outcome = outcomeOf(watched, neighbour?.minutes);
  const numbers = numbersOf(watched, outcome);
  const told = watched.output.indexOf('\n✖ failing tests:');
  const leftOut = [...watched.output.matchAll(/# (\w[\w ]* left out: .*)$/gm)].map(
    ([, why]) => why,
  );
  return {
    ...numbers,
    outcome,
    isGreen:
      outcome === 'ended' && numbers.failed === 0 && numbers.passed > 0 && !lacksSystems(leftOut),
    isCut: watched.cut !== undefined,
    seconds: watched.seconds,
    buildSeconds: building.seconds,
    failures:
      told >= 0 && (outcome === 'ended' || outcome === 'failed') ? watched.output.slice(told) : '',
    leftOut,
    logs: keepOrRemove(logs, outcome === 'ended' && numbers.failed === 0),
  };
}
