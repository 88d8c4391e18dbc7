import { systemClock } from '../../../platform/clock.ts';
import { dayMs, minuteMs, secondMs } from '../../../platform/durations.ts';
import type { Secret } from '../../../platform/secret.ts';
import { type Answer, openExchange, type Silence } from '../exchange.ts';
import type { Polled } from '../notices.ts';
import type { ConnectionTest, Listing, LookupOutcome, LookupRequest, Outcome, Processor } from '../processor.ts';
import {
  chargeIn,
  foundIn,
  hasStrayRefund,
  type OfCharge,
  type Reading,
  readingOf,
  verificationOf,
  voidIn,
} from './answers.ts';
import { isKeyProblem, shownText } from './codes.ts';
import { listedIn, noticesIn } from './history.ts';
import { type Report, reportOf, type Transaction } from './report.ts';
import {
  dateText,
  formBody,
  moneyProblem,
  type QueryFields,
  refundFields,
  saleFields,
  validateFields,
  voidFields,
} from './requests.ts';

export interface NmiOptions {
  readonly url: string;
  readonly securityKey: Secret<string>;
  /** In lower case; empty if the owner did not restrict them. */
  readonly currencies: readonly string[];
  readonly timeoutMs: number;
  /** The most transactions in one report of a period. */
  readonly reportMax?: number;
}

/** A report of one order is small. */
const lookupBytesMax = 512 * 1024;
const periodBytesMax = 4 * 1024 * 1024;
/** A poll asks again for this long before the last one, because a report may lag behind. */
const pollOverlapMs = 15 * minuteMs;
const firstPollMs = 7 * dayMs;

type Unknown = Extract<Outcome, { outcome: 'unknown' }>;
const unknown = (reason: string): Unknown => ({ outcome: 'unknown', reason });

const chargeMissing = unknown('NMI’s reports do not have the charge');

/** A report with the time at which NMI made it, or slightly earlier. */
interface Asked {
  readonly transactions: readonly Transaction[];
  readonly atMs: number | undefined;
}

/**
 * NMI executes every request that arrives, however often and however late. So a charge or refund is sent once, and a
 * lost answer is only looked up, by its order id. A void is safe to repeat, because a charge can be voided once.
 */
export function nmiProcessor({ url, securityKey, currencies, timeoutMs, reportMax = 200 }: NmiOptions): Processor {
  // A rejection names no order, so each request needs its own connection: then its answer cannot be another's.
  const exchange = openExchange({ url, timeoutMs, headers: () => ({ connection: 'close' }) });

  const post = (file: 'transact.php' | 'query.php', fields: object, bytesMax?: number): Promise<Answer | Silence> =>
    exchange({
      method: 'POST',
      path: ['api', file],
      body: { type: 'application/x-www-form-urlencoded', content: formBody(fields, securityKey.reveal()) },
      ...(bytesMax !== undefined && { bytesMax }),
    });

  async function ask(
    fields: QueryFields,
    bytesMax = lookupBytesMax,
  ): Promise<{ readonly report: Exclude<Report, { error: string }>; readonly atMs: number | undefined } | Unknown> {
    const nowMs = systemClock.nowMs();
    const answer = await post('query.php', fields, bytesMax);
    if ('reason' in answer) return unknown(answer.reason);
    const report = reportOf(answer);
    if (!report) return unknown(`NMI’s report with status ${answer.status} is not understood`);
    if ('error' in report) return unknown(errorOf(report.error));
    // "Not found" becomes final at a time that our clock has set. If NMI's clock is ahead, ours counts.
    const { askedAtMs } = answer;
    return { report, atMs: askedAtMs === undefined ? undefined : Math.min(askedAtMs, nowMs) };
  }

  async function transactionsOf(fields: QueryFields, bytesMax?: number): Promise<Asked | Unknown> {
    const asked = await ask(fields, bytesMax);
    if ('outcome' in asked) return asked;
    const { report, atMs } = asked;
    return 'transactions' in report ? { ...report, atMs } : unknown('NMI’s report has no transactions');
  }

  /**
   * NMI cannot reject a request as too late. A request that is sent shortly before its validity ends could be executed
   * after it, so it is not sent.
   */
  function expired({ validUntilMs }: { readonly validUntilMs: number }): Outcome | undefined {
    const nowMs = systemClock.nowMs();
    return nowMs + 2 * timeoutMs > validUntilMs ? { outcome: 'expired', nowMs } : undefined;
  }

  /** Looks for the order id of a charge or refund. */
  async function find(kind: 'charge' | 'refund', request: LookupRequest): Promise<LookupOutcome> {
    const asked = await transactionsOf({ order_id: request.reference });
    if ('outcome' in asked) return asked;
    const { transactions, atMs } = asked;
    return foundIn(transactions, kind, request, atMs) ?? { outcome: 'not_found', ...(atMs !== undefined && { atMs }) };
  }

  async function lookUpRefund(request: LookupRequest): Promise<LookupOutcome> {
    const found = await find('refund', request);
    return found.outcome === 'not_found' ? ((await strayRefund(request)) ?? found) : found;
  }

  /** Returns `unknown` if the charge has a refund that may be ours but does not have our order id. */
  async function strayRefund(request: LookupRequest): Promise<Unknown | undefined> {
    const fields = chargeQuery(request);
    if (!fields) return undefined;
    const asked = await transactionsOf(fields);
    if ('outcome' in asked) return asked;
    const charge = chargeIn(asked.transactions, request);
    // Reports that lack the charge cannot prove that its refund is missing.
    if (!charge) return chargeMissing;
    return hasStrayRefund(asked.transactions, charge, { ...request, nowMs: asked.atMs })
      ? unknown('NMI has a refund of this charge without our order id')
      : undefined;
  }

  async function lookUpVoid(request: LookupRequest): Promise<LookupOutcome> {
    const fields = chargeQuery(request);
    if (!fields) return unknown('the charge of the void is not known');
    const asked = await transactionsOf(fields);
    if ('outcome' in asked) return asked;
    const { transactions, atMs } = asked;
    const charge = chargeIn(transactions, request);
    if (!charge) return chargeMissing;
    const found = voidIn(charge, atMs);
    return (found as LookupOutcome | undefined) ?? { outcome: 'not_found', ...(atMs !== undefined && { atMs }) };
  }

  /** The report decides about an answer that proves nothing by itself. */
  async function checked({ outcome, mustCheck }: Reading, look: () => Promise<LookupOutcome>): Promise<Outcome> {
    if (!mustCheck) return outcome;
    const found = await look();
    if (found.outcome === 'not_found') return outcome;
    return found.outcome === 'unknown' && outcome.outcome === 'unknown' ? outcome : found;
  }

  /** NMI refunds and voids by its own id of the charge. */
  async function transactionOf(request: OfCharge): Promise<string | Outcome> {
    if (request.chargeTransactionId !== undefined) return request.chargeTransactionId;
    const asked = await transactionsOf({ order_id: request.chargeReference ?? '' });
    if ('outcome' in asked) return { outcome: 'not_sent', reason: asked.reason };
    const charge = chargeIn(asked.transactions, request);
    return charge?.id ?? { outcome: 'not_sent', reason: 'NMI has no such charge', failureCode: 'validation_error' };
  }

  /**
   * The transactions that were created or changed in a period. The report of a period that is too large is not
   * complete, so a shorter period is asked for. Fails if NMI does not answer.
   */
  async function period(
    fromMs: number,
    untilMs: number,
  ): Promise<{ readonly asked: Asked; readonly untilMs: number; readonly isWhole: boolean }> {
    for (let endMs = untilMs; ; ) {
      const dates = { start_date: dateText(fromMs), end_date: dateText(endMs) };
      const asked = await transactionsOf({ ...dates, result_limit: String(reportMax) }, periodBytesMax);
      if ('outcome' in asked) throw new Error(`NMI did not list its transactions: ${asked.reason}`);
      if (asked.transactions.length < reportMax) return { asked, untilMs: endMs, isWhole: endMs === untilMs };
      if (endMs - fromMs < 2 * secondMs) throw new Error('NMI has too many transactions within one second');
      endMs = fromMs + Math.floor((endMs - fromMs) / 2);
    }
  }

  return {
    onceBy: 'nothing',
    findsBy: 'reference',
    async charge(request) {
      const problem = moneyProblem(request, currencies);
      if (problem) return problem;
      const late = expired(request);
      if (late) return late;
      const { companyId, reference, amount, currency, card } = request;
      const fields = saleFields(request);
      const reading = readingOf(await post('transact.php', fields), { type: 'sale', reference, amount: fields.amount });
      const sent = { amount, currency, last4: card.number.last4 };
      return checked(reading, () => find('charge', { companyId, reference, sent }));
    },
    async refund(request) {
      const problem = moneyProblem(request, []);
      if (problem) return problem;
      const { companyId, reference, amount, currency, chargeReference } = request;
      // NMI would execute a repeated partial refund again, so our reference is looked up before it is sent.
      const before = await transactionsOf({ order_id: reference });
      if ('outcome' in before) return { outcome: 'not_sent', reason: before.reason };
      const transactionId = await transactionOf(request);
      if (typeof transactionId !== 'string') return transactionId;
      const sent = { amount, currency, last4: null };
      const about = { companyId, reference, sent, chargeReference, chargeTransactionId: transactionId };
      const found = foundIn(before.transactions, 'refund', about, before.atMs);
      if (found) return found as Outcome;
      const late = expired(request);
      if (late) return late;
      const answer = await post('transact.php', refundFields(request, transactionId));
      return checked(readingOf(answer, { type: 'refund', reference }), () => find('refund', about));
    },
    async void(request) {
      const transactionId = await transactionOf(request);
      if (typeof transactionId !== 'string') return transactionId;
      const late = expired(request);
      if (late) return late;
      const answer = await post('transact.php', voidFields(transactionId));
      const { companyId, reference, chargeReference } = request;
      return checked(readingOf(answer, { type: 'void', reference: null, transactionId }), () =>
        lookUpVoid({ companyId, reference, chargeReference, chargeTransactionId: transactionId }),
      );
    },
    async lookup(request) {
      const { kind, chargeReference } = request;
      if (kind === 'void') return lookUpVoid(request);
      if (kind === 'charge' || (kind === undefined && chargeReference === undefined)) return find('charge', request);
      const found = await lookUpRefund(request);
      return kind === undefined && found.outcome === 'not_found' ? lookUpVoid(request) : found;
    },
    async verify(request) {
      if (expired(request)) return unknown('the verification came too late');
      return verificationOf(await post('transact.php', validateFields(request)), request.reference);
    },
    async list({ fromMs, untilMs, after }): Promise<Listing> {
      // NMI searches by the time of the last change, so everything that changed since the start has to be read.
      const startMs = after === undefined ? fromMs : Number(after);
      const nowMs = systemClock.nowMs();
      const part = await period(startMs, Math.max(nowMs, startMs) + minuteMs);
      const operations = listedIn(part.asked.transactions, { fromMs, untilMs });
      return { operations, next: part.isWhole ? null : String(part.untilMs), nowMs: part.asked.atMs ?? nowMs };
    },
    async poll({ after }): Promise<Polled> {
      const nowMs = systemClock.nowMs();
      const startMs = after === undefined ? nowMs - firstPollMs : Number(after);
      const part = await period(startMs, Math.max(nowMs, startMs) + minuteMs);
      const { asked, isWhole } = part;
      const readUntilMs = isWhole ? Math.min(nowMs, asked.atMs ?? nowMs) - pollOverlapMs : part.untilMs;
      return {
        notices: noticesIn(asked.transactions, asked.atMs),
        cursor: String(Math.max(startMs, readUntilMs)),
        hasMore: !isWhole,
      };
    },
    async test(): Promise<ConnectionTest> {
      const mode = await ask({ report_type: 'test_mode_status' });
      if ('outcome' in mode) return { outcome: 'fails', problem: `${upperFirst(mode.reason)}.` };
      const profile = await ask({ report_type: 'profile' });
      const host = new URL(url).host;
      return connectionOf(host, fieldsOf(mode.report), 'outcome' in profile ? {} : fieldsOf(profile.report));
    },
  };
}

function chargeQuery({ chargeReference, chargeTransactionId }: OfCharge): QueryFields | undefined {
  if (chargeReference !== undefined) return { order_id: chargeReference };
  return chargeTransactionId === undefined ? undefined : { transaction_id: chargeTransactionId };
}

const errorOf = (text: string): string =>
  isKeyProblem(text)
    ? 'NMI does not know this security key. Enter a private security key with the permissions API and Query'
    : `NMI answered: ${shownText(text) ?? 'an error'}`;

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (report: Exclude<Report, { error: string }>): Fields => ('fields' in report ? report.fields : {});

const upperFirst = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

/** The documents name the report of the test mode but not its fields, so every form that was seen is read. */
function isTestMode(fields: Fields): boolean | undefined {
  const value = [fields.test_mode_enabled, fields.test_mode_status, fields.test_mode].find((one) => one !== undefined);
  if (typeof value !== 'string') return undefined;
  if (/^(true|enabled|on|1)$/i.test(value)) return true;
  return /^(false|disabled|off|0)$/i.test(value) ? false : undefined;
}

function connectionOf(host: string, mode: Fields, { merchant }: Fields): ConnectionTest {
  const isTest = isTestMode(mode);
  const company = typeof merchant === 'object' && merchant !== null && 'company' in merchant ? merchant.company : '';
  const name = (typeof company === 'string' && shownText(company)) || `NMI account at ${host}`;
  // The sandbox host has no live accounts. Elsewhere an account that does not report its mode is taken as live.
  const livemode = isTest !== true && !host.startsWith('sandbox.');
  const note = isTest === undefined ? ' (NMI does not report whether test mode is on)' : '';
  return { outcome: 'works', account: name + note, livemode };
}
