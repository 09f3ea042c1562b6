import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The steps of docs/migrate.md, as a shell can run them. */

type Step = {
  /** `1. Look before`, without the full stop. */
  readonly title: string;
  readonly blocks: readonly string[];
};

/** A way: under a heading of the third level. */
type Way = { readonly heading: string; readonly steps: readonly Step[] };

export type Section = {
  /** Sets the variables that the steps use. */
  readonly variables: string;
  readonly ways: readonly Way[];
};

const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'migrate.md'), 'utf8');

/** The parts that begin with a mark, each without it. */
function partsAfter(text: string, mark: RegExp): readonly string[] {
  return text.split(mark).slice(1);
}

function everyBlockIn(text: string): readonly string[] {
  return [...text.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = '']) => block);
}

function isForOlm(block: string): boolean {
  return block.startsWith('# OLM');
}

/** Without those that need OLM: test/olm runs them. */
function blocksIn(text: string): readonly string[] {
  return everyBlockIn(text).filter(block => !isForOlm(block));
}

function stepOf(text: string): Step {
  return { title: /^[^*]*?(?=[.,]?\*\*)/.exec(text)?.[0] ?? '', blocks: blocksIn(text) };
}

function wayOf(text: string): Way {
  return {
    heading: text.slice(0, text.indexOf('\n')),
    steps: partsAfter(text, /^\*\*(?=\d+\. )/m).map(stepOf),
  };
}

function partUnder(heading: string): string {
  const found = partsAfter(text, /^## /m).find(part => part.startsWith(`${heading}\n`));
  assert.ok(found !== undefined, `docs/migrate.md has a section ${heading}`);
  return found;
}

/** The steps for OLM of a section. */
export function olmBlock(heading: string): string {
  const blocks = everyBlockIn(partUnder(heading)).filter(isForOlm);
  assert.equal(blocks.length, 1, `docs/migrate.md has one block for OLM under ${heading}`);
  return blocks.join('');
}

/** The section under a heading of the second level. */
export function sectionOf(heading: string): Section {
  const found = partUnder(heading);
  const [variables = ''] = blocksIn(found);
  return { variables, ways: partsAfter(found, /^### /m).map(wayOf) };
}

/** What a shell keeps of a block for the next ones. */
export function assignmentsIn(block: string): string {
  return block
    .split('\n')
    .filter(line => /^[A-Z]+=/.test(line))
    .join('\n');
}
