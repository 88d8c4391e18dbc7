import { systemClock } from '../../../platform/clock.ts';
import { secondMs } from '../../../platform/durations.ts';
import type { Answer, Silence } from '../exchange.ts';
import type { LookupOutcome, LookupRequest, Outcome } from '../processor.ts';
import { chargeIn, foundIn, hasStrayRefund, type OfCharge, voidIn } from './answers.ts';
import { isKeyProblem, shownText } from './codes.ts';
import { capturedOutcomeIn } from './held-funds.ts';
import { loadReports, type Report, type Transaction } from './report.ts';
import { dateText, type QueryFields } from './requests.ts';

/** Asks NMI for reports, and finds operations in them. */

type Unknown = Extract<Outcome, { outcome: 'unknown' }>;

interface Asked<Content> {
  readonly content: Content;
  /** The time at which NMI made the report, or slightly earlier. */
  readonly atMs: number | undefined;
}
type AskedTransactions = Asked<readonly Transaction[]>;

interface Part {
  readonly asked: AskedTransactions;
  readonly untilMs: number;
  /** Whether the part is the whole period. */
  readonly isWhole: boolean;
}

export interface Reports {
  ask(fields: QueryFields): Promise<Asked<Exclude<Report, { error: string }>> | Unknown>;
  transactions(fields: QueryFields): Promise<AskedTransactions | Unknown>;
  /** Looks for the order id of a charge or refund. */
  find(kind: 'charge' | 'authorization' | 'refund', request: LookupRequest): Promise<LookupOutcome>;
  lookUpRefund(request: LookupRequest): Promise<LookupOutcome>;
  lookUpVoid(request: LookupRequest): Promise<LookupOutcome>;
  lookUpCapture(request: LookupRequest): Promise<LookupOutcome>;
  /**
   * The transactions that were created or changed in a period, or in the first part of it. Fails if NMI does not
   * answer.
   */
  period(fromMs: number, untilMs: number): Promise<Part>;
}

/** A report of one order is small. */
const lookupBytesMax = 512 * 1024;
const periodBytesMax = 4 * 1024 * 1024;

const unknown = (reason: string): Unknown => ({ outcome: 'unknown', reason });
const chargeMissing = unknown('NMI’s reports do not have the charge');
const notFound = (atMs: number | undefined): LookupOutcome => ({
  outcome: 'not_found',
  ...(atMs !== undefined && { atMs }),
});

function failedBy(text: string): Unknown {
  if (!isKeyProblem(text)) return unknown(`NMI answered: ${shownText(text) ?? 'an error'}`);
  const reason = 'NMI does not know this security key. Enter a private security key with the permissions API and Query';
  return { ...unknown(reason), refusesCredentials: true };
}

function chargeQuery({ chargeReference, chargeTransactionId }: OfCharge): QueryFields | undefined {
  if (chargeReference !== undefined) return { order_id: chargeReference };
  return chargeTransactionId === undefined ? undefined : { transaction_id: chargeTransactionId };
}

/** A void or a capture, which is an action on its charge. */
async function lookUpAction(
  transactions: Reports['transactions'],
  request: LookupRequest,
  actionIn: (charge: Transaction, nowMs: number | undefined) => LookupOutcome | undefined,
): Promise<LookupOutcome> {
  const fields = chargeQuery(request);
  if (!fields) return unknown('the charge of the operation is not known');
  const asked = await transactions(fields);
  if ('outcome' in asked) return asked;
  const charge = chargeIn(asked.content, request);
  return charge ? (actionIn(charge, asked.atMs) ?? notFound(asked.atMs)) : chargeMissing;
}

export function openReports(
  query: (fields: QueryFields, bytesMax: number) => Promise<Answer | Silence>,
  reportMax: number,
): Reports {
  let loading: ReturnType<typeof loadReports> | undefined;

  async function ask(
    fields: QueryFields,
    bytesMax = lookupBytesMax,
  ): Promise<Asked<Exclude<Report, { error: string }>> | Unknown> {
    const nowMs = systemClock.nowMs();
    const answer = await query(fields, bytesMax);
    if ('reason' in answer) return unknown(answer.reason);
    const read = await (loading ??= loadReports());
    const report = read(answer);
    if (!report) return unknown(`NMI’s report with status ${answer.status} is not understood`);
    if ('error' in report) return failedBy(report.error);
    // "Not found" becomes final at a time that our clock has set. If NMI's clock is ahead, ours counts.
    const { askedAtMs } = answer;
    return { content: report, atMs: askedAtMs === undefined ? undefined : Math.min(askedAtMs, nowMs) };
  }

  async function transactions(fields: QueryFields, bytesMax?: number): Promise<AskedTransactions | Unknown> {
    const asked = await ask(fields, bytesMax);
    if ('outcome' in asked) return asked;
    const { content, atMs } = asked;
    if (!('transactions' in content)) return unknown('NMI’s report has no transactions');
    return { content: content.transactions, atMs };
  }

  async function find(kind: 'charge' | 'authorization' | 'refund', request: LookupRequest): Promise<LookupOutcome> {
    const asked = await transactions({ order_id: request.reference });
    if ('outcome' in asked) return asked;
    return foundIn(asked.content, kind, request, asked.atMs) ?? notFound(asked.atMs);
  }

  /** Returns `unknown` if the charge has a refund that may be ours but does not have our order id. */
  async function strayRefund(request: LookupRequest): Promise<Unknown | undefined> {
    const fields = chargeQuery(request);
    if (!fields) return undefined;
    const asked = await transactions(fields);
    if ('outcome' in asked) return asked;
    const charge = chargeIn(asked.content, request);
    // Reports that lack the charge cannot prove that its refund is missing.
    if (!charge) return chargeMissing;
    return hasStrayRefund(asked.content, charge, { ...request, nowMs: asked.atMs })
      ? unknown('NMI has a refund of this charge without our order id')
      : undefined;
  }

  return {
    ask,
    transactions,
    find,
    async lookUpRefund(request) {
      const found = await find('refund', request);
      return found.outcome === 'not_found' ? ((await strayRefund(request)) ?? found) : found;
    },
    lookUpVoid: (request) => lookUpAction(transactions, request, voidIn),
    lookUpCapture: (request) =>
      lookUpAction(transactions, request, (charge, nowMs) => capturedOutcomeIn(charge, request.sent, nowMs)),
    async period(fromMs, untilMs) {
      for (let endMs = untilMs; ; ) {
        const dates = { start_date: dateText(fromMs), end_date: dateText(endMs) };
        const asked = await transactions({ ...dates, result_limit: String(reportMax) }, periodBytesMax);
        if ('outcome' in asked) throw new Error(`NMI did not list its transactions: ${asked.reason}`);
        // A report with as many transactions as it may have is perhaps cut off, so a shorter period is asked for.
        if (asked.content.length < reportMax) return { asked, untilMs: endMs, isWhole: endMs === untilMs };
        if (endMs - fromMs < 2 * secondMs) throw new Error('NMI has too many transactions within one second');
        endMs = fromMs + Math.floor((endMs - fromMs) / 2);
      }
    },
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** The fields of a report of another type than transactions. */
export const fieldsOf = (asked: Asked<Exclude<Report, { error: string }>> | Unknown): Fields =>
  'content' in asked && 'fields' in asked.content ? asked.content.fields : {};
