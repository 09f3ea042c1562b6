/**
 * Safe display of foreign text. Escape sequences, bidi overrides and line breaks in a reason, a
 * name or a log line would otherwise act on the terminal, the log viewer or the chat of the reader:
 * they are made visible instead, as kubectl does, and nothing is left out silently.
 */

/**
 * Characters to escape: controls, formats, lone surrogates, private and unassigned characters,
 * separators of lines, and letters without a width; not the selectors for the look of an emoji.
 */
const hidden = /[\p{C}\p{Zl}\p{Zp}]|(?!\p{Variation_Selector})\p{Default_Ignorable_Code_Point}/gu;

const names: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Escapes a character: ESC is `^[`, as in kubectl and `cat -v`; characters beyond ASCII are written
 * by their number.
 */
function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return names[character] ?? `^${String.fromCharCode(code ^ 0x40)}`;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** Returns the text as one row in which everything is visible. A second call changes nothing. */
export function printable(text: string): string {
  return text.replace(hidden, escaped);
}

/** Returns a text of several lines, in which everything except line breaks and tabs is visible. */
export function printableLines(text: string): string {
  return text.replace(hidden, character =>
    /[\n\t]/.test(character) ? character : escaped(character),
  );
}

function jsonEscape(character: string): string {
  return /[\n\r\t]/.test(character)
    ? character
    : Array.from(
        { length: character.length },
        (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
      ).join('');
}

/**
 * Returns JSON with the same meaning, in which strings have escapes for characters that would
 * otherwise be hidden.
 */
export function printableJson(json: string): string {
  return json.replace(hidden, jsonEscape);
}

/** Reports whether everything in the text is visible as it is. */
export function isPrintable(text: string): boolean {
  return text.search(hidden) < 0;
}
