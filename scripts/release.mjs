// `npm run release [-- --only PART,…]`: installs what is missing, then makes what is released into
// dist/release. See RELEASING.md.
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { handOver } from './hand-over.mjs';

handOver(bootstrap(), [join(root, 'tools', 'release.ts'), ...process.argv.slice(2)]);
