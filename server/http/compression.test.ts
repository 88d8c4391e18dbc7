import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { type Merchant, someProduct, startTestService } from '../../tests/support/service.ts';

/** Compression of JSON answers and pages. */

const service = await startTestService();
after(() => service.stop());

let merchant: Merchant;
before(async () => {
  merchant = await service.createMerchant();
  for (let count = 0; count < 6; count += 1) {
    const { status } = await service.call('POST', '/v1/products', {
      key: merchant.key,
      idempotencyKey: `product-${count}`,
      body: someProduct({ description: 'Holds six cups. '.repeat(40) }),
    });
    assert.equal(status, 201);
  }
});

/** The answer as it is on the wire: `fetch` would decompress it. */
async function get(url: string, acceptEncoding?: string) {
  const { headers, rawPayload } = await service.app.inject({
    url,
    headers: {
      host: 'localhost',
      authorization: `Bearer ${merchant.key}`,
      ...(acceptEncoding !== undefined && { 'accept-encoding': acceptEncoding }),
    },
  });
  return {
    encoding: headers['content-encoding'],
    vary: headers.vary,
    length: headers['content-length'],
    bytes: rawPayload,
  };
}

const list = '/v1/products';

it('sends a long answer compressed to a client that accepts it, with the same content', async () => {
  const plain = await get(list);
  assert.equal(plain.encoding, undefined);
  for (const [accepted, encoding, decompress] of [
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['gzip, deflate', 'gzip', gunzipSync],
    ['br;q=0.5, GZIP;q=1.0', 'br', brotliDecompressSync],
  ] as const) {
    const reply = await get(list, accepted);
    assert.equal(reply.encoding, encoding);
    assert.equal(reply.vary, 'Accept-Encoding');
    assert.equal(Number(reply.length), reply.bytes.length);
    assert.ok(reply.bytes.length < plain.bytes.length / 3, `${reply.bytes.length} of ${plain.bytes.length} bytes`);
    assert.deepEqual(decompress(reply.bytes), plain.bytes);
  }
});

it('sends an answer as it is to a client that accepts no compression that we have', async () => {
  for (const accepted of ['identity', 'deflate', 'br;q=0, gzip;q=0.0', 'brotli', '']) {
    const { encoding, vary } = await get(list, accepted);
    assert.deepEqual([encoding, vary], [undefined, 'Accept-Encoding'], accepted);
  }
});

it('compresses the pages that customers see', async () => {
  for (const page of ['/checkout/abc', '/customer/abc', '/card-fields']) {
    const plain = await get(page);
    const { encoding, vary, bytes } = await get(page, 'br');
    assert.deepEqual([encoding, vary], ['br', 'Accept-Encoding'], page);
    assert.ok(bytes.length < plain.bytes.length / 2, `${page}: ${bytes.length} of ${plain.bytes.length} bytes`);
    assert.match(brotliDecompressSync(bytes).toString(), /^<!doctype html>/i);
  }
});

it('does not compress a short answer', async () => {
  const { encoding, bytes } = await get('/v1/products?limit=1', 'br');
  assert.ok(bytes.length < 2_048);
  assert.equal(encoding, undefined);
});

it('does not compress the answer to a write', async () => {
  const { headers } = await service.app.inject({
    method: 'POST',
    url: list,
    headers: {
      host: 'localhost',
      authorization: `Bearer ${merchant.key}`,
      'accept-encoding': 'br',
      'x-svc-idempotency-key': 'compressed',
    },
    payload: someProduct({ description: 'Holds six cups. '.repeat(200) }),
  });
  assert.ok(Number(headers['content-length']) > 2_048);
  assert.equal(headers['content-encoding'], undefined);
});
