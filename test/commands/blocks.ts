import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The fenced blocks of the documents, and what is done with each in the tests. */

export const root = join(import.meta.dirname, '..', '..');

/**
 * Without a marker a shell's block is run, and no other is. A marker is a comment on the line above
 * the fence, which readers do not see:
 * `run on: demo`, `run: COMMAND`, `not run: REASON`.
 */
type Use =
  | { readonly kind: 'run' }
  /** It goes on until it is interrupted. */
  | { readonly kind: 'demo' }
  /** It is what the command reads. */
  | { readonly kind: 'input'; readonly command: string }
  | { readonly kind: 'not run'; readonly why: string }
  | { readonly kind: 'no commands' };

export type Block = {
  /** `docs/machines.md:105`: where its fence is. */
  readonly place: string;
  readonly language: string;
  readonly text: string;
  readonly use: Use;
};

const shells = ['sh', 'shell', 'bash', 'console'];

function useOf(language: string, above: string): Use {
  const [, word, rest = ''] = /^ *<!-- (run on|run|not run): (.+) -->$/.exec(above) ?? [];
  if (word === 'not run') return { kind: 'not run', why: rest };
  if (word === 'run') return { kind: 'input', command: rest };
  if (word === 'run on') return { kind: rest as 'demo' };
  return { kind: shells.includes(language) ? 'run' : 'no commands' };
}

/** The blocks of one document, in order. A fence in a list is indented, and so is its text. */
export function blocksOf(document: string): readonly Block[] {
  const lines = readFileSync(join(root, document), 'utf8').split('\n');
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const [, indent, language = ''] = /^( *)```(.*)$/.exec(lines[at] ?? '') ?? [];
    if (indent === undefined) continue;
    const end = lines.indexOf(`${indent}\`\`\``, at + 1);
    if (end === -1) throw new Error(`${document}:${at + 1}: the fence is not closed`);
    const text = lines.slice(at + 1, end).map(line => `${line.slice(indent.length)}\n`);
    blocks.push({
      place: `${document}:${at + 1}`,
      language,
      text: text.join(''),
      use: useOf(language, lines[at - 1] ?? ''),
    });
    at = end;
  }
  return blocks;
}

/** In the order in which somebody would read them; the last one takes Drydock away. */
export const documents: readonly string[] = [
  'README.md',
  'docs/maintenance.md',
  ...readdirSync(join(root, 'docs'))
    .filter(name => name.endsWith('.md') && !['maintenance.md', 'migrate.md'].includes(name))
    .sort()
    .map(name => `docs/${name}`),
  'deploy/README.md',
  'docs/migrate.md',
];

/** What a console shows: what was typed, and what was printed then. */
export type Typed = { readonly command: string; readonly printed: readonly string[] };

export function typedIn(text: string): readonly Typed[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map(part => {
      const [command = '', ...printed] = part.trimEnd().split('\n');
      return { command, printed };
    });
}
