import { randomBytes, randomFillSync } from 'node:crypto';
import { isoTime } from './iso-time.ts';

const randomPool = Buffer.alloc(4096);
let randomOffset = randomPool.length;

/** Draws 4 KiB at a time, which is ten times cheaper than a randomBytes call for each id. Copy it to keep it. */
export function pooledRandom(byteCount: number): Buffer {
  if (randomOffset + byteCount > randomPool.length) {
    randomFillSync(randomPool);
    randomOffset = 0;
  }
  randomOffset += byteCount;
  return randomPool.subarray(randomOffset - byteCount, randomOffset);
}

let lastMs = -1;
let sequence = 0;
/** The beginning of the ids of the last millisecond. */
let beginning = '';
/** The counters of other milliseconds: a sandbox company whose clock is moved switches between several. */
const otherCounters = new Map<number, number>();
const otherCountersMax = 1_000;

function enter(nowMs: number, random: Buffer): void {
  otherCounters.set(lastMs, sequence);
  const known = otherCounters.get(nowMs);
  sequence = known !== undefined && known < 0xfff ? known + 1 : random.readUInt16BE(0) & 0x7ff;
  lastMs = nowMs;
  const time = nowMs.toString(16).padStart(12, '0');
  beginning = `${time.slice(0, 8)}-${time.slice(8)}-7`;
  if (otherCounters.size <= otherCountersMax) return;
  const [oldest = 0] = otherCounters.keys();
  otherCounters.delete(oldest);
}

/**
 * Returns a UUID v7 whose millisecond is the object's creation time by its company's clock. Ids that one process
 * creates in the same millisecond keep their order: the 12 bits after the time count up.
 */
export function newId(nowMs: number): string {
  const random = pooledRandom(10);
  if (nowMs === lastMs && sequence < 0xfff) sequence += 1;
  else enter(nowMs, random);
  const counter = sequence.toString(16).padStart(3, '0');
  const tail = random.toString('hex', 2);
  const variant = ((random[2] ?? 0) & 0x3f) | 0x80;
  return `${beginning}${counter}-${variant.toString(16)}${tail.slice(2, 4)}-${tail.slice(4)}`;
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(value: string): boolean {
  return uuidPattern.test(value);
}

const eventIdPattern = /^evt_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

/** Returns the id of an event as the API writes it. */
export function eventIdOf(id: string): string {
  return `evt_${id.replaceAll('-', '')}`;
}

/** Parses an object id from a client: a UUID in any case, or the id of an event. */
export function readId(text: string): string | undefined {
  if (isUuid(text)) return text.toLowerCase();
  const parts = eventIdPattern.exec(text);
  return parts ? parts.slice(1).join('-') : undefined;
}

const requestIdPattern = /^req_[a-z2-7]{24}$/;

/** The id of a request is not a UUID. */
export function readRequestId(text: string): string | undefined {
  return requestIdPattern.test(text) ? text : undefined;
}

export function idTimeMs(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

export function createdAt(id: string): string {
  return isoTime(idTimeMs(id));
}

/** Returns the smallest id of a millisecond, which turns a date filter into a range of the primary key. */
export function firstIdOf(ms: number): string {
  const time = Math.min(Math.max(ms, 0), 0xffff_ffff_ffff).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}

const base32 = 'abcdefghijklmnopqrstuvwxyz234567';
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export function newRequestId(): string {
  let text = 'req_';
  for (const byte of pooledRandom(24)) text += base32[byte & 31];
  return text;
}

export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    // 248 is the largest multiple of 62 in a byte; using higher values would favour the first letters.
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += base62[byte % 62];
    }
  }
  return text;
}

export function toBase62(value: number, length: number): string {
  let rest = value;
  let text = '';
  for (let position = 0; position < length; position += 1) {
    text = base62[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
