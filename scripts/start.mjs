// `npm start -- COMMAND …`: installs what is missing, then runs drydock. Without a command: the demo, which needs no cluster and touches none.
import { bootstrap } from './bootstrap.mjs';
import { handOverToDrydock } from './hand-over.mjs';

const given = process.argv.slice(2);
handOverToDrydock(bootstrap(), given.length > 0 ? given : ['demo']);
