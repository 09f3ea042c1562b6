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
