import type { Manifest } from './install-files.ts';

/** Returns an object's name as kubectl prints it. */
function nameOf({ apiVersion, kind, metadata }: Manifest): string {
  const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : [];
  return `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${metadata.name}`;
}

/** Returns the line for one object: its name, the result, and the reason. */
export function lineOf(
  manifest: Manifest,
  word: string,
  { why, dryRun = false }: { readonly why?: string; readonly dryRun?: boolean } = {},
): string {
  return `${nameOf(manifest)} ${word}${dryRun ? ' (server dry run)' : ''}${why === undefined ? '' : `: ${why}`}`;
}
