// `npm start -- COMMAND …`: installs what is missing, then runs drydock. Without a command: the demo, which needs no cluster and touches none.
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { handOver } from './hand-over.mjs';

const given = process.argv.slice(2);
handOver(bootstrap(), [join(root, 'src', 'main.mjs'), ...(given.length > 0 ? given : ['demo'])]);
