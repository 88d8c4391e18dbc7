import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { openHostileClient, seed } from './support/hostile-client.ts';
import { rounds } from './support/random.ts';
import { someCustomer } from './support/service.ts';

/**
 * Every place where bytes from outside meet a parser, our own or that of a library: for any input, the answer is below 500, comes
 * soon, and nothing is worth an error in the log. `SVC_FUZZ_SEED` repeats a failure, `SVC_TEST_ROUNDS=100` searches longer.
 */

const runsPerEntry = 50;
const patienceMs = 8_000;

const { service, uncaught, newProduct } = await openHostileClient();
const product = await newProduct();
const images = `/v1/products/${String(product.id)}/images`;
const port = Number(new URL(service.baseUrl).port);

/** The status of the answer; 0 when the connection ended without one. */
async function statusOf(request: Buffer): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  let silent = false;
  socket.setTimeout(patienceMs, () => {
    silent = true;
    socket.destroy();
  });
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => undefined);
  socket.write(request);
  await new Promise((resolve) => socket.on('close', resolve));
  assert.ok(!silent, `no answer within ${patienceMs} ms`);
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(Buffer.concat(chunks).toString('latin1'))?.[1] ?? 0);
}

interface Parts {
  readonly line: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

const own = { Authorization: `Bearer ${service.key}` };
const fromDashboard = { Origin: service.baseUrl, 'Content-Type': 'application/json' };

function written({ line, headers = own, body }: Parts): Buffer {
  const all = {
    Host: `127.0.0.1:${port}`,
    Connection: 'close',
    ...headers,
    ...(body && { 'Content-Length': body.length }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${line} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'), body ?? Buffer.alloc(0)]);
}

const lengths = [0, 1, 2, 63, 64, 70, 71, 127, 128, 200, 255, 256, 257, 300, 1000, 4000, 8000];
const fragments = [
  '%',
  '%00',
  '%zz',
  '%ff',
  '..',
  '/',
  '\\',
  '"',
  "'",
  ';',
  '=',
  '&',
  ',',
  '[',
  ']',
  '{',
  '}',
  '\t',
  ' ',
  '\x7f',
].concat(
  [
    '\xff',
    '\xc3\xa9',
    '__proto__',
    'constructor',
    'null',
    'undefined',
    'NaN',
    '-1',
    '1e400',
    '0x10',
    'evt_',
    'cct_',
    'req_',
  ],
  [
    'svc_test_sk_',
    'Bearer ',
    'v1.',
    'eyJhbGciOiJub25lIn0',
    '2026-02-11',
    '9999-12-31T23:59:60Z',
    randomUUID(),
    'AAAA====',
    '-_-_',
  ],
);

/** What a header may hold at all: Node refuses the rest before we see it, which other tests look at. */
const latin1 = fc
  .integer({ min: 0x20, max: 0xff })
  .filter((code) => code !== 0x7f)
  .map((code) => String.fromCharCode(code));
const noise: fc.Arbitrary<string> = fc.oneof(
  fc
    .tuple(fc.constantFrom(...lengths), fc.constantFrom('a', '=', '-', '"', '\xe9', '0', 'A'))
    .map(([length, character]) => character.repeat(length)),
  fc
    .array(fc.oneof(fc.constantFrom(...fragments), latin1), { maxLength: 40 })
    .map((pieces) => pieces.join('').replaceAll('\x7f', '')),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('base64')),
);
const inPath = noise.map((text) =>
  text.replace(/[^!-~]/g, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`),
);
const bytes = fc.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array));

/** Some bytes of it replaced, removed, doubled or added. */
const mutated = (base: Buffer): fc.Arbitrary<Buffer> =>
  fc
    .array(
      fc.tuple(
        fc.nat(10_000),
        fc.nat(12),
        fc.oneof(
          bytes,
          fc.constantFrom(...fragments).map((text) => Buffer.from(text, 'latin1')),
        ),
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((edits) =>
      edits.reduce<Buffer>((body, [place, removed, added]) => {
        const at = place % (body.length + 1);
        return Buffer.concat([body.subarray(0, at), added.subarray(0, 40), body.subarray(at + removed)]);
      }, base),
    );

const form = (name: string): Buffer =>
  Buffer.from(
    `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: image/png\r\n\r\nabc\r\n--b--\r\n`,
    'latin1',
  );
const multipart = 'multipart/form-data; boundary=';
const customer = Buffer.from(JSON.stringify(someCustomer({ metadata: { a: [1, { b: null }] } })));
const signIn = Buffer.from(JSON.stringify({ email: 'ada@example.com', password: 'long enough for it' }));
const json = { ...own, 'Content-Type': 'application/json' };

const get = (path: string): Parts => ({ line: `GET ${path}` });
const header = (name: string, path = '/v1/customers'): fc.Arbitrary<Parts> =>
  noise.map((text) => ({ line: `GET ${path}`, headers: { ...own, [name]: text } }));

const entries: Record<string, fc.Arbitrary<Parts>> = {
  'a JSON body': mutated(customer).map((body) => ({ line: 'POST /v1/customers', headers: json, body })),
  'a JSON body of only bytes': bytes.map((body) => ({ line: 'POST /v1/customers', headers: json, body })),
  'a JSON body without a key': mutated(signIn).map((body) => ({
    line: 'POST /dashboard/session',
    headers: fromDashboard,
    body,
  })),
  'the query of a list': inPath.map((text) => get(`/v1/customers?${text}`)),
  'the query of a call that takes none': inPath.map((text) => get(`/v1/sandbox/clock?${text}`)),
  'a cursor': inPath.map((text) => get(`/v1/orders?starting_after=${text}`)),
  'a cursor of the feed': inPath.map((text) => get(`/v1/events/feed?after=${text}`)),
  'a filter by date': inPath.map((text) => get(`/v1/orders?created_at[gte]=${text}`)),
  'a search': inPath.map((text) => get(`/v1/customers?q=${text}`)),
  'sparse fields': inPath.map((text) => get(`/v1/customers?fields[customers]=${text}`)),
  'an id in a path': inPath.map((text) => get(`/v1/customers/${text}`)),
  'a request id in a path': inPath.map((text) => get(`/v1/requests/${text}`)),
  'any path': inPath.map((text) => get(`/${text}`)),
  'the path of a file': inPath.map((text) => get(`/files/${text}`)),
  'the signature of a file': fc
    .tuple(inPath, inPath)
    .map(([expires, signature]) => get(`/files/a?expires=${expires}&signature=${signature}`)),
  'the path of a guide': inPath.map((text) => get(`/docs/${text}`)),
  'the path of the reference': inPath.map((text) => get(`/docs/api/${text}`)),
  'the path of the dashboard': inPath.map((text) => get(`/dashboard/${text}`)),
  'the path of a mail': inPath.map((text) => get(`/mailbox/${text}`)),
  'the token of an invitation': inPath.map((text) => get(`/dashboard/invitations/${text}`)),
  'the token of a reset': noise.map((text) => ({
    line: 'POST /dashboard/password_resets/complete',
    headers: fromDashboard,
    body: Buffer.from(JSON.stringify({ token: text, password: 'long enough for it' })),
  })),
  'a card token': noise.map((text) => ({
    line: `POST /v1/customers/${randomUUID()}/payment_methods`,
    headers: json,
    body: Buffer.from(JSON.stringify({ card_token: text })),
  })),
  'the boundary of a form': noise.map((text) => ({
    line: `POST ${images}`,
    headers: { ...own, 'Content-Type': multipart + text },
    body: form('a'),
  })),
  'the type of an upload': noise.map((text) => ({
    line: `POST ${images}`,
    headers: { ...own, 'Content-Type': `multipart/form-data${text}` },
    body: form('a'),
  })),
  'a form': mutated(form('a.png')).map((body) => ({
    line: `POST ${images}`,
    headers: { ...own, 'Content-Type': `${multipart}b` },
    body,
  })),
  'the name of a file': noise.map((text) => ({
    line: `POST ${images}`,
    headers: { ...own, 'Content-Type': `${multipart}b` },
    body: form(text),
  })),
  'the type of a body': noise.map((text) => ({
    line: 'POST /v1/customers',
    headers: { ...own, 'Content-Type': text },
    body: customer,
  })),
  'the encoding of a body': noise.map((text) => ({
    line: 'POST /v1/customers',
    headers: { ...json, 'Content-Encoding': text },
    body: customer,
  })),
  'a key': noise.map((text) => ({ line: 'GET /v1/customers', headers: { Authorization: text } })),
  'a bearer token': noise.map((text) => ({ line: 'GET /v1/customers', headers: { Authorization: `Bearer ${text}` } })),
  'an idempotency key': noise.map((text) => ({
    line: 'POST /v1/customers',
    headers: { ...json, 'X-SVC-Idempotency-Key': text },
    body: customer,
  })),
  'a version': header('SVC-Version'),
  'a company': noise.map((text) => ({
    line: 'GET /v1/customers',
    headers: { 'SVC-Company': text, Cookie: 'svc_session=x' },
  })),
  'a cookie': noise.map((text) => ({ line: 'GET /dashboard/session', headers: { Cookie: text } })),
  'a session token': noise.map((text) => ({
    line: 'GET /dashboard/session',
    headers: { Cookie: `svc_session=${text}` },
  })),
  'an origin': noise.map((text) => ({
    line: 'POST /dashboard/session',
    headers: { ...fromDashboard, Origin: text },
    body: signIn,
  })),
  'a host': noise.map((text) => ({ line: 'GET /docs/api/', headers: { Host: text } })),
  'a forwarded address': header('X-Forwarded-For'),
  'a trace': header('traceparent'),
  'what a client accepts': header('Accept-Encoding', '/docs'),
  'a range': header('Range', '/docs'),
  'a tag of a cached page': header('If-None-Match', '/docs'),
  'a date of a cached page': header('If-Modified-Since', '/docs'),
  'a method asked for before the call': noise.map((text) => ({
    line: 'OPTIONS /v1/card_tokens',
    headers: { Origin: 'https://shop.test', 'Access-Control-Request-Method': text },
  })),
};

for (const [what, arbitrary] of Object.entries(entries)) {
  test(`no text in ${what} causes a 5xx`, async () => {
    const survives = fc.asyncProperty(arbitrary, async (parts) => {
      const status = await statusOf(written(parts));
      assert.ok(status < 500 && status !== 0, `the status is ${status}`);
      assert.deepEqual(uncaught.splice(0), []);
    });
    await fc.assert(survives, { numRuns: rounds(runsPerEntry), interruptAfterTimeLimit: 20_000 * rounds(1), ...seed });
  });
}
