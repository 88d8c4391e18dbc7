import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Clock } from '../../server/platform/clock.ts';
import { dayMs } from '../../server/platform/durations.ts';
import { Secret } from '../../server/platform/secret.ts';
import { showBankPage } from '../bank-page.ts';
import { type Habits, setHabits, stepOf, visitOf } from './authentication.ts';
import { type Books, type Decision, type Entry, type Order, openBooks, sameContent, unexecuted } from './books.ts';
import { isDescribed } from './described.ts';
import { type Control, type Faults, lookupFaults, openFaults, operationFaults } from '../faults.ts';
import { type Journal, openJournal } from '../journal.ts';
import { answer, answerTwice, loseAnswer, loseLookup, pathParts, queryOf, readJson } from '../wire.ts';
import { signNotice } from '../../server/vault/processors/acquirer/notices.ts';
import { type Dated, type ProtocolKind, protocolKinds } from '../../server/vault/processors/acquirer/protocol.ts';

/**
 * A simulated acquirer for tests and demos. It executes each reference once, reports only what is in its fsynced
 * journal, and produces faults on command. docs/acquirer.md describes its protocol. It never writes a card number
 * anywhere.
 */

export interface SimulatorOptions {
  readonly journalFile: string;
  readonly secret: Secret<string>;
  readonly clock: Clock;
  /** Undefined means 1 to 3 business days. */
  readonly settleAfterMs?: number | undefined;
  /** An operation is not executed later than this after its request arrived. */
  readonly requestLifeMs: number;
}

const listMax = 500;

const kindOfPath = new Map<string, ProtocolKind>([
  ['charges', 'charge'],
  ['authorizations', 'authorization'],
  ['captures', 'capture'],
  ['refunds', 'refund'],
  ['voids', 'void'],
  ['verifications', 'verification'],
]);

/** Skips weekends, but not holidays. */
export function businessDaysLater(fromMs: number, days: number): number {
  let ms = fromMs;
  for (let left = days; left > 0; ) {
    ms += dayMs;
    const weekday = new Date(ms).getUTCDay();
    if (weekday !== 0 && weekday !== 6) left -= 1;
  }
  return ms;
}

function requestsOf(fault: string): readonly (ProtocolKind | 'lookup')[] | undefined {
  const isAmong = (faults: readonly string[]): boolean => faults.includes(fault);
  if (isAmong(lookupFaults)) return ['lookup'];
  if (fault === 'reject_refund') return ['refund'];
  if (fault === 'authentication') return ['charge', 'authorization', 'verification'];
  return isAmong(operationFaults) || /^decline:(?!00)[0-9A-Z]{2}$/.test(fault) ? protocolKinds : undefined;
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;
const isReference = (value: unknown): value is string => typeof value === 'string' && /^[\w.:-]{1,100}$/.test(value);
const isAmount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;
const isCurrency = (value: unknown): value is string => typeof value === 'string' && /^[a-z]{3}$/i.test(value);
const isIntegerIn = (value: unknown, lowest: number, highest: number): value is number =>
  Number.isInteger(value) && Number(value) >= lowest && Number(value) <= highest;

/** Returns undefined if a field is missing or invalid. */
function readOrder(kind: ProtocolKind, body: unknown): Order | undefined {
  if (!isFields(body) || !isReference(body.reference)) return undefined;
  const order = { kind, reference: body.reference, charge_reference: null, amount: null, currency: null };
  const noCard = { last4: null, exp_month: null, exp_year: null };
  if (kind === 'void') {
    const uncaptured = body.uncaptured === true && { uncaptured: true };
    return isReference(body.charge_reference)
      ? { ...order, ...noCard, ...uncaptured, charge_reference: body.charge_reference }
      : undefined;
  }
  const isFree = kind === 'verification' && body.amount === undefined;
  if (!isFree && (!isAmount(body.amount) || !isCurrency(body.currency))) return undefined;
  const money = isFree ? {} : { amount: body.amount as number, currency: body.currency as string };
  if (kind === 'refund' || kind === 'capture') {
    return isReference(body.charge_reference)
      ? { ...order, ...noCard, ...money, charge_reference: body.charge_reference }
      : undefined;
  }
  if (!isFields(body.card) || !isDescribed(body)) return undefined;
  const { number, exp_month, exp_year } = body.card;
  if (typeof number !== 'string' || !/^\d{12,19}$/.test(number)) return undefined;
  if (!isIntegerIn(exp_month, 1, 12) || !isIntegerIn(exp_year, 2000, 2999)) return undefined;
  return { ...order, ...money, last4: number.slice(-4), exp_month, exp_year };
}

interface Acquirer extends Habits {
  readonly books: Books;
  readonly faults: Faults<ProtocolKind | 'lookup'>;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly requestLifeMs: number;
  readonly secret: Secret<string>;
  /** Changed by `POST /control`. Without it, operations settle after 1 to 3 business days. */
  settleAfterMs: number | undefined;
  /** How long an authorization can be captured. Changed by `POST /control`. */
  holdForMs: number;
  isRevoked: boolean;
  isAuthorized(request: IncomingMessage): boolean;
}

const dated = <Body extends object>(clock: Clock, body: Body): Body & Dated => ({ ...body, now_ms: clock.nowMs() });

const settlesAtMs = ({ settleAfterMs, faults }: Acquirer, nowMs: number): number =>
  settleAfterMs === undefined ? businessDaysLater(nowMs, 1 + Math.floor(faults.random() * 3)) : nowMs + settleAfterMs;

/** Test cards, by their last four digits. */
const testDeclines: Readonly<Record<string, string>> = { '9995': '51' };

interface Wanted {
  readonly order: Order;
  readonly body: Fields;
  readonly origin: string;
  readonly validUntilMs: number;
}

const isOfCard = ({ kind }: Order): boolean => ['charge', 'authorization', 'verification'].includes(kind);

/** Returns the entry of this reference, new or existing; undefined if the request has expired. */
function take(acquirer: Acquirer, wanted: Wanted, fault: string | undefined): Entry | undefined {
  const { order, body, origin, validUntilMs } = wanted;
  const held = acquirer.books.find(order.reference);
  if (held) return held;
  const nowMs = acquirer.clock.nowMs();
  if (nowMs >= validUntilMs) return undefined;
  const declineCode = fault?.startsWith('decline:') ? fault.slice('decline:'.length) : testDeclines[order.last4 ?? ''];
  const step = isOfCard(order) ? stepOf(acquirer, { body, origin, nowMs, fault, declineCode }) : {};
  const entry = acquirer.books.take(order, {
    nowMs,
    settlesAtMs: settlesAtMs(acquirer, nowMs),
    declineCode: step.declineCode ?? declineCode,
    rejectAtSettlement: fault === 'reject_refund',
    captureBeforeMs: nowMs + acquirer.holdForMs,
    challenge: step.challenge,
    authentication: step.authentication,
  });
  void acquirer.journal.append(entry);
  return entry;
}

function takeLater(acquirer: Acquirer, wanted: Wanted, arrivedAtMs: number): void {
  const delayMs = (wanted.validUntilMs - arrivedAtMs) * (0.1 + 0.7 * acquirer.faults.random());
  setTimeout(() => take(acquirer, wanted, undefined), delayMs);
}

/** Ends what waits for the customer, and journals it. */
async function decide(acquirer: Acquirer, { reference }: Entry, decision: Decision): Promise<void> {
  const { books, clock, journal } = acquirer;
  const entry = books.find(reference);
  if (!entry || unexecuted(entry, clock.nowMs()) !== 'needs_customer') return;
  await journal.append(books.decide(entry, decision));
}

function decideAtBank(acquirer: Acquirer, entry: Entry, isPassed: boolean): Promise<void> {
  const nowMs = acquirer.clock.nowMs();
  const captureBeforeMs = nowMs + acquirer.holdForMs;
  return decide(acquirer, entry, { isPassed, nowMs, captureBeforeMs, settlesAtMs: settlesAtMs(acquirer, nowMs) });
}

/** `POST /returns`: the customer came back. `POST /endings`: the service gives up what waits for the customer. */
async function continueOrEnd(acquirer: Acquirer, resource: string, request: IncomingMessage, response: ServerResponse) {
  const { books, clock, faults, journal } = acquirer;
  const body = await readJson(request);
  if (!isFields(body) || !isReference(body.reference)) return answer(response, 400, { error: 'invalid' });
  const { reference } = body;
  if (resource === 'returns' && !isFields(body.parameters)) {
    return answer(response, 400, { error: 'invalid', reference });
  }
  const fault = faults.pick('lookup');
  if (loseLookup(fault, response, () => fail(acquirer, response))) return undefined;
  const found = books.find(reference);
  if (!found) return answer(response, 404, dated(clock, { error: 'not_found', reference }));
  if (resource === 'endings') await decide(acquirer, found, { state: 'ended' });
  await journal.durable();
  return answer(response, 200, dated(clock, books.show(books.find(reference) ?? found, clock.nowMs())));
}

const fail = ({ faults }: Acquirer, response: ServerResponse): void =>
  answer(response, faults.random() < 0.5 ? 500 : 503, { error: 'unavailable' });

async function operate(
  acquirer: Acquirer,
  kind: ProtocolKind,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { books, clock, faults, journal, requestLifeMs } = acquirer;
  const arrivedAtMs = clock.nowMs();
  const body = await readJson(request);
  const order = readOrder(kind, body);
  const saidUntilMs = Number(request.headers['x-valid-until-ms'] ?? Number.POSITIVE_INFINITY);
  if (!order || Number.isNaN(saidUntilMs)) {
    return answer(response, 400, { error: 'invalid', reference: isFields(body) ? body.reference : undefined });
  }
  const { reference } = order;
  const validUntilMs = Math.min(arrivedAtMs + requestLifeMs, saidUntilMs);
  const wanted = { order, body: body as Fields, origin: `http://${request.headers.host}`, validUntilMs };

  const fault = faults.pick(kind);
  const lost = (when: 'before' | 'after'): boolean => loseAnswer(fault, when, response, () => fail(acquirer, response));
  if (lost('before')) return;
  if (fault === 'late') {
    request.socket.destroy();
    takeLater(acquirer, wanted, arrivedAtMs);
    return;
  }

  const entry = take(acquirer, wanted, fault);
  await journal.durable();
  if (lost('after')) return;
  if (!entry) return answer(response, 400, dated(clock, { error: 'expired', reference }));
  if (!sameContent(entry, order)) {
    return answer(
      response,
      409,
      dated(clock, { error: 'reference_used', reference, operation: books.show(entry, clock.nowMs()) }),
    );
  }
  // What waited for the customer has no result before the customer answers.
  const result = dated(clock, entry.challenge ? books.show(entry, clock.nowMs()) : books.firstResult(entry));
  if (fault === 'duplicate') answerTwice(response, result);
  else answer(response, 200, result);
}

async function lookUp(acquirer: Acquirer, reference: string, response: ServerResponse): Promise<void> {
  const { books, clock, faults, journal } = acquirer;
  const fault = faults.pick('lookup');
  if (loseLookup(fault, response, () => fail(acquirer, response))) return;
  // The time of the lookup, not of the answer: an operation executed in between was not seen.
  const now_ms = clock.nowMs();
  const entry = books.find(reference);
  // Only what survives a crash is reported.
  await journal.durable();
  if (entry) answer(response, 200, { ...books.show(entry, clock.nowMs()), now_ms });
  else answer(response, 404, { error: 'not_found', reference, now_ms });
}

/** Neither waiting for the customer nor given up, nor the check of a card, which is no operation. */
const isExecuted = (entry: Entry, nowMs: number): boolean =>
  unexecuted(entry, nowMs) === undefined && entry.kind !== 'verification';

/** Lists the operations of a period, in the order of the journal; a cursor is a position in it. */
async function list(acquirer: Acquirer, query: URLSearchParams, response: ServerResponse): Promise<void> {
  const { books, clock, faults, journal } = acquirer;
  const fault = faults.pick('lookup');
  if (loseLookup(fault, response, () => fail(acquirer, response))) return;
  const number = (name: string, otherwise: number): number => (query.has(name) ? Number(query.get(name)) : otherwise);
  const fromMs = number('from_ms', 0);
  const untilMs = number('until_ms', Number.MAX_SAFE_INTEGER);
  const limit = number('limit', listMax);
  const after = number('after', 0);
  const isRight = [fromMs, untilMs, after].every((value) => isIntegerIn(value, 0, Number.MAX_SAFE_INTEGER));
  if (!isRight || !isIntegerIn(limit, 1, listMax)) return answer(response, 400, { error: 'invalid' });
  const now_ms = clock.nowMs();
  const found: { entry: Entry; place: number }[] = [];
  let place = 0;
  for (const entry of books.all()) {
    place += 1;
    const isIn = entry.taken_at_ms >= fromMs && entry.taken_at_ms < untilMs && isExecuted(entry, now_ms);
    if (place > after && isIn && found.push({ entry, place }) > limit) break;
  }
  await journal.durable();
  const shown = found.slice(0, limit);
  const next = found.length > limit ? String(shown.at(-1)?.place) : null;
  answer(response, 200, { operations: shown.map(({ entry }) => books.show(entry, clock.nowMs())), next, now_ms });
}

async function control(acquirer: Acquirer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const given = setHabits(acquirer, ((await readJson(request)) ?? {}) as Fields);
  const { revoked, hold_for_ms, ...body } = given as Control & {
    readonly revoked?: unknown;
    readonly hold_for_ms?: unknown;
  };
  if (hold_for_ms !== undefined && !isIntegerIn(hold_for_ms, 0, 365 * dayMs)) {
    return answer(response, 400, { error: 'invalid' });
  }
  if (!acquirer.faults.isControl(body)) return answer(response, 400, { error: 'invalid' });
  acquirer.faults.set(body);
  if (typeof revoked === 'boolean') acquirer.isRevoked = revoked;
  if (hold_for_ms !== undefined) acquirer.holdForMs = hold_for_ms;
  if (body.settle_after_ms !== undefined) acquirer.settleAfterMs = body.settle_after_ms ?? undefined;
  answer(response, 200, { done: true });
}

/**
 * Sends a notice to the service: `{url, notice, times, signed_ms_ago, forged}`. The caller decides what it says, so that notices
 * can be repeated, late, out of order or forged.
 */
async function sendNotice(acquirer: Acquirer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readJson(request);
  if (!isFields(body) || typeof body.url !== 'string' || !URL.canParse(body.url)) {
    return answer(response, 400, { error: 'invalid' });
  }
  const text = JSON.stringify(body.notice);
  const signedAtMs = acquirer.clock.nowMs() - Number(body.signed_ms_ago ?? 0);
  const secret = body.forged === true ? new Secret('another secret') : acquirer.secret;
  const statuses: number[] = [];
  for (let sent = 0; sent < Number(body.times ?? 1); sent += 1) {
    const headers = { 'content-type': 'application/json', 'x-signature': signNotice(secret, text, signedAtMs) };
    statuses.push((await fetch(body.url, { method: 'POST', headers, body: text })).status);
  }
  answer(response, 200, { statuses });
}

async function handle(acquirer: Acquirer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { books, clock, journal } = acquirer;
  const [resource = '', name = ''] = pathParts(request.url);
  const route = `${request.method} ${resource}`;
  if (route === 'GET healthz') {
    return answer(response, 200, { status: 'ok', operations: books.size, fsyncs: journal.fsyncs });
  }
  if (resource === 'bank') {
    const visit = visitOf(
      books.challenged(name),
      () => clock.nowMs(),
      (entry, isPassed) => decideAtBank(acquirer, entry, isPassed),
    );
    return showBankPage(visit, request, response);
  }
  const isRevoked = acquirer.isRevoked && !['control', 'journal'].includes(resource);
  if (!acquirer.isAuthorized(request) || isRevoked) return answer(response, 401, { error: 'unauthorized' });
  const kind = request.method === 'POST' ? kindOfPath.get(resource) : undefined;
  if (kind) return operate(acquirer, kind, request, response);
  if (route === 'GET operations' && name === '') return list(acquirer, queryOf(request.url), response);
  if (route === 'GET operations') return lookUp(acquirer, decodeURIComponent(name), response);
  if (route === 'POST returns' || route === 'POST endings') {
    return continueOrEnd(acquirer, resource, request, response);
  }
  if (route === 'POST control') return control(acquirer, request, response);
  if (route === 'POST notices') return sendNotice(acquirer, request, response);
  if (route === 'GET journal') {
    await journal.durable();
    const executed = Array.from(books.all()).filter((entry) => isExecuted(entry, clock.nowMs()));
    return answer(response, 200, { operations: executed.map((entry) => books.show(entry, clock.nowMs())) });
  }
  return answer(response, 404, { error: 'no_such_path' });
}

export async function openSimulator(options: SimulatorOptions): Promise<Server> {
  const books = openBooks();
  const journal = await openJournal(options.journalFile, (line) => books.restore(line as Entry));
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const expected = digest(`Bearer ${options.secret.reveal()}`);
  const acquirer: Acquirer = {
    books,
    journal,
    faults: openFaults(requestsOf),
    clock: options.clock,
    requestLifeMs: options.requestLifeMs,
    secret: options.secret,
    settleAfterMs: options.settleAfterMs,
    holdForMs: 7 * dayMs,
    wantsAuthentication: false,
    isFrictionless: false,
    challengeForMs: undefined,
    isRevoked: false,
    isAuthorized: (request) => timingSafeEqual(digest(request.headers.authorization ?? ''), expected),
  };
  const server = createServer((request, response) => {
    // Only the journal can fail here, and an acquirer without a journal has to end.
    void handle(acquirer, request, response);
  });
  // Longer than clients keep a connection: a request on a connection that closes at the same moment is in doubt.
  server.keepAliveTimeout = 75_000;
  server.on('close', () => void journal.close());
  return server;
}
