import { type ChildProcess, spawn } from 'node:child_process';

export type Outcome = { readonly code: number; readonly stdout: string; readonly stderr: string };
export type CommandOptions = {
  readonly input?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly timeoutMs?: number;
};

/** What is under way. One listener for all, for twenty at once are nothing unusual here. */
const underWay = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of underWay) child.kill('SIGKILL');
});

/**
 * Runs a command to its end. Its exit code is a value; only a command that cannot be started is an
 * exception.
 */
export async function run(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<Outcome> {
  const { input = '', environment = {}, cwd, timeoutMs = 120_000 } = options;
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    ...(cwd === undefined ? {} : { cwd }),
  });
  underWay.add(child);
  const collected = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (collected.stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (collected.stderr += chunk));
  // A command that does not read its input to the end may close it early.
  child.stdin.on('error', () => {}).end(input);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once('error', reject).once('close', code => resolve(code ?? -1));
  const code = await promise.finally(() => underWay.delete(child));
  return { code, ...collected };
}
