import { parentPort } from 'node:worker_threads';
import { type Outcome, play } from './play.ts';
import { generate } from './story/generate.ts';

/** Plays one seed after the other, as it is told. */

export type Told = { readonly seed: number; readonly outcome: Outcome };

parentPort?.on('message', (seed: number) => {
  void play(generate(seed)).then(outcome =>
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker's port has none
    parentPort?.postMessage({ seed, outcome: { ...outcome, lines: [] } } satisfies Told),
  );
});
