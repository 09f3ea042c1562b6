import { setTimeout as sleep } from 'node:timers/promises';
import { startBed } from './bed.ts';

/** Starts one node, says which number it has taken, and waits to be killed. */
const bed = await startBed({ nodes: 1 });
if (bed.kind === 'started') console.log(bed.nodes[0]?.address.split('.')[1]);
await sleep(60_000);
process.exit(1);
