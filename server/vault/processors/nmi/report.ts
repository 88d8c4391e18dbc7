import type { Answer } from '../exchange.ts';

/** Reads the XML of the Query API. A report that is not understood in every part is not used at all. */

export interface Action {
  /** `sale`, `refund`, `void`, `settle`, `auth`, `capture`, … */
  readonly type: string;
  readonly amount: string;
  /** NMI's clock, in whole seconds. */
  readonly atMs: number | undefined;
  readonly success: boolean | undefined;
  readonly code: string;
  readonly text: string;
}

export interface Transaction {
  readonly id: string;
  readonly orderId: string;
  /** Of a refund: the transaction id of its charge. */
  readonly originalId: string | null;
  /** `pendingsettlement`, `complete`, `failed`, `canceled`, `pending`, `unknown`, … */
  readonly condition: string;
  /** In lower case. */
  readonly currency: string;
  readonly last4: string | null;
  readonly authorizationCode: string;
  readonly avs: string;
  readonly cvv: string;
  readonly actions: readonly Action[];
}

export type Report =
  | { readonly transactions: readonly Transaction[] }
  /** A report of another type, or one that is not understood: it does not say that there are no transactions. */
  | { readonly fields: Readonly<Record<string, unknown>> }
  /** NMI answered with an error, for example for a wrong key. */
  | { readonly error: string };

/** Entities are not expanded and attributes are not read; every value stays text. */
const parsing = {
  ignoreAttributes: true,
  processEntities: false,
  parseTagValue: false,
  trimValues: true,
  isArray: (name: string) => name === 'transaction' || name === 'action',
};

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Empty if it is absent; undefined if it is not a single text. */
function textOf(fields: Fields, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? fields[name] : '';
  return typeof value === 'string' ? value : undefined;
}

/** Undefined if one of them is not a single text. */
function textsOf<Name extends string>(fields: Fields, ...names: readonly Name[]): Record<Name, string> | undefined {
  const texts = names.map((name) => [name, textOf(fields, name)] as const);
  if (texts.some(([, text]) => text === undefined)) return undefined;
  return Object.fromEntries(texts) as Record<Name, string>;
}

/** Reads `YYYYMMDDhhmmss` in UTC. */
function dateOf(text: string): number | undefined {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(text) ?? [];
  const ms = year === undefined ? Number.NaN : Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(ms) ? undefined : ms;
}

const successes: Readonly<Record<string, boolean | undefined>> = { 1: true, 0: false };

function actionOf(fields: unknown): Action | undefined {
  if (!isFields(fields)) return undefined;
  const texts = textsOf(fields, 'action_type', 'amount', 'date', 'success', 'response_code', 'response_text');
  if (!texts?.action_type) return undefined;
  const { action_type: type, amount, date, success, response_code: code, response_text: text } = texts;
  return { type: type.toLowerCase(), amount, atMs: dateOf(date), success: successes[success], code, text };
}

/** The last four digits of a number like `4xxxxxxxxxxx1111`. */
const last4Of = (masked: string): string | null => /^[\dxX*]*[xX*]\D*(\d{4})$/.exec(masked)?.[1] ?? null;

function transactionOf(fields: unknown): Transaction | undefined {
  if (!isFields(fields)) return undefined;
  const texts = textsOf(fields, 'transaction_id', 'condition', 'order_id', 'currency');
  if (!texts?.transaction_id || !texts.condition) return undefined;
  const given = Object.hasOwn(fields, 'action') ? fields.action : [];
  const actions = Array.isArray(given) ? given.map(actionOf) : [undefined];
  if (actions.includes(undefined)) return undefined;
  const optional = (name: string): string => textOf(fields, name) ?? '';
  return {
    id: texts.transaction_id,
    orderId: texts.order_id,
    originalId: optional('original_transaction_id') || null,
    condition: texts.condition.toLowerCase(),
    currency: texts.currency.toLowerCase(),
    last4: last4Of(optional('cc_number')),
    authorizationCode: optional('authorization_code'),
    avs: optional('avs_response'),
    cvv: optional('csc_response'),
    actions: actions as Action[],
  };
}

/** Returns undefined if the answer is not a report. */
export type ReadReport = (answer: Pick<Answer, 'status' | 'text'>) => Report | undefined;

/** The parser takes 40 ms to load, and most processes never need it. */
export async function loadReports(): Promise<ReadReport> {
  const { XMLParser } = await import('fast-xml-parser');
  const parser = new XMLParser(parsing);
  return ({ status, text }) => {
    // Neither a document type nor an entity of its own has a place in a report.
    if (status !== 200 || /<!(doctype|entity)/i.test(text)) return undefined;
    try {
      return reportIn(parser.parse(text, true));
    } catch {
      return undefined;
    }
  };
}

/** The only element of a document; an empty one has no fields. */
function rootOf(document: unknown): Fields | undefined {
  if (!isFields(document)) return undefined;
  const roots = Object.keys(document).filter((name) => name !== '?xml');
  if (roots.length !== 1 || roots[0] !== 'nm_response') return undefined;
  const content = document.nm_response === '' ? {} : document.nm_response;
  return isFields(content) ? content : undefined;
}

function reportIn(document: unknown): Report | undefined {
  const content = rootOf(document);
  if (!content) return undefined;
  const { transaction = [], error_response: error, ...fields } = content;
  if (error !== undefined) return { error: typeof error === 'string' ? error : 'an error without a text' };
  if (!Array.isArray(transaction)) return undefined;
  if (transaction.length === 0 && Object.keys(fields).length > 0) return { fields };
  const transactions = transaction.map(transactionOf);
  return transactions.includes(undefined) ? undefined : { transactions: transactions as Transaction[] };
}
