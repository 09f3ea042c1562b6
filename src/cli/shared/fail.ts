/** Something that the person at the keyboard has to mend: printed as one line, never with a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** What kubectl has under the same names: scripts compare their exit codes, and kubectl's for a wrong call is 1. */
const kubectls: readonly (string | undefined)[] = ['drain', 'cordon', 'uncordon'];

/** The exit code of a command that has been called wrongly. */
export const usageExitCode = (command?: string): 1 | 2 => (kubectls.includes(command) ? 1 : 2);

/** 2: the call is wrong, where the command is not one of kubectl's. 1: it could not be done. */
export const exitCodeOf = (error: unknown, command?: string): 1 | 2 =>
  error instanceof Error && (error.name === 'UsageError' || error.name === 'KubeconfigError') ? usageExitCode(command) : 1;
