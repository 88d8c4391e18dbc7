/**
 * Writes CSV in which no spreadsheet finds formulas, with any separator and quotes. The cells contain text from
 * customers, and a formula could send the sheet to another server or start a program.
 */

type CsvValue = string | number | boolean | null | undefined;

export interface CsvColumn<T> {
  readonly header: string;
  readonly value: (row: T) => CsvValue;
}

/** Characters that begin a formula, in Latin and in East Asian width. */
const trigger = '[=+\\-@＝＋－＠]';
/** Characters that a spreadsheet may skip before a formula. */
const skipped = '[\\s"\'\\p{Cc}\\p{Cf}]*';
const atStart = new RegExp(`^(?:[\\t\\r\\n]|${skipped}${trigger})`, 'u');
/** Where a cell begins for programs with other separators, or that ignore quotes. */
const afterSeparator = new RegExp(`([,;|\\t\\r\\n]["'\\p{Cc}\\p{Cf}]*)(?=${trigger})`, 'gu');
const plainNumber = /^-?\d+(?:\.\d+)?$/;

/** A leading apostrophe marks a cell as text. Spreadsheets do not show it. */
function harmless(text: string): string {
  if (plainNumber.test(text)) return text;
  const inside = text.replace(afterSeparator, "$1'");
  return atStart.test(inside) ? `'${inside}` : inside;
}

/** Every cell is quoted, so that its content cannot end it. */
function cell(value: CsvValue): string {
  const text = value === null || value === undefined ? '' : harmless(String(value));
  return `"${text.replaceAll('"', '""')}"`;
}

export const csvHeader = (columns: readonly Pick<CsvColumn<never>, 'header'>[]): string =>
  `${columns.map(({ header }) => cell(header)).join(',')}\r\n`;

export const csvLines = <T>(rows: readonly T[], columns: readonly CsvColumn<T>[]): string =>
  rows.map((row) => `${columns.map(({ value }) => cell(value(row))).join(',')}\r\n`).join('');

export const csvOf = <T>(rows: readonly T[], columns: readonly CsvColumn<T>[]): string =>
  csvHeader(columns) + csvLines(rows, columns);
