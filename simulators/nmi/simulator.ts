import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Clock } from '../../server/platform/clock.ts';
import type { Secret } from '../../server/platform/secret.ts';
import { type Control, lookupFaults, openFaults, operationFaults } from '../faults.ts';
import { openJournal } from '../journal.ts';
import { answer as answerJson, loseAnswer, loseLookup, pathParts, readBody, readJson } from '../wire.ts';
import {
  changedAtMs,
  conditionOf,
  type SimulatedAction,
  type SimulatedTransaction,
  openBooks,
  operationsOf,
  reportXml,
  transactionXml,
} from './books.ts';
import { fieldProblem, queryNames } from './fields.ts';
import { type Answer, execute, rejection } from './execution.ts';
import { profileXml } from './rules.ts';
import { defaults, type Request, type Settings, type Simulator } from './state.ts';
import { dateText } from '../../server/vault/processors/nmi/requests.ts';
import { type ChargebackEntry, noticeFaults, openWebhooks } from './webhooks.ts';

/**
 * A simulator of NMI's `transact.php` and `query.php` for tests. It follows NMI's rules, reports only what is in its fsynced
 * journal, and produces faults on command. It never writes a card number, CVC or key anywhere.
 */

export interface SimulatorOptions {
  readonly journalFile: string;
  readonly securityKey: Secret<string>;
  readonly clock: Clock;
  /** Undefined means the next day. */
  readonly settleAfterMs?: number | undefined;
  /** A late request is executed within this time. */
  readonly requestLifeMs: number;
}

const operations = ['charge', 'capture', 'refund', 'void'] as const;
const lookupAnswers = ['lookup_html', 'lookup_cut', 'lookup_other', 'lookup_rate_limited'] as const;
const operationAnswers = [
  'html_after',
  'empty_after',
  'cut_after',
  'other_after',
  'rate_limited_before',
  'code_301_before',
] as const;

function requestsOf(fault: string): readonly Request[] | undefined {
  if ([...operationFaults, ...operationAnswers].includes(fault as never)) return operations;
  if ([...lookupFaults, ...lookupAnswers].includes(fault as never)) return ['lookup'];
  if (fault === 'reject_refund') return ['refund'];
  if (noticeFaults.includes(fault as never)) return ['notice'];
  return /^decline:[234]\d\d$/.test(fault) ? [...operations, 'verify'] : undefined;
}

const requestOfType: Readonly<Record<string, Exclude<Request, 'lookup' | 'notice'>>> = {
  sale: 'charge',
  auth: 'charge',
  capture: 'capture',
  refund: 'refund',
  void: 'void',
  validate: 'verify',
};

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

const sendForm = (response: ServerResponse, answer: Answer): void =>
  send(response, 200, 'text/html; charset=UTF-8', new URLSearchParams(answer).toString());

const htmlPage = '<!DOCTYPE html><html><body><h1>We will be back soon</h1><br></body></html>';

function fail({ faults }: Simulator, response: ServerResponse): void {
  send(response, faults.random() < 0.5 ? 500 : 503, 'text/html', htmlPage);
}

async function transact(simulator: Simulator, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request);
  const fields = new URLSearchParams(body?.toString('utf8') ?? '');
  if (request.headers['content-type'] !== 'application/x-www-form-urlencoded')
    return send(response, 400, 'text/html', '');
  const reject = (text: string): void => sendForm(response, rejection(simulator, fields, text));
  if (!simulator.isKey(fields.get('security_key') ?? '')) return reject('Authentication Failed');
  const problem = fieldProblem(fields);
  if (problem !== undefined) return reject(problem);
  const fault = simulator.faults.pick(requestOfType[fields.get('type') ?? ''] ?? 'charge');
  if (fault === 'rate_limited_before') return send(response, 429, 'text/html', 'Too Many Requests');
  if (fault === 'code_301_before') {
    return sendForm(response, { ...rejection(simulator, fields, 'Rate limit exceeded'), response_code: '301' });
  }
  if (loseAnswer(fault, 'before', response, () => fail(simulator, response))) return;
  if (fault === 'late') {
    request.socket.destroy();
    setTimeout(
      () => execute(simulator, fields, undefined),
      simulator.requestLifeMs * (0.1 + 0.7 * simulator.faults.random()),
    );
    return;
  }
  const result = execute(simulator, fields, fault);
  await simulator.journal.durable();
  if (loseAnswer(fault, 'after', response, () => fail(simulator, response))) return;
  const text = new URLSearchParams(result).toString();
  if (fault === 'html_after') return send(response, 200, 'text/html', htmlPage);
  if (fault === 'empty_after') return send(response, 200, 'text/html', '');
  if (fault === 'cut_after') return send(response, 200, 'text/html', text.slice(0, text.indexOf('&orderid')));
  if (fault === 'other_after')
    return sendForm(response, { ...result, orderid: 'another-order', transactionid: '4000000001' });
  if (fault === 'duplicate') {
    const { socket } = response;
    response.on('finish', () => socket?.write(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}\0`));
  }
  return sendForm(response, result);
}

/** Returns the report; a text with an error if NMI rejects the fields. */
function report({ books, clock, settings }: Simulator, fields: URLSearchParams): string {
  const nowMs = clock.nowMs();
  const error = (text: string): string => reportXml(`<error_response>${text} REFID:1</error_response>`);
  const strange = [...fields.keys()].find((name) => !queryNames.includes(name));
  if (strange !== undefined) return error(`Unknown field ${strange}`);
  const type = fields.get('report_type');
  if (type === 'profile') return profileXml(settings, fields.get('processor_details') === 'true');
  if (type === 'test_mode_status') return reportXml(`<test_mode_enabled>${settings.test_mode}</test_mode_enabled>`);
  if (type !== null) return error('Invalid report type');
  const ids = fields.get('transaction_id')?.split(',');
  const start = fields.get('start_date') ?? '';
  const end = fields.get('end_date') ?? '9';
  if (![start, end].every((date) => /^(\d{14}|9?)$/.test(date))) return error('Invalid date');
  if (!ids && !fields.get('order_id') && start === '') return error('Query is too broad');
  const found = [...books.all()].filter((transaction) => {
    const isAsked =
      (!fields.has('order_id') || transaction.order_id === fields.get('order_id')) &&
      (!ids || ids.includes(transaction.id)) &&
      nowMs - (transaction.actions[0]?.at_ms ?? 0) >= settings.lag_ms;
    if (!isAsked) return false;
    const date = dateText(changedAtMs(transaction, nowMs));
    return date >= start && date <= end;
  });
  const limit = Number(fields.get('result_limit') ?? 1_000);
  return reportXml(
    found
      .slice(0, limit)
      .map((transaction) => transactionXml(transaction, nowMs))
      .join('\n'),
  );
}

async function query(simulator: Simulator, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const fields = new URLSearchParams((await readBody(request))?.toString('utf8') ?? '');
  const sendXml = (text: string): void => send(response, 200, 'text/xml;charset=UTF-8', text);
  if (!simulator.isKey(fields.get('security_key') ?? '')) {
    return sendXml(reportXml('<error_response>Specified API key not found REFID:1</error_response>'));
  }
  const fault = simulator.faults.pick('lookup');
  if (loseLookup(fault, response, () => fail(simulator, response))) return;
  if (fault === 'lookup_rate_limited') return send(response, 429, 'text/html', 'Too Many Requests');
  if (fault === 'lookup_html') return send(response, 200, 'text/html', htmlPage);
  const text = report(simulator, fields);
  await simulator.journal.durable();
  if (fault === 'lookup_cut') return sendXml(text.slice(0, Math.floor(text.length / 2)));
  if (fault === 'lookup_other') return sendXml(text.replaceAll(fields.get('order_id') ?? '\0', 'another-order'));
  return sendXml(text);
}

async function control(simulator: Simulator, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = ((await readJson(request)) ?? {}) as Control & Partial<Settings>;
  const isSetting = (name: string): boolean => Object.hasOwn(defaults, name);
  const entries = Object.entries(body);
  const shared: Control = Object.fromEntries(entries.filter(([name]) => !isSetting(name)));
  if (!simulator.faults.isControl(shared)) return answerJson(response, 400, { error: 'invalid' });
  simulator.faults.set(shared);
  const given = entries.filter(([name, value]) => isSetting(name) && value !== undefined);
  Object.assign(simulator.settings, Object.fromEntries(given));
  if (body.webhook !== undefined) simulator.webhooks.endpoint(body.webhook ?? undefined);
  if (shared.settle_after_ms !== undefined) simulator.settleAfterMs = shared.settle_after_ms ?? undefined;
  answerJson(response, 200, { done: true });
}

/** Opens a chargeback on a charge, as a report of an acquirer would. */
async function dispute(
  { books, clock, journal }: Simulator,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { reference } = ((await readJson(request)) ?? {}) as { readonly reference?: string };
  const charge = [...books.all()].find((one) => one.order_id === reference && one.actions[0]?.type === 'sale');
  if (!charge?.actions[0]) return answerJson(response, 400, { error: 'no such charge' });
  const { amount } = charge.actions[0];
  const action: SimulatedAction = {
    type: 'chargeback',
    amount,
    at_ms: clock.nowMs(),
    success: true,
    code: '100',
    text: '',
  };
  const changed = { ...charge, actions: [...charge.actions, action] };
  books.put(changed);
  await journal.append(changed);
  answerJson(response, 200, { done: true });
}

/** The card network gives back what has settled. */
async function giveBack(
  { books, clock, journal }: Simulator,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { reference } = ((await readJson(request)) ?? {}) as { readonly reference?: string };
  const charge = [...books.all()].find((one) => one.order_id === reference && one.actions[0]?.type === 'sale');
  if (!charge || conditionOf(charge, clock.nowMs()) !== 'complete') {
    return answerJson(response, 400, { error: 'no such charge has settled' });
  }
  const changed: SimulatedTransaction = { ...charge, returned_at_ms: clock.nowMs() };
  books.put(changed);
  await journal.append(changed);
  answerJson(response, 200, { done: true });
}

/** A batch fails to settle: its transactions stay as they are, and the next batch has them again. */
async function failBatch({ books, clock, journal, webhooks }: Simulator, response: ServerResponse): Promise<void> {
  const pending = [...books.all()].filter((one) => conditionOf(one, clock.nowMs()) === 'pendingsettlement');
  for (const one of pending) {
    const [main] = one.actions;
    if (!main) continue;
    const failed = {
      ...main,
      type: 'settle',
      at_ms: clock.nowMs(),
      success: false,
      code: '400',
      text: 'BATCH',
    } as const;
    const changed = { ...one, actions: [...one.actions, failed] };
    books.put(changed);
    await journal.append(changed);
  }
  for (const id of new Set(pending.map(({ processor_id }) => processor_id))) webhooks.batchFailed(id);
  answerJson(response, 200, { done: true });
}

async function sendChargebacks(
  { webhooks }: Simulator,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { entries = [] } = ((await readJson(request)) ?? {}) as {
    readonly entries?: readonly (ChargebackEntry | null)[];
  };
  webhooks.chargebacks(entries);
  answerJson(response, 200, { done: true });
}

async function handle(simulator: Simulator, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const route = `${request.method} /${pathParts(request.url).join('/')}`;
  if (route === 'GET /healthz') return answerJson(response, 200, { status: 'ok', operations: simulator.books.size });
  if (route === 'POST /api/transact.php') return transact(simulator, request, response);
  if (route === 'POST /api/query.php') return query(simulator, request, response);
  if (route === 'POST /control') return control(simulator, request, response);
  if (route === 'POST /control/disputes') return dispute(simulator, request, response);
  if (route === 'POST /control/chargebacks') return sendChargebacks(simulator, request, response);
  if (route === 'POST /control/returns') return giveBack(simulator, request, response);
  if (route === 'POST /control/failed-batch') return failBatch(simulator, response);
  if (route === 'GET /journal') {
    await simulator.journal.durable();
    return answerJson(response, 200, { operations: operationsOf(simulator.books, simulator.clock.nowMs()) });
  }
  return send(response, 404, 'text/html', htmlPage);
}

export async function openSimulator({
  securityKey,
  clock,
  journalFile,
  ...options
}: SimulatorOptions): Promise<Server> {
  const books = openBooks();
  const journal = await openJournal(journalFile, (line) => books.put(line as SimulatedTransaction));
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const expected = digest(securityKey.reveal());
  const faults = openFaults(requestsOf);
  const simulator: Simulator = {
    books,
    journal,
    clock,
    faults,
    webhooks: openWebhooks({
      books,
      nowMs: () => clock.nowMs(),
      pickFault: () => faults.pick('notice'),
      durable: journal.durable,
    }),
    requestLifeMs: options.requestLifeMs,
    settings: { ...defaults },
    recent: new Map(),
    settleAfterMs: options.settleAfterMs,
    isKey: (text) => !simulator.settings.is_revoked && timingSafeEqual(digest(text), expected),
  };
  const server = createServer((request, response) => {
    // Only the journal can fail here, and a processor without a journal has to end.
    void handle(simulator, request, response);
  });
  server.keepAliveTimeout = 75_000;
  server.on('close', () => {
    simulator.webhooks.close();
    void journal.close();
  });
  return server;
}
