import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('../../deploy/crds/', import.meta.url);

/** Prints the CRDs as one YAML stream. */
export const crds = (): void => {
  const files = readdirSync(folder)
    .filter(name => name.endsWith('.yaml'))
    .sort();
  process.stdout.write(files.map(name => readFileSync(new URL(name, folder), 'utf8')).join('---\n'));
};
