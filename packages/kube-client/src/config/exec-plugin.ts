import { spawn } from 'node:child_process';
import type { Env } from '@drydock/utils';

/** A credential program to run. */
export type ExecPlugin = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Env;
  /** Whether the program may use the terminal; then no time limit applies. */
  readonly terminal: boolean;
  /**
   * Time limit in milliseconds for a program without a terminal; the program is killed after that.
   */
  readonly longestMs: number;
};

/**
 * Runs a program and returns its standard output. Rejects with its standard error when it does not
 * exit with 0.
 */
export function runProgram({
  command,
  args,
  env,
  terminal,
  longestMs,
}: ExecPlugin): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { ...env },
      stdio: [terminal ? 'inherit' : 'ignore', 'pipe', terminal ? 'inherit' : 'pipe'],
      ...(terminal ? {} : { timeout: longestMs, killSignal: 'SIGKILL' as const }),
    });
    const output: Buffer[] = [];
    const complaints: Buffer[] = [];
    child.stdout?.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => complaints.push(chunk));
    child.once('error', error => reject(error));
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(Buffer.concat(output).toString('utf8'));
      const said = Buffer.concat(complaints).toString('utf8').trim().slice(0, 2000);
      reject(
        new Error(
          `it ended with ${signal ?? `exit code ${code}`}${said === '' ? '' : `: ${said}`}`,
        ),
      );
    });
  });
}
