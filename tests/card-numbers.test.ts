import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import pg from 'pg';
import { eventually } from './support/webhooks.ts';
import { type Collector, startCollector } from './support/collector.ts';
import { readyUrl } from './support/ready.ts';
import { programPath } from './support/programs.ts';
import { someProduct } from './support/service.ts';

/**
 * Marker numbers through every way into a real service, also the ways that fail; then a search for them in all that it
 * has written. Metadata, names and idempotency keys are the merchant's own words and not looked at.
 */

const markerCount = 240;

/** Finds card numbers in text of any kind: plain, in groups, as hex, as base64 at any alignment, backwards. */
class Finder {
  readonly #numbers: ReadonlySet<string>;
  readonly #parts: ReadonlySet<string>;
  readonly #cvcs: ReadonlySet<string>;

  constructor(numbers: readonly string[], cvcs: readonly string[]) {
    const both = numbers.flatMap((number) => [number, [...number].toReversed().join('')]);
    this.#numbers = new Set(both);
    this.#parts = new Set(both.flatMap((number) => windows(number, partLength)));
    this.#cvcs = new Set(cvcs);
  }

  find(text: string): string[] {
    const found = [
      ...matches(text, /\d(?:[ -]?\d){15,}/g).flatMap((run) => this.#known(run.replace(/\D/g, ''))),
      ...matches(text, /(?=((?:3\d){16,}))3/g).flatMap((run) => this.#known(Buffer.from(run, 'hex').toString())),
      ...matches(text, base64OfDigits).flatMap((run) =>
        windows(Buffer.from(run, 'base64').toString(), partLength).filter((part) => this.#parts.has(part)),
      ),
    ];
    return [...new Set(found)];
  }

  findCvc(text: string): string[] {
    return matches(text, /cvc\W{0,8}(\d{4})(?!\d)/gi).filter((cvc) => this.#cvcs.has(cvc));
  }

  #known(digits: string): string[] {
    return windows(digits, 16).filter((number) => this.#numbers.has(number));
  }
}

// Four digits or more stand in every alignment of the base64 of a number as whole groups of this form.
const partLength = 12;
const base64OfDigits = /(?=((?:[MNO][DTjz][AEIMQUYcgk][w-z0-5]){4,}))[MNO]/g;

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([whole, inner]) => inner ?? whole);
}

function windows(text: string, length: number): string[] {
  return Array.from({ length: Math.max(0, text.length - length + 1) }, (_, at) => text.slice(at, at + length));
}

interface Marker {
  readonly number: string;
  readonly cvc: string;
}

const someNumber = (): string => `4${Array.from({ length: 15 }, () => randomInt(10)).join('')}`;
const cvcs = new Set<string>();
while (cvcs.size < markerCount) cvcs.add(String(randomInt(1000, 10_000)));
const markers: Marker[] = [...cvcs].map((cvc) => ({ number: someNumber(), cvc }));
const planted = someNumber();
const finder = new Finder(
  markers.map(({ number }) => number),
  [...cvcs],
);
const plantedFinder = new Finder([planted], ['4077']);

let used = 0;
function next(): Marker {
  const marker = markers[used];
  assert.ok(marker, 'there are not enough markers');
  used += 1;
  return marker;
}

const cardOf = ({ number, cvc }: Marker, rest: object = {}) => ({
  number,
  exp_month: '12',
  exp_year: '2032',
  cvc,
  ...rest,
});
const newCard = (rest: object = {}) => cardOf(next(), rest);
const grouped = (number: string, separator: string): string => (number.match(/.{4}/g) ?? []).join(separator);

const root = await mkdtemp(join(tmpdir(), 'svc-card-numbers-'));
const folder = join(root, 'data');
const program = programPath('main');

interface Running {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
  readonly baseUrl: string;
}

let logs = '';
const replies: string[] = [];

let collector: Collector;

async function start(settings: Record<string, string> = {}): Promise<Running> {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [program], {
    cwd: root,
    env: {
      PATH,
      HOME,
      ...(TMPDIR && { TMPDIR }),
      ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
      PORT: '0',
      SVC_DATA_DIR: folder,
      SVC_LOG_LEVEL: 'trace',
      SVC_TRUST_PROXY: '127.0.0.1',
      SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
      SVC_RATE_LIMIT_CAPTURE: 'off',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      logs += chunk;
    });
  }
  const exited = once(child, 'close');
  const deadlineMs = performance.now() + 30_000;
  while (readyUrl(output) === undefined) {
    assert.equal(child.exitCode, null, `it ended:\n${output}`);
    assert.ok(performance.now() < deadlineMs, `not ready:\n${output}`);
    await sleep(10);
  }
  return { child, exited, baseUrl: readyUrl(output) ?? '' };
}

let service: Running;

async function stop(): Promise<void> {
  service.child.kill('SIGTERM');
  await service.exited;
}

let keys: Record<'secret_key' | 'publishable_key' | 'live_secret_key' | 'live_publishable_key', string>;

interface Sending {
  readonly method?: string;
  readonly key?: string;
  readonly body?: unknown;
  readonly raw?: string | Buffer;
  readonly headers?: Record<string, string>;
  readonly idempotencyKey?: string;
}

let callers = 0;

/** Each call comes from another address: cards that are refused are counted by it. */
async function send(path: string, sending: Sending = {}): Promise<{ status: number; body: Record<string, string> }> {
  const { method = 'POST', key = keys.secret_key, body, raw, headers, idempotencyKey } = sending;
  callers += 1;
  const payload = body === undefined ? raw : JSON.stringify(body);
  const response = await fetch(service.baseUrl + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'x-forwarded-for': `198.51.${callers >> 8}.${callers & 255}`,
      ...(payload !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey && { 'x-svc-idempotency-key': idempotencyKey }),
      ...headers,
    },
    ...(payload !== undefined && { body: payload }),
  }).catch((error: unknown) => {
    throw new Error(
      `${method} ${path.replace(/\d{12,}/g, '…')} got no answer; the end of the log:\n${logs.slice(-2_000)}`,
      {
        cause: error,
      },
    );
  });
  const text = await response.text();
  replies.push(`${JSON.stringify([...response.headers])}${text}`);
  return { status: response.status, body: parse(text) };
}

function parse(text: string): Record<string, string> {
  try {
    return JSON.parse(text) as Record<string, string>;
  } catch {
    return {};
  }
}

async function expect(what: string, status: number, path: string, sending: Sending): Promise<Record<string, string>> {
  const reply = await send(path, sending);
  assert.equal(reply.status, status, `${what}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

let people = 0;
async function newCustomer(): Promise<string> {
  people += 1;
  const body = { email: `p${people}@example.com`, first_name: 'A', last_name: 'L', phone: `+1555000${1000 + people}` };
  const { id } = await expect('a customer', 201, '/v1/customers', { body });
  return id ?? '';
}

async function capturesThatSucceed(customer: string): Promise<void> {
  const tokens: string[] = [];
  for (const key of [keys.publishable_key, keys.secret_key]) {
    for (const separator of ['', ' ', '-']) {
      const marker = next();
      const body = { card: cardOf(marker, { number: grouped(marker.number, separator) }) };
      const made = await expect('a token', 201, '/v1/card_tokens', { key, body });
      tokens.push(made.id ?? '');
    }
  }
  const path = `/v1/customers/${customer}/payment_methods`;
  const methods: string[] = [];
  for (const card_token of tokens.slice(1)) {
    methods.push((await expect('a token attached', 201, path, { body: { card_token } })).id ?? '');
    await expect('a token attached twice', 400, path, { body: { card_token } });
  }
  for (let count = 0; count < 8; count += 1) {
    const body = { customer_id: customer, card: newCard(), billing_details: { name: 'Ada' } };
    await expect('a capture', 201, '/capture', { body });
  }
  await codesForOneCharge(customer);
  const other = methods.pop();
  await expect('a card deleted', 200, `${path}/${other}`, { method: 'DELETE', body: {} });
  await expect('a list', 200, path, { method: 'GET' });
  await expect('an expansion', 200, `/v1/customers/${customer}?expand=payment_methods`, { method: 'GET' });

  const luhn = [...'4242424242424242'];
  await expect('a live number that cannot be', 400, '/v1/card_tokens', {
    key: keys.live_publishable_key,
    body: { card: newCard({ number: luhn.toReversed().join('') }) },
  });
  for (const key of [keys.live_publishable_key, keys.live_secret_key]) {
    await send('/v1/card_tokens', { key, body: { card: newCard() } });
  }
}

/** Codes that the vault keeps in its memory: of cards that are charged, that are declined, and that wait. */
async function codesForOneCharge(customer: string): Promise<void> {
  const sold = { body: someProduct({ requires_shipping: false }), idempotencyKey: randomUUID() };
  const product = await expect('a product', 201, '/v1/products', sold);
  const items = [{ product_id: product.id, quantity: 1 }];
  for (const outcome of ['charged', 'charged', 'waits', 'waits']) {
    const announced = { card: newCard(), payment_follows: true };
    const made = await expect('a token', 201, '/v1/card_tokens', { key: keys.publishable_key, body: announced });
    const path = `/v1/customers/${customer}/payment_methods`;
    const attached = await expect('a token attached', 201, path, { body: { card_token: made.id } });
    const captured = await expect('a capture', 201, '/capture', {
      body: { customer_id: customer, card: newCard(), payment_follows: true },
    });
    if (outcome === 'waits') continue;
    for (const { id: payment_method_id } of [attached, captured]) {
      const body = { customer_id: customer, payment_method_id, items };
      const order = await expect('an order', 201, '/v1/orders', { body, idempotencyKey: randomUUID() });
      assert.equal(order.status, 'succeeded');
    }
  }
}

async function repeatedKeys(customer: string): Promise<void> {
  for (const path of ['/v1/card_tokens', '/capture']) {
    for (let count = 0; count < 4; count += 1) {
      const idempotencyKey = randomUUID();
      const rest = path === '/capture' ? { customer_id: customer } : {};
      const body = { ...rest, card: newCard() };
      await expect('a first use of a key', 201, path, { body, idempotencyKey });
      await expect('a replay', 201, path, { body, idempotencyKey });
      await expect('a conflict', 422, path, { body: { ...rest, card: newCard() }, idempotencyKey });
      await expect('a conflict with an error', 400, path, { body: { card: newCard({ cvc: 'x' }) }, idempotencyKey });
    }
    const racing = { body: { customer_id: customer, card: newCard() }, idempotencyKey: randomUUID() };
    await Promise.all(Array.from({ length: 5 }, () => send('/capture', racing)));
  }
}

async function refusedBodies(customer: string): Promise<void> {
  const wrong: Record<string, (marker: Marker) => unknown> = {
    'a bad month': (marker) => ({ card: cardOf(marker, { exp_month: '13' }) }),
    'a bad year': (marker) => ({ card: cardOf(marker, { exp_year: '20xx' }) }),
    'a past year': (marker) => ({ card: cardOf(marker, { exp_year: '2020' }) }),
    'a short cvc': (marker) => ({ card: cardOf(marker, { cvc: '1' }) }),
    'a long cvc': (marker) => ({ card: cardOf(marker, { cvc: `${marker.cvc}${marker.cvc}${marker.cvc}` }) }),
    'no cvc': (marker) => ({ card: { ...cardOf(marker), cvc: undefined } }),
    'a numeric cvc': (marker) => ({ card: cardOf(marker, { cvc: Number(marker.cvc) }) }),
    'a letter in the number': (marker) => ({ card: cardOf(marker, { number: `${marker.number}x` }) }),
    'a number that is too long': (marker) => ({ card: cardOf(marker, { number: marker.number.repeat(4) }) }),
    'a number that is a number': (marker) => ({ card: cardOf(marker, { number: Number(marker.number) }) }),
    'a list of numbers': (marker) => ({ card: cardOf(marker, { number: [marker.number] }) }),
    'an unknown field of the card': (marker) => ({ card: cardOf(marker, { holder: 'Ada', pan: marker.number }) }),
    'an unknown field': (marker) => ({ card: cardOf(marker), number: marker.number }),
    'a card as text': ({ number, cvc }) => ({ card: `${number} 12/32 "cvc":"${cvc}"` }),
    'no card at all': (marker) => cardOf(marker),
    'the number in the month': (marker) => ({ card: cardOf(marker, { exp_month: marker.number }) }),
    'the number in the year': (marker) => ({ card: cardOf(marker, { exp_year: Number(marker.number) }) }),
    'the number in the cvc': (marker) => ({ card: cardOf(marker, { cvc: marker.number }) }),
    'the number as a country': (marker) => ({
      card: cardOf(marker),
      billing_details: { address: { country: marker.number } },
    }),
    'the number as an email address': (marker) => ({
      card: cardOf(marker),
      billing_details: { email: marker.number },
    }),
    'the number as the customer': (marker) => ({ customer_id: marker.number, card: cardOf(marker) }),
    'the number as a flag': (marker) => ({ card: cardOf(marker), set_as_default: marker.number }),
    'the number as a name of a field': (marker) => ({ card: cardOf(marker), [marker.number]: 1 }),
    'the number as a name within the card': (marker) => ({ card: cardOf(marker, { [marker.number]: marker.cvc }) }),
    'the number in a list': (marker) => [cardOf(marker)],
    'the number alone': (marker) => marker.number,
  };
  for (const [what, bodyOf] of Object.entries(wrong)) {
    const [first, second] = [next(), next()];
    const tokenBody = bodyOf(first);
    const captureBody = bodyOf(second);
    await expect(what, 400, '/v1/card_tokens', { key: keys.publishable_key, body: tokenBody });
    const whole =
      typeof captureBody === 'object' && !Array.isArray(captureBody)
        ? { customer_id: customer, ...captureBody }
        : captureBody;
    await expect(what, 400, '/capture', { body: whole, idempotencyKey: randomUUID() });
  }
  const token = next();
  const path = `/v1/customers/${customer}/payment_methods`;
  await expect('a number as a token', 400, path, { body: { card_token: token.number }, idempotencyKey: randomUUID() });
  await expect('a card instead of a token', 400, path, { body: { card: newCard() } });
  await expect('a card to a customer', 400, `/v1/customers/${customer}`, {
    method: 'PATCH',
    body: { card: newCard() },
  });
}

async function brokenBodies(): Promise<void> {
  const text = () => JSON.stringify({ card: newCard() });
  const path = '/v1/card_tokens';
  const key = keys.publishable_key;
  const raws: Record<string, string | Buffer> = {
    'a body without its end': text().slice(0, -2),
    'a body that ends in the number': text().replace(/(\d{16}).*/, '$1'),
    'a body with a stray comma': text().replace('"exp_month"', ',"exp_month"'),
    'a body in single quotes': text().replaceAll('"', "'"),
    'a body with an unquoted number': text().replace(/"(\d{16})"/, '00$1'),
    'a body with two numbers': text().replace('"number"', '"number":"1","number"'),
    'a body with __proto__': text().replace('"number"', '"__proto__":{},"number"'),
    'a body with a NUL': text().replace(/(\d{16})/, '$1\\u0000'),
    'a body with half a surrogate': text().replace(/(\d{16})/, '$1\\ud800'),
    'a body that is not UTF-8': Buffer.from(text().replace('12', '\xff'), 'latin1'),
    'a body nested too deeply': `${'['.repeat(40)}${text()}${']'.repeat(40)}`,
  };
  for (const [what, raw] of Object.entries(raws)) await expect(what, 400, path, { key, raw });

  const types: Record<string, string> = {
    'application/x-www-form-urlencoded': `number=${next().number}`,
    'text/plain': text(),
    'application/xml': `<number>${next().number}</number>`,
    'application/octet-stream': text(),
    'multipart/form-data; boundary=x': `--x\r\ncontent-disposition: form-data; name="file"; filename="card"\r\n\r\n${next().number}\r\n--x--\r\n`,
  };
  for (const [type, raw] of Object.entries(types)) {
    const reply = await send(path, { key, raw, headers: { 'content-type': type } });
    assert.ok(reply.status >= 400 && reply.status < 500, type);
  }
  const { number } = next();
  await send(path, { key, raw: text(), headers: { 'content-type': `text/${number}` } });
  await send(path, { key, raw: gzipSync(text()), headers: { 'content-encoding': 'gzip' } });
  const large = `{"card":${text()},"filler":"${`${next().number} `.repeat(70_000)}"}`;
  await send(path, { key, raw: large }).catch(() => undefined);
  await expect('another method', 405, path, { method: 'PUT', body: { card: newCard() } });
  await expect('no key', 401, path, { key: next().number, body: { card: newCard() } });
}

async function wrongPlaces(): Promise<void> {
  const get = { method: 'GET' };
  const paths = [
    (number: string) => `/v1/card_tokens/${number}`,
    (number: string) => `/v1/card_tokens?number=${number}`,
    (number: string) => `/v1/card_tokens?${number}`,
    (number: string) => `/v1/customers/${number}`,
    (number: string) => `/v1/customers/${number}/payment_methods/${number}`,
    (number: string) => `/v1/customers?q=${number}`,
    (number: string) => `/v1/customers?starting_after=${number}`,
    (number: string) => `/v1/customers?limit=${number}`,
    (number: string) => `/v1/customers?${number}=1`,
    (number: string) => `/v1/customers?fields[customers]=${number}`,
    (number: string) => `/v1/products?sku=${number}`,
    (number: string) => `/files/${number}`,
    (number: string) => `/${number}/%zz`,
    (number: string) => `/${grouped(number, '-')}`,
    (number: string) => `/capture/${Buffer.from(number).toString('base64')}`,
  ];
  for (const path of paths) {
    await send(path(next().number), get);
    await send(path(next().number), { body: {} });
  }
  const { number } = next();
  const headers: Record<string, string>[] = [
    { 'svc-version': number },
    { 'x-svc-idempotency-key': grouped(number, ' ') },
    { 'user-agent': number, referer: `https://shop.test/${number}`, cookie: `card=${number}`, 'x-request-id': number },
    { 'x-forwarded-for': number },
    { origin: `https://${number}.test`, 'accept-language': number, 'x-card': number },
  ];
  for (const header of headers) await send('/v1/card_tokens', { body: { card: newCard() }, headers: header });
}

/** What no HTTP client would send; answers are read until the connection ends. */
async function brokenRequests(): Promise<void> {
  const body = () => JSON.stringify({ card: newCard() });
  const head = `POST /v1/card_tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keys.secret_key}\r\nContent-Type: application/json\r\n`;
  const requests = [
    `GET /${next().number}\r\n\r\n`,
    `${next().number} / HTTP/1.1\r\n\r\n`,
    `${head}${next().number}\r\n\r\n`,
    `${head}X-Card: ${`${next().number} `.repeat(2_000)}\r\n\r\n`,
    `${head}Content-Length: 1\r\n\r\n${body()}`,
    `${head}Content-Length: 9999\r\n\r\n${body()}`,
    `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n${body()}`,
    `${head}Expect: ${next().number}\r\nContent-Length: 0\r\n\r\n`,
  ];
  const exchange = async (request: string): Promise<void> => {
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
    let answer = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.on('error', () => undefined);
    socket.write(request);
    const timer = setTimeout(() => socket.destroy(), 150);
    await once(socket, 'close');
    clearTimeout(timer);
    replies.push(answer);
  };
  await Promise.all(requests.map(exchange));
}

async function customersThatAreNotThere(): Promise<void> {
  const gone = await newCustomer();
  await expect('a capture', 201, '/capture', { body: { customer_id: gone, card: newCard() } });
  await expect('a customer deleted', 200, `/v1/customers/${gone}`, { method: 'DELETE' });
  for (const idempotencyKey of [randomUUID(), undefined]) {
    const call = (customer_id: string): Sending => ({
      body: { customer_id, card: newCard() },
      ...(idempotencyKey && { idempotencyKey }),
    });
    await send('/capture', call(gone));
    await send('/capture', call(randomUUID()));
  }
  await expect('a publishable key', 403, '/capture', {
    key: keys.publishable_key,
    body: { customer_id: gone, card: newCard() },
  });
}

async function killedInTheMiddle(customer: string): Promise<void> {
  const calls = Array.from({ length: 24 }, (_, index) => ({
    body: { customer_id: customer, card: newCard() },
    ...(index % 2 && { idempotencyKey: randomUUID() }),
  }));
  const running = calls.map((call) => send('/capture', call).catch(() => undefined));
  await Promise.any(running);
  service.child.kill('SIGKILL');
  const answered = await Promise.all(running);
  assert.ok(answered.includes(undefined), 'all captures were over before the kill');
  await service.exited;
  service = await start();
  await Promise.all(calls.filter((call) => call.idempotencyKey).map((call) => send('/capture', call)));
}

async function tooMany(customer: string): Promise<void> {
  const same = { 'x-forwarded-for': '203.0.113.9' };
  const bad = next();
  const refused = { card: cardOf(bad, { exp_month: '0' }) };
  let last = 0;
  for (let count = 0; count < 40 && last !== 429; count += 1) {
    last = (await send('/v1/card_tokens', { body: refused, headers: same })).status;
  }
  assert.equal(last, 429);
  assert.ok(used < markerCount - 3, `${used} markers are used up already`);
  // All at once, because the limit recovers while this machine works.
  const captures = Array.from({ length: markerCount - used }, () => {
    const body = { customer_id: customer, card: newCard() };
    return send('/capture', { body, idempotencyKey: randomUUID() });
  });
  const statuses = (await Promise.all(captures)).map(({ status }) => status);
  assert.ok(statuses.includes(429), statuses.join(' '));
}

async function connectAsOwner(): Promise<pg.Client> {
  const password = await readFile(join(folder, 'postgres/svc_password'), 'utf8');
  const port = Number((await readFile(join(folder, 'postgres/postmaster.pid'), 'utf8')).split('\n')[3]);
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'svc', password, database: 'postgres' });
  await client.connect();
  return client;
}

/** Waits until the requests so far are in the log. They are written in order, some time after they were answered. */
async function logged(): Promise<void> {
  const idempotencyKey = randomUUID();
  await send('/v1/customers', { body: {}, idempotencyKey });
  const client = await connectAsOwner();
  await eventually('the last request is logged', async () => {
    const { rowCount } = await client.query('SELECT 1 FROM requests WHERE idempotency_key = $1', [idempotencyKey]);
    return rowCount === 1;
  });
  await client.end();
}

/** Every row of every table as text, bytea as hex, and what the server itself keeps about values and statements. */
async function dump(client: pg.Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'm', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')`,
  );
  const names = [
    ...rows.map((row) => row.name),
    'pg_statistic',
    'pg_largeobject',
    'pg_stat_activity',
    'pg_description',
  ];
  const dumps = new Map<string, string>();
  for (const name of names) {
    const result = await client.query<{ row: string }>(`SELECT one::text AS row FROM ${name} one`);
    dumps.set(name, result.rows.map(({ row }) => row).join('\n'));
  }
  return dumps;
}

async function files(): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

let dumps: Map<string, string>;
let plantedDump: Map<string, string>;

before(async () => {
  collector = await startCollector();
  service = await start();
  keys = JSON.parse(await readFile(join(folder, 'demo.json'), 'utf8'));
  const customer = await newCustomer();
  await capturesThatSucceed(customer);
  await repeatedKeys(customer);
  await refusedBodies(customer);
  await customersThatAreNotThere();
  await logged();
  await killedInTheMiddle(customer);
  // After the kill, which loses what was not yet sent to the collector.
  await brokenBodies();
  await wrongPlaces();
  await brokenRequests();
  await stop();
  service = await start({ SVC_RATE_LIMIT_CAPTURE: '23/60' });
  await tooMany(customer);

  await logged();
  const client = await connectAsOwner();
  await client.query('ANALYZE');
  dumps = await dump(client);
  await client.query('CREATE TABLE planted (words text, bytes bytea)');
  await client.query('INSERT INTO planted VALUES ($1, $2)', [planted, Buffer.from(planted)]);
  plantedDump = await dump(client);
  await client.query('DROP TABLE planted');
  await client.end();
  await stop();
});

after(async () => {
  service?.child.kill('SIGKILL');
  collector.stop();
  const text = await readFile(join(folder, 'postgres/postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  if (pid > 0) process.kill(pid, 'SIGQUIT');
  await rm(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

test('the search finds a number in every form it could have, and no other number', () => {
  const noise = randomBytes(100).toString('latin1');
  const forms: Record<string, string> = {
    plain: planted,
    'between other digits': `99${planted}11`,
    'in groups': grouped(planted, ' '),
    'with hyphens': grouped(planted, '-'),
    backwards: [...planted].toReversed().join(''),
    'as hex': Buffer.from(planted).toString('hex'),
    'as hex behind a digit': `3${Buffer.from(planted).toString('hex')}`,
    'as base64': Buffer.from(planted).toString('base64'),
    'as base64 at the second alignment': Buffer.from(`"${planted}"`).toString('base64'),
    'as base64 at the third alignment': Buffer.from(`:"${planted}"`).toString('base64url'),
    'as base64 of JSON': Buffer.from(JSON.stringify({ card: { number: planted } })).toString('base64'),
    'in JSON in JSON': JSON.stringify(JSON.stringify({ number: planted })),
  };
  for (const [form, text] of Object.entries(forms)) {
    assert.notDeepEqual(plantedFinder.find(noise + text + noise), [], form);
    assert.deepEqual(finder.find(noise + text + noise), [], form);
  }
  for (const text of ['{"cvc":"4077"}', '{\\"cvc\\":\\"4077\\"}', 'cvc=4077&', "cvc: '4077'"]) {
    assert.deepEqual(plantedFinder.findCvc(text), ['4077'], text);
  }
});

test('the search finds a card number in a table, in the dump and in the write-ahead log', async () => {
  const found = [...plantedDump].filter(([, text]) => plantedFinder.find(text).length > 0).map(([name]) => name);
  assert.ok(found.includes('public.planted'));
  const changes = (await files()).filter((file) => file.includes('/pg_wal/'));
  const texts = await Promise.all(changes.map((file) => readFile(file, 'latin1')));
  assert.ok(texts.some((text) => plantedFinder.find(text).length > 0));
});

test('all the markers were sent, and the cards that were taken are in the vault', () => {
  assert.equal(used, markerCount);
  const count = dumps.get('vault.cards')?.split('\n').length ?? 0;
  assert.ok(count > 30, `${count} cards are in the vault`);
  assert.ok(replies.length > markerCount);
});

test('the log of requests was on, and masked what it kept', () => {
  const text = dumps.get('public.requests') ?? '';
  assert.ok(text.split('\n').length > markerCount / 2);
  assert.ok(text.includes('"card"":""***"'));
});

test('no table of the database holds a card number or a CVC', () => {
  const found = [...dumps].filter(([, text]) => finder.find(text).length > 0 || finder.findCvc(text).length > 0);
  assert.deepEqual(
    found.map(([name]) => name),
    [],
  );
});

test('no file of the data folder holds a card number or a CVC, those of the stopped database included', async () => {
  const all = await files();
  assert.ok(all.some((file) => file.endsWith('postgres.log')) && all.some((file) => file.includes('/pg_wal/0')));
  const found: string[] = [];
  for (const file of all) {
    const text = await readFile(file, 'latin1');
    if (finder.find(text).length > 0 || finder.findCvc(text).length > 0) found.push(relative(folder, file));
  }
  assert.deepEqual(found, []);
});

test('no line of the log holds a card number or a CVC, at its most talkative', () => {
  assert.ok(logs.split('\n').filter((line) => line.includes('"body":"request"')).length > markerCount);
  const found = logs.split('\n').filter((line) => finder.find(line).length > 0 || finder.findCvc(line).length > 0);
  assert.deepEqual(found, []);
});

test('no trace, metric or log that goes to a collector holds a card number or a CVC, also of unknown paths', () => {
  const sent = Buffer.concat(collector.bytes).toString('latin1');
  assert.ok(collector.spans().some(({ attributes }) => attributes['http.route'] === '/v1/card_tokens'));
  // The exporter may not have sent the last lines yet.
  const lines = collector.logRecords().filter(({ body }) => body === 'request').length;
  assert.ok(lines > markerCount / 4, `${lines} lines for ${markerCount} markers`);
  assert.ok(collector.metricsOf(() => true).has('svc_http_request_duration_seconds'));
  const around = (number: string): string => sent.slice(Math.max(0, sent.indexOf(number) - 60)).slice(0, 60);
  assert.deepEqual(finder.find(sent).map(around), []);
  assert.deepEqual(finder.findCvc(sent), []);
});

test('no answer repeats a card number or a CVC, for any fault of the request', () => {
  const found = replies.filter((reply) => finder.find(reply).length > 0 || finder.findCvc(reply).length > 0);
  assert.deepEqual(
    found.map((reply) => reply.replace(/^.*?\]\](?=\{)/s, '')),
    [],
  );
});
