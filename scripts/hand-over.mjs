// Runs a child in this process's place: same terminal, signals passed on, same exit code.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

export const handOver = (command, args, options = {}) => {
  const child = spawn(command, args, { stdio: 'inherit', ...options });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', error => {
    console.error(`drydock: ${command} could not be started: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
};
