/**
 * Reads the answer to a request over HTTP/1.1, from bytes as they arrive. Of the head it needs only the status and what
 * says where the answer ends. An answer that is not clearly delimited is an error, and its connection is not used again.
 */

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | undefined;
  /** How long the connection may be kept for the next request. 0: it must be closed. */
  readonly keepMs: number;
}

export interface AnswerReader {
  /** Forgets the answer before. Of a longer body than this, the beginning is the answer. */
  begin(bodyBytesMax: number): void;
  /** Returns the answer when it is complete. The bytes are not kept: their memory may be reused after the call. */
  read(bytes: Buffer): Answer | undefined;
  /** Returns the answer if it ends with the connection. */
  end(): Answer | undefined;
}

export class InvalidAnswer extends Error {
  readonly code = 'INVALID_ANSWER';
}

const headBytesMax = 16 * 1024;
const chunkLineBytesMax = 1024;
export const keepMaxMs = 10_000;
/** A server closes an idle connection when the time that it announced is over, and a request may be under way then. */
const keepMarginMs = 2_000;

const nothing: Buffer = Buffer.alloc(0);
const headEnd = '\r\n\r\n';

interface Head {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly keepMs: number;
  /** The number of bytes, or what ends the body. */
  readonly body: number | 'chunks' | 'connection';
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |\r|$)/;
const noBody = new Set([204, 304]);

/** The headers that count begin with one of these letters. */
const firstLetters = /[ctrk]/i;

function parseHead(text: string): Head {
  const [, minor, code] = statusLine.exec(text) ?? [];
  if (code === undefined) throw new InvalidAnswer('the status line is invalid');
  let length: string | undefined;
  let encoding: string | undefined;
  let connection = minor === '1' ? '' : 'close';
  let retryAfter: string | undefined;
  let announced: string | undefined;
  for (let start = endOfLine(text, 0) + 2; start < text.length; start = endOfLine(text, start) + 2) {
    const colon = text.indexOf(':', start);
    const end = endOfLine(text, start);
    if (colon <= start || colon > end) throw new InvalidAnswer('a header is invalid');
    if (!firstLetters.test(text.charAt(start))) continue;
    const value = text.slice(colon + 1, end).trim();
    switch (text.slice(start, colon).toLowerCase()) {
      case 'content-length':
        if (!/^\d{1,15}$/.test(value) || (length ?? value) !== value) throw new InvalidAnswer('the length is invalid');
        length = value;
        break;
      case 'transfer-encoding':
        encoding = encoding === undefined ? value : `${encoding}, ${value}`;
        break;
      case 'connection':
        connection += `,${value}`;
        break;
      case 'retry-after':
        retryAfter = value;
        break;
      case 'keep-alive':
        announced = /\btimeout=(\d{1,9})\b/i.exec(value)?.[1];
        break;
      default:
    }
  }
  const status = Number(code);
  const delimited = bodyOf(status, encoding, length);
  const isKept = delimited !== 'connection' && !/\bclose\b/i.test(connection);
  const keptMs = announced === undefined ? keepMaxMs : Number(announced) * 1_000 - keepMarginMs;
  return { status, retryAfter, body: delimited, keepMs: isKept ? Math.max(0, Math.min(keptMs, keepMaxMs)) : 0 };
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\r\n', from);
  return end === -1 ? text.length : end;
}

function bodyOf(status: number, encoding: string | undefined, length: string | undefined): Head['body'] {
  if (status < 200 || noBody.has(status)) return 0;
  if (encoding === undefined) return length === undefined ? 'connection' : Number(length);
  // With both, two readers may disagree about where the answer ends.
  if (length !== undefined) throw new InvalidAnswer('the length is ambiguous');
  return /(?:^|,)\s*chunked$/i.test(encoding) ? 'chunks' : 'connection';
}

const chunkLine = /^([0-9a-f]{1,8})[ \t]*(?:;.*)?$/i;

/** Reads a body in chunks. What is not interpreted yet must be passed again, together with what follows. */
interface ChunkReader {
  read(bytes: Buffer): { readonly data: readonly Buffer[]; readonly rest: Buffer; readonly isComplete: boolean };
}

function createChunkReader(): ChunkReader {
  let expected: 'size' | 'data' | 'end of data' | 'trailer' | 'nothing' = 'size';
  /** How much of the current chunk is missing. */
  let missing = 0;

  function readLine(line: string): void {
    if (expected === 'size') {
      const size = chunkLine.exec(line)?.[1];
      if (size === undefined) throw new InvalidAnswer('the size of a chunk is invalid');
      missing = Number.parseInt(size, 16);
      expected = missing === 0 ? 'trailer' : 'data';
    } else if (expected === 'end of data') {
      if (line !== '') throw new InvalidAnswer('a chunk is longer than its size');
      expected = 'size';
    } else if (line === '') expected = 'nothing';
  }

  return {
    read(bytes) {
      const data: Buffer[] = [];
      let rest = bytes;
      while (expected !== 'nothing' && rest.length > 0) {
        if (expected === 'data') {
          const part = rest.subarray(0, missing);
          data.push(part);
          rest = rest.subarray(part.length);
          missing -= part.length;
          if (missing === 0) expected = 'end of data';
          continue;
        }
        const end = rest.indexOf('\r\n');
        if (end > chunkLineBytesMax || (end === -1 && rest.length > chunkLineBytesMax)) {
          throw new InvalidAnswer('a chunk is invalid');
        }
        if (end === -1) break;
        readLine(rest.toString('latin1', 0, end));
        rest = rest.subarray(end + 2);
      }
      return { data, rest, isComplete: expected === 'nothing' };
    },
  };
}

export function createAnswerReader(): AnswerReader {
  let bodyMax = 0;
  let head: Head | undefined;
  /** What is not interpreted yet. */
  let pending = nothing;
  let body = nothing;
  let chunks: ChunkReader | undefined;

  /** Returns what follows the head. */
  function readHead(bytes: Buffer): Buffer | undefined {
    let rest = bytes;
    for (;;) {
      const text = rest.toString('latin1', 0, headBytesMax);
      const end = text.indexOf(headEnd);
      if (end === -1) {
        if (text.length === headBytesMax) throw new InvalidAnswer('the head is too long');
        pending = Buffer.from(rest);
        return undefined;
      }
      const found = parseHead(text.slice(0, end));
      rest = rest.subarray(end + headEnd.length);
      if (found.status === 101) throw new InvalidAnswer('the protocol was not to be changed');
      if (found.status < 200) continue;
      head = found;
      return rest;
    }
  }

  /** Returns what follows the body, or undefined if it is not complete. */
  function readBody({ body: delimited }: Head, bytes: Buffer): Buffer | undefined {
    if (delimited === 'chunks') {
      chunks ??= createChunkReader();
      const { data, rest, isComplete } = chunks.read(bytes);
      body = Buffer.concat([body, ...data]);
      if (isComplete) return rest;
      pending = Buffer.from(rest);
      return undefined;
    }
    const left = delimited === 'connection' ? bytes.length : delimited - body.length;
    const part = bytes.subarray(0, left);
    const isComplete = delimited !== 'connection' && part.length === left;
    // Only a body that arrives at once need not be copied.
    body = isComplete && body.length === 0 ? part : Buffer.concat([body, part]);
    return isComplete ? bytes.subarray(left) : undefined;
  }

  function answerOf({ status, retryAfter, keepMs }: Head, isReusable: boolean): Answer {
    const text = body.toString('utf8', 0, bodyMax).replaceAll('\0', '\u{fffd}');
    return { status, retryAfter, body: text, keepMs: isReusable ? keepMs : 0 };
  }

  return {
    begin(bodyBytesMax) {
      bodyMax = bodyBytesMax;
      head = undefined;
      pending = nothing;
      body = nothing;
      chunks = undefined;
    },
    read(bytes) {
      const received = pending.length === 0 ? bytes : Buffer.concat([pending, bytes]);
      pending = nothing;
      const rest = head ? received : readHead(received);
      if (!head || !rest) return undefined;
      const after = readBody(head, rest);
      if (body.length > bodyMax) return answerOf(head, false);
      // What follows a complete answer belongs to no request.
      return after && answerOf(head, after.length === 0);
    },
    end: () => (head?.body === 'connection' ? answerOf(head, false) : undefined),
  };
}
