import { Document, Scalar, visit } from 'yaml';
import { isPrintable, printableJson, printableLines } from '../../core/printable.ts';
import { maxRowLength, truncate } from '../../core/text.ts';

/**
 * Where a command's lines go, and the only place that writes to the streams of the process: text of others is in nearly every line, and is shown, never obeyed. A command that draws progress
 * lifts its picture before each of them.
 */
export type Output = {
  /** Prints a result as one row: stdout. */
  readonly line: (text: string) => void;
  /** Prints what went wrong, or is worth knowing, as one row: stderr. */
  readonly note: (text: string) => void;
};

/** Straight to the streams of the process. */
export const plainOutput: Output = {
  line: text => void process.stdout.write(`${truncate(text, maxRowLength)}\n`),
  note: text => void process.stderr.write(`${truncate(text, maxRowLength)}\n`),
};

/** Prints a result of several rows, whose own line breaks stay (`joinRows` makes such a text): stdout. */
export const printText = (text: string): void => void process.stdout.write(`${printableLines(text)}\n`);

/** Help and errors of the command line: what was typed, or pasted, is quoted in them. */
export const commanderOutput = {
  writeOut: (text: string): void => void process.stdout.write(printableLines(text)),
  writeErr: (text: string): void => void process.stderr.write(printableLines(text)),
};

/** Prints a script, a stream of YAML or a part of the help, as it is. */
export const printRaw = (text: string): void => void process.stdout.write(printableLines(text));

/** A value as YAML: what would be hidden in it is an escape in double quotes. */
const yamlOf = (value: unknown): string => {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value === 'string' && !isPrintable(node.value.replaceAll('\n', ''))) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return printableYaml(document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.POSITIVE_INFINITY }));
};

/** In double quotes YAML has JSON's escapes, and a longer one beyond the first plane. */
const printableYaml = (yaml: string): string =>
  printableJson(
    yaml.replaceAll(/[\u{10000}-\u{10ffff}]/gu, char =>
      isPrintable(char) ? char : `\\U${char.codePointAt(0)?.toString(16).padStart(8, '0')}`,
    ),
  );

/** Returns a value for programs to read: the same value, and nothing in the text acts on a terminal. */
export const written = (value: unknown, format: 'json' | 'yaml'): string =>
  format === 'json' ? printableJson(JSON.stringify(value, undefined, 2)) : yamlOf(value).trimEnd();

/** A terminal on which progress is drawn: text goes up and stays, the picture is drawn anew below it. */
export const terminal = {
  /** Whether somebody looks at both streams. */
  isWatched: (): boolean => process.stdout.isTTY && process.stderr.isTTY,
  isTTY: (): boolean => process.stderr.isTTY,
  columns: (): number => process.stderr.columns,
  /** Moves the cursor, with codes of ours alone: whatever else is in the text has been made printable. */
  write: (text: string): void => void process.stderr.write(text),
};

/** What shells say of a process that SIGPIPE has ended, as it ends kubectl: 128 and the number of the signal. Node ignores it and gets an error instead. */
const brokenPipe = 141;

/** Who reads no more (`… | head -3`) wants no more: the process ends, without a word. Output that is lost otherwise, on a full disk for example, is told. */
export const exitOnEpipe = (): void => {
  const lost = (error: NodeJS.ErrnoException): never => {
    if (error.code === 'EPIPE') process.exit(brokenPipe);
    plainOutput.note(`drydock: the output cannot be written: ${error.message}`);
    process.exit(1);
  };
  process.stdout.on('error', lost);
  process.stderr.on('error', () => process.exit(brokenPipe));
};
