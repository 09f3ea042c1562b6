import { below } from './archive.ts';
import { root } from './paths.ts';

function within(folder: string): readonly string[] {
  return below(`${root}${folder}`, { filesOnly: true }).map(name => `${folder}/${name}`);
}

/**
 * What the program reads beside its code (packages/utils/src/shipped.ts), by path in the clone,
 * sorted.
 */
export function shippedFiles(): readonly string[] {
  return [
    'package.json',
    'LICENSE',
    ...within('deploy'),
    ...within('packages/dashboard/assets'),
  ].sort();
}
