#!/usr/bin/env node
// The `drydock` command: finds Node 26 and hands over to src/main.mjs, with the same terminal, signals and exit code.
import { join } from 'node:path';
import { node26, root } from './bootstrap.mjs';
import { forRehearsals, handOver } from './hand-over.mjs';

const args = process.argv.slice(2);
handOver(node26(), [...(args[0] === 'rehearse' ? forRehearsals : []), join(root, 'src', 'main.mjs'), ...args]);
