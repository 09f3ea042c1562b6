import { printable } from '@drydock/apimachinery';
import stringWidth from 'string-width';

/** Limit of a cell in characters: one endless cell would make every row as wide. */
const maxCellLength = 1000;

/**
 * Returns how many columns of a terminal a text takes: two for most of Chinese, Japanese, Korean
 * and emoji, none for combining marks.
 */
export function displayWidth(text: string): number {
  return /^[ -~]*$/.test(text) ? text.length : stringWidth(text);
}

/** Returns the text, padded with blanks to this width. */
export function padTo(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

const characters = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Returns the longest start of the text that fits this width; no character is cut in two. */
export function cutTo(text: string, width: number): string {
  let [cut, used] = ['', 0];
  for (const { segment } of characters.segment(text)) {
    used += displayWidth(segment);
    if (used > width) break;
    cut += segment;
  }
  return cut;
}

function cellOf(text: string): string {
  return printable(text.length > maxCellLength ? `${text.slice(0, maxCellLength - 1)}…` : text);
}

/**
 * Formats rows of cells: columns are as wide as their widest cell, `blanks` apart; lines have no
 * trailing blanks, and no cell breaks its row.
 */
export function columns(rows: readonly (readonly string[])[], blanks: number): readonly string[] {
  const shown = rows.map(row => row.map(cellOf));
  const widths = shown.reduce<readonly number[]>((all, row) => {
    const own = row.map(displayWidth);
    return Array.from({ length: Math.max(all.length, own.length) }, (_, at) =>
      Math.max(all[at] ?? 0, own[at] ?? 0),
    );
  }, []);
  return shown.map(row =>
    row
      .map((cell, column) => padTo(cell, widths[column] ?? 0))
      .join(' '.repeat(blanks))
      .trimEnd(),
  );
}
