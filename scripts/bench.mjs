// `npm run bench [-- SCENARIO…]`, `bench:dashboard [-- --nodes N …]`, `bench:embedded [-- NODES
// PODS]`, `bench:nova [-- AT_ONCE]`, `bench -- plan [--runs N]`, `bench -- order`, `bench --
// queue`, `bench:rehearse [-- SCENARIO… | plans [SCENARIO…] | scale …]`: installs what is missing,
// then measures. See bench/README.md.
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { forRehearsals, handOver } from './hand-over.mjs';

const programs = {
  dashboard: join('dashboard', 'main.ts'),
  embedded: 'embedded.ts',
  nova: 'nova.ts',
  order: 'plan-order.ts',
  plan: 'plan.ts',
  queue: 'queue.ts',
  rehearse: 'rehearse.ts',
  size: 'size.ts',
};
const [first, ...rest] = process.argv.slice(2);
const scale = first === 'rehearse' && rest[0] === 'scale';
const plans = first === 'rehearse' && rest[0] === 'plans';
const own = programs[first];
const [program, args] =
  own === undefined
    ? ['main.ts', process.argv.slice(2)]
    : scale
      ? ['rehearse-scale.ts', rest.slice(1)]
      : plans
        ? ['rehearse-plans.ts', rest.slice(1)]
        : [own, rest];
handOver(bootstrap(), [...(scale ? forRehearsals : []), join(root, 'bench', program), ...args]);
