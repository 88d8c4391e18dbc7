import { systemClock } from '../../../platform/clock.ts';
import { dayMs, minuteMs } from '../../../platform/durations.ts';
import type { Secret } from '../../../platform/secret.ts';
import { type Answer, openExchange, type Silence } from '../exchange.ts';
import type { ConnectionTest, Outcome, Processor } from '../processor.ts';
import { actionsOn, checked, transactionOf } from './actions.ts';
import { foundIn, readingOf, verificationOf } from './answers.ts';
import { securityCodeRequest, shownText } from './codes.ts';
import { listedIn, noticesIn } from './history.ts';
import { fieldsOf, openReports, type Reports } from './reports.ts';
import {
  formBody,
  moneyProblem,
  refundFields,
  type SaleChoices,
  type SaleFields,
  saleFields,
  validateFields,
} from './requests.ts';
import { receiveWebhook } from './webhooks.ts';

export interface NmiOptions {
  readonly url: string;
  readonly securityKey: Secret<string>;
  /** In lower case; empty if the owner did not restrict them. */
  readonly currencies: readonly string[];
  readonly sale: SaleChoices;
  /** Signs the webhooks. */
  readonly signingKey?: Secret<string> | undefined;
  readonly timeoutMs: number;
  /** The most transactions in one report of a period. */
  readonly reportMax?: number;
}

const usualReportMax = 200;

/**
 * NMI executes every request that arrives, however often and however late. So a charge or refund is sent once, and a
 * lost answer is only looked up, by its order id. A void is safe to repeat, because a charge can be voided once.
 */
export function nmiProcessor(options: NmiOptions): Processor {
  const { url, securityKey, currencies, sale, signingKey, timeoutMs, reportMax = usualReportMax } = options;
  // A rejection names no order, so each request needs its own connection: then its answer cannot be another's.
  const exchange = openExchange({ url, timeoutMs, headers: () => ({ connection: 'close' }) });

  const post = (file: 'transact.php' | 'query.php', fields: object, bytesMax?: number): Promise<Answer | Silence> =>
    exchange({
      method: 'POST',
      path: ['api', file],
      body: { type: 'application/x-www-form-urlencoded', content: formBody(fields, securityKey.reveal()) },
      ...(bytesMax !== undefined && { bytesMax }),
    });
  const reports = openReports((fields, bytesMax) => post('query.php', fields, bytesMax), reportMax);

  /**
   * NMI cannot reject a request as too late. A request that is sent shortly before its validity ends could be executed
   * after it, so it is not sent.
   */
  function expired({ validUntilMs }: { readonly validUntilMs: number }): Outcome | undefined {
    const nowMs = systemClock.nowMs();
    return nowMs + 2 * timeoutMs > validUntilMs ? { outcome: 'expired', nowMs } : undefined;
  }

  return {
    onceBy: 'nothing',
    reportsOwnIds: true,
    findsBy: 'reference',
    async charge(request) {
      const problem = moneyProblem(request, currencies) ?? expired(request);
      if (problem) return problem;
      const { companyId, reference, amount, currency, card } = request;
      const fields = saleFields(request, sale);
      const reading = readingOf(await post('transact.php', fields), sentSale(fields));
      const sent = { amount, currency, last4: card.number.last4 };
      const kind = request.authorizesOnly ? 'authorization' : 'charge';
      return checked(reading, () => reports.find(kind, { companyId, reference, sent }));
    },
    async refund(request) {
      const problem = moneyProblem(request, []);
      if (problem) return problem;
      const { companyId, reference, amount, currency, chargeReference } = request;
      // NMI would execute a repeated partial refund again, so our reference is looked up before it is sent.
      const before = await reports.transactions({ order_id: reference });
      if ('outcome' in before) return { outcome: 'not_sent', reason: before.reason };
      const transactionId = await transactionOf(reports, request);
      if (typeof transactionId !== 'string') return transactionId;
      const sent = { amount, currency, last4: null };
      const about = { companyId, reference, sent, chargeReference, chargeTransactionId: transactionId };
      const found = foundIn(before.content, 'refund', about, before.atMs) ?? expired(request);
      if (found) return found;
      const answer = await post('transact.php', refundFields(request, transactionId));
      return checked(readingOf(answer, { type: 'refund', reference }), () => reports.find('refund', about));
    },
    ...actionsOn(reports, { post: (fields) => post('transact.php', fields), expired }),
    async lookup(request) {
      const { kind = request.chargeReference === undefined ? 'charge' : undefined } = request;
      if (kind === 'charge' || kind === 'authorization') return reports.find(kind, request);
      if (kind === 'capture') return reports.lookUpCapture(request);
      if (kind === 'void') return reports.lookUpVoid(request);
      const found = await reports.lookUpRefund(request);
      return kind === undefined && found.outcome === 'not_found' ? reports.lookUpVoid(request) : found;
    },
    async verify(request) {
      if (expired(request)) return { outcome: 'unknown', reason: 'the verification came too late' };
      return verificationOf(await post('transact.php', validateFields(request, sale)), request.reference);
    },
    ...historyOf(reports),
    receive: (delivery) => receiveWebhook(delivery, { signingKey, processorId: sale.processorId }),
    test: () => testOf(reports, new URL(url).host),
  };
}

const sentSale = ({ type, orderid: reference, amount, cvv }: SaleFields) =>
  ({ type, reference, amount, hasCode: cvv !== undefined }) as const;

/** A poll asks again for this long before the last one, because a report may lag behind. */
const pollOverlapMs = 15 * minuteMs;
const firstPollMs = 7 * dayMs;

function historyOf(reports: Reports): Pick<Processor, 'list' | 'poll'> {
  /** Until after now, because NMI's clock may be ahead. */
  const since = (startMs: number, nowMs: number) => reports.period(startMs, Math.max(nowMs, startMs) + minuteMs);
  return {
    async list({ fromMs, untilMs, after }) {
      // NMI searches by the time of the last change, so everything that changed since the start has to be read.
      const nowMs = systemClock.nowMs();
      const part = await since(after === undefined ? fromMs : Number(after), nowMs);
      const { content, atMs = nowMs } = part.asked;
      const next = part.isWhole ? null : String(part.untilMs);
      return { operations: listedIn(content, { fromMs, untilMs }), next, nowMs: atMs };
    },
    async poll({ after }) {
      const nowMs = systemClock.nowMs();
      const startMs = after === undefined ? nowMs - firstPollMs : Number(after);
      const { asked, isWhole, untilMs } = await since(startMs, nowMs);
      const readUntilMs = isWhole ? Math.min(nowMs, asked.atMs ?? nowMs) - pollOverlapMs : untilMs;
      const cursor = String(Math.max(startMs, readUntilMs));
      return { notices: noticesIn(asked.content, asked.atMs), cursor, hasMore: !isWhole };
    },
  };
}

/** The documents name the report of the test mode but not its fields, so every form that was seen is read. */
function isTestMode(fields: Readonly<Record<string, unknown>>): boolean | undefined {
  const value = fields.test_mode_enabled ?? fields.test_mode_status ?? fields.test_mode;
  if (typeof value !== 'string') return undefined;
  if (/^(true|enabled|on|1)$/i.test(value)) return true;
  return /^(false|disabled|off|0)$/i.test(value) ? false : undefined;
}

/**
 * Whether a report of the account lists the security code among the fields that its processors require. The documents do not show
 * the form of the list, so any is read.
 */
function requiresCode(report: unknown, isRequired = false): boolean {
  if (typeof report === 'string') return isRequired && /cvv|cvc|security.?code|card.?code/i.test(report);
  if (typeof report !== 'object' || report === null) return false;
  return Object.entries(report).some(([name, part]) => requiresCode(part, isRequired || /required/i.test(name)));
}

/** Asks for two reports, which changes nothing. */
async function testOf(reports: Reports, host: string): Promise<ConnectionTest> {
  const mode = await reports.ask({ report_type: 'test_mode_status' });
  if ('outcome' in mode) {
    return { outcome: 'fails', problem: `${mode.reason.slice(0, 1).toUpperCase()}${mode.reason.slice(1)}.` };
  }
  const profile = fieldsOf(await reports.ask({ report_type: 'profile', processor_details: 'true' }));
  const { merchant } = profile;
  const company = typeof merchant === 'object' && merchant !== null && 'company' in merchant ? merchant.company : '';
  const named = typeof company === 'string' ? shownText(company) : '';
  const isTest = isTestMode(fieldsOf(mode));
  // The sandbox host has no live accounts. Elsewhere an account that does not report its mode is taken as live.
  const livemode = isTest !== true && !host.startsWith('sandbox.');
  const note = isTest === undefined ? ' (NMI does not report whether test mode is on)' : '';
  // NMI reports no id of the account, but the name of the company.
  const known = named ? { accountId: named } : {};
  const advice = requiresCode(profile) ? { advice: securityCodeRequest } : {};
  return { outcome: 'works', account: (named || `NMI account at ${host}`) + note, ...known, ...advice, livemode };
}
