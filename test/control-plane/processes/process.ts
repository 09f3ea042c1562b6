import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../wait.ts';

export type Program = {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /**
   * How long it may take to heed a SIGTERM before it is killed; `0s` (the default) kills at once.
   */
  readonly patience?: string;
};

/** A program that runs for as long as this process lives at most. */
export interface Running {
  readonly name: string;
  readonly logFile: string;
  alive(): boolean;
  /** Of the program itself. */
  pid(): Promise<number>;
  /** To the program itself, for example `SIGSTOP`, `SIGKILL`. */
  signal(signal: NodeJS.Signals): Promise<void>;
  /** Resolves with the exit code when it has ended. */
  readonly ended: Promise<number>;
  /** Ends it and waits until it has ended. */
  stop(): Promise<void>;
  /** The last lines of its log, for messages. */
  tail(lines?: number): string;
}

/**
 * What holds programs: the `attend` of the control plane, for programs of Node a module that they
 * load (which needs no Go), or nothing for programs that end by themselves when their standard
 * input does.
 */
export type Leash =
  | { readonly kind: 'attend'; readonly path: string }
  | { readonly kind: 'module' }
  | { readonly kind: 'itself' };

function lastLines(file: string, count: number): string {
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n');
}

/** The number of a process once `attend` has noted it. */
function notedPid(file: string, name: string): Promise<number> {
  return waitFor(
    `${name} to start`,
    async () => {
      const pid = Number(readFileSync(file, 'utf8'));
      return pid > 0 ? { done: pid } : { yet: 'no number yet' };
    },
    { deadlineMs: 10_000, everyMs: 10 },
  );
}

const leash = join(import.meta.dirname, 'leash.mjs');

type CommandLine = readonly [command: string, args: readonly string[]];

function held(
  by: Leash,
  { patience = '0s', command, args }: Program,
  pidFile: string,
): CommandLine {
  if (by.kind === 'attend') return [by.path, ['run', patience, pidFile, command, ...args]];
  if (by.kind === 'itself') return [command, args];
  if (command !== process.execPath)
    throw new Error(
      `${command} is no program of Node: it needs attend, which needs Go to be built`,
    );
  return [command, ['--import', leash, ...args]];
}

function launch(by: Leash, folder: string, program: Program, pidFile: string): ChildProcess {
  const log = openSync(join(folder, `${program.name}.log`), 'a');
  const [command, args] = held(by, program, pidFile);
  const child = spawn(command, args, {
    cwd: program.cwd ?? folder,
    stdio: ['pipe', log, log],
    env: { ...process.env, ...program.environment },
  });
  closeSync(log);
  // A test that forgets to stop something must still be able to end: its death closes the pipe, and
  // that stops the program.
  child.unref();
  if (child.stdin !== null && 'unref' in child.stdin && typeof child.stdin.unref === 'function')
    child.stdin.unref();
  child.stdin?.on('error', () => {});
  return child;
}

function isOver({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined;
}

/** `attend` ends its program itself when the pipe is closed; without it, that is done from here. */
function finish(by: Leash, { patience = '0s' }: Program, child: ChildProcess): void {
  if (by.kind === 'attend') return void child.stdin?.end();
  if (isOver(child)) return;
  const patienceMs = Number.parseFloat(patience) * 1000;
  if (patienceMs === 0) return void child.kill('SIGKILL');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  child.once('exit', () => clearTimeout(timer));
}

/** Starts a program that is held; its output goes to `FOLDER/NAME.log`. */
export function start(by: Leash, folder: string, program: Program): Running {
  const pidFile = join(folder, `${program.name}.pid`);
  rmSync(pidFile, { force: true });
  const child = launch(by, folder, program, pidFile);
  const { promise: ended, resolve } = Promise.withResolvers<number>();
  child.once('error', () => resolve(-1)).once('exit', code => resolve(code ?? -1));
  const logFile = join(folder, `${program.name}.log`);
  const pid = async (): Promise<number> =>
    by.kind === 'attend' ? notedPid(pidFile, program.name) : (child.pid ?? 0);
  return {
    name: program.name,
    logFile,
    ended,
    pid,
    alive: () => !isOver(child),
    signal: async signal => void process.kill(await pid(), signal),
    stop: async () => {
      child.ref();
      finish(by, program, child);
      await ended;
    },
    tail: (lines = 15) => lastLines(logFile, lines),
  };
}
