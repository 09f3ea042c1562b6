import { printable } from './printable.ts';

/** Characters of a text of somebody else's: a webhook may say as much as it likes. */
const maxTextLength = 1000;

/** The first characters, without half of one at the end. */
const start = (text: string, length: number): string => text.slice(0, length).replace(/[\ud800-\udbff]$/, '');

/** At most so much of a text of somebody else's, in one row in which everything can be seen. */
export const truncate = (text: string, most = maxTextLength): string => {
  const isLong = text.length > most;
  const shown = printable(isLong ? start(text, most) : text);
  return isLong || shown.length > most ? `${start(shown, most - 1)}…` : shown;
};

/** Bytes of one character as the API server stores it: JSON as Go's encoder writes it, which escapes the signs of HTML too. */
const bytesOf = (character: string): number => {
  const code = character.codePointAt(0) ?? 0;
  if (character === '"' || character === '\\' || character === '\n' || character === '\r' || character === '\t') return 2;
  if (code < 0x20 || '<>&\u2028\u2029'.includes(character) || (code >= 0xd800 && code < 0xe000)) return 6;
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
};

/** Bytes that a text takes in the store. */
const storedBytes = (text: string): number => {
  let bytes = 0;
  for (const character of text) bytes += bytesOf(character);
  return bytes;
};

/** At most so many bytes of a text of somebody else's, as it is stored: etcd counts bytes, not characters. */
export const shortenedTo = (text: string, mostBytes: number): string => {
  const shown = truncate(text, mostBytes);
  if (storedBytes(shown) <= mostBytes) return shown;
  let [bytes, end] = [bytesOf('…'), 0];
  for (const character of shown) {
    bytes += bytesOf(character);
    if (bytes > mostBytes) break;
    end += character.length;
  }
  return `${shown.slice(0, end)}…`;
};

/** For texts that name a few of many: sorted by the caller, bounded here. */
export const joinLimited = (texts: readonly string[], most = 10): string =>
  texts.length <= most ? texts.join(', ') : `${texts.slice(0, most).join(', ')} and ${texts.length - most} more`;

/** Characters of one row of a command's output. */
export const maxRowLength = 10_000;

/** Returns several rows as one text; no row breaks into two. */
export const joinRows = (rows: readonly string[]): string => rows.map(row => truncate(row, maxRowLength)).join('\n');
