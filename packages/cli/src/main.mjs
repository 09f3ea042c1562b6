import { enableCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';

// Operator and agent share their machines with the workloads: a small young generation costs them
// nothing measurable, and saves the operator a third of its memory; a command ends before that
// matters, and starts sooner without. Compiled code is cached in the temporary folder, so that the
// second start takes a fraction of the first; the image contains it, and a read-only system works
// without. Both have to be set before the rest is loaded, hence the late import; and this one file
// is not TypeScript, because the type stripper would be loaded for it alone at every start.
if (['operator', 'agent'].includes(process.argv[2])) setFlagsFromString('--optimize-for-size');
enableCompileCache();
const { run } = await import('./program.ts');
await run(process.argv.slice(2), process.env);
