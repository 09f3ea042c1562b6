import { enableCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';

// An operator shares its machine with the workloads: a small young generation costs it nothing that can be measured and saves a third of
// its memory; a command is over before that matters, and starts sooner without. Compiled code is kept in the temporary folder, so that the
// second start takes a fraction of the first; the image brings it, and where nothing can be written it does without. Both have to be set before
// the rest is loaded, hence the late import; and this one file is no TypeScript, because the program that takes the types off would be loaded
// for it at every start, and for nothing else.
if (process.argv[2] === 'operator') setFlagsFromString('--optimize-for-size');
enableCompileCache();
const { run } = await import('./cli/program.ts');
await run(process.argv.slice(2), process.env);
