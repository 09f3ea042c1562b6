import { readdirSync } from 'node:fs';
import { root } from './paths.ts';

const below = (folder: string): readonly string[] =>
  readdirSync(`${root}${folder}`, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => `${entry.parentPath.slice(root.length)}/${entry.name}`);

/** What the program reads beside its code (src/support/shipped.ts), by path in the clone, sorted. */
export const shippedFiles = (): readonly string[] =>
  ['package.json', 'LICENSE', ...below('deploy'), ...below('src/web/dashboard/assets')].sort();
