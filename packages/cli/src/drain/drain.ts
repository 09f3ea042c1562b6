import { printable } from '@drydock/apimachinery';
import type { Node } from '@drydock/core/node';
import type { Connection } from '@drydock/kube-client';
import { cutTo, displayWidth, type Env, type Log, padTo } from '@drydock/utils';
import { findNodes } from '../shared/nodes.ts';
import { onStop } from '../shared/on-stop.ts';
import { type Output, plainOutput, terminal } from '../shared/output.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { resultLine, setCordon } from './cordon.ts';
import { DrainEngine, rehearseDrain, summary } from './dry-run.ts';
import { type DrainFlags, type DrainOptions, drainOptionsFrom } from './node-commands.ts';
import type { DrainUpdate, Progress } from './node-drain.ts';
import { aggregate } from './words.ts';

/** Prints the updates of a drain in kubectl's lines, and remembers its outcome. */
class ProgressPrinter {
  readonly #output: () => Output;
  readonly #verb: 'evicted' | 'deleted';
  readonly #errors = new Map<string, readonly string[]>();

  constructor(output: () => Output, verb: 'evicted' | 'deleted') {
    this.#output = output;
    this.#verb = verb;
  }

  /** Errors of nodes that could not be drained. */
  get errors(): ReadonlyMap<string, readonly string[]> {
    return this.#errors;
  }

  report(nodeName: string, update: DrainUpdate): void {
    const { line, note } = this.#output();
    switch (update.kind) {
      case 'warning':
        return note(update.text);
      case 'evicting':
        // kubectl prints nothing at the start of a plain deletion.
        return this.#verb === 'evicted' ? line(`evicting pod ${update.pod.key}`) : undefined;
      case 'left':
        return line(`pod/${update.pod.name} ${this.#verb}`);
      case 'skipped':
        return line(`pod "${update.pod.name}" has been terminating for too long, skipping`);
      case 'waits':
        return note(`node/${nodeName} waits: ${update.text}`);
      case 'ended':
        return this.#ended(nodeName, update);
      default:
        return update satisfies never;
    }
  }

  /** Prints and remembers the errors of a node whose drain could not start. */
  failed(nodeName: string, ...errors: readonly string[]): void {
    this.#errors.set(nodeName, errors);
    this.#output().note(
      `error: unable to drain node "${nodeName}" due to error: ${aggregate(errors)}, continuing command...`,
    );
  }

  #ended(
    nodeName: string,
    { errors, pending }: Extract<DrainUpdate, { readonly kind: 'ended' }>,
  ): void {
    const { line, note } = this.#output();
    if (errors.length === 0) return line(resultLine(`node/${nodeName}`, 'drained', 'none'));
    if (pending.length > 0) {
      note(
        `There are pending pods in node "${nodeName}" when an error occurred: ${aggregate(errors)}`,
      );
      for (const { name } of pending) note(`pod/${name}`);
    }
    this.failed(nodeName, ...errors);
  }
}

/** Limit of shown nodes: those with the most pods left. */
const maxLines = 12;
const barWidth = 24;

function bar(gone: number, all: number): string {
  const full = all === 0 ? 0 : Math.round((gone / all) * barWidth);
  return `${'█'.repeat(full)}${'░'.repeat(barWidth - full)}`;
}

function lineOf({ nodeName, gone, all, terminating, waits }: Progress, nameWidth: number): string {
  const notes = [
    ...(terminating > 0 ? [`${terminating} terminating`] : []),
    ...(waits === '' ? [] : [`waits for ${waits}`]),
  ];
  return `${padTo(printable(nodeName), nameWidth)}  ${bar(gone, all)}  ${String(gone).padStart(String(all).length)}/${all}  ${notes.join(', ')}`.trimEnd();
}

/** Returns the progress of all running drains: a line each, no wider than the terminal. */
export function barsLines(all: readonly Progress[], columns: number): readonly string[] {
  const open = all.filter(({ gone, all }) => all === 0 || gone < all);
  const shown = open
    .toSorted((one, other) => other.all - other.gone - (one.all - one.gone))
    .slice(0, maxLines);
  const nameWidth = Math.max(0, ...shown.map(({ nodeName }) => displayWidth(printable(nodeName))));
  const lines = shown
    .toSorted((one, other) => (one.nodeName < other.nodeName ? -1 : 1))
    .map(one => lineOf(one, nameWidth));
  const more = open.length > shown.length ? [`and ${open.length - shown.length} more nodes`] : [];
  return [...lines, ...more].map(line => cutTo(printable(line), Math.max(1, columns - 1)));
}

/** A terminal: text is printed above and stays, the progress is redrawn below it. */
type Screen = { readonly columns: number; readonly write: (text: string) => void };

const erase = '\u001b[2K';
const up = '\u001b[1A';

/** Draws progress below the lines of the command. */
export class ProgressBars {
  readonly #screen: Screen;
  readonly #progress: () => readonly Progress[];
  #drawn = 0;

  constructor(screen: Screen, progress: () => readonly Progress[]) {
    this.#screen = screen;
    this.#progress = progress;
  }

  /** Returns an output that prints lines above the progress. */
  output(plain: Output): Output {
    const above =
      (write: (text: string) => void) =>
      (text: string): void => {
        this.lift();
        write(text);
        this.draw();
      };
    return { line: above(plain.line), note: above(plain.note) };
  }

  draw(): void {
    this.lift();
    const lines = barsLines(this.#progress(), this.#screen.columns);
    if (lines.length > 0) this.#screen.write(`${lines.join('\n')}\n`);
    this.#drawn = lines.length;
  }

  /** Erases the progress from the screen. */
  lift(): void {
    if (this.#drawn > 0) this.#screen.write(`\r${`${up}${erase}`.repeat(this.#drawn)}`);
    this.#drawn = 0;
  }
}

/** Exit code of an interrupted process, by the convention of shells. */
const interrupted = 130;

/** Width of a terminal that does not report one. */
const defaultColumns = 80;

/** Milliseconds between two redraws of the progress on a terminal. */
const frameMs = 200;

/** Returns a log for background errors, with a line for each. */
function logTo(output: () => Output): Log {
  const say = (
    message: string,
    { error, ...fields }: Readonly<Record<string, unknown>> = {},
  ): void => {
    const facts = Object.entries(fields).map(
      ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
    const cause =
      error === undefined
        ? ''
        : `: ${error instanceof Error ? error.message : JSON.stringify(error)}`;
    output().note(`warning: ${message}${facts.length > 0 ? ` (${facts.join(' ')})` : ''}${cause}`);
  };
  return { debug: () => {}, info: () => {}, warn: say, error: say };
}

/** Returns a controller that Ctrl-C aborts; a second Ctrl-C ends the process at once. */
function stopSignal(): AbortController {
  const stop = new AbortController();
  onStop(() => stop.abort());
  return stop;
}

/** Cordons all nodes before the first one is drained. Returns those that are cordoned. */
async function cordonAll(
  connection: Connection,
  nodes: readonly Node[],
  drainOptions: DrainOptions,
  printer: ProgressPrinter,
  output: () => Output,
  stop: AbortSignal,
): Promise<readonly Node[]> {
  const closed: Node[] = [];
  for (const node of nodes) {
    if (stop.aborted) break;
    if (await setCordon(connection, node, true, drainOptions.dryRun, output())) closed.push(node);
    else printer.failed(node.name, 'it could not be cordoned');
  }
  return closed;
}

function sayInterrupted(engine: DrainEngine): void {
  const open = engine.drains.filter(({ hasEnded }) => !hasEnded).map(drain => drain.progress());
  if (open.length === 0) return;
  plainOutput.note('interrupted. No further pods will be evicted; accepted evictions continue:');
  for (const { nodeName, gone, all, terminating } of open) {
    const far =
      all === 0
        ? 'no pod has been asked to go'
        : `${gone} of ${all} pods gone, ${terminating} terminating`;
    plainOutput.note(`  node/${nodeName} stays cordoned: ${far}`);
  }
  const names = open.map(({ nodeName }) => nodeName).join(' ');
  plainOutput.note(
    `continue with: drydock drain ${names} (and the same flags); release with: drydock uncordon ${names}`,
  );
}

/** Draws progress bars below the lines during the drains, if the output is a terminal. */
async function withBars(
  engine: DrainEngine,
  lend: (output: Output) => void,
  run: () => Promise<void>,
): Promise<void> {
  if (!terminal.isWatched()) return run();
  const screen = { columns: terminal.columns() || defaultColumns, write: terminal.write };
  const bars = new ProgressBars(screen, () =>
    engine.drains.filter(({ hasEnded }) => !hasEnded).map(drain => drain.progress()),
  );
  lend(bars.output(plainOutput));
  const timer = setInterval(() => bars.draw(), frameMs);
  try {
    await run();
  } finally {
    clearInterval(timer);
    bars.lift();
    lend(plainOutput);
  }
}

async function drainAll(
  connection: Connection,
  nodes: readonly Node[],
  drainOptions: DrainOptions,
): Promise<void> {
  let output = plainOutput;
  const printer = new ProgressPrinter(
    () => output,
    drainOptions.policy.disableEviction ? 'deleted' : 'evicted',
  );
  const stop = stopSignal();
  const engine = new DrainEngine({
    connection,
    clock: connection.clock,
    log: logTo(() => output),
    drainOptions,
    report: (nodeName, update) => printer.report(nodeName, update),
  });
  await withBars(
    engine,
    lent => (output = lent),
    async () => {
      const running = engine.run(stop.signal);
      try {
        engine.ask(
          await cordonAll(connection, nodes, drainOptions, printer, () => output, stop.signal),
        );
      } catch (error) {
        stop.abort();
        await running;
        throw error;
      }
      await running;
    },
  );
  if (stop.signal.aborted) {
    sayInterrupted(engine);
    process.exitCode = interrupted;
    return;
  }
  summary(printer.errors, plainOutput);
}

/**
 * `drydock drain NODE…`: kubectl drain's flags, lines and exit codes (0 drained, 1 not), several
 * nodes at once, by the operator's engine. Throws a UsageError for wrong flags, and the errors of
 * `findNodes`, before anything has been done.
 */
export async function drain(names: readonly string[], flags: DrainFlags, env: Env): Promise<void> {
  const drainOptions = drainOptionsFrom(names, flags);
  await withCluster(flags, env, async connection => {
    const nodes = await findNodes(connection, drainOptions.choice, drainOptions.pageSize);
    if (drainOptions.dryRun === 'none') await drainAll(connection, nodes, drainOptions);
    else await rehearseDrain(connection, nodes, drainOptions, plainOutput);
  });
}
