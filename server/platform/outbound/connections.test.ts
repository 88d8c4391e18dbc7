import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import { createServer, type TLSSocket } from 'node:tls';
import { type Receiver, startReceiver, testAuthority, testCertificate } from '../../../tests/support/receiver.ts';
import { addressCheck } from './addresses.ts';
import { createOutbound, type Outbound, type OutboundResult } from './outbound.ts';

const opened: { close(): unknown }[] = [];
after(async () => {
  for (const one of opened) await one.close();
});

function open(): Outbound {
  const outbound = createOutbound({ isAllowed: addressCheck(['127.0.0.1']), certificates: [testAuthority] });
  opened.push(outbound);
  return outbound;
}

async function receive(how?: Parameters<typeof startReceiver>[0]): Promise<Receiver> {
  const receiver = await startReceiver(how);
  opened.push({ close: () => receiver.stop() });
  return receiver;
}

/** A server over TLS that decides itself which bytes it sends. */
async function serve(onConnection: (socket: TLSSocket) => void): Promise<string> {
  const server = createServer(testCertificate, (socket) => {
    socket.on('error', () => undefined);
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push(server);
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const post = (outbound: Outbound, url: string, timeoutMs = 5_000, body = '{}'): Promise<OutboundResult> =>
  outbound.post({ url, headers: { 'X-Test': 'yes' }, body, timeoutMs, answerBytesMax: 100 });

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const answered = { answered: true, status: 200, body: 'ok', retryAfter: undefined };

describe('a connection to a receiver', () => {
  it('is kept for the next request', async () => {
    const receiver = await receive();
    const outbound = open();
    for (let sent = 0; sent < 20; sent += 1) assert.deepEqual(await post(outbound, receiver.url), answered);
    assert.equal(receiver.connections(), 1);
    assert.equal(receiver.received[19]?.headers['x-test'], 'yes');
  });

  it('carries a body of any characters and any size', async () => {
    const receiver = await receive();
    const body = JSON.stringify({ text: 'Ω → 🎉'.repeat(50_000) });
    assert.deepEqual(await post(open(), receiver.url, 5_000, body), answered);
    assert.equal(receiver.received[0]?.body, body);
  });

  it('carries one request at a time, and requests wait while a hundred are open', async () => {
    const held: ServerResponse[] = [];
    const receiver = await receive((_, response) => held.push(response));
    const outbound = open();
    const results = Array.from({ length: 150 }, () => post(outbound, receiver.url));
    await receiver.count(100);
    assert.equal(receiver.connections(), 100);
    receiver.behave(200);
    for (const response of held) response.end('ok');
    assert.deepEqual(
      await Promise.all(results),
      results.map(() => answered),
    );
    assert.equal(receiver.connections(), 100);
  });

  it('is replaced when the receiver closes it after an answer, announced or not', async () => {
    const ends: Promise<unknown>[] = [];
    const url = await serve((socket) => {
      ends.push(once(socket, 'close'));
      socket.once('data', () => socket.end(ok));
    });
    const outbound = open();
    for (let sent = 0; sent < 3; sent += 1) {
      assert.deepEqual(await post(outbound, url), answered);
      // The end of the connection may arrive after the answer.
      await ends.at(-1);
    }
    const closing = await receive((_, response) => response.writeHead(200, { connection: 'close' }).end('ok'));
    assert.deepEqual(await Promise.all([1, 2, 3].map(() => post(outbound, closing.url))), [
      answered,
      answered,
      answered,
    ]);
    assert.deepEqual(await post(outbound, closing.url), answered);
    assert.deepEqual([ends.length, closing.connections()], [3, 4]);
  });

  it('is not used again if the receiver sends an answer that was not asked for', async () => {
    let connections = 0;
    const url = await serve((socket) => {
      connections += 1;
      const reply = connections === 1 ? ok + ok.replace('200', '500') : ok;
      socket.on('data', () => socket.write(reply));
    });
    const outbound = open();
    assert.deepEqual(await post(outbound, url), answered);
    assert.deepEqual(await post(outbound, url), answered);
    assert.equal(connections, 2);
  });

  it('is closed when the answer is late, and the next request has another', async () => {
    const receiver = await receive(() => undefined);
    const outbound = open();
    assert.deepEqual(await post(outbound, receiver.url, 200), { answered: false, error: 'no response in time' });
    receiver.behave(200);
    assert.deepEqual(await post(outbound, receiver.url), answered);
    assert.equal(receiver.connections(), 2);
  });

  it('gives the reason if there is no answer', async () => {
    const outbound = open();
    const errorOf = async (how: (socket: TLSSocket) => void): Promise<string> => {
      const result = await post(outbound, await serve((socket) => void socket.once('data', () => how(socket))));
      return result.answered ? String(result.status) : result.error;
    };
    assert.equal(await errorOf((socket) => socket.end()), 'the connection was closed');
    assert.equal(await errorOf((socket) => socket.end('HTTP/1.1 200 OK\r\nCont')), 'the connection was closed');
    assert.equal(
      await errorOf((socket) => socket.end('220 mail.example.com ESMTP\r\n\r\n')),
      'the response is not valid HTTP',
    );
    const refused = await post(outbound, 'https://127.0.0.1:1/');
    assert.deepEqual(refused, { answered: false, error: 'the connection was refused' });
  });

  it('ends with the service, and with it the requests that it carries', async () => {
    const receiver = await receive(() => undefined);
    const outbound = open();
    const results = [post(outbound, receiver.url), post(outbound, receiver.url)];
    await receiver.count(2);
    await outbound.close();
    const stopping = { answered: false, error: 'the service is stopping' };
    assert.deepEqual(await Promise.all(results), [stopping, stopping]);
    assert.deepEqual(await post(outbound, receiver.url), stopping);
  });

  it('carries no header with a line break', () => {
    const headers = { 'X-Test': 'a\r\nX-Other: b' };
    const request = { url: 'https://127.0.0.1/', headers, body: '', timeoutMs: 100, answerBytesMax: 100 };
    assert.throws(() => open().post(request), /X-Test/);
  });
});
