/**
 * Lists as CSV that no spreadsheet takes for formulas, whatever its separator and quotes are. What customers typed ends up
 * in these cells, and a formula can send the sheet elsewhere or start a program.
 */

type CsvValue = string | number | boolean | null | undefined;

export interface CsvColumn<T> {
  readonly header: string;
  readonly value: (row: T) => CsvValue;
}

/** What begins a formula, in the width of Latin and of East Asian letters. */
const trigger = '[=+\\-@＝＋－＠]';
/** What a spreadsheet may skip before it looks for one. */
const skipped = '[\\s"\'\\p{Cc}\\p{Cf}]*';
const atStart = new RegExp(`^(?:[\\t\\r\\n]|${skipped}${trigger})`, 'u');
/** A cell begins here for a program that separates by something else, or ignores quotes. */
const afterSeparator = new RegExp(`([,;|\\t\\r\\n]["'\\p{Cc}\\p{Cf}]*)(?=${trigger})`, 'gu');
const plainNumber = /^-?\d+(?:\.\d+)?$/;

/** An apostrophe makes text of what follows; a spreadsheet does not show it. */
function harmless(text: string): string {
  if (plainNumber.test(text)) return text;
  const inside = text.replace(afterSeparator, "$1'");
  return atStart.test(inside) ? `'${inside}` : inside;
}

/** Every cell has quotes, so that nothing in it can be taken for the end of it. */
function cell(value: CsvValue): string {
  const text = value === null || value === undefined ? '' : harmless(String(value));
  return `"${text.replaceAll('"', '""')}"`;
}

export function csvOf<T>(rows: readonly T[], columns: readonly CsvColumn<T>[]): string {
  const lines = rows.map((row) => columns.map(({ value }) => cell(value(row))).join(','));
  return [columns.map(({ header }) => cell(header)).join(','), ...lines, ''].join('\r\n');
}
