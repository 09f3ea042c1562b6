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
