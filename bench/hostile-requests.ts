import { randomUUID } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';
import { generateKey } from '../server/features/api-keys/key-format.ts';
import { newPageToken } from '../server/http/page-token.ts';
import type { BenchRequest, RequestMaker } from './workload.ts';

/** What `npm run bench fairness` sends beside the requests of a company: each kind of request that costs more than it looks. */

export interface Kind {
  readonly request: RequestMaker;
  /** Who sends it: a stranger of one address, strangers of an address for each connection, a key, or a member of the dashboard. */
  readonly by: 'stranger' | 'strangers' | 'key' | 'member';
}

const mebibyte = 1024 * 1024;
const always =
  (request: BenchRequest): RequestMaker =>
  () =>
  () =>
    request;
const get = (path: string): RequestMaker => always({ method: 'GET', path });
const post = (path: string, raw: string, headers: Readonly<Record<string, string>> = {}): RequestMaker =>
  always({ method: 'POST', path, raw, headers });

/** As many fields as fit, none of which exists. */
function unknownFields(bytes: number): string {
  const fields: string[] = [];
  for (let length = 2, index = 0; length < bytes - 20 && index < 19_000; index += 1) {
    const field = `"k${index}":1`;
    fields.push(field);
    length += field.length + 1;
  }
  return `{${fields.join(',')}}`;
}

const fewFields = unknownFields(16 * 1024);
const manyFields = unknownFields(193 * 1024);
const digits = JSON.stringify({ note: '1234567890 '.repeat(mebibyte / 11 - 100) });
const text = JSON.stringify({ first_name: 'x'.repeat(mebibyte - 100) });

/** The pages of the dashboard say where they come from. */
const fromDashboard =
  (path: string, body: () => object | string): RequestMaker =>
  ({ origins = [] }) =>
  () => {
    const sent = body();
    const raw = typeof sent === 'string' ? sent : JSON.stringify(sent);
    return { method: 'POST', path, raw, headers: { Origin: origins[0] ?? '', 'Sec-Fetch-Site': 'same-origin' } };
  };

const keyed = (path: string, body: object): BenchRequest => ({
  method: 'POST',
  path,
  body,
  headers: { 'X-SVC-Idempotency-Key': randomUUID() },
});

const somePhone = (): string => `+1555${String(Math.floor(Math.random() * 1e7)).padStart(7, '0')}`;
const person = { first_name: 'Ada', last_name: 'Lovelace' };

function pngChunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const chunk = Buffer.alloc(named.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  named.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(named), named.length + 4);
  return chunk;
}

/** A file of some 50 kB that a decoder turns into 48 MB. */
function largePng(side: number): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const pixels = deflateSync(Buffer.alloc(side * (side * 3 + 1)));
  const chunks = [pngChunk('IHDR', head), pngChunk('IDAT', pixels), pngChunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([signature, ...chunks]);
}

const image: RequestMaker = ({ products = [] }) => {
  const boundary = 'bench-boundary';
  const before = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n`;
  const raw = `${before}${largePng(4_000).toString('latin1')}\r\n--${boundary}--\r\n`;
  let sent = 0;
  return () => ({
    method: 'POST',
    path: `/v1/products/${products[sent++ % products.length]}/images`,
    raw,
    contentType: `multipart/form-data; boundary=${boundary}`,
    headers: { 'X-SVC-Idempotency-Key': randomUUID() },
  });
};

const order: RequestMaker = ({ customers = [], products = [] }) => {
  let sent = 0;
  return () =>
    keyed('/v1/orders', {
      customer_id: customers[sent++ % customers.length],
      items: [{ product_id: products[0], quantity: 1 }],
    });
};

export const requests: Readonly<Record<string, RequestMaker>> = {
  order,
  read: ({ customers = [] }) => {
    let sent = 0;
    return () => ({ method: 'GET', path: `/v1/customers/${customers[sent++ % customers.length]}` });
  },
  healthz: get('/healthz'),
};

export const kinds: Readonly<Record<string, Kind>> = {
  'sign-ups': {
    by: 'strangers',
    request: fromDashboard('/dashboard/sign_up', () => ({
      ...person,
      email: `${randomUUID()}@example.com`,
      password: 'correct horse battery',
      phone_number: '+15551234567',
      company_name: 'Engines',
    })),
  },
  guesses: {
    by: 'strangers',
    request: fromDashboard('/dashboard/session', () => ({
      email: `${randomUUID()}@example.com`,
      password: 'not the password',
    })),
  },
  'wrong-keys': {
    by: 'strangers',
    request: () => () => ({
      method: 'GET',
      path: '/v1/customers',
      headers: { Authorization: `Bearer ${generateKey('sandbox', 'secret').text.reveal()}` },
    }),
  },
  'page-tokens': {
    by: 'strangers',
    request: ({ victim = [] }) => {
      const [companyId = ''] = victim;
      return () => ({ method: 'GET', path: `/checkout/${newPageToken(companyId)}/session` });
    },
  },
  notices: { by: 'stranger', request: post(`/processors/${randomUUID()}/notices`, 'x'.repeat(256 * 1024)) },
  'sign-in-fields': { by: 'stranger', request: fromDashboard('/dashboard/session', () => fewFields) },
  'sign-in-large': { by: 'stranger', request: fromDashboard('/dashboard/session', () => manyFields) },
  'sign-in-one': {
    by: 'stranger',
    request: fromDashboard('/dashboard/session', () => ({ email: 'ada@example.com', password: 'not the password' })),
  },
  'sign-up-fields': { by: 'stranger', request: fromDashboard('/dashboard/sign_up', () => fewFields) },
  resets: {
    by: 'stranger',
    request: fromDashboard('/dashboard/password_resets', () => ({ email: 'ada@example.com' })),
  },
  invitations: { by: 'stranger', request: get(`/dashboard/invitations/${'A'.repeat(64)}`) },
  session: { by: 'stranger', request: get('/dashboard/session') },
  'wrong-key-large': { by: 'stranger', request: post('/v1/customers', text, { Authorization: 'Bearer wrong' }) },
  'unknown-path': { by: 'stranger', request: post('/v1/nothing', text) },
  guide: { by: 'stranger', request: get('/docs/quickstart') },
  reference: { by: 'stranger', request: get('/docs/api/') },
  openapi: { by: 'stranger', request: get('/openapi.json') },
  dashboard: { by: 'stranger', request: always({ method: 'GET', path: '/login', headers: { Accept: 'text/html' } }) },
  readiness: { by: 'stranger', request: get('/readyz') },
  metrics: { by: 'stranger', request: get('/metrics') },
  codes: {
    by: 'key',
    request:
      ({ coupons = [] }) =>
      () =>
        keyed(`/v1/coupons/${coupons[0]}/codes`, { count: 1_000 }),
  },
  coupons: {
    by: 'key',
    request: () => () => keyed('/v1/coupons', { name: randomUUID(), percentage: 10, codes: { count: 1_000 } }),
  },
  'orders-100': {
    by: 'key',
    request: ({ customers = [], products = [] }) => {
      const items = products.slice(0, 100).map((product_id) => ({ product_id, quantity: 1 }));
      let sent = 0;
      return () => keyed('/v1/orders', { customer_id: customers[sent++ % customers.length], items });
    },
  },
  orders: { by: 'key', request: order },
  images: { by: 'key', request: image },
  exports: {
    by: 'member',
    request:
      ({ companies = [], cookies = [], origins = [] }) =>
      () => ({
        method: 'POST',
        path: '/dashboard/exports',
        body: { list: 'customers' },
        headers: {
          Cookie: cookies[0] ?? '',
          'SVC-Company': companies[0] ?? '',
          Origin: origins[0] ?? '',
          'Sec-Fetch-Site': 'same-origin',
        },
      }),
  },
  events: { by: 'key', request: get('/v1/events?limit=100') },
  lists: { by: 'key', request: get('/v1/customers?limit=100') },
  searches: { by: 'key', request: get('/v1/customers?q=a') },
  'searches-100': { by: 'key', request: get('/v1/customers?limit=100&q=a') },
  text: { by: 'key', request: post('/v1/customers', text) },
  digits: { by: 'key', request: post('/v1/customers', digits) },
  fields: { by: 'key', request: post('/v1/customers', unknownFields(mebibyte)) },
  oversize: { by: 'key', request: post('/v1/customers', `${text}${' '.repeat(mebibyte)}`) },
  reads: { by: 'key', request: get('/v1/customers?limit=1') },
  customers: {
    by: 'key',
    request: () => () => ({
      method: 'POST',
      path: '/v1/customers',
      body: { ...person, email: `${randomUUID()}@example.com`, phone: somePhone() },
    }),
  },
};
