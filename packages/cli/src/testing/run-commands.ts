import { run } from '../program.ts';

/**
 * A program of its own for tests: runs the command lines that it is sent, one after another, and
 * sends back what each has printed.
 */

export type Printed = {
  readonly args: readonly string[];
  readonly out: string;
  readonly err: string;
};

async function capture(args: readonly string[]): Promise<Printed> {
  const printed = { out: '', err: '' };
  const streams = [process.stdout, process.stderr] as const;
  const own = streams.map(stream => Object.getOwnPropertyDescriptor(stream, 'write'));
  process.stdout.write = (text: string | Uint8Array) => ((printed.out += String(text)), true);
  process.stderr.write = (text: string | Uint8Array) => ((printed.err += String(text)), true);
  try {
    await run(args, process.env);
  } finally {
    // Without one of its own a stream has that of its class again.
    for (const [at, stream] of streams.entries()) {
      const before = own[at];
      if (before === undefined) Reflect.deleteProperty(stream, 'write');
      else Object.defineProperty(stream, 'write', before);
    }
  }
  return { args, ...printed };
}

process.once('message', (commands: readonly (readonly string[])[]) => {
  const runAll = async (): Promise<void> => {
    for (const args of commands) process.send?.(await capture(args));
    process.disconnect?.();
  };
  runAll().catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  });
});
