import { instantAt, readTime } from '@drydock/apimachinery';

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/**
 * Pattern of RFC 7231's IMF-fixdate, and of the variant of EC2's metadata service: no day of the
 * week, the day not padded. Always GMT.
 */
const spoken =
  /(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}:\d{2}:\d{2}) (?:GMT|UTC)/i;

function fromSpoken(match: RegExpExecArray | null): Temporal.Instant | undefined {
  const [, day = '', month = '', year = '', time = ''] = match ?? [];
  const number = months.indexOf(month.toLowerCase()) + 1;
  if (number === 0) return undefined;
  return readTime(`${year}-${String(number).padStart(2, '0')}-${day.padStart(2, '0')}T${time}Z`);
}

/**
 * Reads a time as clouds write it: RFC 3339, `1 Jan 2030 00:00:00 GMT` or `Mon, 19 Sep 2016
 * 18:29:47 GMT`. Returns undefined for anything else, including a time without a zone.
 */
export function readCloudTime(text: unknown): Temporal.Instant | undefined {
  if (typeof text !== 'string') return undefined;
  const trimmed = text.trim();
  const match = spoken.exec(trimmed);
  return match?.[0] === trimmed ? fromSpoken(match) : readTime(trimmed);
}

/** Finds the first `Wed, 26 Feb 2025 10:13:13 GMT` within a sentence. */
export function findTime(text: string): Temporal.Instant | undefined {
  return fromSpoken(spoken.exec(text));
}

/** Reads seconds since 1970, as labels hold them; undefined for anything else. */
export function readEpochSeconds(text: string): Temporal.Instant | undefined {
  return /^\d{1,11}$/.test(text) ? instantAt(Number(text) * 1000) : undefined;
}
