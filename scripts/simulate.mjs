// `npm run simulate -- --seeds N [--from S] | --seed S`: installs what is missing, then plays. See
// docs/simulation.md.
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { handOver } from './hand-over.mjs';

handOver(bootstrap(), [join(root, 'test', 'simulation', 'main.ts'), ...process.argv.slice(2)]);
