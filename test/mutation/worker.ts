import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { errorText } from '@drydock/utils';
import fc from 'fast-check';
import '../instants.ts';
import { inFile, kept } from './bench.ts';
import { plantAll } from './hooks.ts';
import { soil } from './planted.ts';
import type { Answer, Order, Setting, Survey } from './worker-process.ts';

/**
 * A process that loads the tests once, and runs those it is told to with one fault awake. Its
 * parent ends it when a fault lets it hang.
 */

const setting = JSON.parse(process.argv[2] ?? '') as Setting;
function tell(message: unknown): void {
  void process.send?.(message);
}

// What goes wrong where nobody waits for it is the running test's.
const stray: { fail: ((reason: unknown) => void) | undefined } = { fail: undefined };
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (reason: unknown) =>
    stray.fail === undefined ? process.exit(1) : stray.fail(reason),
  );
}

/**
 * Why a test failed; undefined when it passed. What it leaves for the next turns of the loop is its
 * own.
 */
async function failureOf(at: number): Promise<string | undefined> {
  const { promise, reject } = Promise.withResolvers<never>();
  stray.fail = reject;
  try {
    await Promise.race([kept[at]?.run(), promise]);
    await Promise.race([new Promise(resolve => setImmediate(resolve)), promise]);
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

async function load(): Promise<Record<string, string>> {
  const leftOut: Record<string, string> = {};
  for (const file of setting.tests) {
    inFile(file);
    try {
      await import(pathToFileURL(join(setting.root, file)).href);
    } catch (error) {
      leftOut[file] = String(error);
    }
  }
  return leftOut;
}

async function timed(
  at: number,
): Promise<{ readonly fails: string | undefined; readonly ms: number }> {
  const since = performance.now();
  const fails = await failureOf(at);
  return { fails, ms: performance.now() - since };
}

/** A test that takes longer is not run twice to see what it takes once it is warm. */
const slow = 500;

/** Every test: what it comes by, how long it takes, and whether it can be run again at all. */
async function survey(leftOut: Record<string, string>): Promise<Survey> {
  const atLoad = [...soil.met];
  const cases = [];
  for (const [at, { file, name }] of kept.entries()) {
    soil.met = new Set();
    const first = await timed(at);
    const last = first.ms > slow || first.fails !== undefined ? first : await timed(at);
    cases.push({ at, file, name, ...last, met: [...soil.met] });
  }
  return { kind: 'survey', atLoad, cases, leftOut };
}

/**
 * A fault is noticed only by a test that passes again once it sleeps: else something of an earlier
 * fault was left behind.
 */
async function hunt({ mutant, cases }: Order): Promise<Answer> {
  for (const at of cases) {
    soil.awake = mutant;
    const failed = await failureOf(at);
    if (failed === undefined) continue;
    soil.awake = '';
    const spoilt = (await failureOf(at)) !== undefined;
    return { kind: 'answer', mutant, killer: at, why: failed.slice(0, 200), spoilt };
  }
  return { kind: 'answer', mutant, spoilt: false };
}

// The same values at every run: what a law finds once, it finds always. Nobody reads a
// counterexample here, so none is made small.
fc.configureGlobal({ seed: 20_261_122, endOnFailure: true });
soil.awake = setting.awake ?? '';
plantAll(setting.root, setting.planted);
const leftOut = await load();
process.on('message', (order: Order | 'survey') => {
  void (order === 'survey' ? survey(leftOut) : hunt(order)).then(tell);
});
process.on('disconnect', () => process.exit());
tell({ kind: 'loaded', leftOut });
