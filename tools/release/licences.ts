import { readdirSync, readFileSync } from 'node:fs';
import { root } from './paths.ts';

type Manifest = { readonly name: string; readonly version: string; readonly license?: string };

/** Whatever the package calls it. */
function licenceFile(folder: string): string | undefined {
  return readdirSync(folder).find(name => /^(licen[cs]e|copying)(\.|$)/i.test(name));
}

const line = '-'.repeat(80);

/**
 * The licences of the packages in these folders, each with its version. A package that
 * has no text is named with what its manifest says.
 */
export function licencesOf(packages: readonly string[]): string {
  return packages
    .map(path => {
      const folder = `${root}${path}/`;
      const {
        name,
        version,
        license = 'unknown',
      } = JSON.parse(readFileSync(`${folder}package.json`, 'utf8')) as Manifest;
      const file = licenceFile(folder);
      const text =
        file === undefined
          ? 'No licence text comes with the package.'
          : readFileSync(`${folder}${file}`, 'utf8').trim();
      return `${name} ${version} (${license})\n\n${text}\n`;
    })
    .join(`\n${line}\n\n`);
}
