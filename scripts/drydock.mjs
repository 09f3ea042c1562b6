#!/usr/bin/env node
// The `drydock` command: installs what is missing in a clone, finds Node 26 and hands over to
// packages/cli/src/main.mjs, with the same terminal, signals and exit code. Whatever is said before
// goes to stderr: a pipe reads nothing but the output.
import { bootstrap } from './bootstrap.mjs';
import { handOverToDrydock } from './hand-over.mjs';

handOverToDrydock(bootstrap(), process.argv.slice(2));
