import { isUtf8 } from 'node:buffer';
import { limits } from '../limits.ts';

const echoedLengthMax = 40;
const pathLengthMax = 200;

export interface JsonProblem {
  /** For example `items[0].quantity`; '' means the whole body. */
  path: string;
  message: string;
  /** True if the body is not JSON at all; false if it is JSON that is rejected. */
  syntax: boolean;
}

export type JsonResult = ({ ok: true; value: unknown } | { ok: false; problem: JsonProblem }) & {
  /** The number of values that were checked. */
  valueCount: number;
};

type Segment = string | number;

/** `segments` grows from the innermost part outwards while the recursion returns. */
interface Problem {
  segments: Segment[];
  message: string;
}

interface Outline {
  isTooDeep: boolean;
  keyCount: number;
  /** Counts at most one too many for every empty object or array. */
  valueCount: number;
  hasUnicodeEscape: boolean;
}

interface Walk {
  keyCount: number;
  checkText: boolean;
}

const messages = {
  empty: 'The body is empty. Send a JSON value.',
  encoding: 'The body is not valid UTF-8. Send JSON encoded as UTF-8.',
  depth: `The body is nested too deeply. Use at most ${limits.jsonDepth} levels of objects and arrays.`,
  values: `The body has too many values. Use at most ${limits.jsonValues} in total.`,
  duplicate: 'This key appears more than once in its object. Send each key once.',
  proto: 'The key "__proto__" is not allowed. Use another name.',
  nul: 'The text contains a NUL character (\\u0000). Remove it.',
  surrogate: 'The text contains half of a surrogate pair (\\ud800 to \\udfff). Send both halves or neither.',
  nulKey: 'A key in this object contains a NUL character (\\u0000). Remove it.',
  surrogateKey: 'A key in this object contains half of a surrogate pair. Send both halves or neither.',
  tooLarge: `The number is too large to be stored exactly. Use an absolute value of at most ${Number.MAX_SAFE_INTEGER}, or a string.`,
  negativeZero: 'The number is minus zero. Use 0.',
};

export function parseJsonBody(bytes: Buffer): JsonResult {
  if (bytes.length === 0) return refuse(messages.empty, [], true);
  if (!isUtf8(bytes)) return refuse(messages.encoding, [], true);

  const outline = outlineOf(bytes);
  if (outline.isTooDeep) return refuse(messages.depth);
  // JSON.parse needs up to 80 ms for the 350,000 values that fit in 1 MiB, and no valid request has that many.
  if (outline.valueCount > limits.jsonValues) return refuse(messages.values);

  const text = bytes.toString('utf8', hasByteOrderMark(bytes) ? 3 : 0);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return refuse(syntaxMessage(error), [], true);
  }

  const walk = { keyCount: 0, checkText: outline.hasUnicodeEscape };
  const problem = findProblem(value, walk) ?? (walk.keyCount === outline.keyCount ? null : findDuplicate(text));
  const { valueCount } = outline;
  if (problem === null) return { ok: true, value, valueCount };
  return { ...refuse(problem.message, problem.segments.toReversed()), valueCount };
}

function refuse(message: string, segments: Segment[] = [], syntax: boolean = false): JsonResult {
  return { ok: false, problem: { path: pathOf(segments), message, syntax }, valueCount: 0 };
}

// Some programs on Windows cannot write UTF-8 without it, and RFC 8259 allows a reader to skip it.
function hasByteOrderMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/**
 * Collects what is visible without parsing; the text may still not be JSON. It runs before JSON.parse, which needs
 * 160 ms for a million brackets, and counts colons, because every key has one, while a parsed object has lost its
 * duplicates. Scanning bytes is enough: in UTF-8 the bytes of ASCII characters occur nowhere else.
 */
function outlineOf(bytes: Buffer): Outline {
  const outline: Outline = { isTooDeep: false, keyCount: 0, valueCount: 1, hasUnicodeEscape: false };
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === 0x22) {
      for (at++; at < bytes.length && bytes[at] !== 0x22; at++) {
        if (bytes[at] === 0x5c && bytes[++at] === 0x75) outline.hasUnicodeEscape = true;
      }
    } else if (byte === 0x3a) {
      outline.keyCount++;
    } else if (byte === 0x2c) {
      outline.valueCount++;
    } else if (byte === 0x7b || byte === 0x5b) {
      outline.valueCount++;
      if (++depth > limits.jsonDepth) return { ...outline, isTooDeep: true };
    } else if (byte === 0x7d || byte === 0x5d) {
      depth--;
    }
  }
  return outline;
}

/** Never uses the message of JSON.parse: it quotes the body, which may contain a card number. */
function syntaxMessage(error: unknown): string {
  const reason = error instanceof Error ? error.message : '';
  if (reason.startsWith('Unexpected end')) {
    return 'The body ends before its JSON is complete. Close every string, array and object.';
  }
  const [, line, column] = /\(line (\d+) column (\d+)\)$/.exec(reason) ?? [];
  const [, token] = /^Unexpected token '(.)'/su.exec(reason) ?? [];
  const where = line ? ` at line ${line}, column ${column}` : token ? `: unexpected ${JSON.stringify(token)}` : '';
  return `The body is not valid JSON${where}. Use double quotes, no trailing commas and no comments.`;
}

/** Recursion is safe, because the outline limits the depth. */
function findProblem(value: unknown, walk: Walk): Problem | null {
  if (typeof value === 'string') return walk.checkText ? findInText(value) : null;
  if (typeof value === 'number') return findInNumber(value);
  if (typeof value !== 'object' || value === null) return null;
  return Array.isArray(value) ? findInArray(value, walk) : findInObject(value as Record<string, unknown>, walk);
}

function findInArray(items: unknown[], walk: Walk): Problem | null {
  for (let index = 0; index < items.length; index++) {
    const problem = findProblem(items[index], walk);
    if (problem !== null) return within(index, problem);
  }
  return null;
}

// for…in, since Object.keys almost doubles the time of parsing and checking.
function findInObject(object: Record<string, unknown>, walk: Walk): Problem | null {
  for (const key in object) {
    walk.keyCount++;
    const problem = findInKey(key, walk);
    if (problem !== null) return problem;
    const inside = findProblem(object[key], walk);
    if (inside !== null) return within(key, inside);
  }
  return null;
}

function within(segment: Segment, problem: Problem): Problem {
  problem.segments.push(segment);
  return problem;
}

// `constructor` and `prototype` are allowed: as own keys they are harmless.
function findInKey(key: string, walk: Walk): Problem | null {
  if (key === '__proto__') return { segments: [key], message: messages.proto };
  if (!walk.checkText) return null;
  if (key.includes('\0')) return { segments: [], message: messages.nulKey };
  return key.isWellFormed() ? null : { segments: [], message: messages.surrogateKey };
}

function findInText(text: string): Problem | null {
  if (text.includes('\0')) return { segments: [], message: messages.nul };
  return text.isWellFormed() ? null : { segments: [], message: messages.surrogate };
}

function findInNumber(value: number): Problem | null {
  if (value > Number.MAX_SAFE_INTEGER || value < -Number.MAX_SAFE_INTEGER) {
    return { segments: [], message: messages.tooLarge };
  }
  return Object.is(value, -0) ? { segments: [], message: messages.negativeZero } : null;
}

interface Frame {
  segment: Segment;
  keys: Set<string>;
}

/** The slow pass, over text that is JSON and has a duplicate key. */
function findDuplicate(text: string): Problem {
  const frames: Frame[] = [];
  const structure = /["[\]{},]/g;
  for (let match = structure.exec(text); match !== null; match = structure.exec(text)) {
    const frame = frames.at(-1);
    const [character] = match;
    if (character === '{' || character === '[') {
      frames.push({ segment: character === '[' ? 0 : '', keys: new Set() });
    } else if (character === '}' || character === ']') {
      frames.pop();
    } else if (character === ',') {
      if (typeof frame?.segment === 'number') frame.segment++;
    } else {
      structure.lastIndex = endOfString(text, match.index);
      if (frame && isKey(text, structure.lastIndex)) {
        const key = JSON.parse(text.slice(match.index, structure.lastIndex)) as string;
        if (isRepeated(frame, key)) break;
      }
    }
  }
  return { segments: frames.map(({ segment }) => segment).toReversed(), message: messages.duplicate };
}

function isRepeated(frame: Frame, key: string): boolean {
  frame.segment = key;
  if (frame.keys.has(key)) return true;
  frame.keys.add(key);
  return false;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text.charCodeAt(at) !== 0x22) at += text.charCodeAt(at) === 0x5c ? 2 : 1;
  return at + 1;
}

function isKey(text: string, end: number): boolean {
  const colon = /[ \n\r\t]*:/y;
  colon.lastIndex = end;
  return colon.test(text);
}

function pathOf(segments: readonly Segment[]): string {
  let path = '';
  for (const segment of segments) {
    if (typeof segment === 'number') path += `[${segment}]`;
    else if (!/^[\w-]+$/.test(segment)) path += `[${JSON.stringify(clip(segment, echoedLengthMax))}]`;
    else path += (path === '' ? '' : '.') + clip(segment, echoedLengthMax);
  }
  return clip(path, pathLengthMax);
}

function clip(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters - 1).toWellFormed()}…`;
}
