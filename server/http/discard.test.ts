import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { someProduct, startTestService } from '../../tests/support/service.ts';

const service = await startTestService();
after(async () => {
  service.app.server.closeAllConnections();
  await service.stop();
});

const megabyte = 1_000_000;
const boundary = 'b';
const partHead = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n`;
const multipart = `multipart/form-data; boundary=${boundary}`;
const upload = (bytes: number): Buffer =>
  Buffer.concat([Buffer.from(partHead), Buffer.alloc(bytes, 'x'), Buffer.from(`\r\n--${boundary}--\r\n`)]);
const json = (bytes: number): Buffer => Buffer.from(JSON.stringify({ first_name: 'x'.repeat(bytes) }));

const product = async (): Promise<string> => {
  const { body } = await service.call('POST', '/v1/products', { body: someProduct(), idempotencyKey: randomUUID() });
  return `/v1/products/${body.id}/images`;
};
const images = await product();

interface Sent {
  readonly path: string;
  readonly type: string;
  readonly body: Buffer;
  readonly key: string | null;
  readonly chunked?: boolean;
}

type Client = (sent: Sent) => Promise<{ status: number; body: string }>;

const headersOf = ({ type, key }: Sent): Record<string, string> => ({
  'content-type': type,
  ...(key && { authorization: `Bearer ${key}` }),
});

/** Waits until the bytes are on their way; fails when the connection is gone. */
function writeAll(socket: Socket, bytes: Buffer | string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}

const clients: Record<string, Client> = {
  fetch: async (sent) => {
    const answer = await fetch(service.baseUrl + sent.path, {
      method: 'POST',
      headers: headersOf(sent),
      body: sent.chunked ? new Blob([new Uint8Array(sent.body)]).stream() : new Uint8Array(sent.body),
      ...(sent.chunked && { duplex: 'half' as const }),
    });
    return { status: answer.status, body: await answer.text() };
  },
  'the http module of Node': async (sent) => {
    const length = sent.chunked ? {} : { 'content-length': sent.body.length };
    const request = httpRequest(service.baseUrl + sent.path, {
      method: 'POST',
      headers: { ...headersOf(sent), ...length },
    });
    const answered = once(request, 'response');
    request.end(sent.body);
    const [response] = await answered;
    return { status: response.statusCode, body: await readText(response) };
  },
  // As Python does.
  'a client that reads only after it has sent everything': async (sent) => {
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
    socket.on('error', () => undefined);
    const length = sent.chunked ? 'transfer-encoding: chunked' : `content-length: ${sent.body.length}`;
    const headers = Object.entries(headersOf(sent)).map(([name, value]) => `${name}: ${value}\r\n`);
    await writeAll(
      socket,
      `POST ${sent.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers.join('')}${length}\r\n\r\n`,
    );
    for (let at = 0; at < sent.body.length; at += 65_536) {
      const piece = sent.body.subarray(at, at + 65_536);
      if (sent.chunked) await writeAll(socket, `${piece.length.toString(16)}\r\n`);
      await writeAll(socket, piece);
      if (sent.chunked) await writeAll(socket, '\r\n');
    }
    if (sent.chunked) await writeAll(socket, '0\r\n\r\n');
    const answer = await readText(socket);
    return { status: Number(answer.slice(9, 12)), body: answer.slice(answer.indexOf('\r\n\r\n') + 4) };
  },
};

const { key } = service;
const cases: Record<string, { sent: Sent; status: number; code: string }> = {
  'an image of 11 MB': {
    sent: { path: images, type: multipart, body: upload(11 * megabyte), key },
    status: 413,
    code: 'invalid_request',
  },
  'an image of 14 MB': {
    sent: { path: images, type: multipart, body: upload(14 * megabyte), key },
    status: 413,
    code: 'invalid_request',
  },
  'JSON of 8 MB': {
    sent: { path: '/v1/customers', type: 'application/json', body: json(8 * megabyte), key },
    status: 413,
    code: 'invalid_request',
  },
  'an image with a wrong key': {
    sent: { path: images, type: multipart, body: upload(10 * megabyte), key: 'wrong' },
    status: 401,
    code: 'invalid_api_key_format',
  },
  'an image at an unknown path': {
    sent: { path: '/v1/picture', type: multipart, body: upload(10 * megabyte), key },
    status: 404,
    code: 'resource_not_found',
  },
  'JSON for a route that takes small bodies': {
    sent: { path: '/v1/card_tokens', type: 'application/json', body: json(2 * megabyte), key },
    status: 413,
    code: 'invalid_request',
  },
};

describe('a body that is refused', () => {
  for (const [what, { sent, status, code }] of Object.entries(cases)) {
    for (const [name, client] of Object.entries(clients)) {
      const chunked = name !== 'fetch';
      test(`${name} gets the ${status} for ${what}${chunked ? ', sent in chunks' : ''}`, async () => {
        const answer = await client({ ...sent, chunked });
        assert.equal(answer.status, status, answer.body);
        assert.equal(JSON.parse(answer.body).error.code, code);
      });
    }
  }

  test('a caller over its limit gets the 429, however much it sends', async () => {
    const limited = await startTestService({ settings: { SVC_RATE_LIMIT_WRITE: '1/60' } });
    const post = (body: Buffer): Promise<Response> =>
      fetch(`${limited.baseUrl}/v1/customers`, {
        method: 'POST',
        headers: { authorization: `Bearer ${limited.key}`, 'content-type': 'application/json' },
        body: new Uint8Array(body),
      });
    await post(json(10));
    assert.equal((await post(json(8 * megabyte))).status, 429);
    await limited.stop();
  });
});

describe('what is read of a refused body is bounded', () => {
  /** Sends for ever and says how much was taken before the connection ended. */
  async function megabytesTaken(headers: string): Promise<number> {
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.resume();
    const head = `POST /v1/customers HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n\r\n`;
    const chunk = `${megabyte.toString(16)}\r\n${'x'.repeat(megabyte)}\r\n`;
    await writeAll(socket, head);
    for (let taken = 0; ; taken += 1) {
      try {
        await writeAll(socket, chunk);
      } catch {
        return taken;
      }
    }
  }

  test('12 MB for a stranger', async () => {
    const taken = await megabytesTaken('Transfer-Encoding: chunked');
    assert.ok(taken >= 12 && taken < 25, `${taken} MB were taken`);
  });

  test('64 MB for a caller with a key', async () => {
    const taken = await megabytesTaken(`Authorization: Bearer ${key}\r\nTransfer-Encoding: chunked`);
    assert.ok(taken >= 64 && taken < 80, `${taken} MB were taken`);
  });

  test('a second of silence', async () => {
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
    const startedAtMs = performance.now();
    socket.write('POST /v1/customers HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n');
    assert.match(await readText(socket), /^HTTP\/1\.1 401 /);
    assert.ok(performance.now() - startedAtMs < 4000);
  });

  test('a speed for all together', async () => {
    const sent = { path: '/v1/customers', type: 'application/json', body: json(8 * megabyte), key };
    const startedAtMs = performance.now();
    await Promise.all([clients.fetch?.(sent), clients.fetch?.(sent), clients.fetch?.(sent)]);
    const elapsedMs = performance.now() - startedAtMs;
    assert.ok(elapsedMs > 1200, `24 MB were read in ${Math.round(elapsedMs)} ms`);
  });
});
