import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { document, resolve } from './support/openapi.ts';
import { type CallOptions, type Reply, startTestService } from './support/service.ts';

/** Error messages repeat no card number that a caller sent in the wrong place, and hide none of our own numbers. */

const service = await startTestService({
  settings: {
    SVC_RATE_LIMIT_CAPTURE: 'off',
    SVC_RATE_LIMIT_REFUSED_CARDS: 'off',
    SVC_RATE_LIMIT_COUPON_VALIDATION: 'off',
  },
});
after(() => service.stop());

const card = '4242424242424242';
const spellings = [card, '4242-4242-4242-4242', '4242 4242 4242 4242'];
const repeated = /4242[^\d"]{0,3}4242[^\d"]{0,3}4242[^\d"]{0,3}4242/;

interface Schema {
  readonly properties?: Record<string, Schema>;
  readonly anyOf?: readonly Schema[];
}

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly object[];
  readonly requestBody?: { content: Record<string, { schema: Schema }> };
}

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, declared]) => ({
    path,
    method: method.toUpperCase(),
    operation: declared as unknown as Operation,
  })),
);

const withIds = (path: string, id: string): string => path.replaceAll(/\{\w+\}/g, encodeURIComponent(id));

async function refusedWithoutIt(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
  const already = service.logLines.length;
  const reply = await service.call(method, path, { idempotencyKey: randomUUID(), ...options });
  if (reply.status >= 400) assert.doesNotMatch(reply.text, repeated, `${method} ${path}`);
  for (const line of service.logLines.slice(already)) assert.doesNotMatch(line, repeated, `${method} ${path}`);
  return reply;
}

/** The declared fields with one value in all of them, two levels deep. */
function bodyWith(schema: Schema, value: unknown, depth = 0): Record<string, unknown> {
  const { properties = {}, anyOf = [] } = resolve(schema);
  const all = Object.assign({}, properties, ...anyOf.map((one) => resolve(one).properties ?? {}));
  const inner = (field: Schema): unknown => {
    const isObject = resolve(field).properties !== undefined;
    return isObject && depth < 1 ? bodyWith(field, value, depth + 1) : value;
  };
  return Object.fromEntries(Object.entries(all as Record<string, Schema>).map(([name, field]) => [name, inner(field)]));
}

test('a card number in a path, a query or a header is not repeated', async () => {
  let refused = 0;
  for (const { path, method, operation } of operations) {
    const names = operation.parameters.map((one) => resolve(one) as { name: string; in: string });
    const known = names.flatMap((one) => (one.in === 'query' ? [one.name] : []));
    const id = randomUUID();
    const [number = card] = spellings.slice(refused % spellings.length);
    const replies = [
      await refusedWithoutIt(method, withIds(path, number), { body: {} }),
      await refusedWithoutIt(method, `${withIds(path, id)}?${encodeURIComponent(number)}=1`),
      ...(known.length === 0
        ? []
        : [
            await refusedWithoutIt(
              method,
              `${withIds(path, id)}?${known.map((name) => `${name}=${encodeURIComponent(number)}`).join('&')}`,
            ),
          ]),
    ];
    refused += replies.filter(({ status }) => status >= 400).length;
  }
  assert.ok(refused > operations.length, `${refused} of ${operations.length} operations refused something`);
  for (const number of spellings) {
    await refusedWithoutIt('GET', `/v1/${number.replaceAll(' ', '%20')}`);
    for (const name of ['svc-version', 'content-type', 'x-svc-idempotency-key', 'authorization', 'host']) {
      await refusedWithoutIt('POST', '/v1/customers', { body: {}, headers: { [name]: number } });
      await refusedWithoutIt('POST', '/v1/customers', {
        body: {},
        headers: { [name]: `Bearer ${number}; x=${number}` },
      });
    }
  }
});

test('a card number in the name or the value of a field is not repeated', async () => {
  let refused = 0;
  for (const { path, method, operation } of operations) {
    const schema = operation.requestBody?.content['application/json']?.schema;
    if (!schema) continue;
    const at = withIds(path, randomUUID());
    const values = [...spellings, Number(card), { [card]: card }, [card], { [card]: { '4242': { '4242': 1 } } }];
    const bodies = [
      ...spellings.map((number) => ({ [number]: 1 })),
      { '4242': { '4242': { '4242': { '4242': 1 } } } },
      ...values.map((value) => bodyWith(schema, value)),
    ];
    for (const body of bodies) refused += (await refusedWithoutIt(method, at, { body })).status >= 400 ? 1 : 0;
    for (const raw of [`{"${card}": 1, "${card}": 2}`, `{"a": ${card}x`, `{'${card}'}`, `{"${card}": 1e400}`, card]) {
      await refusedWithoutIt(method, at, { raw, headers: { 'content-type': 'application/json' } });
    }
  }
  assert.ok(refused > 200, `${refused} bodies were refused`);
});

test('a card number in the name of a field of a form is not repeated', async () => {
  const { body: product } = await service.call('GET', '/v1/products');
  assert.ok(product.data);
  const path = `/v1/products/${randomUUID()}/images`;
  for (const content of [card, `filename="${card}.png"\r\nContent-Type: image/${card}`]) {
    const raw = `--b\r\nContent-Disposition: form-data; name="${card}"; ${content}\r\n\r\n${card}\r\n--b--\r\n`;
    await refusedWithoutIt('POST', path, { raw, headers: { 'content-type': 'multipart/form-data; boundary=b' } });
  }
});

test('a repeated idempotency key does not repeat the path or the fields of its first request', async () => {
  const idempotencyKey = randomUUID();
  const send = (path: string, body: object): Promise<Reply> => refusedWithoutIt('POST', path, { body, idempotencyKey });
  await send('/v1/coupons', { name: 'One', percentage: 5, [card]: 1 });
  await send('/v1/coupons', { name: 'One', percentage: 5 });
  assert.equal((await send('/v1/coupons', { name: 'Two', percentage: 5 })).status, 422);
});

test('our own numbers are shown', async () => {
  const message = async (method: string, path: string, options: CallOptions = {}): Promise<string> => {
    const { status, body } = await service.call(method, path, { idempotencyKey: randomUUID(), ...options });
    assert.equal(status, 400);
    return `${body.error.message} ${body.error.field_errors.map((one: { message: string }) => one.message).join()}`;
  };
  const raw = '{"metadata": {"id": 12345678901234567890}}';
  const headers = { 'content-type': 'application/json' };
  const own = /9007199254740991/;
  assert.match(await message('POST', '/v1/customers', { raw, headers }), own);
  assert.match(await message('GET', '/v1/orders?total[gt]=x'), own);
  assert.doesNotMatch(await message('POST', '/v1/customers', { raw: `{"${card}": 1e400}`, headers }), repeated);
});
