/** Lines of cells, columns as wide as their widest cell and so many blanks apart; nothing at the end of a line. */
export const columns = (rows: readonly (readonly string[])[], blanks: number): readonly string[] => {
  const widths = rows.reduce<readonly number[]>((all, row) => row.map((cell, column) => Math.max(all[column] ?? 0, cell.length)), []);
  return rows.map(row =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(' '.repeat(blanks))
      .trimEnd(),
  );
};
