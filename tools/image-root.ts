import { join } from 'node:path';
import { imagePlatforms, putBase, putNode } from './release/image/files.ts';
import { putProgram } from './release/program.ts';

/**
 * `node tools/image-root.ts FOLDER [ARCHITECTURE]`: puts the files of the image into a folder, for
 * this machine's architecture where none is named. Containerfile runs it, and not every engine
 * names one.
 */

const own = process.arch === 'x64' ? 'amd64' : process.arch;
const [, , folder, architecture = own] = process.argv;
const wanted = imagePlatforms.find(one => one.architecture === architecture);
if (folder === undefined || wanted === undefined) {
  const known = imagePlatforms.map(one => one.architecture).join(' or ');
  console.error(
    `image-root: name a folder, and ${known}: node tools/image-root.ts FOLDER ARCHITECTURE`,
  );
  process.exitCode = 2;
} else {
  await putBase(folder, wanted.architecture);
  putNode(folder, wanted.platform);
  await putProgram(join(folder, 'drydock'));
}
