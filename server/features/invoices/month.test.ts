import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { moveTo } from '../../../tests/support/billing.ts';
import { germanRate, numberNow, withInvoices } from '../../../tests/support/invoices.ts';
import {
  assertRefused,
  checkAllOpen,
  createProduct,
  items,
  openShop,
  order,
  refund,
  type Shop,
  succeeded,
} from '../../../tests/support/orders.ts';
import { readPages } from '../../../tests/support/pdf-pages.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { readZip } from '../../../tests/support/zip-reader.ts';
import { newId } from '../../platform/ids.ts';

let service: TestService;
let shop: Shop;
let month: string;
before(async () => {
  service = await startTestService();
  shop = await openShop(service);
  month = new Date(service.clock.nowMs()).toISOString().slice(0, 7);
  const books = { ...germanRate, percentage: 7, category: 'Books' };
  await withInvoices(service, service.company, { tax_rates: [germanRate, books] });
});
after(() => service.stop());

async function linkOf(of: string, key?: string): Promise<string> {
  const { status, body, text } = await service.call(
    'GET',
    `/v1/invoices/month?month=${of}`,
    key === undefined ? {} : { key },
  );
  assert.equal(status, 200, text);
  assert.equal(body.month, of);
  const { pathname, search } = new URL(body.url);
  return pathname + search;
}

interface Downloaded {
  readonly names: readonly string[];
  readonly lines: readonly string[];
  readonly totals: readonly string[];
  readonly pdf: (name: string) => Promise<string>;
}

async function downloaded(of: string, key?: string): Promise<Downloaded> {
  const answer = await fetch(service.baseUrl + (await linkOf(of, key)));
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'application/zip');
  assert.equal(answer.headers.get('content-disposition'), `attachment; filename="invoices-${of}.zip"`);
  const files = new Map(readZip(Buffer.from(await answer.arrayBuffer())).map(({ name, content }) => [name, content]));
  const contentOf = (name: string): Buffer => {
    const content = files.get(name);
    assert.ok(content, `${name} is missing`);
    return content;
  };
  const linesOf = (name: string): string[] => contentOf(name).toString().replaceAll('"', '').trimEnd().split('\r\n');
  return {
    names: [...files.keys()],
    lines: linesOf(`invoices-${of}.csv`),
    totals: linesOf(`totals-${of}.csv`),
    pdf: async (name) => (await readPages(contentOf(name))).map(({ text }) => text).join('\n'),
  };
}

describe('a month of invoices', () => {
  it('has each document as a PDF, and net amount and tax by rate', async () => {
    const book = await createProduct(service, 1070);
    await service.call('PATCH', `/v1/products/${book}`, { body: { category: 'Books' }, idempotencyKey: 'a-book' });
    const { body: sold } = await order(service, shop, items([shop.productId, 1], [book, 1]));
    await refund(service, sold.id, 5970);
    await checkAllOpen(service);
    await withInvoices(service, service.company, { tax_rates: [] });
    const { order_number } = await succeeded(service, shop);
    await numberNow(service, service.company.id);
    const other = await service.createMerchant();
    await withInvoices(service, other.sandbox);
    await succeeded(service, await openShop(service, undefined, { key: other.key }), { key: other.key });
    await numberNow(service, other.sandbox.id);

    const year = month.slice(0, 4);
    const found = await downloaded(month);
    const [first, second, note] = [`INV-${year}-000001`, `INV-${year}-000002`, `CN-${year}-000001`];
    assert.deepEqual(found.names.toSorted(), [
      `${note}.pdf`,
      `${first}.pdf`,
      `${second}.pdf`,
      `invoices-${month}.csv`,
      `totals-${month}.csv`,
    ]);
    const [header, ...lines] = found.lines;
    assert.equal(
      header,
      'number,kind,cause,issued_on,order_number,corrects,customer_name,customer_company,customer_email,customer_country,currency,tax_name,tax_percentage,gross,net,tax',
    );
    const amounts = lines.map((line) => line.split(',')).map((cells) => [cells[0], ...cells.slice(-4)]);
    assert.deepEqual(amounts, [
      [first, '19', '49.00', '41.18', '7.82'],
      [first, '7', '10.70', '10.00', '0.70'],
      [note, '19', '-49.00', '-41.18', '-7.82'],
      [note, '7', '-10.70', '-10.00', '-0.70'],
      [second, '', '49.00', '', ''],
    ]);
    assert.deepEqual(found.totals, [
      'currency,tax_name,tax_percentage,gross,net,tax',
      'usd,VAT,19,0.00,0.00,0.00',
      'usd,VAT,7,0.00,0.00,0.00',
      'usd,,,49.00,,',
    ]);
    const { body: customer } = await service.call('GET', `/v1/customers/${shop.customerId}`);
    assert.ok(lines[0]?.includes(customer.email));
    const text = await found.pdf(`${second}.pdf`);
    assert.ok(text.includes(order_number) && text.includes(customer.email), text);
  });

  it('shows the customers only with customers:read', async () => {
    const { body: customer } = await service.call('GET', `/v1/customers/${shop.customerId}`);
    const key = await service.createKey(service.company, { permissions: ['invoices:read'] });
    const found = await downloaded(month, key);
    assert.ok(!found.lines.join('\n').includes('customer') && !found.lines.join('\n').includes(customer.email));
    const text = await found.pdf(found.names[0] ?? '');
    assert.ok(!text.includes(customer.email) && !text.includes(customer.last_name), text);
    const without = await service.createKey(service.company, { permissions: ['customers:read'] });
    assertRefused(await service.call('GET', '/v1/invoices/month', { key: without }), 403, 'insufficient_permissions');
  });

  it('is that of the day on the document, in the time zone of the company', async () => {
    const at = (time: string, zone: string, number: number) =>
      service.db.query(
        `INSERT INTO invoices (company_id, id, kind, cause, order_id, customer_id, subject_id, amount, currency, content, series, number, full_number)
         SELECT company_id, $2, kind, cause, $2, customer_id, $2, amount, currency, jsonb_set(content::jsonb, '{time_zone}', $3), 'OLD-', $4::integer, 'OLD-' || $4::integer
         FROM invoices WHERE company_id = $1 AND cause = 'payment_recorded' LIMIT 1`,
        [service.company.id, newId(Date.parse(time)), JSON.stringify(zone), number],
      );
    await at('2025-01-31T22:59:59Z', 'Europe/Berlin', 1);
    await at('2025-01-31T23:00:00Z', 'Europe/Berlin', 2);
    await at('2025-01-31T10:00:00Z', 'Pacific/Kiritimati', 3);
    await at('2025-03-01T09:59:59Z', 'Pacific/Pago_Pago', 4);
    const namesOf = async (of: string): Promise<string[]> =>
      (await downloaded(of)).names.filter((name) => name.endsWith('.pdf')).toSorted();
    assert.deepEqual(await namesOf('2025-01'), ['OLD-1.pdf']);
    assert.deepEqual(await namesOf('2025-02'), ['OLD-2.pdf', 'OLD-3.pdf', 'OLD-4.pdf']);
    assert.deepEqual(await namesOf('2025-03'), []);
  });

  it('is by default the present one there', async () => {
    const { key, sandbox } = await service.createMerchant();
    await service.db.query(`UPDATE companies SET time_zone = 'Asia/Tokyo' WHERE id = $1`, [sandbox.id]);
    await moveTo(service, key, '2031-01-31T23:30:00Z');
    assert.equal((await service.call('GET', '/v1/invoices/month', { key })).body.month, '2031-02');
  });

  it('is refused for what is no month, and its link opens no other', async () => {
    for (const wrong of ['2026', '2026-13', '2026-1', 'now']) {
      assertRefused(await service.call('GET', `/v1/invoices/month?month=${wrong}`), 400, 'validation_error');
    }
    assert.equal((await service.call('GET', '/v1/invoices/month')).body.month, month);
    const link = await linkOf('2025-02');
    const statusOf = async (path: string, method = 'GET'): Promise<number> =>
      (await fetch(service.baseUrl + path, { method })).status;
    assert.equal(await statusOf(link.replace('2025-02', '2025-01')), 400);
    assert.equal(await statusOf(link.replace('2025-02', '2025-2')), 400);
    assert.equal(await statusOf(link, 'HEAD'), 200);
  });

  it('is downloaded once at a time, and again after a download that was broken off', async () => {
    const link = service.baseUrl + (await linkOf('2025-02'));
    const stopped = new AbortController();
    const first = await fetch(link, { signal: stopped.signal });
    const second = await fetch(link);
    assert.ok([200, 429].includes(second.status));
    await second.arrayBuffer();
    stopped.abort();
    await first.arrayBuffer().catch(() => undefined);
    for (;;) {
      const again = await fetch(link);
      const bytes = Buffer.from(await again.arrayBuffer());
      if (again.status === 429) continue;
      assert.equal(readZip(bytes).length, 5);
      break;
    }
  });
});
