import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { play } from './play.ts';
import { headline, told, toldStory } from './report.ts';
import { generate } from './story/generate.ts';
import { shrink } from './story/shrink.ts';
import type { Told } from './worker.ts';

/**
 * `npm run simulate -- --seeds N [--from S]`, or `--seed S` for one story, told and made smaller
 * when it fails.
 */

const usage = `npm run simulate -- --seeds N [--from S]   play the stories of N seeds, from S (1 when left out) on
npm run simulate -- --seed S               play one story; when it fails, tell what happened and make it smaller`;

function say(line: string): void {
  void process.stdout.write(`${line}\n`);
}

/** Failing seeds that are told; of more only the number. */
const maxTold = 10;

const shrinkMs = 120_000;
const everyMs = 10_000;

type Totals = {
  seeds: number;
  maintenances: number;
  calls: number;
  hours: number;
  failed: number[];
};

async function playOne(seed: number): Promise<number> {
  const story = generate(seed);
  const outcome = await play(story);
  say(told(seed, outcome));
  if (outcome.violation === undefined) return 0;
  const until = performance.now() + shrinkMs;
  const smallest = await shrink(
    { story, outcome },
    api => api,
    () => performance.now() < until,
  );
  say(
    `\nthe smallest story that fails like that:\n${toldStory(smallest.story)}\n${told(seed, smallest.outcome)}`,
  );
  return 1;
}

function progress(totals: Totals, of: number, since: number): string {
  const seconds = (performance.now() - since) / 1000;
  const rate = (totals.maintenances / seconds).toFixed(1);
  return `${totals.seeds} of ${of} seeds, ${totals.maintenances} maintenances, ${totals.calls} calls, ${totals.hours.toFixed(0)} hours of simulated time in ${seconds.toFixed(0)} s (${rate} a second), ${totals.failed.length} failed`;
}

function add(totals: Totals, { seed, outcome }: Told): void {
  totals.seeds += 1;
  totals.maintenances += outcome.maintenances;
  totals.calls += outcome.calls;
  totals.hours += outcome.seconds / 3600;
  if (outcome.violation === undefined) return;
  totals.failed.push(seed);
  if (totals.failed.length <= maxTold) say(headline(seed, outcome));
}

/** Each worker asks for the next few seeds when it has played the last ones. */
async function playMany(from: number, count: number): Promise<number> {
  const since = performance.now();
  const totals: Totals = { seeds: 0, maintenances: 0, calls: 0, hours: 0, failed: [] };
  let next = from;
  const ticking = setInterval(() => say(progress(totals, count, since)), everyMs);
  const work = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(new URL('./worker.ts', import.meta.url));
      const give = (): void => {
        if (next >= from + count) return void worker.terminate().then(() => resolve(), reject);
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
        worker.postMessage(next);
        next += 1;
      };
      worker.on('message', (told: Told) => {
        add(totals, told);
        give();
      });
      worker.on('error', reject);
      give();
    });
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), count) }, work));
  clearInterval(ticking);
  say(progress(totals, count, since));
  if (totals.failed.length > 0)
    say(`failed: ${totals.failed.toSorted((one, other) => one - other).join(', ')}`);
  return totals.failed.length > 0 ? 1 : 0;
}

function numbers(args: readonly string[]): ReadonlyMap<string, number> | undefined {
  const found = new Map<string, number>();
  for (let at = 0; at < args.length; at += 2) {
    const [name = '', value = ''] = [args[at], args[at + 1]];
    if (!['--seeds', '--seed', '--from'].includes(name) || !/^\d+$/.test(value)) return undefined;
    found.set(name, Number(value));
  }
  return found;
}

async function main(args: readonly string[]): Promise<number> {
  const given = numbers(args);
  const [seed, seeds] = [given?.get('--seed'), given?.get('--seeds')];
  if (seed !== undefined) return playOne(seed);
  if (seeds !== undefined && seeds > 0) return playMany(given?.get('--from') ?? 1, seeds);
  say(usage);
  return 2;
}

process.exitCode = await main(process.argv.slice(2));
