import { decimalText } from '../server/platform/currencies.ts';
import { styled } from './colors.ts';
import type { Row } from './pages.ts';
import { table, tableLines } from './table.ts';

/** Shows the objects of the API to people at a terminal. */

const isMoney = (name: string): boolean => /(^|_)(amount|total|subtotal|price|refunded)$/.test(name);

function textOf(name: string, value: unknown, currency: unknown): string {
  if (typeof value === 'number' && typeof currency === 'string' && isMoney(name)) {
    return `${decimalText(value, currency)} ${currency.toUpperCase()}`;
  }
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : '';
}

const isObject = (value: unknown): value is Row => typeof value === 'object' && value !== null;
const isPlainList = (value: unknown): value is readonly unknown[] =>
  Array.isArray(value) && !value.some((each) => isObject(each));

function cell(row: Row, column: string): string {
  const [name = '', ...rest] = column.split('.');
  const value = row[name];
  if (rest.length > 0) return isObject(value) ? cell(value, rest.join('.')) : '';
  return isPlainList(value) ? value.join(', ') : textOf(name, value, row.currency);
}

export function shownList(rows: readonly Row[], columns: readonly string[] = [], empty: string): string {
  // A field that this version of the API does not have is left out.
  const shown = columns.filter((column) => rows.some((row) => row[column.split('.')[0] ?? ''] !== undefined));
  const cells = rows.map((row) => shown.map((column) => cell(row, column)));
  const [head = '', ...others] = table(shown, cells, empty).split('\n');
  return [others.length > 1 ? styled('bold', head) : head, ...others].join('\n');
}

/** The fields of an object, one on each line; the fields of an object in it after a dot. */
function lines(object: Row, prefix = ''): string[][] {
  return Object.entries(object).flatMap(([name, value]) => {
    if (isPlainList(value)) return [[prefix + name, value.join(', ')]];
    if (isObject(value)) return lines(value, `${prefix}${name}.`);
    return [[prefix + name, textOf(name, value, object.currency)]];
  });
}

/** An object, or a response with objects in `data`. */
export function shownObject(answer: unknown, columns: readonly string[] | undefined): string {
  if (!isObject(answer)) return 'Done.\n';
  const { data, ...others } = answer;
  const list = columns && Array.isArray(data) ? shownList(data as Row[], columns, 'None.') : undefined;
  const rest = lines(list === undefined ? answer : others);
  if (rest.length === 0) return list ?? 'Done.\n';
  const [, ...shown] = tableLines(['', ''], rest);
  return `${list === undefined ? '' : `${list}\n`}${shown.join('\n')}\n`;
}
