#!/usr/bin/env node
// The `drydock` command: finds Node 26 and hands over to src/main.mjs, with the same terminal, signals and exit code.
import { join } from 'node:path';
import { node26, root } from './bootstrap.mjs';
import { handOver } from './hand-over.mjs';

handOver(node26(), [join(root, 'src', 'main.mjs'), ...process.argv.slice(2)]);
