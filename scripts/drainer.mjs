#!/usr/bin/env node
// The `drainer` command of nova-kubernetes-drain: `drydock nova` by its earlier name.
import { join } from 'node:path';
import { node26, root } from './bootstrap.mjs';
import { handOver } from './hand-over.mjs';

handOver(node26(), [join(root, 'src', 'main.mjs'), 'nova', ...process.argv.slice(2)]);
