import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Records what a test account answers, without credentials, card numbers, names and ids, so that the simulators and the tables of
 * answers can be compared with it. Of a request it keeps the names of its fields only.
 */

export interface Exchanged {
  readonly method: string;
  readonly path: readonly string[];
  readonly query: string;
  readonly body: string;
  readonly answer: { readonly status: number; readonly type: string; readonly text: string } | null;
}

const heard = new AsyncLocalStorage<(exchanged: Exchanged) => void>();

/** Called after each exchange with a processor. Costs nothing unless something is recorded. */
export function noteExchange(exchanged: () => Exchanged): void {
  heard.getStore()?.(exchanged());
}

/** Runs a call, and returns what it exchanged. */
export async function listening<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly exchanges: readonly Exchanged[] }> {
  const exchanges: Exchanged[] = [];
  const result = await heard.run((one) => exchanges.push(one), work);
  return { result, exchanges };
}

/** Values under these names are about people or the merchant. */
const personal =
  /name|email|phone|address|street|line[12]|city|state|postal|zip|company|descriptor|support|url|website|ip$|account$|merchant|holder|description|customer$|owner|fingerprint|secret|token/i;
/** Except these, which say what happened. */
const kept = /status|merchantReference|advice|_check$|^state$/i;
/** An answer without its times could not be read again. */
const times = /date|time|created|expir|_at$/i;

/** An id, a reference or a number of a card: long, with a digit. */
const identifier = /[A-Za-z0-9][A-Za-z0-9_-]{7,}/g;
const isIdentifier = (token: string): boolean => /\d/.test(token) && (token.length >= 9 || token.includes('_'));

/** Our reference, also as a part of an id that we made of it. */
const reference = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/i;

export interface Scrubber {
  text(text: string): string;
  value(value: unknown, name?: string): unknown;
}

/** The same id has the same replacement everywhere, with the same length and prefix. `secrets` never remain. */
export function openScrubber(secrets: readonly string[]): Scrubber {
  const known = new Map<string, string>();
  const hidden = secrets.filter((secret) => secret.length > 0).toSorted((one, other) => other.length - one.length);

  function replaced(id: string): string {
    const found = known.get(id);
    if (found !== undefined) return found;
    const prefix = /^[a-z]+_(?:test_|live_)?/.exec(id)?.[0] ?? '';
    const number = String(known.size + 1);
    let left = number.length;
    // From the right: the number, and then zeros and ones, so that hyphens and length stay.
    const rest = [...id.slice(prefix.length)].toReversed().map((character) => {
      if (!/[A-Za-z0-9]/.test(character)) return character;
      left -= 1;
      return left >= 0 ? (number[left] ?? '0') : '0';
    });
    const made = prefix + rest.toReversed().join('');
    // Numbers keep their first digit, because some begin with no zero.
    const shown = /^\d+$/.test(made) ? `1${made.slice(1)}` : made;
    known.set(id, shown);
    return shown;
  }

  const text = (given: string): string => {
    const open = hidden.reduce((part, secret) => part.replaceAll(secret, 'scrubbed'), given);
    return open.replaceAll(identifier, (token) => {
      if (reference.test(token)) return token.replace(reference, replaced);
      return isIdentifier(token) ? replaced(token) : token;
    });
  };

  function ofText(given: string, name: string): string {
    if (given !== '' && personal.test(name) && !kept.test(name)) return 'scrubbed';
    return times.test(name) ? given : text(given);
  }

  function value(given: unknown, name = ''): unknown {
    if (typeof given === 'string') return ofText(given, name);
    if (Array.isArray(given)) return given.map((one) => value(one, name));
    if (typeof given !== 'object' || given === null) return given;
    // A container is not about a person by its name, but what is in it may be.
    return Object.fromEntries(Object.entries(given).map(([key, one]) => [key, value(one, key)]));
  }
  return { text, value };
}

/** Of an answer in JSON, XML or a form. Another one keeps nothing but its length. */
export function scrubbedAnswer({ text, value }: Scrubber, type: string, content: string): string {
  try {
    return JSON.stringify(value(JSON.parse(content)));
  } catch {
    // It is not JSON.
  }
  if (content.trimStart().startsWith('<?xml') || /xml/.test(type)) {
    return content.replaceAll(/<([\w:]+)>([^<]*)<\/\1>/g, (_, tag: string, inner: string) => {
      return `<${tag}>${String(value(inner, tag))}</${tag}>`;
    });
  }
  if (/^[\w[\].-]+=/.test(content)) {
    const fields = [...new URLSearchParams(content)].map(([name, one]): [string, string] => [
      name,
      String(value(one, name)),
    ]);
    return new URLSearchParams(fields).toString();
  }
  return text(`(${content.length} characters)`);
}

/** The names of the fields of a body, without their values. */
export function fieldsOf(body: string): string[] {
  try {
    const names = (value: unknown, before: string): string[] =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.entries(value).flatMap(([key, one]) => names(one, before ? `${before}.${key}` : key))
        : [before];
    return names(JSON.parse(body), '').toSorted();
  } catch {
    return [...new Set([...new URLSearchParams(body)].map(([name]) => name))].toSorted();
  }
}
