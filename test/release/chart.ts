import assert from 'node:assert/strict';
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../control-plane/processes/command.ts';

const root = join(import.meta.dirname, '..', '..');

/**
 * Makes the chart as a release does, and keeps it in a folder: others make theirs in the same
 * place. Answers its path.
 */
export async function makeChart(folder: string): Promise<string> {
  const { code, stderr } = await run(process.execPath, ['tools/release.ts', '--only', 'chart'], {
    cwd: root,
  });
  assert.deepEqual([code, stderr], [0, '']);
  const released = join(root, 'dist', 'release');
  const name = readdirSync(released).find(one => one.startsWith('drydock-chart-')) ?? '';
  cpSync(join(released, name), join(folder, name));
  return join(folder, name);
}
