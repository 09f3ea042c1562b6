// `npm run bench [-- SCENARIO…]`: installs what is missing, then measures. See bench/README.md.
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { handOver } from './hand-over.mjs';

handOver(bootstrap(), [join(root, 'bench', 'main.ts'), ...process.argv.slice(2)]);
