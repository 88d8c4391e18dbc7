import { isoTime } from './iso-time.ts';
import { jsonText } from './json-text.ts';

/**
 * Rows as parameters of a statement: one array for each column. PostgreSQL reads them at a third of the cost of a JSON
 * recordset, for which it builds a hash table for each row. Only the first array becomes rows; the values of the
 * others are looked up by their place. As a set of its own, each array costs a statement some 5 µs with any content.
 */

type ColumnType =
  | 'uuid'
  | 'text'
  /** Long text that needs no quotes: it is not empty, and control characters for separation are replaced in it. */
  | 'long text'
  | 'integer'
  | 'bigint'
  | 'boolean'
  | 'timestamptz'
  | 'json'
  | 'jsonb'
  | 'text[]';

type Value = string | number | boolean | Date | object | null | undefined;

export interface Rows<Name extends string> {
  /** How many parameters the rows take. */
  readonly count: number;
  /** Returns SQL for a FROM item with the rows, whose parameters start with `$first`. */
  readonly from: (first: number) => string;
  readonly values: (rows: readonly Readonly<Record<Name, Value>>[]) => string[];
}

export function rowsOf<Name extends string>(columns: Readonly<Record<Name, ColumnType>>): Rows<Name> {
  const list = Object.entries(columns) as [Name, ColumnType][];
  return {
    count: list.length,
    from(first) {
      const arrays = list.map(([, type], index) => arrayOf(type, `$${first + index}`));
      const selected = list.map(([name, type], index) => {
        const element = index === 0 ? 'first' : `(${arrays[index]})[place]`;
        return `${element}${isCast(type) ? `::${type}` : ''} AS "${name}"`;
      });
      // OFFSET keeps PostgreSQL from looking up a value again wherever the statement uses it.
      return `(SELECT ${selected.join(', ')} FROM unnest(${arrays[0]}) WITH ORDINALITY AS r (first, place) OFFSET 0)`;
    },
    values: (rows) => list.map(([name, type]) => columnText(rows, name, type)),
  };
}

function columnText<Name extends string>(
  rows: readonly Readonly<Record<Name, Value>>[],
  name: Name,
  type: ColumnType,
): string {
  if (isJson(type)) return rows.map((row) => jsonOf(row[name])).join(separator);
  if (type === 'long text') return rows.map((row) => longText(row[name])).join(separator);
  const element = elementOf[type] ?? plain;
  let text = '{';
  for (const row of rows) {
    const value = row[name];
    if (text.length > 1) text += ',';
    text += value === null || value === undefined ? 'NULL' : element(value);
  }
  return `${text}}`;
}

const jsonOf = (value: Value): string => (value === null || value === undefined ? 'null' : jsonText(value));

const isJson = (type: ColumnType): boolean => type === 'json' || type === 'jsonb';

/** Whether the array has texts, which become values of the type later. */
const isCast = (type: ColumnType): boolean => isJson(type) || type === 'text[]';

/** A control character: it does not occur in JSON text, which therefore needs no quotes. */
const separator = '\u001e';
const noText = '\u001f';
const replacement = '\uFFFD';

function longText(value: Value): string {
  if (value === null || value === undefined) return noText;
  return plain(value).replaceAll(separator, replacement).replaceAll(noText, replacement);
}

function arrayOf(type: ColumnType, parameter: string): string {
  // A subquery is executed once for a statement.
  if (isJson(type)) return `(SELECT string_to_array(${parameter}, E'\\x1e', 'null'))`;
  if (type === 'long text') return `(SELECT string_to_array(${parameter}, E'\\x1e', E'\\x1f'))`;
  return `${parameter}::${isCast(type) ? 'text' : type}[]`;
}

function arrayText(values: readonly Value[], element: (value: NonNullable<Value>) => string): string {
  return `{${values.map((value) => (value === null || value === undefined ? 'NULL' : element(value))).join()}}`;
}

function plain(value: NonNullable<Value>): string {
  if (typeof value === 'string') return value;
  if (value instanceof Date) return isoTime(value.getTime());
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

// The word NULL, empty text, spaces, braces, commas, quotes and backslashes need quotes.
const needsNoQuotes = /^(?!null$)[\w./:+-]+$/i;

function quoted(value: NonNullable<Value>): string {
  const text = plain(value);
  return needsNoQuotes.test(text) ? text : `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

const elementOf: Partial<Record<ColumnType, (value: NonNullable<Value>) => string>> = {
  text: quoted,
  'text[]': (value) => quoted(arrayText(value as readonly string[], quoted)),
};
