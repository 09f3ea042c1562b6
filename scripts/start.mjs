// `npm start -- COMMAND …`: installs what is missing, then runs drydock. Without a command it explains itself.
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { handOver } from './hand-over.mjs';

handOver(bootstrap(), [join(root, 'src', 'main.mjs'), ...process.argv.slice(2)]);
