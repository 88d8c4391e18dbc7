import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Answer, createAnswerReader, InvalidAnswer } from './answer.ts';

const bodyMax = 100;

/** Reads the parts as they would arrive, all in the same memory. */
function readParts(...parts: readonly string[]): Answer | undefined {
  const reader = createAnswerReader();
  reader.begin(bodyMax);
  const memory = Buffer.alloc(64 * 1024);
  let answer: Answer | undefined;
  for (const part of parts) answer ??= reader.read(memory.subarray(0, memory.write(part)));
  memory.fill('?');
  return answer ?? reader.end();
}

const lines = (...list: readonly string[]): string => list.join('\r\n');
const kept = 10_000;

const complete: readonly [string, string, Answer][] = [
  [
    'a body with its length',
    lines('HTTP/1.1 200 OK', 'Content-Length: 5', '', 'dönn'),
    { status: 200, body: 'dönn', retryAfter: undefined, keepMs: kept },
  ],
  ['no body', lines('HTTP/1.1 204', '', ''), { status: 204, body: '', retryAfter: undefined, keepMs: kept }],
  [
    'a body in chunks, with extensions and trailers',
    lines(
      'HTTP/1.1 200 OK',
      'transfer-encoding: Chunked',
      '',
      '5;a=b',
      'hello',
      'A',
      '0123\r\n6789',
      '0',
      'X: y',
      '',
      '',
    ),
    { status: 200, body: 'hello0123\r\n6789', retryAfter: undefined, keepMs: kept },
  ],
  [
    'a body that ends with the connection',
    lines('HTTP/1.1 200 OK', '', 'all of it'),
    { status: 200, body: 'all of it', retryAfter: undefined, keepMs: 0 },
  ],
  [
    'an answer after others that only announce it',
    lines(
      'HTTP/1.1 100 Continue',
      '',
      'HTTP/1.1 103 Early Hints',
      'Link: </a>',
      '',
      'HTTP/1.1 201 Created',
      'Content-Length: 0',
      '',
      '',
    ),
    { status: 201, body: '', retryAfter: undefined, keepMs: kept },
  ],
  [
    'when to try again',
    lines('HTTP/1.1 429 Too Many Requests', 'RETRY-AFTER:  120 ', 'Content-Length: 0', '', ''),
    { status: 429, body: '', retryAfter: '120', keepMs: kept },
  ],
  [
    'the character 0, which no text of the database can have',
    lines('HTTP/1.1 200 OK', 'Content-Length: 3', '', 'a\0b'),
    { status: 200, body: 'a\u{fffd}b', retryAfter: undefined, keepMs: kept },
  ],
];

describe('an answer', () => {
  for (const [name, text, wanted] of complete) {
    it(`is read wherever it is divided: ${name}`, () => {
      assert.deepEqual(readParts(text), wanted);
      for (let at = 1; at < text.length; at += 1) {
        assert.deepEqual(readParts(text.slice(0, at), text.slice(at)), wanted, `divided at ${at}`);
      }
      assert.deepEqual(readParts(...text), wanted, 'character by character');
    });
  }

  it('is complete when its body exceeds the limit, and the connection is not used again', () => {
    const long = 'x'.repeat(bodyMax + 1);
    for (const start of [
      lines('HTTP/1.1 200 OK', 'Content-Length: 1000000', '', long),
      lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', 'ffffff', long),
      lines('HTTP/1.1 200 OK', '', long),
    ]) {
      const { body, keepMs } = readParts(start, 'never read') ?? {};
      assert.deepEqual([body, keepMs], ['x'.repeat(bodyMax), 0]);
    }
  });

  it('says how long the connection can be kept: less than the server announces', () => {
    const keepMs = (...headers: readonly string[]): number | undefined =>
      readParts(lines('HTTP/1.1 200 OK', 'Content-Length: 0', ...headers, '', ''))?.keepMs;
    assert.equal(keepMs('Keep-Alive: timeout=5, max=100'), 3_000);
    assert.equal(keepMs('Keep-Alive: timeout=75'), kept);
    assert.equal(keepMs('Keep-Alive: timeout=1'), 0);
    assert.equal(keepMs('Connection: keep-alive'), kept);
    assert.equal(keepMs('Connection: Close'), 0);
    assert.equal(keepMs('Connection: keep-alive', 'Connection: x, close'), 0);
    assert.equal(readParts(lines('HTTP/1.0 200 OK', 'Content-Length: 0', '', ''))?.keepMs, 0);
  });

  it('leaves no connection to the next request if more follows it', () => {
    assert.equal(readParts(lines('HTTP/1.1 200 OK', 'Content-Length: 2', '', 'okHTTP/1.1 200 OK'))?.keepMs, 0);
  });

  it('is not there if the connection ends before it is complete', () => {
    assert.equal(readParts('HTTP/1.1 200 OK\r\nContent-Le'), undefined);
    assert.equal(readParts(lines('HTTP/1.1 200 OK', 'Content-Length: 3', '', 'ok')), undefined);
    assert.equal(readParts(lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '2', 'ok', '')), undefined);
  });

  it('is rejected if it is not clear where it ends, or is not HTTP', () => {
    const ok = 'HTTP/1.1 200 OK';
    const chunked = 'Transfer-Encoding: chunked';
    for (const text of [
      'SSH-2.0-OpenSSH_9.6\r\n\r\n',
      'HTTP/2 200\r\n\r\n',
      'HTTP/1.1 20\r\n\r\n',
      'HTTP/1.1 101 Switching Protocols\r\n\r\n',
      lines(ok, 'no colon', '', ''),
      lines(ok, 'Content-Length: 2', 'Content-Length: 3', '', 'ok'),
      lines(ok, 'Content-Length: -1', '', ''),
      lines(ok, 'Content-Length: 2', chunked, '', '2', 'ok', '0', '', ''),
      lines(ok, chunked, '', 'x', ''),
      lines(ok, chunked, '', '2', 'more than two', ''),
      lines(ok, chunked, '', `2;${'x'.repeat(2_000)}`),
      `${ok}\r\nX: ${'x'.repeat(17_000)}`,
    ]) {
      assert.throws(() => readParts(text), InvalidAnswer, text.slice(0, 80));
    }
  });
});
