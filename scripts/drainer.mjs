#!/usr/bin/env node
// The `drainer` command of nova-kubernetes-drain: `drydock nova` by its earlier name.
import { node26 } from './bootstrap.mjs';
import { handOverToDrydock } from './hand-over.mjs';

handOverToDrydock(node26(), ['nova', ...process.argv.slice(2)]);
