import { putProgram } from './release/program.ts';

/**
 * `node tools/program.ts FOLDER`: puts the program into a folder as it is released. Containerfile
 * runs it.
 */

const [, , folder] = process.argv;
if (folder === undefined) {
  console.error('program: name the folder for it: node tools/program.ts FOLDER');
  process.exitCode = 2;
} else await putProgram(folder);
