import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { limits } from '../server/limits.ts';
import { checkErrorBody, type Json, odd, openHostileClient, seed } from './support/hostile-client.ts';
import { rounds } from './support/random.ts';
import { someCustomer, someProduct } from './support/service.ts';

/** Bodies, texts, queries, ids, requests and uploads that no honest client sends. */

const { service, send, newCustomer, newProduct } = await openHostileClient();

const countCustomers = async (): Promise<number> =>
  (await service.db.query<{ count: number }>('SELECT count(*) FROM customers'))[0]?.count ?? -1;

const million = 1_000_000;

const withMetadata = (token: string): string =>
  JSON.stringify(someCustomer({ metadata: { value: '@' } })).replace('"@"', token);

const refusedBodies: Record<string, () => string | Buffer> = {
  'is empty': () => '',
  'is null': () => 'null',
  'is an array': () => JSON.stringify([someCustomer()]),
  'is a string': () => JSON.stringify('customer'),
  'is a number': () => '5',
  'is cut off': () => JSON.stringify(someCustomer()).slice(0, -5),
  'has a trailing comma': () => JSON.stringify(someCustomer()).replace('}', ',}'),
  'has a comment': () => `/* hello */ ${JSON.stringify(someCustomer())}`,
  'is two values': () => `${JSON.stringify(someCustomer())}{}`,
  'is UTF-16': () => Buffer.from(`\ufeff${JSON.stringify(someCustomer())}`, 'utf16le'),
  'is compressed': () => gzipSync(JSON.stringify(someCustomer())),
  'is not UTF-8': () => Buffer.from(JSON.stringify(someCustomer({ first_name: 'é' })), 'latin1'),
  'holds a surrogate encoded as UTF-8': () =>
    Buffer.from(JSON.stringify(someCustomer({ first_name: 'XYZ' })).replace('XYZ', '\xed\xa0\x80'), 'latin1'),
  'holds a raw NUL': () => JSON.stringify(someCustomer({ first_name: '@' })).replace('@', '\0'),
  'holds an escaped NUL': () => JSON.stringify(someCustomer({ first_name: 'a\0b' })),
  'holds half a surrogate pair': () => JSON.stringify(someCustomer({ first_name: '\ud800' })),
  'holds a surrogate pair in the wrong order': () => JSON.stringify(someCustomer({ first_name: '\udc00\ud800' })),
  'has a key with half a surrogate pair': () => JSON.stringify(someCustomer({ metadata: { '\ud83d': 1 } })),
  'has a key with a NUL': () => JSON.stringify(someCustomer({ metadata: { 'a\0': 1 } })),
  'holds 2^53 + 1': () => withMetadata('9007199254740993'),
  'holds 1e400': () => withMetadata('1e400'),
  'holds -1e400': () => withMetadata('-1e400'),
  'holds minus zero': () => withMetadata('-0'),
  'holds NaN': () => withMetadata('NaN'),
  'has the key __proto__': () => JSON.stringify(someCustomer()).replace('{', '{"__proto__":{"admin":true},'),
  'has the key __proto__ far inside': () => withMetadata('{"a":[{"__proto__":1}]}'),
  'has a key twice': () => JSON.stringify(someCustomer()).replace('{', '{"email":"first@example.com",'),
  'has a key twice, once escaped': () => JSON.stringify(someCustomer()).replace('{', '{"\\u0065mail":"a@example.com",'),
  'is a million brackets': () => '['.repeat(million / 2) + ']'.repeat(million / 2),
  'nests a hundred thousand objects': () => withMetadata(`${'{"a":'.repeat(1e5)}1${'}'.repeat(1e5)}`),
  'has 300,000 values': () => withMetadata(`[${'0,'.repeat(3e5)}0]`),
  'has 10,000 unknown fields': () =>
    JSON.stringify(someCustomer(Object.fromEntries(Array.from({ length: 1e4 }, (_, index) => [`f${index}`, index])))),
  'has a key of a megabyte': () => JSON.stringify(someCustomer({ ['k'.repeat(0.9 * million)]: 1 })),
  'names properties that every object inherits': () =>
    JSON.stringify(someCustomer({ constructor: 1, toString: 1, hasOwnProperty: 1 })),
  'has an empty key': () => JSON.stringify(someCustomer({ '': 1 })),
};

for (const [what, body] of Object.entries(refusedBodies)) {
  test(`a body that ${what} is refused and makes nothing`, async () => {
    const before = await countCustomers();
    const reply = await send('POST', '/v1/customers', { raw: body() });
    assert.equal(reply.status, 400);
    assert.equal(await countCustomers(), before);
  });
}

test('a body over 1 MiB gets 413, and the answer arrives although the client is still sending', async () => {
  for (const bytes of [limits.bodyBytes + 1, 5 * million, 20 * million]) {
    const reply = await send('POST', '/v1/customers', { raw: JSON.stringify('x'.repeat(bytes)) });
    assert.equal(reply.status, 413);
  }
});

test('a body for a route that needs no secret is 413 beyond 16 KiB', async () => {
  const crowd = JSON.stringify(Object.fromEntries(Array.from({ length: 19_000 }, (_, index) => [`k${index}`, 1])));
  const headers = { origin: service.baseUrl };
  for (const path of ['session', 'sign_up', 'password_resets', 'password_resets/complete', 'invitations/x/accept']) {
    const reply = await send('POST', `/dashboard/${path}`, { raw: crowd, headers, key: null });
    assert.equal(reply.status, 413, path);
    assert.equal(reply.body.error.message, 'The body is larger than 16 KiB.');
  }
  const publishable = await service.createKey(service.company, { kind: 'publishable' });
  assert.equal((await send('POST', '/v1/card_tokens', { raw: crowd, key: publishable })).status, 413);
});

test('hundreds of unknown fields do not hide the field that is really wrong', async () => {
  const unknown = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f${index}`, index]));
  const reply = await send('POST', '/v1/customers', { body: someCustomer({ ...unknown, phone: 5 }) });
  const fields = checkErrorBody(reply).field_errors.map(({ field }) => field);
  assert.ok(fields.includes('f0') && fields.includes('phone'), `reported: ${fields.slice(0, 5).join(', ')} …`);
});

test('a list of thousands of equal entries is refused without blocking the process', async () => {
  const product = await newProduct();
  const entries = 19_000;
  const reply = await send('PATCH', `/v1/products/${String(product.id)}/images/reorder`, {
    body: { image_ids: Array.from({ length: entries }, () => product.id) },
  });
  assert.equal(reply.status, 400);
  const tags = Array.from({ length: entries }, () => 'x'.repeat(45));
  assert.equal((await send('POST', '/v1/customers', { body: someCustomer({ tags }) })).status, 400);
});

test('a PATCH of null is refused, not taken for an empty change', async () => {
  const customer = await newCustomer();
  assert.equal((await send('PATCH', `/v1/customers/${String(customer.id)}`, { raw: 'null' })).status, 400);
});

test('null is no body where the body is optional, as generated clients send it', async () => {
  const endpoint = { url: 'https://example.com/hook', enabled_events: ['order.succeeded'] };
  const { id } = (await send('POST', '/v1/webhook_endpoints', { body: endpoint })).body;
  const path = `/v1/webhook_endpoints/${String(id)}/rotate_secret`;
  assert.equal((await send('POST', path, { raw: 'null' })).status, 200);
  assert.equal((await send('POST', path, { raw: 'false' })).status, 400);
});

const form = '--b\r\nContent-Disposition: form-data; name="first_name"\r\n\r\nEve\r\n--b--\r\n';
for (const [type, raw] of Object.entries({
  'multipart/form-data; boundary=b': form,
  'application/x-www-form-urlencoded': 'first_name=Eve',
  'text/plain': '{"first_name":"Eve"}',
  'application/xml': '<first_name>Eve</first_name>',
  'application/jsonp': '{"first_name":"Eve"}',
})) {
  test(`a change sent as ${type} is refused, never silently ignored`, async () => {
    const customer = await newCustomer();
    const path = `/v1/customers/${String(customer.id)}`;
    const reply = await send('PATCH', path, { raw, headers: { 'content-type': type } });
    assert.equal(reply.status, 400);
    assert.equal(reply.body.error.code, 'invalid_request');
  });
}

test('a large body of another type is refused and leaves the connection usable', async () => {
  const reply = await send('POST', '/v1/customers', {
    raw: 'x'.repeat(5 * million),
    headers: { 'content-type': 'text/html' },
  });
  assert.equal(reply.status, 400);
});

for (const field of ['email', 'first_name', 'last_name', 'phone', 'company', 'tags', 'shipping_address', 'metadata']) {
  test(`a megabyte in ${field} is refused and the field is named`, async () => {
    const reply = await send('POST', '/v1/customers', { body: someCustomer({ [field]: 'x'.repeat(million) }) });
    assert.equal(reply.status, 400);
    assert.equal(reply.body.error.param, field);
  });
}

test('text that fills a regular expression with choices is refused in time', async () => {
  for (const part of ['a@', 'a.', '+1 ', '<', '- ', '"\\"']) {
    const text = part.repeat(million / part.length / 2);
    await send('POST', '/v1/customers', { body: someCustomer({ email: `a@${text}`, phone: `+1${text}` }) });
    const body = someProduct({ name: text, description: text, sku: text });
    await send('POST', '/v1/products', { body, idempotencyKey: randomUUID() });
  }
});

test('an email address cannot carry a line break into a mail header', async () => {
  for (const email of ['"a\r\nBcc: eve"@example.com', 'a\n@example.com', '"a\tb"@example.com', 'a@example.com\r\n']) {
    const reply = await send('POST', '/v1/customers', { body: someCustomer({ email }) });
    assert.equal(reply.status, 400, `${JSON.stringify(email)} was accepted`);
  }
});

test('refused megabytes leave no memory behind', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // What a finished request held is let go in several turns of the event loop.
  const heapBytes = async (): Promise<number> => {
    for (let round = 0; round < 5; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      collect();
    }
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const raw = JSON.stringify(someCustomer({ first_name: 'x'.repeat(million) }));
  await send('POST', '/v1/customers', { raw });
  const before = await heapBytes();
  for (let count = 0; count < 20; count += 1) await send('POST', '/v1/customers', { raw });
  const grown = (await heapBytes()) - before;
  assert.ok(grown < 10 * million, `the heap grew by ${grown} bytes`);
});

test('a byte order mark before the body is skipped', async () => {
  const reply = await send('POST', '/v1/customers', { raw: `\ufeff${JSON.stringify(someCustomer())}` });
  assert.equal(reply.status, 201);
});

for (const [what, text] of Object.entries(odd)) {
  test(`odd text (${what}) is returned exactly as it was sent`, async () => {
    // A name is one line; descriptions, addresses and metadata may be anything.
    const line = what === 'lines' || what === 'controls' ? 'a' : text;
    const input = { first_name: line, last_name: `${line}x`, company: line, metadata: { [text.slice(0, 20)]: [text] } };
    const created = await newCustomer({ ...input, tags: [line], shipping_address: { line1: text, city: text } });
    for (const id of [String(created.id), String(created.id).toUpperCase()]) {
      const { body } = await send('GET', `/v1/customers/${id}`);
      assert.deepEqual(body, created);
      const { first_name, last_name, company, metadata } = body;
      assert.deepEqual({ first_name, last_name, company, metadata }, input);
      assert.deepEqual([body.tags, (body.shipping_address as Json).line1], [[line], text]);
    }
    const product = await newProduct({ name: line, description: text, brand: line, metadata: { text } });
    assert.deepEqual([product.name, product.description], [line, text]);
    assert.deepEqual((await send('GET', `/v1/products/${String(product.id)}`)).body, product);
  });
}

test('metadata with odd keys, nested arrays and floats is returned exactly, from every call', async () => {
  const metadata = {
    constructor: 'a',
    toString: { prototype: [null, [], {}, [[1]]] },
    toJSON: 1,
    then: false,
    length: 3,
    'a.b[0]': 0.1 + 0.2,
    'ключ 🔑': -1.5e-300,
    max: Number.MAX_SAFE_INTEGER,
    min: Number.MIN_VALUE,
    tenth: 1e-7,
    text: 'null',
    none: null,
  };
  const created = await newCustomer({ metadata });
  assert.deepEqual(created.metadata, metadata);
  const path = `/v1/customers/${String(created.id)}`;
  assert.deepEqual((await send('GET', path)).body.metadata, metadata);
  assert.deepEqual((await send('GET', '/v1/customers?limit=1')).body.data[0].metadata, metadata);
  const { none, ...kept } = metadata;
  assert.deepEqual((await send('PATCH', path, { body: { metadata: { none } } })).body.metadata, kept);
});

test('metadata survives any JSON that it accepts', async () => {
  const key = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 }).filter((text) => text !== '__proto__');
  const number = fc.double({ noNaN: true, min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', maxDepth: 3 },
      fc.oneof(fc.string({ unit: 'grapheme', maxLength: 50 }), number, fc.integer(), fc.boolean(), fc.constant(null)),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4 }),
    ),
  }));
  const accepts = fc.asyncProperty(fc.dictionary(key, value, { maxKeys: 5 }), async (generated) => {
    const metadata = JSON.parse(JSON.stringify(generated)) as Json;
    const reply = await send('POST', '/v1/customers', { body: someCustomer({ metadata }) });
    if (reply.status === 400) return;
    assert.deepEqual((await send('GET', `/v1/customers/${reply.body.id}`)).body.metadata, metadata);
  });
  await fc.assert(accepts, { numRuns: rounds(15), ...seed });
});

test('a name that grows when it is folded for the search leaves the database readable', async () => {
  for (const character of ['㌫', 'ﷺ', '㍿', 'ﬃ', '𝔘']) {
    const reply = await send('POST', '/v1/customers', { body: someCustomer({ first_name: character.repeat(255) }) });
    assert.equal(reply.status, 201);
  }
  // A tsvector with an entry over 2 KB is written without complaint and cannot be read, nor dumped, any more.
  await service.db.query('SELECT search::text FROM customers');
});

test('a search for a name of 255 characters finds it, however much it grows when it is folded', async () => {
  const name = '㌫'.repeat(254) + 'x';
  const customer = await newCustomer({ first_name: name });
  const reply = await send('GET', `/v1/customers?q=${encodeURIComponent(name)}`);
  assert.deepEqual(
    reply.body.data.map(({ id }: { id: string }) => id),
    [customer.id],
  );
});

const refusedQueries: Record<string, string> = {
  limit: 'limit=1e1|limit=%2B1|limit=+1|limit=０１|limit=-1|limit=0|limit=101|limit=|limit=1.0|limit=0x1|limit=1%00',
  'limit[]': 'limit[]=1',
  sort: 'sort=|sort=id|sort=created_at;DROP TABLE customers|sort=created_at&sort=-created_at|sort=__proto__',
  starting_after: 'starting_after=1|starting_after=%00|starting_after=../x|starting_after=a&starting_after=b',
  deleted: 'deleted=1|deleted=TRUE|deleted=true&deleted=true',
  email: 'email=|email=a%00b|email=a&email=b',
  q: `q=|q=%00|q=${'x'.repeat(300)}|q=a&q=b`,
  tags: `tags=|tags=a,,b|tags=%00|tags=a%00b|tags=${'x'.repeat(3000)}`,
  expand: 'expand=unknown|expand=__proto__|expand=',
  'fields[customers]': 'fields[customers]=constructor|fields[customers]=id,__proto__|fields[customers]=%00',
  'fields[customers][]': 'fields[customers][]=id',
  'created_at[gte]':
    'created_at[gte]=yesterday|created_at[gte]=2026-02-30|created_at[gte]=2026-13-01|created_at[gte]=%00|created_at[gte]=1',
  'created_at[gte][x]': 'created_at[gte][x]=2026-01-01',
  constructor: 'constructor=1',
  __proto__x: '__proto__x=1',
  'a\u0000': 'a%00=1',
};

for (const [parameter, queries] of Object.entries(refusedQueries)) {
  test(`a bad query is refused by the name of its parameter: ${JSON.stringify(parameter)}`, async () => {
    for (const query of queries.split('|')) {
      const reply = await send('GET', `/v1/customers?${query}`);
      assert.equal(reply.status, 400, query.slice(0, 100));
      assert.equal(reply.body.error.param, parameter, query.slice(0, 100));
    }
  });
}

test('the query parameter __proto__ is refused like any unknown one', async () => {
  const reply = await send('GET', '/v1/customers?__proto__[admin]=1&__proto__=2');
  assert.equal(reply.status, 400);
});

test('a query parameter without a name is refused with a field that can be read', async () => {
  assert.equal((await send('GET', '/v1/customers?=1')).status, 400);
});

test('thousands of unknown query parameters get a short answer', async () => {
  const query = Array.from({ length: 2000 }, (_, index) => `a${index}`).join('&');
  assert.equal((await send('GET', `/v1/customers?${query}`)).status, 400);
});

test('thousands of tags in a query are answered', async () => {
  const query = Array.from({ length: 2500 }, (_, index) => index).join(',');
  await send('GET', `/v1/customers?tags=${query}`);
});

test('odd text in a filter finds nothing else and breaks nothing', async () => {
  for (const text of [...Object.values(odd), "'&|!():*<->", '\\', "'", '%', '_', 'a & b']) {
    for (const name of ['q', 'email', 'tags']) {
      const reply = await send('GET', `/v1/customers?deleted=true&${name}=${encodeURIComponent(`${text}unknown`)}`);
      if (name === 'email') assert.deepEqual(reply.body.data, []);
    }
  }
  assert.ok((await countCustomers()) > 0);
});

test('a tag with the characters of a text search query is found by exactly that tag', async () => {
  for (const tag of ["it's", 'a\\b', 'a & !b | (c):*', "''", '\\']) {
    const customer = await newCustomer({ tags: [tag] });
    const { body } = await send('GET', `/v1/customers?tags=${encodeURIComponent(tag)}`);
    assert.deepEqual(
      body.data.map(({ id }: Json) => id),
      [customer.id],
    );
  }
});

test('a date before 1970 is a date: nothing was created before it', async () => {
  const after1969 = await send('GET', '/v1/customers?created_at[gte]=1969-12-31');
  assert.equal(after1969.status, 200);
  assert.ok(after1969.body.data.length > 0);
  assert.deepEqual((await send('GET', '/v1/customers?created_at[lt]=0001-01-01')).body.data, []);
});

test('a percent sign that escapes nothing in a query is no error of the service', async () => {
  for (const query of ['q=%', 'q=%zz', 'q=%FF', 'q=%ED%A0%80', '%=1', 'q=%C0%80']) {
    await send('GET', `/v1/customers?${query}`);
  }
});

const hostileIds = {
  traversal: '..%2f..%2f..%2fetc%2fpasswd',
  'an encoded slash': 'a%2Fb',
  'a double encoding': '%252e%252e',
  'an encoded NUL': '%00',
  SQL: encodeURIComponent("1' OR '1'='1"),
  'an encoded line break': '%0d%0aX-Evil:%201',
  'a UUID and a line break': `${randomUUID()}%0a`,
  'a UUID in braces': `{${randomUUID()}}`,
  'a long id': 'x'.repeat(101),
  'a very long id': 'x'.repeat(5000),
  'a property name': 'constructor',
};

for (const [what, id] of Object.entries(hostileIds)) {
  test(`an id that is no id (${what}) is the 404 of an id that never existed`, async () => {
    for (const path of [`/v1/customers/${id}`, `/v1/products/${id}`]) {
      const reply = await send('GET', path);
      assert.equal(reply.status, 404);
      assert.equal(reply.body.error.code, 'resource_not_found');
    }
  });
}

interface RawReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function exchange(request: string | Buffer): Promise<RawReply> {
  const chunks: Buffer[] = [];
  const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
  socket.setTimeout(5000, () => socket.destroy());
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => undefined);
  socket.write(request);
  await new Promise((resolve) => socket.on('close', resolve));
  const [head = '', ...rest] = Buffer.concat(chunks).toString().split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]);
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: new Headers(headers as [string, string][]),
    text: rest.join('\r\n\r\n'),
  };
}

const head = (line: string, ...headers: string[]): string =>
  [`${line} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${service.key}`, ...headers, '', ''].join('\r\n');
const closed = 'Connection: close';
const json = 'Content-Type: application/json';

const brokenRequests: Record<string, () => string | Buffer> = {
  'is not HTTP': () => '\x16\x03\x01\x02\x00\r\n\r\n',
  'has a NUL in its path': () => head('GET /v1/customers/\0', closed),
  'has a NUL in a header': () => head('GET /v1/customers', closed, 'X-A: a\0b'),
  'hides a header behind a bare CR': () => head('GET /v1/customers', closed, 'SVC-Version: 2026-02-11\rX: y'),
  'has raw UTF-8 in its path': () => head('GET /v1/customers/é', closed),
  'has a space in its path': () => head('GET /v1/cust omers', closed),
  'has a broken percent sign in its path': () => head('GET /v1/customers/%zz', closed),
  'has no slash in its path': () => head('GET v1/customers', closed),
  'speaks HTTP/9.9': () => head('GET /v1/customers', closed).replace('HTTP/1.1', 'HTTP/9.9'),
  'has two lengths': () => `${head('POST /v1/customers', closed, json, 'Content-Length: 2', 'Content-Length: 3')}{}`,
  'has a negative length': () => `${head('POST /v1/customers', closed, json, 'Content-Length: -2')}{}`,
  'has a length and chunks': () =>
    `${head('POST /v1/customers', closed, json, 'Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
  'has a chunk of no size': () =>
    `${head('POST /v1/customers', closed, json, 'Transfer-Encoding: chunked')}ZZ\r\n{}\r\n0\r\n\r\n`,
  'has a chunk longer than its size': () =>
    `${head('POST /v1/customers', closed, json, 'Transfer-Encoding: chunked')}2\r\n{}x\r\n0\r\n\r\n`,
  'has 50 KB of cookies': () => head('GET /v1/customers', closed, `Cookie: ${'a=b; '.repeat(10_000)}`),
  'has 16 KB of query': () => head(`GET /v1/customers?${'a=1&'.repeat(4500)}`, closed),
  'has thousands of headers': () =>
    head('GET /v1/customers', closed, ...Array.from({ length: 3000 }, (_, index) => `X-${index}: 1`)),
  'has no Host': () => head('GET /v1/customers', closed).replace('Host: x\r\n', ''),
  'expects an unknown thing': () => head('GET /v1/customers', closed, 'Expect: the unexpected'),
  'climbs out of its path': () => head('GET /v1/../../etc/passwd', closed),
  'climbs out of its path, encoded': () => head('GET /v1/customers/%2e%2e/%2e%2e', closed),
  'doubles a slash': () => head('GET //v1//customers', closed),
  'asks for all of the server': () => head('OPTIONS *', closed),
  'names a host that is none': () => head('GET /docs/api/', closed).replace('Host: x', 'Host: <x>'),
};

for (const [what, request] of Object.entries(brokenRequests)) {
  test(`a request that ${what} gets the error body`, async () => {
    const reply = await exchange(request());
    assert.ok(reply.status >= 400 && reply.status < 500, `the status is ${reply.status}`);
    checkErrorBody(reply);
  });
}

for (const method of ['PUT', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE']) {
  test(`${method} on a path that knows other methods is 405 and names them`, async () => {
    const reply = await exchange(head(`${method} /v1/customers`, closed, 'Content-Length: 0'));
    assert.equal(reply.status, 405);
    assert.match(reply.headers.get('allow') ?? '', /GET/);
    checkErrorBody(reply);
  });
}

test('a second Idempotency-Key, Authorization or version header is never taken for the first', async () => {
  for (const name of ['X-SVC-Idempotency-Key', 'SVC-Version']) {
    const body = JSON.stringify(someCustomer());
    const twice = [`${name}: 2026-02-11`, `${name}: 2025-11-04`];
    const lines = [closed, json, `Content-Length: ${Buffer.byteLength(body)}`, ...twice];
    const reply = await exchange(head('POST /v1/customers', ...lines) + body);
    assert.equal(reply.status, 400);
    checkErrorBody(reply);
  }
});

test('garbage behind a complete request does not cost that request its answer', async () => {
  for (const garbage of ['\0\0\0\r\n\r\n', 'x\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n']) {
    const body = JSON.stringify(someCustomer());
    const complete = head('POST /v1/customers', json, `Content-Length: ${Buffer.byteLength(body)}`) + body;
    const reply = await exchange(complete + garbage);
    assert.equal(reply.status, 201, JSON.stringify(garbage));
  }
});

test('a client that goes away while it sends is no error of the service', async () => {
  const product = await newProduct();
  const disposition = 'Content-Disposition: form-data; name="file"; filename="a.png"';
  const halves = [
    `${head('POST /v1/customers', json, 'Content-Length: 5000')}{"email":`,
    `${head('POST /v1/customers', json, 'Transfer-Encoding: chunked')}5\r\n{"ema`,
    head(
      `POST /v1/products/${String(product.id)}/images`,
      'Content-Type: multipart/form-data; boundary=b',
      'Content-Length: 5000',
    ) + `--b\r\n${disposition}\r\n\r\nabc`,
  ];
  for (const half of halves) {
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(half);
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
  const failed = service.logLines.filter((line) =>
    /"severity_text":"ERROR"|"http.response.status_code":5\d\d/.test(line),
  );
  service.logLines.splice(0);
  assert.deepEqual(failed, []);
});

const part = (disposition: string, content = 'abc'): string =>
  `--b\r\nContent-Disposition: ${disposition}\r\nContent-Type: image/png\r\n\r\n${content}\r\n`;
const file = 'form-data; name="file"; filename="a.png"';
const hostileForms: Record<string, string> = {
  'is empty': '',
  'has no parts': '--b--\r\n',
  'has no boundary in it': 'x'.repeat(3 * million),
  'is cut off': part(file).slice(0, -1),
  'is cut off in a header': '--b\r\nContent-Dispo',
  'has a part without a name': `${part('form-data; filename="a.png"')}--b--\r\n`,
  'has a part without a disposition': '--b\r\nContent-Type: image/png\r\n\r\nabc\r\n--b--\r\n',
  'has a part named __proto__': `${part('form-data; name="__proto__"; filename="a.png"')}--b--\r\n`,
  'has a part named toString': `${part('form-data; name="toString"; filename="a.png"')}--b--\r\n`,
  'has a field instead of a file': `${part('form-data; name="file"')}--b--\r\n`,
  'has a thousand files': `${part(file).repeat(1000)}--b--\r\n`,
  'has a part without the end of its headers': `--b\r\nContent-Disposition: ${file}\r\n\r\n--b--\r\n`,
  'has a second file that is cut off': part(file) + part(file).slice(0, -1),
  'has a second field that is cut off': part(file) + part('form-data; name="a"').slice(0, -1),
  'has a second part that ends in its headers': `${part(file)}--b\r\nContent-Dispo`,
  'has a second part that has no disposition and is cut off': `${part(file)}--b\r\nContent-Type: image/png\r\n\r\nabc`,
  'has a huge header': `--b\r\nX: ${'y'.repeat(million)}\r\n\r\nabc\r\n--b--\r\n`,
  'has a NUL and a path in its file name': `${part('form-data; name="file"; filename="../../a\0.png"')}--b--\r\n`,
  'has a name of a megabyte': `${part(`form-data; name="${'n'.repeat(million)}"; filename="a"`)}--b--\r\n`,
  'is an empty file': `${part(file, '')}--b--\r\n`,
  'is HTML that claims to be a PNG': `${part(file, '<html><script>alert(1)</script>')}--b--\r\n`,
};

for (const [what, raw] of Object.entries(hostileForms)) {
  test(`an upload that ${what} is refused`, async () => {
    const product = await newProduct();
    const headers = { 'content-type': 'multipart/form-data; boundary=b' };
    const reply = await send('POST', `/v1/products/${String(product.id)}/images`, { raw, headers });
    assert.equal(reply.status, 400);
  });
}

test('a form with a boundary that is too long for the parser is refused', async () => {
  const product = await newProduct();
  for (const length of [1, 70, 200, 255, 256, 257, 1000, 8000]) {
    const boundary = 'a'.repeat(length);
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
    const raw = `--${boundary}\r\nContent-Disposition: ${file}\r\n\r\nabc\r\n--${boundary}--\r\n`;
    const reply = await send('POST', `/v1/products/${String(product.id)}/images`, { raw, headers });
    assert.equal(reply.status, 400, `a boundary of ${length} characters`);
  }
});
