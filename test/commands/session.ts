import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Outcome } from '../control-plane/processes/command.ts';
import { until } from '../control-plane/wait.ts';
import { type Block, typedIn } from './blocks.ts';

type Options = {
  readonly clone: string;
  /** For what is run, and what that prints. */
  readonly logs: string;
  readonly environment: Readonly<Record<string, string>>;
};

type Terminal = {
  readonly shell: ChildProcessByStdio<Writable, Readable, null>;
  readonly codes: Interface;
};

const patienceMs = 120_000;

/**
 * Runs one file after the other, each in a shell of its own. When nobody names files any more,
 * because the session or the test is over, everything that they have started is killed with it, in
 * the background too.
 */
const leader = `trap : INT
while read -r block; do
  bash "$block.sh" >"$block.out" 2>"$block.err" </dev/null
  echo $?
done
kill -KILL 0`;

/** What a shell would still know in the next block. */
function assignmentsIn(text: string): string {
  return text
    .split('\n')
    .filter(line => /^(export )?[A-Z_]+=/.test(line))
    .join('\n');
}

function scriptOf({ language, text, use }: Block): string {
  if (use.kind === 'input') return `${use.command} <<'END_OF_BLOCK'\n${text}END_OF_BLOCK\n`;
  if (language !== 'console') return text;
  return typedIn(text)
    .map(({ command }) => command)
    .join('\n');
}

/**
 * One terminal in which somebody runs blocks, one after the other: variables are kept, and what was
 * sent to the background goes on. A block stops at the first command that fails, in a pipe too.
 */
export class Session {
  readonly #options: Options;
  #open: Terminal | undefined;
  #count = 0;
  #known = '';

  constructor(options: Options) {
    this.#options = options;
    mkdirSync(options.logs, { recursive: true });
  }

  /** Where the blocks are run. */
  get folder(): string {
    return this.#options.clone;
  }

  /** Where programs put what they need for a while. */
  get temporary(): string {
    return this.#options.environment['TMPDIR'] ?? '';
  }

  /** Runs a block to its end. */
  async run(block: Block): Promise<Outcome> {
    const outcome = await this.command(scriptOf(block));
    this.#known += `${assignmentsIn(block.text)}\n`;
    return outcome;
  }

  /** The same for a text. */
  command(text: string): Promise<Outcome> {
    return this.#outcome(text, this.#start(text));
  }

  /** Starts it, waits until it has printed this, and presses Ctrl-C. */
  async interrupt(text: string, printed: RegExp): Promise<Outcome> {
    const file = this.#start(text);
    const outcome = this.#outcome(text, file);
    const isPrinted = async (): Promise<boolean> =>
      printed.test(readFileSync(`${file}.out`, 'utf8'));
    await Promise.race([
      outcome,
      until(`${text.trim()} to print ${String(printed)}`, isPrinted, { deadlineMs: patienceMs }),
    ]);
    process.kill(-(this.#terminal().shell.pid ?? 0), 'SIGINT');
    return outcome;
  }

  /**
   * Closes the terminal, and ends what is still running in the background. What is run later is run
   * in another one.
   */
  async end(): Promise<void> {
    if (this.#open === undefined) return;
    const { shell } = this.#open;
    this.#open = undefined;
    const ended = once(shell, 'exit');
    shell.stdin.end();
    await ended;
  }

  #terminal(): Terminal {
    if (this.#open !== undefined) return this.#open;
    const { clone, environment } = this.#options;
    const shell = spawn('bash', ['-c', leader], {
      cwd: clone,
      env: environment,
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true,
    });
    this.#open = { shell, codes: createInterface({ input: shell.stdout }) };
    return this.#open;
  }

  #start(text: string): string {
    this.#count += 1;
    const file = join(this.#options.logs, String(this.#count));
    writeFileSync(`${file}.sh`, `set -eo pipefail\n${this.#known}\n${text}`);
    this.#terminal().shell.stdin.write(`${file}\n`);
    return file;
  }

  async #outcome(text: string, file: string): Promise<Outcome> {
    const signal = AbortSignal.timeout(patienceMs);
    try {
      const [code] = (await once(this.#terminal().codes, 'line', { signal })) as [string];
      return {
        code: Number(code),
        stdout: readFileSync(`${file}.out`, 'utf8'),
        stderr: readFileSync(`${file}.err`, 'utf8'),
      };
    } catch (error) {
      process.kill(-(this.#terminal().shell.pid ?? 0), 'SIGKILL');
      await this.end();
      throw new Error(
        `not over after ${patienceMs / 1000} s: ${text}\n${readFileSync(`${file}.err`, 'utf8')}`,
        { cause: error },
      );
    }
  }
}
