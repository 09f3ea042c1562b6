import { UsageError } from '@drydock/utils';

/**
 * Parses a number or a percentage for int-or-string fields. Throws a UsageError that names the
 * flag.
 */
export function amount(flag: string, text: string): number | string {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  if (/^(100|[1-9][0-9]?)%$/.test(text)) return text;
  throw new UsageError(
    `invalid value "${text}" for ${flag}: expected a number or a percent such as 5%`,
  );
}

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

/** Returns a text as one word of a POSIX shell: unquoted where it has no special characters. */
export function shellWord(text: string): string {
  return /^[\w@.:/-]+$/.test(text) && !text.startsWith('-')
    ? text
    : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Values of flags in the formats of Go programs, above all kubectl. */

const units: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3600,
};

/**
 * Parses a Go duration (`1h30m`, `90s`, `0`) to seconds. Throws a UsageError that names the flag.
 */
export function seconds(flag: string, text: string): number {
  if (text === '0') return 0;
  const [, sign = '', rest = ''] = /^([-+]?)(.+)$/.exec(text) ?? [];
  const parts = [...rest.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)/g)];
  if (rest === '' || parts.map(([part]) => part).join('') !== rest) {
    throw new UsageError(
      `invalid value "${text}" for ${flag}: expected a duration such as 90s, 5m or 1h30m, or 0`,
    );
  }
  const sum = parts.reduce(
    (all, [, amount = '0', unit = 's']) => all + Number(amount) * (units[unit] ?? 0),
    0,
  );
  return sign === '-' ? -sum : sum;
}

/** Parses a whole number. Throws a UsageError that names the flag. */
export function integer(flag: string, text: string): number {
  if (!/^[-+]?\d+$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw new UsageError(`invalid value "${text}" for ${flag}: expected a whole number`);
  return Number(text);
}

/** Parses a whole number above 0. Throws a UsageError that names the flag. */
export function positive(flag: string, text: string): number {
  const value = integer(flag, text);
  if (value < 1)
    throw new UsageError(`invalid value ${text} for ${flag}: expected a number above 0`);
  return value;
}

const truths: Readonly<Record<string, boolean>> = Object.fromEntries(
  [
    ['1', 't', 'T', 'true', 'TRUE', 'True'].map(text => [text, true] as const),
    ['0', 'f', 'F', 'false', 'FALSE', 'False'].map(text => [text, false] as const),
  ].flat(),
);

/**
 * Normalizes Go's boolean flags, which are bare or have their value after `=`, never in the next
 * word. `--force=true` becomes `--force`, `--force=false` is dropped. Throws a UsageError for any
 * other value.
 */
export function plainBooleans(
  args: readonly string[],
  flags: readonly string[],
): readonly string[] {
  const end = args.indexOf('--');
  return args.flatMap((arg, at) => {
    const [, flag = '', text = ''] = /^(--[a-z-]+)=(.*)$/.exec(arg) ?? [];
    if (!flags.includes(flag) || (end !== -1 && at > end)) return [arg];
    const value = truths[text];
    if (value === undefined)
      throw new UsageError(`invalid value "${text}" for ${flag}: expected true or false`);
    return value ? [flag] : [];
  });
}

/** Formats seconds as Go does: `1m30s`, `500ms`. */
export function goDuration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)}ms`;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = `${Number((seconds % 60).toFixed(3))}s`;
  return hours > 0 ? `${hours}h${minutes}m${rest}` : minutes > 0 ? `${minutes}m${rest}` : rest;
}

/**
 * Adds the second dash to long flags: the replaced operators are Go programs, to which
 * `-metrics-bind-address` equals `--metrics-bind-address`, and manifests use both.
 */
export function longFlags(args: readonly string[]): readonly string[] {
  return args.map(arg => (/^-[a-z][a-z0-9-]+(=.*)?$/.test(arg) ? `-${arg}` : arg));
}
