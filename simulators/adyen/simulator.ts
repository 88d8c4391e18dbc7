import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { openFaults, operationFaults } from '../faults.ts';
import { type Journal, openJournal } from '../journal.ts';
import { answer, loseAnswer, pathParts, readBody } from '../wire.ts';
import {
  errorBody,
  inProgress,
  internal,
  refusalOf,
  refusingFaults,
  reply,
  replyTwice,
  unauthorized,
  unreadable,
  withoutSettings,
} from './answers.ts';
import { showBankPage } from '../bank-page.ts';
import { visitOf } from './authentication.ts';
import { newReference } from './authorization.ts';
import { type Books, type BooksLine, openBooks, type Payment, type StoredAnswer } from './books.ts';
import { type DisputeLine, openDisputes } from './disputes.ts';
import { execute, failLater, problemOf, type Request, requestOf } from './execution.ts';
import { type NoticeEvent, type NoticesLine, type NoticeTarget, openNotices } from './notices.ts';
import { type Fields, isFields, isKey } from './rules.ts';
import {
  accountWith,
  type RequestKind,
  requests,
  settingsIn,
  type Simulator,
  type SimulatorOptions,
  write,
} from './state.ts';
import { fromAdyen } from '../../server/vault/processors/adyen/money.ts';

/**
 * A simulator of Adyen for tests and chaos runs. It keeps what it answered in a journal on the disk, executes each key once,
 * sends signed notices, and produces faults on command. It never writes a card number anywhere.
 */

const answerFaults = ['saved_error', 'transient_error', 'slow', 'html', 'empty', 'cut', ...refusingFaults];
/** Revokes the key: this request and all later ones are refused. */
const revokeFault = 'revoke';
const authorizationFaults = ['authentication', 'authentication_by_post', 'partial', 'pending'];
const captureFaults = ['capture_refused', 'capture_failed'];
const refundFaults = ['reject_refund', 'refund_refused'];
const noticeFaults = ['notice_twice', 'notice_late', 'notice_forged', 'notice_lost'];

/** `capture:timeout_after` is `timeout_after` for captures only. */
function requestsOf(fault: string): readonly (RequestKind | 'notice')[] | undefined {
  const [kind, own] = fault.split(/:(.*)/s);
  const only = requests.find((name) => name === kind);
  if (only) return own !== undefined && requestsOf(own) ? [only] : undefined;
  if ([...operationFaults, ...answerFaults, revokeFault].includes(fault)) return requests;
  if (authorizationFaults.includes(fault) || /^decline:\d{1,2}$/.test(fault)) return ['authorization'];
  if (captureFaults.includes(fault)) return ['capture'];
  if (refundFaults.includes(fault)) return ['refund'];
  return noticeFaults.includes(fault) ? ['notice'] : undefined;
}

/** How long a slow request is in progress. */
const slowMs = 150;

/** Returns the answer of this key, new or existing; undefined while another request with it is in progress. */
async function take(
  simulator: Simulator,
  request: Request,
  fault: string | undefined,
): Promise<StoredAnswer | undefined> {
  const { key } = request;
  if (simulator.inProgress.has(key)) return undefined;
  const stored = simulator.books.answerUnder(key);
  if (stored) return stored;
  const violation = problemOf(simulator, request);
  if (violation) return errorBody(violation.status, violation.errorCode, violation.errorType, violation.message);
  simulator.inProgress.add(key);
  const line = execute(simulator, request, fault);
  const kept = fault === 'saved_error' ? { ...line, answer: internal } : line;
  write(simulator, kept);
  failLater(simulator, line, fault);
  await simulator.journal.durable();
  if (fault === 'slow') await sleep(slowMs);
  simulator.inProgress.delete(key);
  return kept.answer;
}

/** What the account was set up to show. */
const shown = ({ account }: Simulator, { status, body }: StoredAnswer): StoredAnswer =>
  account.additional_data ? { status, body } : { status, body: withoutSettings(body) };

async function operate(simulator: Simulator, request: Request, response: ServerResponse): Promise<void> {
  const { faults, journal, options } = simulator;
  const picked = faults.pick(request.kind);
  const fault = picked?.startsWith(`${request.kind}:`) ? picked.slice(request.kind.length + 1) : picked;
  const lost = (when: 'before' | 'after'): boolean =>
    loseAnswer(fault, when, response, () => reply(response, internal, request.key));
  if (fault === revokeFault) {
    simulator.isRevoked = true;
    return answer(response, unauthorized.status, unauthorized.body);
  }
  if (lost('before')) return;
  const refusal = refusalOf(fault);
  if (refusal) return reply(response, refusal, request.key, refusal.isTransient);
  if (fault === 'transient_error') return reply(response, internal, request.key, true);
  if (fault === 'late') {
    response.req.socket.destroy();
    setTimeout(() => void take(simulator, request, undefined), options.requestLifeMs * (0.1 + 0.7 * faults.random()));
    return;
  }
  const taken = await take(simulator, request, fault);
  const stored = taken && shown(simulator, taken);
  await journal.durable();
  if (lost('after')) return;
  if (!stored) return reply(response, inProgress, request.key, true);
  if (fault === 'html' || fault === 'empty' || fault === 'cut') return unreadable(response, fault, stored);
  if (fault === 'duplicate') return replyTwice(response, stored, request.key);
  reply(response, stored, request.key);
}

const bodyBytesMax = 16 * 1024 * 1024;

async function readFields(request: IncomingMessage): Promise<Fields | undefined> {
  const text = await readBody(request, bodyBytesMax);
  try {
    const body: unknown = JSON.parse(text?.toString('utf8') ?? '');
    return isFields(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

const isEqual = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

async function checkout(simulator: Simulator, path: readonly string[], response: ServerResponse): Promise<void> {
  const { req } = response;
  const key = req.headers['idempotency-key'];
  const send = (status: number, code: string, type: string, message: string): void =>
    answer(response, status, errorBody(status, code, type, message).body);
  const body = await readFields(req);
  if (simulator.isRevoked || !isEqual(String(req.headers['x-api-key']), simulator.options.apiKey.reveal())) {
    return answer(response, unauthorized.status, unauthorized.body);
  }
  if (!body) return send(400, '702', 'validation', 'Invalid or malformed request');
  // The details of a payment name no account: the key has one.
  const isOfKey = path.join('/') === 'payments/details';
  const account = body.merchantAccount ?? body.merchantAccountCode;
  if (!isOfKey && account !== simulator.options.merchantAccount)
    return send(403, '901', 'security', 'Invalid Merchant Account');
  if (path[0] === 'paymentMethods') return answer(response, 200, { paymentMethods: [{ type: 'scheme' }] });
  if (path[0] === 'disputes') {
    const found = simulator.disputes.answer(path[1] ?? '', body);
    await simulator.journal.durable();
    return answer(response, found.status, found.body);
  }
  if (!isKey(key)) return send(422, '702', 'validation', 'The idempotency key has 1 to 64 characters');
  const request = requestOf(path, body, key);
  return request ? operate(simulator, request, response) : send(404, '000', 'validation', 'Not found');
}

async function control(simulator: Simulator, path: readonly string[], response: ServerResponse): Promise<void> {
  const fields = (await readFields(response.req)) ?? {};
  const { books, disputes, faults, journal, notices } = simulator;
  if (path[0] === 'disputes') {
    const payment = books.paymentWith(String(fields.reference)) ?? books.payment(String(fields.payment));
    const dispute = disputes.play(fields.action, payment, fields);
    await journal.durable();
    return dispute ? answer(response, 200, { dispute: dispute.psp }) : answer(response, 400, { error: 'invalid' });
  }
  if (path[0] === 'notices') {
    const events = (Array.isArray(fields.events) ? fields.events : [fields]) as NoticeEvent[];
    for (const event of events) notices.add(event);
    await journal.durable();
    return answer(response, 200, { done: true });
  }
  const { notice_url, notice_username, notice_password, notice_after_ms, revoked, network_references, ...rest } =
    fields;
  const account = settingsIn(rest);
  Object.assign(simulator.account, account);
  const body: unknown = Object.fromEntries(Object.entries(rest).filter(([name]) => !Object.hasOwn(account, name)));
  if (!faults.isControl(body)) return answer(response, 400, { error: 'invalid' });
  faults.set(body);
  if (body.settle_after_ms !== undefined) simulator.settleAfterMs = body.settle_after_ms ?? 0;
  if (typeof revoked === 'boolean') simulator.isRevoked = revoked;
  if (typeof network_references === 'boolean') simulator.reportsNetworkReferences = network_references;
  if (notice_url !== undefined) {
    const signIn = { username: notice_username, password: notice_password };
    const target = { url: notice_url, ...(notice_username !== undefined && signIn) } as NoticeTarget;
    notices.sendTo(notice_url === null ? undefined : target, Number(notice_after_ms ?? 0));
  }
  answer(response, 200, { done: true });
}

/** `authorized` holds funds of the cardholder; `not_captured` was approved until its capture failed. */
function chargeStatus(books: Books, payment: Payment): string {
  if (!payment.isAuthorized) return 'declined';
  if (books.capturedAmount(payment) > 0) return 'approved';
  if (payment.changes.some(({ type }) => type === 'capture')) return 'not_captured';
  return books.isCancelled(payment) ? 'cancelled' : 'authorized';
}

const kinds = { capture: 'capture', refund: 'refund', reversal: 'void', cancel: 'void' } as const;

/** Captures and cancellations of an authorization that is captured later have references of their own. */
const isOwn = (reference: string): boolean => /^(capture|void)-/.test(reference);

/** Lists what was executed as the other simulators do, in our units. A check of a card is no operation. */
function operationsOf({ books }: Simulator): object[] {
  const payments = [...books.payments()].filter(({ amount }) => amount.value > 0);
  return payments.flatMap((payment) => {
    const { psp, reference, last4, refusal, isAuthorized, atMs } = payment;
    const isHeld = payment.changes.some(
      (change) => change.type !== 'reversal' && change.type !== 'refund' && isOwn(change.reference),
    );
    const charge = {
      kind: isHeld ? 'authorization' : 'charge',
      reference,
      charge_reference: null,
      ...fromAdyen(payment.amount),
      last4,
      status: isHeld ? 'approved' : chargeStatus(books, payment),
      voided: isHeld ? books.isCancelled(payment) : books.isVoided(payment),
      captures: payment.changes.filter(({ type }) => type === 'capture').length,
      response_code: refusal,
      // Only the answer to the authorization names a refused payment, and it can be lost for good.
      transaction_id: isAuthorized ? psp : null,
      taken_at_ms: atMs,
    };
    const followUps = payment.changes
      .filter(({ type, reference: own }) => type === 'refund' || type === 'reversal' || isOwn(own))
      .map((change) => ({
        kind: kinds[change.type],
        reference: change.reference.replace(/^(refund|void|capture)-/, ''),
        charge_reference: reference,
        ...fromAdyen(change.amount ?? payment.amount),
        last4: null,
        status: !change.isDone ? 'declined' : books.hasFailed(change.psp) ? 'rejected' : 'approved',
        settled: change.isDone && !books.hasFailed(change.psp),
        voided: change.type === 'capture' && books.isVoided(payment),
        response_code: null,
        transaction_id: change.psp,
        taken_at_ms: change.atMs,
      }));
    return [charge, ...followUps];
  });
}

async function handle(simulator: Simulator, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { books, journal, notices, options } = simulator;
  const [first = '', second = '', ...rest] = pathParts(request.url);
  simulator.origin = `http://${request.headers.host}`;
  if (first === 'bank') return showBankPage(visitOf(simulator, second), request, response);
  if (first === 'checkout') return checkout(simulator, rest, response);
  if (first === 'ca') return checkout(simulator, ['disputes', ...rest.slice(2)], response);
  const route = `${request.method} ${first}`;
  if (route === 'GET healthz') {
    return answer(response, 200, { status: 'ok', operations: books.size, undelivered: notices.undelivered });
  }
  const isAuthorized = isEqual(String(request.headers.authorization), `Bearer ${options.apiKey.reveal()}`);
  if (!isAuthorized) return answer(response, 401, { error: 'unauthorized' });
  if (route === 'POST control') return control(simulator, [second], response);
  await journal.durable();
  if (route === 'GET journal') return answer(response, 200, { operations: operationsOf(simulator) });
  if (route === 'GET notices') {
    return answer(response, 200, { notices: notices.all(), undelivered: notices.undelivered });
  }
  if (route === 'GET disputes') return answer(response, 200, { dispute: simulator.disputes.find(second) ?? null });
  return answer(response, 404, { error: 'no_such_path' });
}

export async function openSimulator(options: SimulatorOptions): Promise<Server> {
  const { clock, merchantAccount, hmacKey } = options;
  const books = openBooks();
  const faults = openFaults(requestsOf);
  let journal: Journal | undefined;
  const append = (line: object): void => void journal?.append(line);
  const notices = openNotices({
    merchantAccount,
    hmacKey: hmacKey.reveal(),
    clock,
    append,
    durable: () => journal?.durable(),
    pickFault: () => faults.pick('notice'),
    random: () => faults.random(),
  });
  const disputes = openDisputes({ clock, newReference, append, notify: (event) => notices.add(event) });
  journal = await openJournal(options.journalFile, (value) => {
    const line = value as BooksLine | NoticesLine | DisputeLine;
    if (line.type === 'notice' || line.type === 'delivered') notices.restore(line);
    else if (line.type === 'dispute') disputes.restore(line);
    else books.apply(line);
  });
  const simulator: Simulator = {
    books,
    faults,
    journal,
    notices,
    disputes,
    options,
    inProgress: new Set(),
    account: accountWith(options.account),
    settleAfterMs: 0,
    reportsNetworkReferences: false,
    origin: '',
    isRevoked: false,
  };
  const server = createServer((request, response) => {
    // Only the journal can fail here, and a simulator without a journal has to end.
    void handle(simulator, request, response);
  });
  // Longer than clients keep a connection: a request on a connection that closes at the same moment is in doubt.
  server.keepAliveTimeout = 75_000;
  server.on('close', () => void journal?.close());
  return server;
}
