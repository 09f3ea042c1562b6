import type { Node } from '@drydock/core/node';
import type { Connection } from '@drydock/kube-client';
import type { Env, Log } from '@drydock/utils';
import { findNodes } from '../shared/nodes.ts';
import { onStop } from '../shared/on-stop.ts';
import { type Output, plainOutput, terminal } from '../shared/output.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { setCordon } from './cordon.ts';
import { type DrainFlags, type DrainOptions, drainOptionsFrom } from './drain-options.ts';
import { rehearseDrain, summary } from './dry-run.ts';
import { DrainEngine } from './engine.ts';
import { ProgressBars } from './progress-bars.ts';
import { ProgressPrinter } from './progress-printer.ts';

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
    tell: (nodeName, update) => printer.tell(nodeName, update),
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
