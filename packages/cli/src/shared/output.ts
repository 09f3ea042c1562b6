import { readFileSync } from 'node:fs';
import {
  isObject,
  isPrintable,
  type JsonObject,
  maxRowLength,
  printableJson,
  printableLines,
  truncate,
} from '@drydock/apimachinery';
import { errorText, UsageError } from '@drydock/utils';
import { Document, parseAllDocuments, Scalar, visit } from 'yaml';

/**
 * Output of a command, the only code that writes to the process's streams: nearly every line
 * contains text of others, which is escaped for the terminal. A command that draws progress erases
 * it before each line.
 */
export type Output = {
  /** Prints a result as one row: stdout. */
  readonly line: (text: string) => void;
  /** Prints an error or a note as one row: stderr. */
  readonly note: (text: string) => void;
};

/** An output that writes directly to the process's streams. */
export const plainOutput: Output = {
  line: text => void process.stdout.write(`${truncate(text, maxRowLength)}\n`),
  note: text => void process.stderr.write(`${truncate(text, maxRowLength)}\n`),
};

/**
 * Prints a result of several rows, whose line breaks stay (`joinRows` builds such a text): stdout.
 */
export function printText(text: string): void {
  void process.stdout.write(`${printableLines(text)}\n`);
}

/** Output for help and errors of the command line, which quote the user's input. */
export const commanderOutput = {
  writeOut: (text: string): void => void process.stdout.write(printableLines(text)),
  writeErr: (text: string): void => void process.stderr.write(printableLines(text)),
};

/** Prints a script, a YAML stream or a part of the help, unchanged. */
export function printRaw(text: string): void {
  void process.stdout.write(printableLines(text));
}

/** Formats a value as YAML: invisible characters become escapes in double quotes. */
function yamlOf(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value === 'string' && !isPrintable(node.value.replaceAll('\n', '')))
        node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return printableYaml(
    document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.POSITIVE_INFINITY }),
  );
}

/**
 * Escapes YAML: in double quotes it has JSON's escapes, and a longer one beyond the first plane.
 */
function printableYaml(yaml: string): string {
  return printableJson(
    yaml.replaceAll(/[\u{10000}-\u{10ffff}]/gu, char =>
      isPrintable(char) ? char : `\\U${char.codePointAt(0)?.toString(16).padStart(8, '0')}`,
    ),
  );
}

/** Returns a value for programs to read: the same value, in text without effect on a terminal. */
export function written(value: unknown, format: 'json' | 'yaml'): string {
  return format === 'json'
    ? printableJson(JSON.stringify(value, undefined, 2))
    : yamlOf(value).trimEnd();
}

/** A terminal with progress: text is printed above and stays, the progress is redrawn below it. */
export const terminal = {
  /** Returns whether both streams are terminals. */
  isWatched: (): boolean => process.stdout.isTTY && process.stderr.isTTY,
  isTTY: (): boolean => process.stderr.isTTY,
  columns: (): number => process.stderr.columns,
  /**
   * Moves the cursor with Drydock's own control codes: all other text has been made printable
   * before.
   */
  write: (text: string): void => void process.stderr.write(text),
};

/**
 * Exit code for a closed pipe, by the convention of shells: 128 and the number of SIGPIPE, which
 * ends kubectl. Node ignores the signal and reports an error instead.
 */
const brokenPipe = 141;

/**
 * Ends the process silently when the reader closes the pipe (`… | head -3`). Output that is lost
 * otherwise, for example on a full disk, is reported.
 */
export function exitOnEpipe(): void {
  const lost = (error: NodeJS.ErrnoException): never => {
    if (error.code === 'EPIPE') process.exit(brokenPipe);
    plainOutput.note(`drydock: the output cannot be written: ${error.message}`);
    process.exit(1);
  };
  process.stdout.on('error', lost);
  process.stderr.on('error', () => process.exit(brokenPipe));
}

function textIn(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${errorText(error)}`, { cause: error });
  }
}

/**
 * Returns the objects of a YAML file, one for each non-empty document; `-` is the standard input.
 * Throws a UsageError that names the file and the error.
 */
export function documentsIn(file: string): readonly JsonObject[] {
  return [...parseAllDocuments(textIn(file))].flatMap(document => {
    const [error] = document.errors;
    if (error !== undefined)
      throw new UsageError(`${file} is not valid YAML: ${error.message.split('\n')[0] ?? ''}`);
    const value: unknown = document.toJS();
    return isObject(value) ? [value] : [];
  });
}
