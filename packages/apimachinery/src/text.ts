import { printable } from './printable.ts';

/** Characters of a foreign text that are kept: a webhook may send any length. */
const maxTextLength = 1000;

/** Returns the first characters, without a half surrogate pair at the end. */
function start(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}

/**
 * Returns at most this many characters of a foreign text, in one row in which everything is
 * visible.
 */
export function truncate(text: string, most = maxTextLength): string {
  const isLong = text.length > most;
  const shown = printable(isLong ? start(text, most) : text);
  return isLong || shown.length > most ? `${start(shown, most - 1)}…` : shown;
}

/**
 * Returns the bytes of one character as the API server stores it: JSON from Go's encoder, which
 * escapes the characters of HTML too.
 */
function bytesOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (
    character === '"' ||
    character === '\\' ||
    character === '\n' ||
    character === '\r' ||
    character === '\t'
  )
    return 2;
  if (code < 0x20 || '<>&\u2028\u2029'.includes(character) || (code >= 0xd800 && code < 0xe000))
    return 6;
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

/** Returns the bytes that a text takes in the store. */
function storedBytes(text: string): number {
  let bytes = 0;
  for (const character of text) bytes += bytesOf(character);
  return bytes;
}

/**
 * Returns at most this many bytes of a foreign text, as it is stored: etcd counts bytes, not
 * characters.
 */
export function shortenedTo(text: string, mostBytes: number): string {
  const shown = truncate(text, mostBytes);
  if (storedBytes(shown) <= mostBytes) return shown;
  let [bytes, end] = [bytesOf('…'), 0];
  for (const character of shown) {
    bytes += bytesOf(character);
    if (bytes > mostBytes) break;
    end += character.length;
  }
  return `${shown.slice(0, end)}…`;
}

/** Joins the first of many texts: sorted by the caller, bounded here. */
export function joinLimited(texts: readonly string[], most = 10): string {
  return texts.length <= most
    ? texts.join(', ')
    : `${texts.slice(0, most).join(', ')} and ${texts.length - most} more`;
}

/** Characters of one row of a command's output. */
export const maxRowLength = 10_000;

/** Returns several rows as one text; no row breaks into two. */
export function joinRows(rows: readonly string[]): string {
  return rows.map(row => truncate(row, maxRowLength)).join('\n');
}

/**
 * Returns a few characters that stand for a text (FNV-1a, 64 bits, over its UTF-16 units). The hash
 * is reversible: it hides nothing, and proves nothing.
 */
export function short(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let at = 0; at < text.length; at += 1)
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(at))) * 0x100000001b3n);
  return hash.toString(16).padStart(16, '0');
}

/** Returns a name as the value of a label: labels have 63 characters at most. */
export function labelOf(name: string): string {
  return name.length <= 63 ? name : short(name);
}

/**
 * Returns the name of an object that is created for another one: at most 63 characters, with the
 * beginning of the other name and the whole unique suffix.
 */
export function truncatedName(name: string, suffix: string): string {
  return `${name.slice(0, 62 - suffix.length).replace(/[-.]+$/, '')}-${suffix}`;
}

/** The object that an event is about. */
export type ObjectReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion?: string;
};

/** An event to record. */
export type KubeEvent = {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly component: string;
  readonly about: ObjectReference;
};
