import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { ask } from './api.ts';
import { UsageError } from './command-error.ts';
import type { Run } from './commands.ts';
import { confirmDeletion } from './confirm.ts';
import { bodyWith, type FieldTexts, queryWith } from './field-values.ts';
import { bodyArgument } from './json-argument.ts';
import type { Operation } from './operations.ts';
import type { Flags } from './options.ts';
import { readPages } from './pages.ts';
import { shownList, shownObject } from './shown.ts';

/** Sends the request of a command such as `customers create`, and shows the response. */
export const operationCommand =
  (operation: Operation): Run =>
  async (words, flags, fields) => {
    const path = pathOf(operation, words.slice(operation.name.split(' ').length - 1));
    if (operation.isPaged) return listed(operation, path, flags, fields);
    const request = await requestOf(operation, flags, fields);
    if (operation.method === 'DELETE') await confirmDeletion(path, flags);
    const idempotencyKey = flags['idempotency-key'];
    const answer = await ask(flags, operation.method, path + request.query, request.body, { idempotencyKey });
    return flags.json ? `${JSON.stringify(answer)}\n` : shownObject(answer, operation.columns);
  };

/** An ID is not `..` and has no slash, which would lead to another path. */
function pathOf({ name, path, ids }: Operation, given: readonly string[]): string {
  const usage = `Use svc ${[name, ...ids].join(' ')}.`;
  let at = 0;
  return path.replaceAll(/\{\w+\}/g, () => {
    const [id, placeholder = ''] = [given[at], ids[at]];
    at += 1;
    if (id === undefined || id === '') throw new UsageError(`The ${placeholder} is missing. ${usage}`);
    if (!/^[\w-]+$/.test(id)) throw new UsageError(`"${id}" is not an ID. ${usage}`);
    return id;
  });
}

const queryText = (query: Readonly<Record<string, string>>): string => {
  const text = new URLSearchParams(query).toString();
  return text === '' ? '' : `?${text}`;
};

async function requestOf(
  { sends, fields }: Operation,
  flags: Flags,
  texts: FieldTexts,
): Promise<{ readonly query: string; readonly body: unknown }> {
  if (sends === 'query') return { query: queryText(await queryWith(texts, fields)), body: undefined };
  if (sends === 'file') return { query: '', body: await formOf(texts.file?.at(-1)) };
  return { query: '', body: await bodyWith(await bodyArgument(flags.data), texts, fields) };
}

async function formOf(file: string | undefined): Promise<FormData> {
  if (!file) throw new UsageError('The file is missing. Name it with --file.');
  const content = await readFile(file).catch(({ message }: Error) => {
    throw new UsageError(`The file of --file cannot be read: ${message}.`);
  });
  const form = new FormData();
  form.set('file', new Blob([content]), basename(file));
  return form;
}

const shownByDefault = 20;

async function listed(operation: Operation, path: string, flags: Flags, texts: FieldTexts): Promise<string> {
  const { limit = String(shownByDefault), all } = flags;
  if (!/^[1-9]\d{0,6}$/.test(limit)) throw new UsageError('--limit must be a whole number from 1, for example 100.');
  const query = await queryWith(texts, operation.fields);
  const wanted = all ? Infinity : Number(limit);
  const { rows, next } = await readPages(path, query, wanted, flags);
  if (flags.json) return `${JSON.stringify(rows)}\n`;
  const more = query.ending_before ? undefined : next;
  if (more) process.stderr.write(`There are more: --all shows them, --starting-after ${more} continues here.\n`);
  const chosen = query[fieldsName(query)]?.split(',').filter((name) => name !== 'id');
  const columns = chosen ? ['id', ...chosen] : operation.columns;
  return shownList(rows, columns, `No ${operation.name.replace(/ list$/, '').replaceAll('-', ' ')}.`);
}

const fieldsName = (query: Readonly<Record<string, string>>): string =>
  Object.keys(query).find((name) => name.startsWith('fields[')) ?? '';
