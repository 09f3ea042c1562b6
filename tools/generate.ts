import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { deployFiles } from './deploy.ts';
import { compatibilityFile } from './neighbours/table.ts';
import { packagesPage } from './packages.ts';
import { pageFiles } from './page.ts';
import { planFieldsFile } from './plan-fields.ts';
import { securityTests } from './security-tests.ts';

/**
 * Writes the generated files. With --check it only says which are out of date, and exits with 1
 * when one is.
 */

const root = new URL('../', import.meta.url);
const checking = process.argv.includes('--check');
let outdated = 0;

function below(
  folder: string,
  files: Iterable<readonly [string, string]>,
): readonly (readonly [string, string])[] {
  return [...files].map(([name, text]) => [`${folder}/${name}`, text] as const);
}

const files = [
  ...below('deploy', deployFiles()),
  ...below('packages/dashboard/assets', pageFiles()),
  await compatibilityFile(),
  planFieldsFile(),
  securityTests(),
  packagesPage(),
];

for (const [path, text] of files) {
  const file = new URL(path, root);
  if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
  if (checking) {
    console.error(`${path} is out of date: npm run generate`);
    outdated += 1;
  } else {
    mkdirSync(new URL('.', file), { recursive: true });
    writeFileSync(file, text);
    console.log(path);
  }
}
process.exitCode = outdated > 0 ? 1 : 0;
