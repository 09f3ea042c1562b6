import { enableCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';

// Operator and agent share their machines with the workloads: a small young generation costs them nothing that can be measured, and saves the
// operator a third of its memory; a command is over before that matters, and starts sooner without. Compiled code is kept in the temporary
// folder, so that the second start takes a fraction of the first; the image brings it, and where nothing can be written it does without. Both
// have to be set before the rest is loaded, hence the late import; and this one file is no TypeScript, because the program that takes the types
// off would be loaded for it at every start, and for nothing else.
if (['operator', 'agent'].includes(process.argv[2])) setFlagsFromString('--optimize-for-size');
enableCompileCache();
const { run } = await import('./cli/program.ts');
await run(process.argv.slice(2), process.env);
