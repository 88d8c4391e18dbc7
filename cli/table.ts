/** Text of others can contain signs that control the terminal. */

const printable = (text: string): string =>
  text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ');

/** The lines of a table: the headings, and then the rows. A column is as wide as its longest cell. */
export function tableLines(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [headings, ...rows.map((cells) => cells.map(printable))];
  const widths = headings.map((_, column) => Math.max(...all.map((cells) => cells[column]?.length ?? 0)));
  return all.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** What a list prints without --json. */
export const table = (headings: readonly string[], rows: readonly (readonly string[])[], empty: string): string =>
  rows.length === 0 ? `${empty}\n` : `${tableLines(headings, rows).join('\n')}\n`;
