// `npm run bench [-- SCENARIO…]`, `npm run bench:embedded [-- NODES PODS]`: installs what is missing, then measures. See bench/README.md.
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { handOver } from './hand-over.mjs';

const [first, ...rest] = process.argv.slice(2);
const [program, args] = first === 'embedded' ? ['embedded.ts', rest] : ['main.ts', process.argv.slice(2)];
handOver(bootstrap(), [join(root, 'bench', program), ...args]);
