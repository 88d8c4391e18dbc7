import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer, isIP } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { type Receiver, startReceiver, testAuthority } from '../../../tests/support/receiver.ts';
import { addressCheck } from './addresses.ts';
import { createOutbound, type Outbound, type OutboundResult } from './outbound.ts';

const inside = [
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  // IPv4 in the clothes of IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo.
  '::ffff:127.0.0.1',
  '::ffff:a00:1',
  '::127.0.0.1',
  '::7f00:1',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::10.0.0.1',
  '64:ff9b:1::1',
  '2002:7f00:1::',
  '2001:0:7f00:1::1',
  '2001:db8::1',
  '4000::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
];

describe('an address', () => {
  it('that is not a public one is refused, however it is written', () => {
    const isAllowed = addressCheck([]);
    for (const address of inside) assert.equal(isAllowed(address), false, address);
    for (const text of ['', 'localhost', '0x7f.1', '2130706433', '127.0.0.1 ']) {
      assert.equal(isAllowed(text), false, text);
    }
  });

  it('that is public is allowed', () => {
    const isAllowed = addressCheck([]);
    for (const address of ['8.8.8.8', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8']) {
      assert.equal(isAllowed(address), true, address);
    }
  });

  it('can be allowed by the operator, alone or as a range', () => {
    const isAllowed = addressCheck(['10.0.0.0/8', '127.0.0.1', 'fd00::/8']);
    for (const address of ['10.200.0.1', '127.0.0.1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', 'fd12::1']) {
      assert.equal(isAllowed(address), true, address);
    }
    for (const address of ['11.0.0.1.', '127.0.0.2', '192.168.0.1', 'fe80::1', '::1', '64:ff9b::10.0.0.1']) {
      assert.equal(isAllowed(address), false, address);
    }
  });
});

let receiver: Receiver;
const opened: Outbound[] = [];

before(async () => {
  receiver = await startReceiver();
});
after(async () => {
  await Promise.all(opened.map((outbound) => outbound.close()));
  await receiver.stop();
});

const port = (): string => new URL(receiver.url).port;

function outboundTo(allowed: readonly string[], ...answers: string[][]): { outbound: Outbound; asked: string[] } {
  const asked: string[] = [];
  const outbound = createOutbound({
    isAllowed: addressCheck(allowed),
    certificates: [testAuthority],
    resolve: async (name) => {
      const addresses = answers[Math.min(asked.push(name), answers.length) - 1] ?? [];
      return addresses.map((address): LookupAddress => ({ address, family: isIP(address) }));
    },
  });
  opened.push(outbound);
  return { outbound, asked };
}

const post = (outbound: Outbound, url: string, timeoutMs = 5_000): Promise<OutboundResult> =>
  outbound.post({ url, headers: {}, body: '{}', timeoutMs, answerBytesMax: 4_096 });

const refused = { answered: false, error: 'the address is not public' };

describe('a request to an address that a merchant chose', () => {
  it('connects to no literal that leads inside, in any disguise', async () => {
    const { outbound, asked } = outboundTo([], ['127.0.0.1']);
    const hosts = ['127.0.0.1', '2130706433', '0x7f000001', '0177.0.0.1', '127.1', '127.0.0.1.', '①②⑦.0.0.1'];
    const sixes = ['[::1]', '[::ffff:127.0.0.1]', '[::127.0.0.1]', '[64:ff9b::127.0.0.1]', '[fe80::1]', '[::]'];
    for (const host of [...hosts, ...sixes, '0', '0.0.0.0', '169.254.169.254']) {
      assert.deepEqual(await post(outbound, `https://${host}:${port()}/`), refused, host);
    }
    assert.deepEqual(asked, [], 'nothing had to be looked up');
    assert.equal(receiver.connections(), 0);
  });

  it('connects to no name that leads inside', async () => {
    const { outbound } = outboundTo([], ['127.0.0.1', '::1', '10.0.0.1']);
    assert.deepEqual(await post(outbound, `https://receiver.test:${port()}/`), refused);
    assert.equal(receiver.connections(), 0);
  });

  it('checks the address it really uses: a name that changed its mind since it was checked is refused', async () => {
    const { outbound, asked } = outboundTo([], ['192.0.2.1'], ['127.0.0.1']);
    assert.deepEqual(await post(outbound, `https://receiver.test:${port()}/`), refused);
    assert.deepEqual(await post(outbound, `https://receiver.test:${port()}/`), refused);
    assert.equal(asked.length, 2, 'looked up for each connection');
    assert.equal(receiver.connections(), 0);
  });

  it('uses only those addresses of a name that are allowed', async () => {
    const { outbound } = outboundTo(['127.0.0.1'], ['10.0.0.1', '::1', '127.0.0.1']);
    const result = await post(outbound, `https://receiver.test:${port()}/`);
    assert.deepEqual([result.answered, result.answered && result.status], [true, 200]);
  });

  it('follows no redirect, so none leads inside', async () => {
    const { outbound } = outboundTo(['127.0.0.1'], ['127.0.0.1']);
    const before = receiver.received.length;
    receiver.behave((_, response) => response.writeHead(307, { location: 'https://127.0.0.1:1/' }).end());
    const result = await post(outbound, `https://receiver.test:${port()}/`);
    receiver.behave(200);
    assert.deepEqual([result.answered, result.answered && result.status], [true, 307]);
    assert.equal(receiver.received.length, before + 1);
  });

  it('distinguishes a name that does not resolve from an address that is not allowed', async () => {
    const failing = createOutbound({
      isAllowed: addressCheck([]),
      resolve: () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' })),
    });
    opened.push(failing);
    assert.deepEqual(await post(failing, 'https://nowhere.test/'), {
      answered: false,
      error: 'the host name does not resolve',
    });
  });

  it('ends when the host name does not resolve in time, or when the server does not speak TLS', async () => {
    const tooLong = { answered: false, error: 'the connection took too long' };
    const times = { isAllowed: addressCheck(['127.0.0.1']), connectTimeoutMs: 100 };
    const silent = createOutbound({ ...times, resolve: () => new Promise(() => undefined) });
    const plain = createOutbound(times);
    opened.push(silent, plain);
    const mute = createServer().listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const { port: mutePort } = mute.address() as AddressInfo;
    assert.deepEqual(await post(silent, 'https://silent.test/'), tooLong);
    assert.deepEqual(await post(plain, `https://127.0.0.1:${mutePort}/`), tooLong);
    mute.close();
  });

  it('loses no request to a receiver that closes its connections without a word', async () => {
    const closing = await startReceiver((_request, response, raw) => {
      response.writeHead(200, { 'content-length': '2' });
      response.end('ok', () => raw.socket.end());
    });
    const outbound = createOutbound({ isAllowed: addressCheck(['127.0.0.1']), certificates: [testAuthority] });
    opened.push(outbound);
    const results: OutboundResult[] = [];
    const lane = async (): Promise<void> => {
      for (let sent = 0; sent < 20; sent += 1) results.push(await post(outbound, closing.url));
    };
    await Promise.all(Array.from({ length: 20 }, lane));
    assert.deepEqual(
      results.filter(({ answered }) => !answered),
      [],
    );
    await closing.stop();
  });

  it('rejects a receiver whose certificate is not trusted', async () => {
    const strict = createOutbound({ isAllowed: addressCheck(['127.0.0.1', '::1']) });
    opened.push(strict);
    const result = await post(strict, receiver.url);
    assert.match(result.answered ? '' : result.error, /certificate/);
  });
});
