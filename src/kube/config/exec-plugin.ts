import { spawn } from 'node:child_process';
import type { Env } from '../../support/env.ts';

/** A program to run. */
export type ExecPlugin = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Env;
  /** It may talk to the person at the terminal; then nobody counts the time. */
  readonly terminal: boolean;
  /** Without a terminal it is ended after so many milliseconds. */
  readonly longestMs: number;
};

/** Runs a program to its end and gives its standard output. Rejects, with what it said on standard error, when it does not end with 0. */
export const runProgram = ({ command, args, env, terminal, longestMs }: ExecPlugin): Promise<string> =>
  new Promise((resolve, reject) => {
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
      reject(new Error(`it ended with ${signal ?? `exit code ${code}`}${said === '' ? '' : `: ${said}`}`));
    });
  });
