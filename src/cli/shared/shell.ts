/** Returns a text as one word of a POSIX shell: as it is where nothing in it means something to a shell. */
export const shellWord = (text: string): string =>
  /^[\w@.:/-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
