import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { deployFiles } from './deploy.ts';

/** Writes the generated files. With --check it only says which are out of date, and exits with 1 when one is. */

const folder = new URL('../deploy/', import.meta.url);
const checking = process.argv.includes('--check');
let outdated = 0;

for (const [name, text] of deployFiles()) {
  const file = new URL(name, folder);
  if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
  if (checking) {
    console.error(`deploy/${name} is out of date: npm run generate`);
    outdated += 1;
  } else {
    mkdirSync(new URL('.', file), { recursive: true });
    writeFileSync(file, text);
    console.log(`deploy/${name}`);
  }
}
process.exitCode = outdated > 0 ? 1 : 0;
