/** Returns a text as one word of a POSIX shell: unquoted where it has no special characters. */
export function shellWord(text: string): string {
  return /^[\w@.:/-]+$/.test(text) && !text.startsWith('-')
    ? text
    : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
