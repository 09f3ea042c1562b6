#!/usr/bin/env node
// What `kubectl drydock` asks for completion: one candidate a line, then cobra's directive (4: no
// file names).
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { node26, root } from './bootstrap.mjs';

const { stdout } = spawnSync(
  node26(),
  [join(root, 'packages', 'cli', 'src', 'main.mjs'), '__complete', ...process.argv.slice(2)],
  {
    encoding: 'utf8',
  },
);
process.stdout.write(`${stdout}:4\n`);
