import type { Outcome } from './play.ts';
import type { Story } from './story/story.ts';

/** What is printed of a story that fails. */

const limit = 40;

function tail(lines: readonly string[]): string {
  return lines
    .slice(-limit)
    .map(line => `  ${line.slice(0, 400)}`)
    .join('\n');
}

export function headline(seed: number, { violation, maintenances }: Outcome): string {
  return violation === undefined
    ? `seed ${seed}: ${maintenances} maintenances, nothing wrong`
    : `seed ${seed}: ${violation.invariant}, at ${violation.at}\n  ${violation.message.slice(0, 2000)}\n  again: npm run simulate -- --seed ${seed}`;
}

/** With what came before the violation. */
export function told(seed: number, outcome: Outcome): string {
  return outcome.violation === undefined
    ? headline(seed, outcome)
    : `${headline(seed, outcome)}\n  what came before it, in seconds of simulated time:\n${tail(outcome.lines)}`;
}

/** A story as data, for people. */
export function toldStory(story: Story): string {
  return JSON.stringify(story, undefined, 1).replaceAll(/\n\s{3,}/g, ' ');
}
