// `npm run dev`: the demo on the embedded cluster, started anew whenever a source changes. What
// follows `--` are flags of `drydock demo`.
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { handOver } from './hand-over.mjs';

const given = process.argv.slice(2);
const node = bootstrap();
handOver(
  node,
  [
    '--watch',
    '--watch-preserve-output',
    join(root, 'packages', 'cli', 'src', 'main.mjs'),
    'demo',
    ...given,
  ],
  { cwd: root },
);
