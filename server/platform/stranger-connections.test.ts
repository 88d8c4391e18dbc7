import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { boundStrangers } from './stranger-connections.ts';

const connectionsMax = 3;
const server = createServer((_request, response) => void waiting.push(response));
const waiting: { end(): void }[] = [];
const { know } = boundStrangers(server, { connectionsMax });
const accepted: Socket[] = [];
server.on('connection', (socket: Socket) => accepted.push(socket));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const opened: Socket[] = [];
after(() => {
  for (const socket of opened) socket.destroy();
  server.close();
});

async function open(): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => undefined).resume();
  opened.push(socket);
  await Promise.all([once(socket, 'connect'), once(server, 'connection')]);
  return socket;
}

test('an address with too many connections loses the oldest of them that waits for nothing', async () => {
  const served = await open();
  served.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(server, 'request');
  const known = await open();
  know(accepted[1] as Socket);
  const idle = await open();
  const closed = once(idle, 'close');
  let isClosed = false;
  void closed.then(() => {
    isClosed = true;
  });
  // A connection that is a second old makes room for each further one.
  while (!isClosed) await open();
  await closed;
  assert.equal(served.closed, false);
  assert.equal(known.closed, false);
  waiting[0]?.end();
});
