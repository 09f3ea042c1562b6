import { type ParseArgsConfig, parseArgs } from 'node:util';
import { errorText } from '@drydock/utils';

/** Ends the program as every command of Drydock does with bad input: one line, and exit code 2. */
export function refuse(message: string): never {
  process.stderr.write(`bench: ${message}\n`);
  process.exit(2);
}

/** `parseArgs` of node:util; refuses what it cannot read. */
export function argumentsOf<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    return refuse(errorText(error));
  }
}

/** A number above 0; `fallback` where the flag is missing. Refuses everything else. */
export function positive(flag: string, text: string | undefined, fallback: number): number {
  const value = Number(text ?? fallback);
  return value > 0 && Number.isFinite(value)
    ? value
    : refuse(`${flag} is ${text}; it has to be a number above 0`);
}

/** A whole number from 1; `fallback` where the flag is missing. Refuses everything else. */
export function count(flag: string, text: string | undefined, fallback: number): number {
  const value = positive(flag, text, fallback);
  return Number.isInteger(value)
    ? value
    : refuse(`${flag} is ${text}; it has to be a whole number`);
}
