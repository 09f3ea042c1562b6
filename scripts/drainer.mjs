#!/usr/bin/env node
// The `drainer` command of nova-kubernetes-drain: `drydock nova` by its earlier name.
import { bootstrap } from './bootstrap.mjs';
import { handOverToDrydock } from './hand-over.mjs';

handOverToDrydock(bootstrap(), ['nova', ...process.argv.slice(2)]);
