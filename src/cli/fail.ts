/** Something that the person at the keyboard has to mend: printed as one line, never with a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** 2: the call is wrong. 1: it could not be done. */
export const exitCodeOf = (error: unknown): 1 | 2 =>
  error instanceof Error && (error.name === 'UsageError' || error.name === 'KubeconfigError') ? 2 : 1;
