import type { Manifest } from './install-files.ts';

/** As kubectl names objects. */
const nameOf = ({ apiVersion, kind, metadata }: Manifest): string => {
  const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : [];
  return `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${metadata.name}`;
};

/** What is said of one object: its name, what became of it, and why. */
export const lineOf = (
  manifest: Manifest,
  word: string,
  { why, dryRun = false }: { readonly why?: string; readonly dryRun?: boolean } = {},
): string => `${nameOf(manifest)} ${word}${dryRun ? ' (server dry run)' : ''}${why === undefined ? '' : `: ${why}`}`;
