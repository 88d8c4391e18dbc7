import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { UsageError } from './command-error.ts';

/** JSON from an argument, from a file as `@FILE`, or from standard input as `@-`. */
export async function jsonArgument(given: string, option: string): Promise<unknown> {
  const text = given.startsWith('@') ? await contentOf(given.slice(1), option) : given;
  const source = given.startsWith('@') ? ` in ${given === '@-' ? 'standard input' : given.slice(1)}` : '';
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`The value of ${option} is not valid JSON${source}: ${(error as Error).message}.`);
  }
}

async function contentOf(file: string, option: string): Promise<string> {
  if (file === '-') return readAll(process.stdin);
  if (file === '') throw new UsageError(`The file after ${option} @ is missing. Use @FILE, or @- for standard input.`);
  return readFile(file, 'utf8').catch(({ message }: Error) => {
    throw new UsageError(`The file of ${option} cannot be read: ${message}.`);
  });
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isJson = (text: string): boolean => /^\s*[{[]/.test(text) || text.startsWith('@');

/** `-d '{"a": 1}'`, `-d @body.json`, or `-d a=x -d b=y` for text fields. */
export async function bodyArgument(data: readonly string[] | undefined): Promise<unknown> {
  if (!data) return undefined;
  const [only = ''] = data;
  if (data.length === 1 && isJson(only)) return jsonArgument(only, '-d');
  return Object.fromEntries(
    data.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new UsageError(`The value of -d must be JSON, @FILE or name=value, not ${pair}.`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
