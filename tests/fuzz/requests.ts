import { randomUUID } from 'node:crypto';
import { document, resolve } from '../support/openapi.ts';
import type { Random } from '../support/seeded-random.ts';

/**
 * Requests made from the document by chance: most of them fit the schemas, some are broken in one place. Ids and codes are those
 * that earlier answers had, so that requests meet objects in all their states.
 */

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: Schema;
}

export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | undefined;
  readonly upload: boolean;
}

export const operations: readonly Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, written]) => {
    const { parameters, requestBody } = written as unknown as {
      parameters: Parameter[];
      requestBody?: { content: Record<string, { schema: Schema }> };
    };
    return {
      id: written.operationId,
      method: method.toUpperCase(),
      path,
      parameters: parameters.map((one) => resolve(one)),
      body: requestBody?.content['application/json']?.schema,
      upload: requestBody?.content['multipart/form-data'] !== undefined,
    };
  }),
);

export interface FuzzedRequest {
  readonly operation: Operation;
  readonly path: string;
  readonly raw: string | Buffer | undefined;
  readonly headers: Record<string, string>;
}

/** What answers showed, by the name that requests call it by: `customer_id`, `code`, `card_token`. */
export class Pool {
  readonly #known = new Map<string, string[]>();

  add(name: string, value: string): void {
    const values = this.#known.get(name) ?? [];
    if (values.length < 200) values.push(value);
    else values[Math.floor((values.length * (value.charCodeAt(value.length - 1) % 97)) / 97)] = value;
    this.#known.set(name, values);
  }

  pick(name: string, random: Random): string | undefined {
    const values = this.#known.get(name);
    return values && random.pick(values);
  }

  /** Remembers every id of an answer; the id of the object itself goes by the collection it was found in. */
  learn(collection: string, answer: unknown): void {
    if (Array.isArray(answer)) {
      for (const one of answer) this.learn(collection, one);
    } else if (typeof answer === 'object' && answer !== null) {
      for (const [name, value] of Object.entries(answer)) {
        if (typeof value !== 'string') this.learn(collectionIn(name) ?? collection, value);
        else if (name === 'id') this.add(idName(collection), value);
        else if (/(_id|^code|^cursor|^email|^sku)$/.test(name)) this.add(name, value);
      }
    }
  }
}

const collections = new Map([
  ['customer', 'customers'],
  ['order', 'orders'],
  ['plan', 'plans'],
  ['payment_method', 'payment_methods'],
  ['payment_methods', 'payment_methods'],
  ['images', 'images'],
  ['subscriptions', 'subscriptions'],
  ['codes', 'codes'],
  ['transactions', 'transactions'],
]);
const collectionIn = (name: string): string | undefined => collections.get(name);

/** `customers` are named by a `customer_id`. */
const idName = (collection: string): string =>
  collection === 'card_tokens' ? 'card_token' : `${collection.replace(/s$/, '')}_id`;

export const collectionOf = (path: string): string =>
  path
    .split('/')
    .filter((part) => part !== '' && !part.startsWith('{'))
    .findLast((part) =>
      Object.keys(document.paths).some((known) => known.endsWith(`/${part}`) || known.includes(`/${part}/{`)),
    ) ?? '';

const hostileTexts = [
  '',
  ' ',
  'x'.repeat(300),
  'x'.repeat(6000),
  '\0',
  '\ud800',
  '👩‍👩‍👧‍👦 \u202e مرحبا',
  `'; DROP TABLE customers; --`,
  '../../etc/passwd',
  '%00%0d%0a',
  '<script>alert(1)</script>',
  '4242424242424242',
  '2026-02-30',
  '9999-12-31T23:59:60Z',
  '00000000-0000-0000-0000-000000000000',
  'NaN',
  '-1',
];
const hostileValues: readonly unknown[] = [
  ...hostileTexts,
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  1e300,
  [],
  {},
  [[]],
  { a: { b: { c: {} } } },
  'x'.repeat(100_000),
];

const cards = [
  '4242424242424242',
  '5555555555554444',
  '4000000000000002',
  '4000000000009995',
  '4000009999005126',
  '4000009999000341',
  '4000009999003220',
  '4000009999001000',
  '4000000000000259',
  '3530111333300000',
  '1',
];
const currencies = ['usd', 'eur', 'jpy', 'gbp'];
const formats: Readonly<Record<string, (random: Random) => string>> = {
  uuid: () => randomUUID(),
  email: (random) => `fuzz.${random.between(0, 1e9)}@example.com`,
  phone: (random) => `+1555${String(random.between(0, 1e9)).padStart(9, '0')}`,
  'us-phone': (random) => `+1${String(random.between(2e9, 9e9))}`,
  sku: (random) => `sku-${random.between(0, 1e9)}`,
  currency: (random) => (random.chance(0.8) ? 'usd' : random.pick(currencies)),
  country: (random) => random.pick(['US', 'DE', 'JP', 'QQ']),
  uri: (random) =>
    random.pick(['https://receiver.invalid/hooks', 'https://127.0.0.1/', 'http://receiver.invalid', 'x']),
  date: (random) => new Date(Date.now() + random.between(-5, 400) * 86_400_000).toISOString().slice(0, 10),
  'date-time': (random) => new Date(Date.now() + random.between(-100, 4_000) * 3_600_000).toISOString(),
};
const fields: Readonly<Record<string, (random: Random) => unknown>> = {
  number: (random) => random.pick(cards),
  exp_month: (random) => String(random.between(1, 12.5)),
  exp_year: (random) => random.pick(['2036', '2036', '36', '2020']),
  cvc: (random) => random.pick(['999', '999', '999', '9999', '1']),
  // A clock that goes on for years has thousands of bills to make.
  months: (random) => random.between(0, 2),
  days: (random) => random.between(0, 40),
};

// Fields that only one value in many fits, or that exclude each other.
const choosy =
  /^(payment_method_id|coupon_code|start_date|end_date|product_ids|plan_ids|amount|max_discount_amount|currency|shipping_address_id|duration.*|starts_at|kind)$/;

export function requestsFrom(random: Random, pool: Pool): { next(): FuzzedRequest } {
  const known = (name: string): string | undefined =>
    random.chance(0.9)
      ? pool.pick(name.replace(/^(replacement|default)_/, '').replace(/_ids$/, '_id'), random)
      : undefined;

  function valueOf(given: Schema, name: string, depth: number): unknown {
    const schema = resolve(given);
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return random.pick(schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    // Null and rare branches less often than the rest.
    if (choices) return valueOf(random.chance(0.8) ? (choices[0] ?? {}) : random.pick(choices), name, depth);
    const special = fields[name];
    if (special) return special(random);
    switch (schema.type) {
      case 'string':
        return textOf(schema, name);
      case 'integer':
        return numberOf(schema);
      case 'number':
        return random.chance(0.5) ? numberOf(schema) : Math.round(random.next() * 10_000) / 100;
      case 'boolean':
        return random.chance(0.5);
      case 'array':
        return Array.from({ length: random.between(schema.minItems ?? 0, Math.min(schema.maxItems ?? 4, 4)) }, () =>
          valueOf(schema.items ?? {}, name, depth + 1),
        );
      case 'object':
        return objectOf(schema, depth);
      case 'null':
        return null;
      case undefined:
      default:
        return random.pick([1, 'x', null, {}]);
    }
  }

  function textOf({ format, pattern, examples, maxLength }: Schema, name: string): string {
    const remembered = /(_id|_ids|code|token|cursor|after|before)$/.test(name) ? known(cursorName(name)) : undefined;
    if (remembered !== undefined) return remembered;
    const made = format && formats[format];
    if (made) return made(random);
    if (pattern && examples) return String(random.pick(examples));
    return random.chance(0.7)
      ? `text ${random.between(0, 1e6)}`.slice(0, maxLength)
      : random.pick(['é', '漢字', 'a b', 'A-1_2']).slice(0, maxLength);
  }

  const cursorName = (name: string): string =>
    /_(after|before)$/.test(name) ? random.pick(['customer_id', 'order_id', 'event_id']) : name;

  function numberOf({ minimum = -1_000, maximum = 1_000_000 }: Schema): number {
    if (random.chance(0.1)) return random.chance(0.5) ? minimum : maximum;
    return random.between(minimum, Math.min(maximum, minimum + 5_000));
  }

  function objectOf({ properties = {}, required = [] }: Schema, depth: number): object {
    if (Object.keys(properties).length === 0)
      return random.chance(0.5) ? {} : { key: 'value', [`k${random.between(0, 99)}`]: 1 };
    const likely = depth > 1 ? 0.1 : 0.25;
    const names = Object.keys(properties).filter(
      (name) => required.includes(name) || random.chance(choosy.test(name) ? 0.08 : likely),
    );
    return Object.fromEntries(names.map((name) => [name, valueOf(properties[name] ?? {}, name, depth + 1)]));
  }

  /** One place of a value, replaced, removed or joined by something unknown. */
  function broken(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || random.chance(0.2)) return random.pick(hostileValues);
    const names = Object.keys(value);
    const name = random.pick(names);
    if (name === undefined || random.chance(0.15))
      return { ...value, [random.pick(['__proto__', 'x', '', 'constructor'])]: 1 };
    if (random.chance(0.2)) return Object.fromEntries(Object.entries(value).filter(([one]) => one !== name));
    const inner = broken((value as Record<string, unknown>)[name]);
    return Array.isArray(value)
      ? value.map((one, index) => (String(index) === name ? inner : one))
      : { ...value, [name]: inner };
  }

  function pathOf({ path }: Operation): string {
    return path.replace(/([\w]+)\/\{(\w+)\}/g, (_, collection: string) => {
      const id = known(idName(collection)) ?? (random.chance(0.7) ? randomUUID() : encoded(random.pick(hostileTexts)));
      return `${collection}/${id}`;
    });
  }

  function queryOf({ parameters }: Operation): string {
    const chosen = parameters.filter((one) => one.in === 'query' && random.chance(0.2));
    const pairs = chosen.map(({ name, schema }) => {
      const value = random.chance(0.1) ? random.pick(hostileTexts) : valueOf(schema, name, 3);
      return `${encoded(name)}=${encoded(Array.isArray(value) ? value.join() : String(value))}`;
    });
    if (random.chance(0.02)) pairs.push('color=red');
    return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
  }

  function headersOf({ parameters }: Operation): Record<string, string> {
    const key = parameters.find(({ name }) => name === 'X-SVC-Idempotency-Key');
    const sends = key && (random.chance(key.required ? 0.97 : 0.4) || key.required);
    const version = random.pick(['2026-02-11', '2026-02-11', '2025-11-04', '2025-06-18', 'x']);
    return {
      ...(sends && { 'x-svc-idempotency-key': random.chance(0.9) ? randomUUID() : random.pick(['same', '!', 'a']) }),
      ...(random.chance(0.3) && { 'svc-version': version }),
    };
  }

  function bodyOf({ body, upload }: Operation): { raw?: string | Buffer; type?: string } {
    if (upload) {
      const content = random.pick(['GIF89a', pixel, pixel, '', '<svg/>']);
      return {
        raw: Buffer.from(formOf(random.pick(['file', 'file', 'file', 'x']), content), 'latin1'),
        type: formType,
      };
    }
    if (!body)
      return random.chance(0.9) ? {} : { raw: random.pick(['{}', '[]', 'x', '{"a":1}']), type: 'application/json' };
    const value = valueOf(body, '', 0);
    const sent = random.chance(0.3) ? broken(value) : value;
    const text = JSON.stringify(sent) ?? '';
    return { raw: random.chance(0.01) ? text.slice(0, -1) : text, type: 'application/json' };
  }

  return {
    next() {
      const operation = random.pick(operations);
      const { raw, type } = bodyOf(operation);
      const headers = { ...headersOf(operation), ...(type && { 'content-type': type }) };
      return { operation, path: pathOf(operation) + queryOf(operation), raw, headers };
    },
  };
}

const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64').toString('latin1');
const formType = 'multipart/form-data; boundary=b';
const formOf = (name: string, content: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"; filename="a.gif"\r\n\r\n${content}\r\n--b--\r\n`;

const encoded = (text: string): string => encodeURIComponent(text.toWellFormed()).slice(0, 4_000).replace(/%.?$/, '');
