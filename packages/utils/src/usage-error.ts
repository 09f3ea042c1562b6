/** An error that the user has to correct: printed as one line, never with a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
