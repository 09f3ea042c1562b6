import { styleText } from 'node:util';
import { printable, printableJson } from '@drydock/apimachinery';
import { pino, stdSerializers } from 'pino';
import type { Log, LogFields } from '../panic-handler.ts';

/** Format of log lines: json for collectors, text for people. */
export type LogFormat = 'json' | 'text';

const colours = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' } as const;

function shown(value: unknown): string {
  if (typeof value === 'string' && /^[^\s="]+$/.test(value)) return printable(value);
  return printable(JSON.stringify(value) ?? 'undefined');
}

/** Formats one line of pino's JSON for people: time, level, message, fields. */
function readable(line: string, colour: boolean): string {
  const { time, level, msg, error, ...fields } = JSON.parse(line) as Record<string, unknown> & {
    readonly time: string;
    readonly level: keyof typeof colours;
  };
  const paint = colour
    ? styleText(colours[level], level.padEnd(5), { validateStream: false })
    : level.padEnd(5);
  const facts = Object.entries(fields).map(([name, value]) => `${printable(name)}=${shown(value)}`);
  const text =
    error === undefined
      ? []
      : [`error=${shown((error as { readonly message?: string }).message ?? error)}`];
  return `${[time.slice(11, 23), paint, printable(String(msg)), ...facts, ...text].join(' ')}\n`;
}

/**
 * Returns a log that writes to a stream. Times are RFC 3339, UTC; errors keep message, stack and
 * cause in JSON and their message in text. Control sequences in a line have no effect on a
 * terminal.
 */
export function pinoLog(options: {
  readonly format: LogFormat;
  readonly level: string;
  readonly stream: NodeJS.WritableStream;
  readonly colour: boolean;
}): Log {
  const { format, level, stream, colour } = options;
  const destination = {
    write: (line: string): void =>
      void stream.write(format === 'json' ? printableJson(line) : readable(line, colour)),
  };
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: label => ({ level: label }) },
      serializers: {
        error: error =>
          (error instanceof Error ? stdSerializers.errWithCause(error) : error) as unknown,
      },
    },
    destination,
  );
  const at =
    (method: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields: LogFields = {}) =>
      logger[method](fields, message);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
