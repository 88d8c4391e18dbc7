import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { readFile } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { createNames } from './names.ts';

/** With a name server of the test's own: it answers what begins with `quick`, and never what begins with `silent`. */

let server: Socket;
const asked: string[] = [];

before(async () => {
  server = createSocket('udp4', (question, { port, address }) => {
    const { name, type, end } = questionOf(question);
    asked.push(name);
    if (name.startsWith('silent')) return;
    const known = name.startsWith('quick') && type === 1;
    const header = Buffer.from(question.subarray(0, 12));
    header.writeUInt16BE(name.startsWith('broken') ? 0x8182 : known ? 0x8180 : 0x8183, 2);
    header.writeUInt16BE(known ? 1 : 0, 6);
    header.fill(0, 8);
    // A pointer to the name, an address of the internet, for a minute, of four bytes.
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);
    server.send(Buffer.concat([header, question.subarray(12, end), ...(known ? [record] : [])]), port, address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => server.close());

function questionOf(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

const names = (): ReturnType<typeof createNames> =>
  createNames({ servers: [`127.0.0.1:${server.address().port}`], timeoutMs: 600 });

async function took(work: Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work;
  return performance.now() - startedMs;
}

describe('the addresses of a name', () => {
  it('are those that DNS has', async () => {
    assert.deepEqual(await names()('quick.test'), [{ address: '192.0.2.7', family: 4 }]);
  });

  it('are looked up once for all who ask at the same time', async () => {
    const resolve = names();
    await Promise.all(Array.from({ length: 20 }, () => resolve('quick-and-wanted.test')));
    assert.equal(asked.filter((name) => name === 'quick-and-wanted.test').length, 2, 'one of each family');
  });

  it('are those that the system has where DNS has none', async () => {
    const found = await names()('localhost');
    assert.ok(found.some(({ address }) => address === '127.0.0.1' || address === '::1'));
  });

  it('are an error where there are none, or the name server fails', async () => {
    await assert.rejects(names()('nowhere.invalid'), { code: 'ENOTFOUND' });
    await assert.rejects(names()('broken.test'), { code: 'ESERVFAIL' });
  });

  it('that never come hold up neither other names nor the threads of the process', async () => {
    const resolve = names();
    const silent = Array.from({ length: 50 }, (_, n) =>
      assert.rejects(resolve(`silent${n}.test`), { code: 'ETIMEOUT' }),
    );
    const file = new Promise((resolve) => readFile(import.meta.filename, resolve));
    const quickMs = await took(Promise.all([resolve('quick.test'), file]));
    assert.ok(quickMs < 600, `${quickMs} ms`);
    const silentMs = await took(Promise.all(silent));
    assert.ok(silentMs < 10_000, `${silentMs} ms`);
  });
});
