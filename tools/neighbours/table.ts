import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Neighbour, readNeighbours, root } from './list.ts';
import { type Records, readRecords } from './records.ts';

/** The table of docs/compatibility.md that says when each tier of real systems was last green. */

const documentFile = 'docs/compatibility.md';
function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}
const [begin, end] = ['<!-- written by npm run generate -->', '<!-- end of what is written -->'];

function row({ name, asked, systems }: Neighbour, records: Records): string {
  const run = records[name];
  const versions = Object.entries(run?.versions ?? {}).map(
    ([system, version]) => `${system} ${version}`,
  );
  const seen =
    run === undefined
      ? 'never | |'
      : `${run.date} | \`${run.commit.slice(0, 8)}\` | ${run.passed} in ${Math.round(run.seconds / 60)} min`;
  const what = versions.length > 0 ? versions.join(', ') : Object.keys(systems).join(', ');
  return `| \`${name}\` | ${what} | ${seen} | \`${asked}\` |`;
}

export function tableOf(neighbours: readonly Neighbour[], records: Records): string {
  return [
    '| tier | real systems | last green | commit | passed | run by |',
    '|---|---|---|---|---|---|',
    ...neighbours.map(one => row(one, records)),
  ].join('\n');
}

/** The document with the table in it. */
export function withTable(text: string, table: string): string {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from)
    throw new Error(`${documentFile} has no place for the table: ${begin} and ${end}`);
  return `${text.slice(0, from + begin.length)}\n\n${table}\n\n${text.slice(to)}`;
}

/** What people have written in the documents; the table names every tier, and claims nothing. */
export function documentsText(): string {
  return readdirSync(join(root, 'docs'))
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name}`)
    .map(file => (file === documentFile ? withTable(read(file), '') : read(file)))
    .join('\n');
}

/** The file as it is to be. */
export async function compatibilityFile(): Promise<readonly [string, string]> {
  return [
    documentFile,
    withTable(read(documentFile), tableOf(await readNeighbours(), readRecords())),
  ];
}
