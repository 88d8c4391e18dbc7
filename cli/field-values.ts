import { UsageError } from './command-error.ts';
import { fieldOption } from './field-options.ts';
import { isObject, jsonArgument } from './json-argument.ts';
import type { Field } from './operations.ts';

/** Converts the texts of field options to the values of the API. */

/** The texts of each option, by the name that was typed. */
export type FieldTexts = Readonly<Record<string, readonly string[]>>;

const isWhole = (text: string): boolean => /^-?\d+$/.test(text) && Number.isSafeInteger(Number(text));
const isNumber = (text: string): boolean => /^-?\d+(\.\d+)?$/.test(text);

async function valueOf(text: string, field: Field, option: string): Promise<unknown> {
  const { kind, nullable } = field;
  if (kind === 'text' || kind === 'file') return text;
  if (text === 'null' && nullable) return null;
  const wrong = (needed: string): UsageError => new UsageError(`${option} must be ${needed}, not "${text}".`);
  if (kind === 'integer') {
    if (!isWhole(text)) throw wrong('a whole number, for example 4900');
    return Number(text);
  }
  if (kind === 'number') {
    if (!isNumber(text)) throw wrong('a number, for example 12.5');
    return Number(text);
  }
  if (kind === 'boolean') {
    if (text !== 'true' && text !== 'false') throw wrong('true or false');
    return text === 'true';
  }
  return jsonValue(text, field, option);
}

async function jsonValue(text: string, { kind }: Field, option: string): Promise<unknown> {
  // A field that takes a number or a word.
  if (kind === 'json' && !/^\s*[{[@]/.test(text)) return isWhole(text) ? Number(text) : text;
  const value = await jsonArgument(text, option);
  if (kind === 'objects' && !Array.isArray(value)) throw new UsageError(`${option} must be a JSON array.`);
  if (kind === 'object' && !isObject(value)) throw new UsageError(`${option} must be a JSON object.`);
  return value;
}

async function valuesOf(texts: readonly string[], field: Field, option: string): Promise<unknown> {
  const [text = ''] = texts;
  if (field.several) {
    if (texts.length === 1 && /^\s*\[/.test(text)) return jsonArgument(text, option);
    return Promise.all(texts.map((each) => valueOf(each, field, option)));
  }
  if (texts.length > 1) throw new UsageError(`Give ${option} only once.`);
  return valueOf(text, field, option);
}

/** The body: what `-d` has, and then each option. */
export async function bodyWith(base: unknown, texts: FieldTexts, fields: readonly Field[]): Promise<unknown> {
  const given = Object.entries(texts).flatMap(([name, each]) => {
    const found = fieldOption(name, fields);
    return found ? [{ ...found, option: `--${name}`, texts: each }] : [];
  });
  if (given.length === 0) return base;
  if (base !== undefined && !isObject(base)) throw new UsageError('With options for fields, -d must be a JSON object.');
  const body = { ...base };
  const isPart = (path: readonly string[]): boolean => path.length > 1;
  // A whole object comes before its fields.
  const ordered = given.toSorted((one, other) => Number(isPart(one.path)) - Number(isPart(other.path)));
  for (const { path, field, option, texts: each } of ordered) {
    // The keys of a free object are text; numbers and others are given as JSON of the whole object.
    const isKey = field.kind === 'object' && path.length > field.name.split('.').length;
    put(body, path, await valuesOf(each, isKey ? { ...field, kind: 'text' } : field, option), option);
  }
  return body;
}

function put(body: Record<string, unknown>, path: readonly string[], value: unknown, option: string): void {
  const [last = ''] = path.slice(-1);
  let inside: Record<string, unknown> | unknown[] = body;
  for (const [at, name] of path.slice(0, -1).entries()) {
    const next = inner(inside, name) ?? (/^\d+$/.test(path[at + 1] ?? '') ? [] : {});
    if (typeof next !== 'object') throw new UsageError(`${option} needs an object at ${name}.`);
    set(inside, name, next, option);
    inside = next as Record<string, unknown> | unknown[];
  }
  set(inside, last, value, option);
}

const inner = (inside: object, name: string): unknown =>
  Object.hasOwn(inside, name) ? (inside as Record<string, unknown>)[name] : undefined;

function set(inside: Record<string, unknown> | unknown[], name: string, value: unknown, option: string): void {
  if (Array.isArray(inside) && Number(name) > inside.length) {
    throw new UsageError(`${option} comes before position ${inside.length}. Positions begin at 0 and have no gaps.`);
  }
  // A key such as __proto__ is data like any other.
  Object.defineProperty(inside, name, { value, enumerable: true, writable: true, configurable: true });
}

/** The query. Lists are sent with commas. */
export async function queryWith(texts: FieldTexts, fields: readonly Field[]): Promise<Record<string, string>> {
  const query: Record<string, string> = {};
  for (const [name, each] of Object.entries(texts)) {
    const found = fieldOption(name, fields);
    if (!found) continue;
    const value = await valuesOf(each, { ...found.field, nullable: false }, `--${name}`);
    query[found.field.sentAs ?? found.field.name] = Array.isArray(value) ? value.join(',') : String(value);
  }
  return query;
}
