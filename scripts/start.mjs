// `npm start -- COMMAND …`: installs what is missing, then runs drydock. Without a command: the
// demo, which needs no cluster and touches none.
import { fstatSync } from 'node:fs';
import { bootstrap } from './bootstrap.mjs';
import { handOverToDrydock } from './hand-over.mjs';

const given = process.argv.slice(2);

// npm up to 11 has written the name of this script to the output by now, which 12 writes to stderr;
// nothing but its loglevel changes that.
const { npm_config_user_agent: npm = '', npm_config_loglevel: level } = process.env;
const isNamed = Number(/^npm\/(\d+)/.exec(npm)?.[1]) < 12 && level !== 'silent';
if (given.length > 0 && isNamed && fstatSync(1).isFIFO())
  console.error(
    'drydock: the pipe has two lines of npm in it; without them: bin/drydock …, or npm start --silent -- …',
  );

handOverToDrydock(bootstrap(), given.length > 0 ? given : ['demo']);
