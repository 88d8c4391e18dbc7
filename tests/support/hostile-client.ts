import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach } from 'node:test';
import { errorCatalogue } from '../../server/errors.ts';
import {
  type CallOptions,
  type Reply,
  someCustomer,
  someProduct,
  startTestService,
  type TestService,
} from './service.ts';
import { isError, logLine } from './log-lines.ts';

/** A client that sends anything, and checks that the service answers it and stays healthy. */

export type Json = Record<string, unknown>;

// fast-check prints the seed of a failure; this repeats it.
export const seed = process.env.SVC_FUZZ_SEED ? { seed: Number(process.env.SVC_FUZZ_SEED) } : {};

const replyCpuMsMax = 1000;
const patienceMs = 15_000;
const refusalBytesMax = 64 * 1024;
const fieldCharactersMax = 300;

interface WireError {
  type: string;
  code: keyof typeof errorCatalogue;
  message: string;
  param: string | null;
  request_id: string;
  field_errors: { field: string; code: string; message: string }[];
}

export function checkErrorBody(reply: Pick<Reply, 'text' | 'headers'>): WireError {
  assert.match(reply.headers.get('content-type') ?? '', /^application\/json/);
  assert.ok(reply.text.length <= refusalBytesMax, `the refusal has ${reply.text.length} bytes`);
  const { error, ...others } = JSON.parse(reply.text) as { error: WireError };
  assert.deepEqual(others, {});
  assert.deepEqual(Object.keys(error), ['type', 'code', 'message', 'param', 'request_id', 'field_errors', 'doc_url']);
  assert.equal(error.type, errorCatalogue[error.code].type);
  assert.equal(error.request_id, reply.headers.get('svc-request-id'));
  assert.doesNotMatch(error.message, /node_modules|\.ts:\d|postgres|syntax error at/i);
  assert.ok(error.message.length > 0);
  for (const { field, code, message, ...rest } of error.field_errors) {
    assert.deepEqual(rest, {});
    assert.ok(field.length > 0 && field.length <= fieldCharactersMax, `the field is ${JSON.stringify(field)}`);
    assert.match(code, /^(required_field|invalid_value|invalid_format|contains_html)$/);
    assert.ok(message.length > 0);
  }
  if (error.code === 'validation_error') assert.equal(error.param, error.field_errors[0]?.field ?? 'a field');
  return error;
}

export const odd = {
  emoji: '👩‍👩‍👧‍👦 😀',
  rightToLeft: '\u202eevil\u202c مرحبا',
  zeroWidth: 'a\u200bb\u200dc\ufeffd',
  combining: 'e\u0301 ≠ é',
  expanding: '㌫ﷺ',
  sql: `'; DROP TABLE customers; --`,
  template: '${7*7} {{7*7}} %s %00 $1',
  quotes: `"'\`\\`,
  lines: 'a\u2028b\u2029c\u0085d',
  controls: 'a\tb\u0007c\u007f',
  noncharacter: '\uffff\ufffe',
  html: 'a < b && b > c',
};

export interface HostileClient {
  readonly service: TestService;
  /** The exceptions that nothing caught. In production, one would end the process. */
  readonly uncaught: Error[];
  /** Sends a request, and checks that the answer comes in time, is below 500 and is the error body if it refuses. */
  send(method: string, path: string, options?: CallOptions): Promise<Reply>;
  newCustomer(overrides?: Json): Promise<Json>;
  newProduct(overrides?: Json): Promise<Json>;
}

/**
 * Starts a service. After each test of the calling file, it must be healthy and must not have logged an error; after the
 * last test, it stops.
 */
export async function openHostileClient(): Promise<HostileClient> {
  const service = await startTestService();
  after(async () => {
    // A request that was never answered would hold up the end.
    service.app.server.closeAllConnections();
    await service.stop();
  });

  const uncaught: Error[] = [];
  process.on('uncaughtExceptionMonitor', (error) => uncaught.push(error));

  afterEach(async () => {
    const health = await fetch(`${service.baseUrl}/healthz`);
    assert.equal(health.status, 200);
    assert.deepEqual(uncaught.splice(0), []);
    // A busy machine may delay the check of a part; no request causes that.
    const lines = service.logLines
      .splice(0)
      .map((line) => logLine(line))
      .filter(({ body }) => !body.startsWith('unavailable: '));
    assert.deepEqual(
      lines.filter((line) => isError(line) || Number(line.attributes['http.response.status_code']) >= 500),
      [],
    );
  });

  /** With the time of the processor that it took, here and in the service: the time on the wall depends on the machine's other work. */
  async function timed(method: string, path: string, options: CallOptions): Promise<{ reply: Reply; cpuMs: number }> {
    const before = process.cpuUsage();
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`no answer within ${patienceMs} ms`)), patienceMs);
    const called = service.call(method, path, options);
    called.catch(() => undefined);
    const reply = await Promise.race([called, late.promise]).finally(() => clearTimeout(timer));
    const { user, system } = process.cpuUsage(before);
    return { reply, cpuMs: (user + system) / 1000 };
  }

  async function send(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    const { reply, cpuMs } = await timed(method, path, options);
    assert.ok(cpuMs < replyCpuMsMax, `${method} ${path.slice(0, 200)} took ${Math.round(cpuMs)} ms`);
    assert.ok(reply.status < 500, `${method} ${path.slice(0, 200)} answered ${reply.status}`);
    if (reply.status >= 400) checkErrorBody(reply);
    return reply;
  }

  const newCustomer = async (overrides: Json = {}): Promise<Json> =>
    (await service.call('POST', '/v1/customers', { body: someCustomer(overrides) })).body;
  const newProduct = async (overrides: Json = {}): Promise<Json> => {
    const body = someProduct(overrides);
    return (await service.call('POST', '/v1/products', { body, idempotencyKey: randomUUID() })).body;
  };

  return { service, uncaught, send, newCustomer, newProduct };
}
