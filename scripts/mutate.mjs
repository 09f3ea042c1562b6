// `npm run mutate -- [PLACE…]`: installs what is missing, then plants faults and sees which the
// unit tests notice. See CONTRIBUTING.md.
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { handOver } from './hand-over.mjs';

handOver(bootstrap(), [
  '--no-warnings',
  join(root, 'test', 'mutation', 'main.ts'),
  ...process.argv.slice(2),
]);
