/** Where a command's lines go. A command that draws progress lifts its picture before each of them. */
export type Output = {
  /** Results: stdout. */
  readonly line: (text: string) => void;
  /** What went wrong, or is worth knowing: stderr. */
  readonly note: (text: string) => void;
};

/** Straight to the streams of the process. */
export const plainOutput: Output = {
  line: text => void process.stdout.write(`${text}\n`),
  note: text => void process.stderr.write(`${text}\n`),
};

/** What shells say of a process that SIGPIPE has ended, as it ends kubectl: 128 and the number of the signal. Node ignores it and gets an error instead. */
const brokenPipe = 141;

/** Who reads no more (`… | head -3`) wants no more: the process ends, without a word. Output that is lost otherwise, on a full disk for example, is told. */
export const endWithReaders = (): void => {
  const lost = (error: NodeJS.ErrnoException): never => {
    if (error.code === 'EPIPE') process.exit(brokenPipe);
    process.stderr.write(`drydock: the output cannot be written: ${error.message}\n`);
    process.exit(1);
  };
  process.stdout.on('error', lost);
  process.stderr.on('error', () => process.exit(brokenPipe));
};
