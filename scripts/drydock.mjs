#!/usr/bin/env node
// The `drydock` command: finds Node 26 and hands over to src/main.mjs, with the same terminal, signals and exit code.
import { node26 } from './bootstrap.mjs';
import { handOverToDrydock } from './hand-over.mjs';

handOverToDrydock(node26(), process.argv.slice(2));
