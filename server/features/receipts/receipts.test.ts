import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inflateSync } from 'node:zlib';
import sharp from 'sharp';
import {
  assertRefused,
  capture,
  checkAllOpen,
  contextOf,
  countOf,
  createProduct,
  items,
  openShop,
  order,
  readOrder,
  refund,
  type Shop,
  succeeded,
} from '../../../tests/support/orders.ts';
import {
  type Reply,
  someCustomer,
  someProduct,
  startTestService,
  type TestService,
} from '../../../tests/support/service.ts';
import { readPages } from '../../../tests/support/pdf-pages.ts';
import { somePlan } from '../../../tests/support/subscriptions.ts';
import { changeProfile, setLogo } from '../profile/service.ts';
import { openRenderer, readReceipt } from './service.ts';

let service: TestService;
let shop: Shop;
before(async () => {
  service = await startTestService();
  shop = await openShop(service);
});
after(() => service.stop());

/** Links name the public address of the service. */
const open = (link: string | URL): Promise<Response> => {
  const { pathname, search } = new URL(link);
  return fetch(service.baseUrl + pathname + search);
};

const receiptOf = (id: string, query = ''): Promise<Reply> => service.call('GET', `/v1/orders/${id}/receipt${query}`);

/** Everything in the file, with its streams decompressed. */
function contentOf(pdf: Buffer): string {
  const text = pdf.toString('latin1');
  const streams = [...text.matchAll(/stream\r?\n([\s\S]*?)\r?\nendstream/g)].map(([, bytes = '']) => {
    try {
      return inflateSync(Buffer.from(bytes, 'latin1')).toString('latin1');
    } catch {
      return '';
    }
  });
  return text + streams.join('\n');
}

async function documentOf(url: string) {
  const [, id = ''] = /([0-9a-f-]{36})\.pdf/.exec(url) ?? [];
  const found = await readReceipt(contextOf(service), id, { shows: () => true });
  assert.ok(found);
  return found.document;
}

describe('the receipt of an order', () => {
  it('is a PDF at a link that expires, and keeps its number', async () => {
    const { id, order_number } = await succeeded(service, shop);
    const { status, body } = await receiptOf(id);
    assert.equal(status, 200);
    assert.match(body.number, /^R-\d{6}$/);
    const pdf = await open(body.url);
    assert.deepEqual([pdf.status, pdf.headers.get('content-type')], [200, 'application/pdf']);
    assert.match(pdf.headers.get('content-disposition') ?? '', new RegExp(`^inline; filename="${body.number}.pdf"$`));
    const bytes = Buffer.from(await pdf.arrayBuffer());
    assert.match(bytes.toString('latin1', 0, 5), /^%PDF-/);
    assert.ok(bytes.length < 100_000, `${bytes.length}`);
    // Without an address, dollars mean Letter paper.
    assert.match(contentOf(bytes), /MediaBox \[0 0 612 792\]/);
    // It has tags, for those who have it read to them.
    assert.match(contentOf(bytes), /\/StructTreeRoot/);
    assert.equal((await receiptOf(id)).body.number, body.number);
    const document = await documentOf(body.url);
    assert.deepEqual(document.facts.at(-1)?.[1], order_number);
    assert.deepEqual([document.mark, document.shipTo], ['PAID', []]);
    assert.ok(document.notes.includes('Sandbox: no money was moved.'));
    assert.ok(document.notes[0]?.startsWith('Paid with Visa ending in 4242 on '));
  });

  it('does not open with another expiry, path or purpose, or after it has expired', async () => {
    const { id } = await succeeded(service, shop);
    const url = new URL((await receiptOf(id)).body.url);
    const other = new URL((await receiptOf((await succeeded(service, shop)).id)).body.url);
    const opened = async (change: (link: URL) => void): Promise<number> => {
      const link = new URL(url);
      change(link);
      return (await open(link)).status;
    };
    assert.equal(await opened(() => undefined), 200);
    const later = String(Number(url.searchParams.get('expires')) + 60);
    assert.equal(await opened((link) => link.searchParams.set('expires', later)), 400);
    assert.equal(await opened((link) => link.searchParams.delete('signature')), 400);
    assert.equal(await opened((link) => link.searchParams.append('signature', 'x')), 400);
    assert.equal(await opened((link) => (link.pathname = other.pathname)), 400);
    assert.equal(await opened((link) => (link.pathname = '/receipts/x/y.pdf')), 400);
  });

  it('exists only for an order that was paid, and a refund that was made', async () => {
    const poor = await openShop(service, '4000000000000002');
    const declined = await order(service, poor);
    assertRefused(await receiptOf(declined.body.id), 422, 'invalid_state_transition');
    const { id, transactions } = await succeeded(service, shop);
    assertRefused(await receiptOf(id, `?refund_id=${transactions[0].id}`), 404, 'resource_not_found');
    assertRefused(await receiptOf(shop.customerId), 404, 'resource_not_found');
    const key = await service.createKey(service.company, { permissions: ['customers:read'] });
    assertRefused(await service.call('GET', `/v1/orders/${id}/receipt`, { key }), 403, 'insufficient_permissions');
  });

  it('shows the discount and the refunds; a refund has a receipt of its own', async () => {
    const coupon = await service.call('POST', '/v1/coupons', {
      body: { name: 'TEA10', kind: 'promo', percentage: 10 },
      idempotencyKey: randomUUID(),
    });
    assert.equal(coupon.status, 201, coupon.text);
    const { body } = await order(service, shop, { coupon_code: 'TEA10' });
    assert.equal(body.status, 'succeeded');
    await refund(service, body.id, 1000);
    await checkAllOpen(service);
    const partly = await readOrder(service, body.id);
    const { url, number } = (await receiptOf(body.id)).body;
    const { sums } = await documentOf(url);
    assert.deepEqual(
      sums.map(({ amount }) => amount),
      ['$49.00', '−$4.90', '$44.10', '−$10.00', '$34.10'],
    );
    const refundId = partly.transactions.find(({ type }: { type: string }) => type === 'refund').id;
    const own = (await receiptOf(body.id, `?refund_id=${refundId}`)).body;
    assert.notEqual(own.number, number);
    const document = await documentOf(own.url);
    assert.deepEqual([document.title, document.mark], ['Refund receipt', 'REFUNDED']);
    assert.deepEqual(document.sums.at(-1), { label: 'Refunded', amount: '$10.00', isStrong: true });
  });

  it('names the plan of a subscription with its price, then the setup fee and the products', async () => {
    const product = await createProduct(service, 4900);
    const products = [{ product_id: product, quantity: 2 }];
    const plan = await somePlan(service, { amount: 1900, one_time_amount: 500, products });
    const subscribed = await service.call('POST', '/v1/subscriptions', {
      body: { customer_id: shop.customerId, plan_id: plan.id },
      idempotencyKey: randomUUID(),
    });
    assert.equal(subscribed.status, 201, subscribed.text);
    const [paid] = (await service.call('GET', `/v1/orders?plan_id=${plan.id}`)).body.data;
    const { lines, sums } = await documentOf((await receiptOf(paid.id)).body.url);
    assert.deepEqual(lines.slice(0, 2), [
      { description: plan.name, quantity: '', unitPrice: '', amount: '$19.00' },
      { description: 'Setup fee', quantity: '', unitPrice: '', amount: '$5.00' },
    ]);
    assert.deepEqual([lines.length, lines[2]?.quantity, lines[2]?.amount], [3, '2', '']);
    assert.equal(sums[0]?.amount, '$24.00');
  });

  it('is on A4 with the name, logo, address and tax ID of the merchant, also beyond Latin-1', async () => {
    const context = contextOf(service);
    const png = await sharp({ create: { width: 40, height: 20, channels: 3, background: '#c04020' } })
      .png()
      .toBuffer();
    await setLogo(context, { id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60', png });
    await changeProfile(context, {
      display_name: 'Чайная Ångström',
      color: '#0a7d5c',
      address: { line1: 'Lindenstraße 1', city: 'Berlin', postal_code: '10115', country: 'DE' },
      tax_id: 'DE123456789',
    });
    const customer = await service.call('POST', '/v1/customers', {
      body: someCustomer({ first_name: 'Žofie', last_name: 'Παπαδοπούλου' }),
    });
    const product = await service.call('POST', '/v1/products', {
      body: someProduct({ name: 'Чай 🫖 茶', pricing: { amount: 900, currency: 'usd' } }),
      idempotencyKey: randomUUID(),
    });
    const payment_method_id = await capture(service, customer.body.id);
    const paid = await order(service, shop, {
      customer_id: customer.body.id,
      payment_method_id,
      ...items([product.body.id, 2]),
    });
    assert.equal(paid.body.status, 'succeeded', paid.text);
    const { url } = (await receiptOf(paid.body.id)).body;
    const content = contentOf(Buffer.from(await (await open(url)).arrayBuffer()));
    assert.match(content, /MediaBox \[0 0 595\.28 841\.89\]/);
    assert.match(content, /\/Subtype \/Image/);
    assert.match(content, /FontFile2/);
    // The characters that the embedded fonts print: Ч, Å, Ž, Π.
    for (const code of ['0427', '00c5', '017d', '03a0']) assert.match(content, new RegExp(`<${code}>`));
    const { merchant } = await documentOf(url);
    assert.deepEqual(merchant, ['Lindenstraße 1', '10115 Berlin', 'Germany', 'Tax ID: DE123456789']);
  });

  it('prints names of any script, and the address to which the order is shipped', async () => {
    const names = { first_name: '小龙', last_name: '李', company: 'محمد الفارسي' };
    const customer = await service.call('POST', '/v1/customers', { body: someCustomer(names) });
    const payment_method_id = await capture(service, customer.body.id);
    const paid = await order(service, shop, {
      customer_id: customer.body.id,
      payment_method_id,
      ...items([await createProduct(service, 900), 1]),
      shipping: { name: '田中 さくら', line1: '丸の内1-1', city: '千代田区', country: 'JP' },
    });
    assert.equal(paid.body.status, 'succeeded', paid.text);
    const pages = await readPages(
      Buffer.from(await (await open((await receiptOf(paid.body.id)).body.url)).arrayBuffer()),
    );
    const text = pages.map((page) => page.text).join('\n');
    for (const expected of [
      '小龙 李',
      'محمد الفارسي',
      'Ship to',
      '田中 さくら',
      '丸の内1-1',
      '千代田区',
      'Japan',
      'PAID',
    ])
      assert.ok(text.includes(expected), `${expected} in ${text}`);
  });

  it('is made also for the largest order', async () => {
    const products = await Promise.all(Array.from({ length: 100 }, () => createProduct(service, 100)));
    const { body } = await order(service, shop, items(...products.map((id) => [id, 9_999] as const)));
    assert.equal(body.status, 'succeeded');
    const pdf = await open((await receiptOf(body.id)).body.url);
    assert.equal(pdf.status, 200);
    assert.match(Buffer.from(await pdf.arrayBuffer()).toString('latin1'), /\/Count [5-9]\b/);
  });
});

describe('the numbers of receipts', () => {
  it('have no gap and no duplicate when many are asked for at once', async () => {
    const orders = await Promise.all(Array.from({ length: 12 }, () => succeeded(service, shop)));
    const before = await countOf(service, 'receipts', 'company_id = $1', [service.company.id]);
    const asked = await Promise.all([...orders, ...orders].map(({ id }) => receiptOf(id)));
    const numbers = asked.map(({ body }) => Number(body.number.slice(2)));
    assert.deepEqual(numbers.slice(0, 12), numbers.slice(12));
    assert.deepEqual(
      numbers.slice(0, 12).toSorted((one, other) => one - other),
      orders.map((_, index) => before + index + 1),
    );
  });
});

describe('rendering', () => {
  it('goes on after a document that fails, and waits for no thread when the service stops', async () => {
    const renderer = openRenderer(undefined);
    const { body } = await receiptOf((await succeeded(service, shop)).id);
    const document = await documentOf(body.url);
    await assert.rejects(renderer.render({ ...document, logo: Buffer.from('no picture') }), /could not be rendered/);
    assert.match((await renderer.render(document)).toString('latin1', 0, 5), /^%PDF-/);
    await renderer.stop();
  });

  it('lets companies take turns, and says how long a receipt took, also if it failed', async () => {
    const renderer = openRenderer(undefined);
    const document = await documentOf((await receiptOf((await succeeded(service, shop)).id)).body.url);
    const finished: string[] = [];
    const spent: number[] = [];
    const render = async (company: string): Promise<void> => {
      await renderer.render(document, company, (ms) => spent.push(ms));
      finished.push(company);
    };
    await Promise.all([...Array.from({ length: 8 }, () => render('busy')), render('other'), render('third')]);
    assert.deepEqual(finished.slice(0, 4), ['busy', 'busy', 'other', 'third']);
    const broken = { ...document, logo: Buffer.from('no picture') };
    await assert.rejects(renderer.render(broken, 'busy', (ms) => spent.push(ms)));
    assert.equal(spent.length, 11);
    assert.ok(
      spent.slice(0, 10).every((ms) => ms > 0),
      spent.join(' '),
    );
    await renderer.stop();
  });

  it('reports a font that is none, instead of ending the process', async () => {
    assert.throws(() => openRenderer('/nowhere/font.ttf'), /SVC_RECEIPT_FONT/);
    const renderer = openRenderer(fileURLToPath(import.meta.url));
    const { body } = await receiptOf((await succeeded(service, shop)).id);
    await assert.rejects(renderer.render(await documentOf(body.url)), /could not be rendered|Unknown font/);
    await renderer.stop();
  });
});
