import { enableCompileCache } from 'node:module';

// Compiled code is kept in the user's cache folder: the second start takes a fraction of the time and memory of the first. It has to be
// switched on before the rest is loaded, hence the late import.
enableCompileCache();
const { run } = await import('./cli/program.ts');
await run(process.argv.slice(2), process.env);
