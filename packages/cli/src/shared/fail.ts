/**
 * Commands that kubectl has too: scripts compare their exit codes, and kubectl's usage error is 1.
 */
const kubectls: readonly (string | undefined)[] = ['drain', 'cordon', 'uncordon'];

/** Returns the exit code for a usage error of a command. */
export function usageExitCode(command?: string): 1 | 2 {
  return kubectls.includes(command) ? 1 : 2;
}

/** Returns 2 for a usage error, unless the command is one of kubectl's; 1 for other failures. */
export function exitCodeOf(error: unknown, command?: string): 1 | 2 {
  return error instanceof Error && (error.name === 'UsageError' || error.name === 'KubeconfigError')
    ? usageExitCode(command)
    : 1;
}
