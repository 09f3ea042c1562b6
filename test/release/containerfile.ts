import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';

/** What Containerfile has an engine do, for there is none here. */

const root = join(import.meta.dirname, '..', '..');
const lines = readFileSync(join(root, 'Containerfile'), 'utf8').split('\n');

/** What the engine copies of the clone. */
export const copied = lines.flatMap(
  line => /^COPY (?!--)(.+) \S+$/.exec(line)?.[1]?.split(' ') ?? [],
);

/** The arguments of node that put the files of the image into a folder. */
export function putFiles(folder: string, architecture: string): readonly string[] {
  const found = lines.flatMap(line => /^RUN node (.+) \/image \$TARGETARCH$/.exec(line)?.[1] ?? []);
  if (found.length !== 1) throw new Error('Containerfile has no one command that makes /image');
  return [...found, folder, architecture];
}

function isLeftOut(path: string): boolean {
  return path.endsWith('.test.ts') || basename(path) === 'testing';
}

/** What `npm ci` makes in a clone: the packages of others, and links to its own. */
function linkPackages(clone: string): void {
  const folder = join(clone, 'node_modules');
  mkdirSync(join(folder, '@drydock'), { recursive: true });
  const others = readdirSync(join(root, 'node_modules')).filter(name => name !== '@drydock');
  for (const name of others) symlinkSync(join(root, 'node_modules', name), join(folder, name));
  for (const name of readdirSync(join(clone, 'packages')))
    symlinkSync(join('..', '..', 'packages', name), join(folder, '@drydock', name));
}

/** Makes the clone that the engine has: of what it copies alone. */
export function copyForEngine(clone: string): void {
  for (const path of copied)
    cpSync(join(root, path), join(clone, path), {
      recursive: true,
      filter: source => !isLeftOut(source),
    });
  linkPackages(clone);
}
