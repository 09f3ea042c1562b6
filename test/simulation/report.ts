import type { Outcome } from './play.ts';
import type { Story } from './story/story.ts';

/** What is printed of a story that fails. */

const limit = 40;

const tail = (lines: readonly string[]): string =>
  lines
    .slice(-limit)
    .map(line => `  ${line.slice(0, 400)}`)
    .join('\n');

export const headline = (seed: number, { violation, maintenances }: Outcome): string =>
  violation === undefined
    ? `seed ${seed}: ${maintenances} maintenances, nothing wrong`
    : `seed ${seed}: ${violation.invariant}, at ${violation.at}\n  ${violation.message.slice(0, 2000)}\n  again: npm run simulate -- --seed ${seed}`;

/** With what came before the violation. */
export const told = (seed: number, outcome: Outcome): string =>
  outcome.violation === undefined
    ? headline(seed, outcome)
    : `${headline(seed, outcome)}\n  what came before it, in seconds of simulated time:\n${tail(outcome.lines)}`;

/** A story as data, for people. */
export const toldStory = (story: Story): string => JSON.stringify(story, undefined, 1).replaceAll(/\n\s{3,}/g, ' ');
