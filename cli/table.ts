/** The lines of a table: the headings, and then the rows. A column is as wide as its longest cell. */
export function tableLines(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [headings, ...rows];
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
