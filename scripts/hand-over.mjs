// Runs a child in this process's place: same terminal, signals passed on, same exit code.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { root } from './bootstrap.mjs';

// Flags of Node 26 for rehearsals: those of large clusters leave much behind that is soon garbage,
// and the usual room for it is collected all the time.
export const forRehearsals = ['--max-semi-space-size=64'];

export function handOver(command, args, options = {}) {
  const child = spawn(command, args, { stdio: 'inherit', ...options });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => child.kill(signal));
  child.on('error', error => {
    console.error(`drydock: ${command} could not be started: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}

// The command itself, by this Node.
export function handOverToDrydock(node, args) {
  return handOver(node, [
    ...(args[0] === 'rehearse' ? forRehearsals : []),
    join(root, 'packages', 'cli', 'src', 'main.mjs'),
    ...args,
  ]);
}
