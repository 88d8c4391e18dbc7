import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Clock } from '../../server/platform/clock.ts';
import type { Secret } from '../../server/platform/secret.ts';
import { dayMs } from '../../server/platform/durations.ts';
import { type Control, type Faults, lookupFaults, openFaults, operationFaults } from '../faults.ts';
import { type Journal, openJournal } from '../journal.ts';
import { answer, answerTwice, loseAnswer, loseLookup, pathParts, queryOf, readBody, readJson } from '../wire.ts';
import { showBankPage } from '../bank-page.ts';
import { isDecline, isRefusal, setHabits } from './bank.ts';
import type { Bank, Reply } from './bank-state.ts';
import { type Books, openBooks, type TableName } from './books.ts';
import { visitOf } from './challenges.ts';
import { operationsOf, unchargedOf } from './listing.ts';
import { customersOf, look } from './lookups.ts';
import { noticeFaults, openNotices } from './notices.ts';
import { moveDispute, operations, watchRefund } from './operations.ts';
import { endHold, endProcessing } from './payments.ts';
import { forbidden, lackedPermission } from './permissions.ts';
import { checkRequest, refusal } from './rules.ts';
import { idempotencyHeader, kindName } from '../../server/vault/processors/stripe/requests.ts';

/**
 * A simulated Stripe for tests and demos. It enforces Stripe's rules, reports only what is in its fsynced journal, and
 * produces faults on command. It never writes a card number anywhere.
 */

export interface SimulatorOptions {
  readonly journalFile: string;
  readonly secret: Secret<string>;
  readonly clock: Clock;
  /** Late requests are executed within this time. */
  readonly lateMs: number;
}

const requests = [
  'prepare',
  'save',
  'charge',
  'refund',
  'void',
  'cancel',
  'capture',
  'verify',
  'other',
  'lookup',
  'notice',
] as const;
type Request = (typeof requests)[number];

/** Faults of requests that move no money. */
const prepareFaults = ['prepare_timeout', 'prepare_error', 'prepare_reset'];
/** Faults of customers: the answer to a creation or deletion is lost, or there is an error. */
const saveFaults = ['save_reset_after', 'save_error', 'save_forbidden'];
/** The key is in use; too many requests; an error that Stripe keeps and repeats, without executing the request. */
const busyFaults = ['key_in_use', 'rate_limit', 'saved_error'];

/** `revoke:charge` revokes the key when the next charge arrives: that request and all later ones are refused. */
function requestsOf(fault: string): readonly Request[] | undefined {
  const isAmong = (faults: readonly string[]): boolean => faults.includes(fault);
  if (isAmong(lookupFaults)) return ['lookup'];
  if (isAmong(noticeFaults)) return ['notice'];
  if (isAmong(prepareFaults)) return ['prepare'];
  if (isAmong(saveFaults)) return ['save'];
  if (fault === 'cancel_error') return ['cancel'];
  if (['reject_refund', 'short_balance', 'short_balance_fails'].includes(fault)) return ['refund'];
  if (fault === 'processing') return ['charge'];
  if (fault === 'requires_action') return ['charge', 'verify'];
  if (fault === 'block' || isRefusal(fault)) return ['charge'];
  if (isDecline(fault)) return ['charge', 'capture', 'refund', 'void', 'verify'];
  const revoking = requests.find((request) => fault === `revoke:${request}`);
  if (revoking) return [revoking];
  return isAmong(operationFaults) || isAmong(busyFaults) ? ['charge', 'capture', 'refund', 'void'] : undefined;
}

/** In an outage it is longer. */
const usualSearchLagMs = 60_000;

interface Stripe extends Bank {
  readonly journal: Journal;
  readonly faults: Faults<Request>;
  readonly secret: string;
  readonly lateMs: number;
  /** Keys whose request is being executed. */
  readonly inUse: Set<string>;
  searchLagMs: number;
  isRevoked: boolean;
  /** What the key lacks, for example `rak_charge_write`. */
  lacked: readonly string[];
  isAuthorized(request: IncomingMessage): boolean;
}

function requestKind(route: string, form: URLSearchParams): Request {
  if (route.startsWith('customers') || route === 'payment_methods/attach') return 'save';
  if (route === 'payment_methods' || route === 'payment_intents') return 'prepare';
  if (route === 'payment_intents/confirm') return 'charge';
  if (route.endsWith('_intents/cancel')) return 'cancel';
  if (route === 'payment_intents/capture') return 'capture';
  if (route === 'refunds') return form.get(`metadata[${kindName}]`) === 'void' ? 'void' : 'refund';
  return route === 'setup_intents' ? 'verify' : 'other';
}

/** A file's bytes are not kept, only that there were some. */
function readForm(type: string, body: Buffer): URLSearchParams {
  if (!type.startsWith('multipart/')) return new URLSearchParams(body.toString('utf8'));
  const names = [
    ...body.toString('latin1').matchAll(/name="(\w+)"(?:; filename="[^"]*")?(?:\r\n[^\r]+)?\r\n\r\n([^\r]*)/g),
  ];
  const form = new URLSearchParams();
  for (const [, name = '', value = ''] of names) form.append(name, name === 'file' ? 'content' : value);
  return form;
}

function refuseKey({ headers }: IncomingMessage, response: ServerResponse): void {
  const message = `Invalid API Key provided: ${(headers.authorization ?? '').slice(7, 15)}****`;
  answer(response, 401, refusal(401, message).body);
}

/** Whether this fault revokes the key; then the request is refused. */
function revokes(stripe: Stripe, fault: string | undefined): boolean {
  const isRevoking = fault?.startsWith('revoke:') === true;
  if (isRevoking) stripe.isRevoked = true;
  return isRevoking;
}

const serverError: Reply = refusal(500, 'An unknown error occurred.', { type: 'api_error' });

async function operate(stripe: Stripe, route: string, id: string, request: IncomingMessage, response: ServerResponse) {
  const { books, faults, journal, inUse } = stripe;
  const body = await readBody(request, 8 * 1024 * 1024);
  if (!body) return answer(response, 400, refusal(400, 'The body is incomplete.').body);
  const form = readForm(request.headers['content-type'] ?? '', body);
  const header = request.headers[idempotencyHeader];
  const key = typeof header === 'string' ? header : undefined;
  const echo = key === undefined ? {} : { [idempotencyHeader]: key };
  const reply = ({ status, body: shown }: Reply, headers = {}): void =>
    answer(response, status, shown, { ...echo, ...headers });

  const path = `${route}/${id}`;
  const digest = createHmac('sha256', stripe.secret).update(body).digest('hex');
  const saved = key === undefined ? undefined : books.keys.get(key);
  if (key !== undefined && inUse.has(key)) {
    return reply(refusal(409, 'The key is in use.', { type: 'idempotency_error', code: 'idempotency_key_in_use' }));
  }
  if (saved && (saved.path !== path || saved.digest !== digest)) {
    const message = 'Keys for idempotent requests can only be used with the same parameters.';
    return reply(refusal(400, message, { type: 'idempotency_error' }));
  }
  if (saved) {
    await journal.durable();
    return reply(saved, { 'idempotent-replayed': 'true' });
  }
  const wrong = checkRequest(route, form, key);
  if (wrong) return reply(wrong);

  const fault = faults.pick(requestKind(route, form));
  if (revokes(stripe, fault)) return refuseKey(request, response);
  const fail = (): void => reply(serverError);
  if (fault === 'cancel_error' || fault === 'prepare_error') return fail();
  if (fault === 'save_error') return fail();
  if (fault === 'save_forbidden')
    return reply(refusal(403, 'The provided key does not have the required permissions.'));
  if (fault === 'prepare_timeout') return undefined;
  if (fault === 'prepare_reset') return void request.socket.resetAndDestroy();
  if (fault === 'key_in_use') {
    return reply(refusal(409, 'The key is in use.', { type: 'idempotency_error', code: 'idempotency_key_in_use' }));
  }
  if (fault === 'rate_limit') return reply(refusal(429, 'Too many requests.', { code: 'rate_limit' }));
  if (loseAnswer(fault, 'before', response, fail)) return undefined;
  const execute = (): Reply => {
    const result =
      fault === 'saved_error' ? serverError : (operations[route]?.(stripe, id, form, fault) ?? serverError);
    const kept = fault === 'error_after' ? serverError : result;
    if (key !== undefined) books.put('keys', { id: key, path, digest, ...kept });
    return kept;
  };
  if (fault === 'late') {
    request.socket.destroy();
    const isUnused = (): boolean => key === undefined || !books.keys.has(key);
    setTimeout(() => isUnused() && execute(), stripe.lateMs * (0.1 + 0.7 * faults.random()));
    return undefined;
  }
  if (key !== undefined) inUse.add(key);
  const result = execute();
  await journal.durable();
  if (key !== undefined) inUse.delete(key);
  if (loseAnswer(fault?.replace('save_', ''), 'after', response, fail)) return undefined;
  if (fault === 'duplicate' && result.status === 200) {
    response.setHeader(idempotencyHeader, key ?? '');
    return answerTwice(response, result.body);
  }
  return reply(result);
}

async function lookUp(stripe: Stripe, path: readonly string[], request: IncomingMessage, response: ServerResponse) {
  const fault = stripe.faults.pick('lookup');
  if (revokes(stripe, fault)) return refuseKey(request, response);
  if (loseLookup(fault, response, () => answer(response, serverError.status, serverError.body))) return;
  const { status, body } = look(stripe, path, queryOf(request.url));
  // Only what survives a crash is reported.
  await stripe.journal.durable();
  answer(response, status, body);
}

async function control(stripe: Stripe, path: string, request: IncomingMessage, response: ServerResponse) {
  const body = await readJson(request);
  const wrong = (): void => answer(response, 400, { error: 'invalid' });
  if (typeof body !== 'object' || body === null) return wrong();
  if (path === 'disputes') {
    const dispute = moveDispute(stripe, body as Record<string, unknown>);
    await stripe.journal.durable();
    return dispute ? answer(response, 200, dispute) : wrong();
  }
  const fields = setHabits(stripe, body as Record<string, unknown>);
  const { search_lag_ms, webhook, forget_keys, revoked, lacks, ...others } = fields;
  const rest: Control = others;
  if (!stripe.faults.isControl(rest)) return wrong();
  stripe.faults.set(rest);
  if (rest.settle_after_ms !== undefined) stripe.settleAfterMs = rest.settle_after_ms ?? undefined;
  if (typeof search_lag_ms === 'number') stripe.searchLagMs = search_lag_ms;
  if (typeof revoked === 'boolean') stripe.isRevoked = revoked;
  if (Array.isArray(lacks)) stripe.lacked = lacks.map(String);
  if (forget_keys === true) stripe.books.keys.clear();
  if (typeof webhook === 'object' && webhook !== null && 'url' in webhook && 'secret' in webhook) {
    const { api_version, account } = webhook as { api_version?: string; account?: string };
    stripe.notices.receiver({ url: String(webhook.url), secret: String(webhook.secret), api_version, account });
  }
  answer(response, 200, { done: true });
}

/** `POST /v1/customers/ID` changes a customer, and `POST /v1/customers` creates one. */
function routeOf(resource: string, id: string, action: string): string {
  if (action !== '') return `${resource}/${action}`;
  return resource === 'customers' && id !== '' ? 'customers/update' : resource;
}

async function handle(stripe: Stripe, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { books, journal } = stripe;
  const [root = '', resource = '', id = '', action = ''] = pathParts(request.url);
  if (`${request.method} ${root}` === 'GET healthz') {
    return answer(response, 200, { status: 'ok', operations: books.charges.size, fsyncs: journal.fsyncs });
  }
  stripe.origin = `http://${request.headers.host}`;
  if (root === 'bank') return showBankPage(visitOf(stripe, resource, journal.durable), request, response);
  if (!stripe.isAuthorized(request) || (stripe.isRevoked && root === 'v1')) return refuseKey(request, response);
  const lacked = root === 'v1' ? lackedPermission(stripe.lacked, request.method, resource) : undefined;
  if (lacked !== undefined) {
    request.resume();
    return answer(response, 403, forbidden(lacked).body);
  }
  if (root === 'v1' && request.method === 'GET') return lookUp(stripe, [resource, id, action], request, response);
  if (root === 'v1' && request.method === 'POST') {
    return operate(stripe, routeOf(resource, id, action), id, request, response);
  }
  if (root === 'v1' && request.method === 'DELETE') {
    return operate(stripe, `${resource}/delete`, id, request, response);
  }
  if (`${request.method} ${root}` === 'POST control') return control(stripe, resource, request, response);
  await journal.durable();
  if (root === 'customers') return answer(response, 200, { customers: customersOf(books) });
  if (root === 'journal') {
    return answer(response, 200, { operations: operationsOf(books), uncharged: unchargedOf(books) });
  }
  if (root === 'events') {
    return answer(response, 200, { events: [...books.events.values()].map(({ body }) => JSON.parse(body)) });
  }
  return answer(response, 404, refusal(404, 'Unrecognized request URL.').body);
}

export async function openSimulator({ journalFile, secret, clock, lateMs }: SimulatorOptions): Promise<Server> {
  let journal: Journal | undefined;
  const books: Books = openBooks(clock, (table, row) => void journal?.append({ table, row }));
  const restore = (line: unknown): void => {
    const { table, row } = line as { table: TableName; row: never };
    books.put(table, row);
  };
  const opened = await openJournal(journalFile, restore);
  journal = opened;
  const faults = openFaults(requestsOf);
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const expected = digest(`Bearer ${secret.reveal()}`);
  const stripe: Stripe = {
    books,
    clock,
    journal: opened,
    faults,
    notices: openNotices({ books, clock, pickFault: () => faults.pick('notice'), durable: opened.durable }),
    secret: secret.reveal(),
    lateMs,
    inUse: new Set(),
    searchLagMs: usualSearchLagMs,
    isRevoked: false,
    lacked: [],
    settleAfterMs: undefined,
    wantsSetUp: false,
    wantsAuthentication: false,
    isFrictionless: false,
    origin: '',
    holdForMs: 7 * dayMs,
    isAuthorized: (request) => timingSafeEqual(digest(request.headers.authorization ?? ''), expected),
  };
  for (const intent of books.intents.values()) {
    if (intent.status === 'processing') endProcessing(stripe, intent);
    if (intent.status === 'requires_capture') endHold(stripe, intent);
  }
  for (const refund of books.refunds.values()) if (refund.settlesAtMs > clock.nowMs()) watchRefund(stripe, refund);
  const server = createServer((request, response) => {
    // Only the journal can fail here, and a processor without a journal has to end.
    void handle(stripe, request, response);
  });
  // Longer than clients keep a connection: a request on a connection that closes at the same moment is in doubt.
  server.keepAliveTimeout = 75_000;
  server.on('close', () => void stripe.journal.close());
  return server;
}
