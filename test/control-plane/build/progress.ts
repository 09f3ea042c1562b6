import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What takes minutes is announced, and how long it took: on stderr for people, and as a file for
 * the run of the tier, whose time for tests it does not count as.
 */

let made = 0;

/** When it began and ended, in milliseconds, where a tier runs. */
function note(...times: readonly number[]): (...times: readonly number[]) => void {
  const logs = process.env['DRYDOCK_TEST_LOGS'] ?? '';
  if (logs === '') return () => {};
  made += 1;
  const file = join(logs, 'builds', `${process.pid}-${made}`);
  const write = (...all: readonly number[]): void => writeFileSync(file, all.join(' '));
  write(...times);
  return write;
}

/** Makes it, and says before and afterwards what and for how long. */
export async function announced<T>(what: string, make: () => Promise<T>): Promise<T> {
  const began = Date.now();
  const ended = note(began);
  process.stderr.write(`drydock: ${what} …\n`);
  try {
    const result = await make();
    process.stderr.write(
      `drydock: done in ${Math.round((Date.now() - began) / 1000)} s: ${what}\n`,
    );
    return result;
  } finally {
    ended(began, Date.now());
  }
}

/**
 * A line now and then that says how far something is that works through many steps: several may be
 * built at once.
 */
export class Progress {
  readonly #what: string;
  readonly #everyMs: number;
  #steps = 0;
  #next: number;

  constructor(what: string, everyMs = 20_000) {
    this.#what = what;
    this.#everyMs = everyMs;
    this.#next = Date.now() + everyMs;
  }

  step(name: string): void {
    this.#steps += 1;
    if (Date.now() < this.#next) return;
    this.#next = Date.now() + this.#everyMs;
    process.stderr.write(`drydock: ${this.#what} … ${this.#steps} done, the last is ${name}\n`);
  }
}
