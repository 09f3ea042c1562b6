// `npm run bench [-- SCENARIO…]`, `npm run bench:embedded [-- NODES PODS]`, `npm run bench:rehearse [-- SCENARIO…]`: installs what is missing, then measures. See bench/README.md.
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { handOver } from './hand-over.mjs';

const [first, ...rest] = process.argv.slice(2);
const own = { embedded: 'embedded.ts', rehearse: 'rehearse.ts' }[first];
const scale = first === 'rehearse' && rest[0] === 'scale';
const [program, args] = own === undefined ? ['main.ts', process.argv.slice(2)] : scale ? ['rehearse-scale.ts', rest.slice(1)] : [own, rest];
handOver(bootstrap(), [join(root, 'bench', program), ...args]);
