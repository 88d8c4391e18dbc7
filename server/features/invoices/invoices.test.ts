import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { created, everyDays, later, moveTo, openScene, ordersOf } from '../../../tests/support/billing.ts';
import { grant } from '../../../tests/support/credit.ts';
import { colleague, companyOf, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { brokenRules } from '../../../tests/support/en16931.ts';
import { germanRate, invoicesFor, numberNow, sellerAddress, withInvoices } from '../../../tests/support/invoices.ts';
import {
  assertRefused,
  checkAllOpen,
  contextOf,
  createProduct,
  items,
  openShop,
  order,
  refund,
  type Shop,
  succeeded,
  voidOrder,
} from '../../../tests/support/orders.ts';
import { readPages } from '../../../tests/support/pdf-pages.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { someSubscriber, somePlan, subscribe } from '../../../tests/support/subscriptions.ts';
import { readXml, textAt } from '../../../tests/support/xml-reader.ts';
import { returnRefund } from '../orders/recovery/notice-queries.ts';
import { changeProfile } from '../profile/service.ts';

let service: TestService;
let shop: Shop;
before(async () => {
  service = await startTestService();
  shop = await openShop(service);
  await withInvoices(service);
});
after(() => service.stop());

/** The documents of an order, oldest first, once they have their numbers. */
async function documentsOf(orderId: string): Promise<Reply['body'][]> {
  await numberNow(service, service.company.id);
  const { status, body, text } = await service.call('GET', `/v1/invoices?order_id=${orderId}&sort=created_at`);
  assert.equal(status, 200, text);
  return body.data;
}

const facts = ({ kind, cause, amount }: Reply['body']): unknown[] => [kind, cause, amount];

/** The text of the PDF. */
async function printed(id: string, key?: string): Promise<string> {
  const { body } = await service.call('GET', `/v1/invoices/${id}/pdf`, key === undefined ? {} : { key });
  const { pathname, search } = new URL(body.url);
  const pdf = await fetch(service.baseUrl + pathname + search);
  assert.deepEqual([pdf.status, pdf.headers.get('content-type')], [200, 'application/pdf']);
  const pages = await readPages(Buffer.from(await pdf.arrayBuffer()));
  return pages
    .map(({ text }) => text)
    .join('\n')
    .replaceAll('\r\n', '\n');
}

function assertPrints(text: string, ...parts: readonly string[]): void {
  for (const part of parts) assert.ok(text.includes(part), `${part} is missing in:\n${text}`);
}

describe('the invoice of a payment', () => {
  it('has the seller, the customer, the lines and the amounts of the payment', async () => {
    const product = await createProduct(service, 1000);
    const { body: paid } = await order(service, shop, items([shop.productId, 2], [product, 1]));
    const [invoice, ...more] = await documentsOf(paid.id);
    assert.ok(invoice);
    assert.deepEqual([more.length, ...facts(invoice)], [0, 'invoice', 'payment_recorded', 10_800]);
    assert.match(invoice.number, /^INV-\d{4}-\d{6}$/);
    assert.deepEqual(
      invoice.lines.map((line: Reply['body']) => [line.quantity, line.unit_price, line.amount]),
      [
        [2, 4900, 9800],
        [1, 1000, 1000],
      ],
    );
    assert.partialDeepStrictEqual(invoice, {
      order_id: paid.id,
      order_number: paid.order_number,
      customer_id: shop.customerId,
      subtotal: 10_800,
      discount_amount: 0,
      uncaptured_amount: 0,
      currency: 'usd',
      corrects_id: null,
      refund_id: null,
      livemode: false,
      seller: { tax_id: 'DE123456789', address: sellerAddress },
    });
    assert.equal(invoice.issued_on, new Date(invoice.created_at).toISOString().slice(0, 10));
    assertPrints(await printed(invoice.id), invoice.number, 'Invoice', 'Hauptstraße 1', 'DE123456789', '$108.00');
  });

  it('keeps what it says when the customer and the company change', async () => {
    const own = await openShop(service);
    const { id } = await succeeded(service, own);
    const [before] = await documentsOf(id);
    const text = await printed(before?.id);
    await service.call('PATCH', `/v1/customers/${own.customerId}`, {
      body: { first_name: 'Changed', company: 'Later' },
    });
    await changeProfile(contextOf(service), { tax_id: 'DE999999999', address: { ...sellerAddress, city: 'Bonn' } });
    const [after] = await documentsOf(id);
    assert.deepEqual(after, before);
    assert.equal(await printed(after?.id), text);
    await changeProfile(contextOf(service), { tax_id: 'DE123456789', address: sellerAddress });
  });

  it('names company and tax ID of the customer as they were when it was paid', async () => {
    const own = await openShop(service);
    const change = (body: object): Promise<Reply> => service.call('PATCH', `/v1/customers/${own.customerId}`, { body });
    await change({ company: 'Motoren AG', tax_id: 'CHE-123.456.789 MWST' });
    const { id } = await succeeded(service, own);
    await change({ company: 'Later', tax_id: 'ATU12345678' });
    const [invoice] = await documentsOf(id);
    assert.deepEqual([invoice?.buyer.company, invoice?.buyer.tax_id], ['Motoren AG', 'CHE123456789MWST']);
    assertPrints(await printed(invoice?.id), 'Motoren AG', 'Tax ID: CHE123456789MWST');
    const without = await openShop(service);
    const [plain] = await documentsOf((await succeeded(service, without)).id);
    assert.equal(plain?.buyer.tax_id, null);
  });

  it('has the language that the customer had when it was paid', async () => {
    const own = await openShop(service);
    const change = (locale: string): Promise<Reply> =>
      service.call('PATCH', `/v1/customers/${own.customerId}`, { body: { locale } });
    await change('de-AT');
    const { id } = await succeeded(service, own);
    await change('fr');
    await refund(service, id, 1000);
    await checkAllOpen(service);
    const [invoice, note] = await documentsOf(id);
    assert.deepEqual([invoice?.locale, note?.locale], ['de-AT', 'de-AT']);
    assert.equal(note?.lines[0].description, `Refund of invoice ${invoice?.number}`);
    assertPrints(await printed(invoice?.id), 'Rechnung', 'Deutschland', 'Bezahlt mit Visa', 'Zwischensumme');
    assertPrints(await printed(note?.id), 'Rechnungskorrektur', `Erstattung zur Rechnung ${invoice?.number}`);
    const [plain] = await documentsOf((await succeeded(service, shop)).id);
    assert.equal(plain?.locale, 'en');
  });

  it('shows the discount, and a total of zero has an invoice too', async () => {
    for (const [percentage, amount] of [
      [25, 3675],
      [100, 0],
    ] as const) {
      const coupon = await service.call('POST', '/v1/coupons', {
        body: { name: `TEA${percentage}`, kind: 'promo', percentage },
        idempotencyKey: `tea-${percentage}`,
      });
      assert.equal(coupon.status, 201, coupon.text);
      const { body: paid } = await order(service, shop, { coupon_code: `TEA${percentage}` });
      assert.equal(paid.status, 'succeeded');
      const [invoice] = await documentsOf(paid.id);
      assert.deepEqual([invoice?.subtotal, invoice?.discount_amount, invoice?.amount], [4900, 4900 - amount, amount]);
      assertPrints(
        await printed(invoice?.id),
        `Discount (TEA${percentage})`,
        amount === 0 ? 'Nothing was charged' : 'Paid',
      );
    }
  });

  it('of an authorization is about what was captured, and there is none without a capture', async () => {
    const hold = async (): Promise<string> => (await order(service, shop, { capture: 'manual' })).body.id;
    const [captured, released] = [await hold(), await hold()];
    assert.deepEqual(await documentsOf(captured), []);
    await service.call('POST', `/v1/orders/${captured}/capture`, { body: { amount: 3000 } });
    await service.call('POST', `/v1/orders/${released}/void`);
    const [invoice] = await documentsOf(captured);
    assert.deepEqual([invoice?.subtotal, invoice?.uncaptured_amount, invoice?.amount], [4900, 1900, 3000]);
    assertPrints(await printed(invoice?.id), 'Not charged', '$19.00', '$30.00');
    assert.deepEqual(await documentsOf(released), []);
  });

  it('of a subscription has the plan and its setup fee as lines', async () => {
    const plan = await somePlan(service, { name: 'Tea of the month', one_time_amount: 500 });
    const subscription = await subscribe(service, { customer_id: await someSubscriber(service), plan_id: plan.id });
    const [invoice] = await documentsOf(subscription.body.latest_order_id);
    assert.ok(invoice);
    assert.deepEqual(
      invoice?.lines.map((line: Reply['body']) => [line.description, line.amount]),
      [
        ['Tea of the month', invoice.subtotal - 500],
        ['Setup fee', 500],
      ],
    );
    assert.equal(invoice?.amount, invoice?.subtotal);
  });

  it('is not written for declined payments, and not before invoices are switched on', async () => {
    const { body: failed } = await order(service, await openShop(service, '4000009999000002'));
    assert.equal(failed.status, 'failed');
    assert.deepEqual(await documentsOf(failed.id), []);
    await withInvoices(service, service.company, { enabled: false });
    const { id } = await succeeded(service, shop);
    await withInvoices(service);
    await refund(service, id);
    await checkAllOpen(service);
    assert.deepEqual(await documentsOf(id), []);
  });
});

describe('the tax that an amount includes', () => {
  const valid_from = '2020-01-01';
  const tax_rates = [
    { country: 'DE', name: 'VAT', percentage: 19, valid_from },
    { country: 'DE', name: 'VAT', percentage: 7, category: 'Books', valid_from },
  ];
  before(() => withInvoices(service, service.company, { tax_rates }));
  after(() => withInvoices(service, service.company, { tax_rates: [] }));
  const ofRates = (taxes: Reply['body'][]): unknown[] =>
    taxes.map((tax) => [tax.percentage, tax.gross_amount, tax.net_amount, tax.tax_amount]);

  it('is shown by rate, of what was paid after the discount, and in proportion for a refund', async () => {
    const book = await createProduct(service, 1070);
    await service.call('PATCH', `/v1/products/${book}`, { body: { category: 'books' }, idempotencyKey: 'a-book' });
    const code = { name: 'HALF', kind: 'promo', percentage: 50 };
    assert.equal((await service.call('POST', '/v1/coupons', { body: code, idempotencyKey: 'half' })).status, 201);
    const sold = { ...items([shop.productId, 1], [book, 1]), coupon_code: 'HALF' };
    const { body: paid } = await order(service, shop, sold);
    await refund(service, paid.id, 995);
    await checkAllOpen(service);
    const [invoice, note] = await documentsOf(paid.id);
    assert.ok(invoice && note);
    assert.equal(invoice.amount, 2985);
    assert.deepEqual(ofRates(invoice.taxes), [
      [19, 2450, 2059, 391],
      [7, 535, 500, 35],
    ]);
    assert.deepEqual(ofRates(note.taxes), [
      [19, 817, 687, 130],
      [7, 178, 166, 12],
    ]);
    assertPrints(await printed(invoice.id), 'Net of VAT 19%', '$20.59', 'Included VAT 7%', '$0.35', '$29.85');
  });

  it('is that of the country to which the order is sent, and is left out where a line has no rate', async () => {
    const send = async (country: string) => {
      const { body } = await order(service, shop, { shipping: { name: 'Ada', line1: 'Via 1', city: 'Roma', country } });
      return (await documentsOf(body.id))[0]?.taxes;
    };
    assert.equal(await send('IT'), null);
    assert.deepEqual(ofRates(await send('DE')), [[19, 4900, 4118, 782]]);
  });

  it('of an invoice does not change when the rates do', async () => {
    const { id } = await succeeded(service, shop);
    const [before] = await documentsOf(id);
    await withInvoices(service, service.company, { tax_rates: [{ ...tax_rates[0], percentage: 25 } as never] });
    assert.deepEqual((await documentsOf(id))[0], before);
    await withInvoices(service, service.company, { tax_rates });
  });
});

describe('a credit note', () => {
  it('is written for each refund that settles, and names its invoice', async () => {
    const { id } = await succeeded(service, shop);
    await refund(service, id, 1000);
    assert.equal((await documentsOf(id)).length, 1);
    await checkAllOpen(service);
    await refund(service, id);
    await checkAllOpen(service);
    const [invoice, ...notes] = await documentsOf(id);
    assert.deepEqual(notes.map(facts), [
      ['credit_note', 'refund_settled', 1000],
      ['credit_note', 'refund_settled', 3900],
    ]);
    for (const note of notes) {
      assert.deepEqual([note.corrects_id, note.seller], [invoice?.id, invoice?.seller]);
      assert.match(note.number, /^CN-\d{4}-\d{6}$/);
      const transaction = await service.call('GET', `/v1/transactions/${note.refund_id}`);
      assert.deepEqual([transaction.body.type, transaction.body.amount], ['refund', note.amount]);
      assertPrints(await printed(note.id), 'Credit note', note.number, `Refund of invoice ${invoice?.number}`);
    }
  });

  it('is not written for a refund that the processor rejects', async () => {
    const { id } = await succeeded(service, await openShop(service, '4000009999005126'));
    await refund(service, id);
    await checkAllOpen(service);
    assert.deepEqual((await documentsOf(id)).map(facts), [['invoice', 'payment_recorded', 4900]]);
  });

  it('of a refund that comes back later is reversed by a further invoice', async () => {
    const { id } = await succeeded(service, shop);
    await refund(service, id, 1000);
    await checkAllOpen(service);
    const [, note] = await documentsOf(id);
    const failure = { code: 'processor_declined', reason: 'The account is closed.' } as const;
    await returnRefund(service.db, service.company.id, note?.refund_id, failure, new Date(service.clock.nowMs()));
    const [, same, reversal] = await documentsOf(id);
    assert.deepEqual(same, note);
    assert.ok(reversal);
    assert.deepEqual(facts(reversal), ['invoice', 'refund_returned', 1000]);
    assert.deepEqual([reversal.corrects_id, reversal.refund_id], [note?.id, note?.refund_id]);
    assertPrints(await printed(reversal.id), `Reversal of credit note ${note?.number}`);
  });

  it('is written for the part of a refund that goes to the credit of the customer', async () => {
    const at = await openScene(service, { amount: 3000, billing_cycle: everyDays(30) });
    await invoicesFor(service, at.customer_id);
    const { next_billing_at } = await created(service, at);
    await grant(service, at, 1000);
    await moveTo(service, at.key, later(next_billing_at, 3_600_000));
    const [, renewal] = await ordersOf(service, at);
    await refund(service, renewal?.id, undefined, { key: at.key });
    await checkAllOpen(service);
    await numberNow(service, at.company.id);
    const path = `/v1/invoices?order_id=${renewal?.id}&sort=created_at`;
    const [invoice, ...notes] = (await service.call('GET', path, { key: at.key })).body.data;
    assert.deepEqual([invoice.amount, invoice.credit_applied, invoice.lines.length], [3000, 1000, 1]);
    assert.deepEqual(notes.map(facts).toSorted(), [
      ['credit_note', 'refund_settled', 2000],
      ['credit_note', 'refunded_to_credit', 1000],
    ]);
    const note = notes.find(({ cause }: Reply['body']) => cause === 'refunded_to_credit');
    assert.deepEqual([note.refund_id, note.corrects_id], [null, invoice.id]);
    assertPrints(await printed(invoice.id, at.key), 'Paid with your credit', '$10.00', '$20.00');
    assertPrints(await printed(note.id, at.key), 'Added to your credit.');
  });

  it('takes off the whole invoice when the payment is voided', async () => {
    const { id } = await succeeded(service, shop);
    await voidOrder(service, id);
    const [invoice, note] = await documentsOf(id);
    assert.ok(note);
    assert.deepEqual(facts(note), ['credit_note', 'payment_voided', 4900]);
    assertPrints(await printed(note.id), `Cancellation of invoice ${invoice?.number}`);
  });
});

describe('a correction of the buyer', () => {
  const correct = (id: string, body: object, key: string = randomUUID()): Promise<Reply> =>
    service.call('POST', `/v1/invoices/${id}/corrections`, { body, idempotencyKey: key });
  const body = { reason: 'The company was missing', company: 'Hopper GmbH', tax_id: 'de 123 456 789' };
  const invoiceOf = async (orderId: string): Promise<Reply['body']> => (await documentsOf(orderId))[0] ?? assert.fail();
  const assertRefusedWith = (refused: Reply, part: string): void => {
    assertRefused(refused, 400, 'invalid_request');
    assert.ok(refused.body.error.message.includes(part), refused.text);
  };

  it('is a credit note of the whole invoice, and a new one that differs in the buyer only', async () => {
    const { id } = await succeeded(service, shop);
    const first = await invoiceOf(id);
    const address = { line1: 'Weg 1', postal_code: '50667', city: 'Köln', country: 'DE' };
    const made = await correct(first.id, { ...body, name: 'Grace B. Hopper', address }, 'correct-once');
    assert.equal(made.status, 201, made.text);
    assert.deepEqual(
      (await correct(first.id, { ...body, name: 'Grace B. Hopper', address }, 'correct-once')).body,
      made.body,
    );
    const [same, note, second, ...more] = await documentsOf(id);
    assert.ok(note && second);
    assert.deepEqual([same, more], [first, []]);
    assert.deepEqual(facts(note), ['credit_note', 'invoice_canceled', 4900]);
    assert.deepEqual(facts(second), ['invoice', 'invoice_corrected', 4900]);
    assert.deepEqual([made.body.credit_note_id, made.body.invoice_id], [note.id, second.id]);
    for (const one of [note, second]) assert.deepEqual([one.corrects_id, one.reason], [first.id, body.reason]);
    assert.deepEqual(note.buyer, first.buyer);
    assert.deepEqual(second.buyer, {
      ...{ name: 'Grace B. Hopper', company: 'Hopper GmbH', tax_id: 'DE123456789', email: first.buyer.email },
      address: { ...address, line2: null, state: null },
    });
    const kept = ({ lines, subtotal, amount, taxes, seller, currency, order_id }: Reply['body']) => ({
      ...{ lines, subtotal, amount, taxes, seller, currency, order_id },
    });
    assert.deepEqual(kept(second), kept(first));
    assertPrints(await printed(note.id), `Correction of invoice ${first.number}`, body.reason, 'No money was moved');
    assertPrints(await printed(second.id), 'Hopper GmbH', first.number, body.reason, 'Paid with Visa');
    const order = (await service.call('GET', `/v1/orders/${id}`)).body;
    assert.deepEqual([order.status, order.refunded_amount, order.transactions.length], ['succeeded', 0, 1]);
  });

  it('is of the newest invoice, which a later refund corrects too', async () => {
    const { id } = await succeeded(service, shop);
    const first = await invoiceOf(id);
    await correct(first.id, body);
    const [, canceled, second] = await documentsOf(id);
    assertRefusedWith(await correct(first.id, { ...body, company: 'Other' }), `Correct ${second?.number} instead`);
    assertRefusedWith(await correct(canceled?.id, body), `Correct ${second?.number} instead`);
    assert.equal((await correct(second?.id, { reason: 'A letter was wrong', name: 'Grace H.' })).status, 201);
    await refund(service, id, 1000);
    await checkAllOpen(service);
    const all = await documentsOf(id);
    const [, , , , third, note] = all;
    assert.deepEqual([all.length, third?.cause, note?.cause], [6, 'invoice_corrected', 'refund_settled']);
    assert.deepEqual([third?.corrects_id, note?.corrects_id], [second?.id, third?.id]);
    assert.deepEqual([note?.buyer.name, note?.buyer.company], ['Grace H.', 'Hopper GmbH']);
    const sum = all.reduce((total, { kind, amount }) => total + (kind === 'invoice' ? amount : -amount), 0);
    assert.equal(sum, 3900);
    assertRefusedWith(await correct(third?.id, body), `has the credit note ${note?.number}`);
    const failure = { code: 'processor_declined', reason: 'The account is closed.' } as const;
    await returnRefund(service.db, service.company.id, note?.refund_id, failure, new Date(service.clock.nowMs()));
    assert.equal((await correct(third?.id, { reason: 'Now it is whole again', company: null })).status, 201);
    const [reversal, , fourth] = (await documentsOf(id)).slice(6);
    assert.deepEqual([reversal?.cause, reversal?.corrects_id], ['refund_returned', note?.id]);
    assert.deepEqual([fourth?.buyer.company, fourth?.corrects_id], [null, third?.id]);
  });

  it('happens once when two correct the same invoice at once', async () => {
    const { id } = await succeeded(service, shop);
    const first = await invoiceOf(id);
    const names = Array.from({ length: 8 }, (_, index) => `Grace ${index}`);
    const replies = await Promise.all(names.map((name) => correct(first.id, { reason: 'At once', name })));
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted((one, other) => one - other),
      [201, ...names.slice(1).map(() => 400)],
    );
    assert.equal((await documentsOf(id)).length, 3);
  });

  it('needs a reason, data that differs, and its permission', async () => {
    const { id } = await succeeded(service, shop);
    const first = await invoiceOf(id);
    assertRefused(await correct(first.id, { company: 'Hopper GmbH' }), 400, 'validation_error');
    assertRefused(await correct(first.id, { ...body, reason: ' ' }), 400, 'validation_error');
    assertRefused(await correct(first.id, { ...body, tax_id: 'DE1' }), 400, 'validation_error');
    assertRefusedWith(await correct(first.id, { reason: 'Nothing', name: first.buyer.name }), 'already has this buyer');
    assertRefused(await correct(id, body), 404, 'resource_not_found');
    const key = await service.createKey(service.company, { permissions: ['invoices:read', 'customers:read'] });
    const path = `/v1/invoices/${first.id}/corrections`;
    const refused = await service.call('POST', path, { body, key, idempotencyKey: 'without-the-permission' });
    assertRefused(refused, 403, 'insufficient_permissions');
    assert.equal((await documentsOf(id)).length, 1);
  });
});

describe('an e-invoice', () => {
  before(() => withInvoices(service, service.company, { tax_rates: [germanRate] }));
  after(() => withInvoices(service, service.company, { tax_rates: [] }));

  async function opened(id: string): Promise<{ xml: string; headers: Headers }> {
    const { status, body, text } = await service.call('GET', `/v1/invoices/${id}/xml`);
    assert.equal(status, 200, text);
    const { pathname, search } = new URL(body.url);
    const answer = await fetch(service.baseUrl + pathname + search);
    assert.equal(answer.status, 200);
    return { xml: await answer.text(), headers: answer.headers };
  }

  it('is the invoice and its credit note as XML, which is inside the PDF too', async () => {
    const { id } = await succeeded(service, shop);
    await refund(service, id, 1000);
    await checkAllOpen(service);
    for (const document of await documentsOf(id)) {
      assert.deepEqual(document.e_invoice_missing, []);
      const { xml, headers } = await opened(document.id);
      assert.equal(headers.get('content-type'), 'application/xml; charset=utf-8');
      assert.equal(headers.get('content-disposition'), `attachment; filename="${document.number}.xml"`);
      const invoice = readXml(xml);
      assert.deepEqual(brokenRules(invoice), [], xml);
      assert.equal(textAt(invoice, 'rsm:ExchangedDocument/ram:ID'), document.number);
      const { body } = await service.call('GET', `/v1/invoices/${document.id}/pdf`);
      const pdf = await (await fetch(service.baseUrl + body.url.replace(/^https?:\/\/[^/]+/, ''))).text();
      assert.ok(pdf.includes('(factur-x.xml)') && pdf.includes('<pdfaid:part>3</pdfaid:part>'));
    }
  });

  it('of a business abroad follows the rule of the merchant, and no total changes', async () => {
    const text = 'Reverse charge: the customer owes the tax.';
    const rule = { countries: ['FR'], category: 'reverse_charge' as const, name: 'VAT', text };
    await withInvoices(service, service.company, { business_rules: [rule] });
    const own = await openShop(service);
    const address = { line1: '1 rue A', postal_code: '75001', city: 'Paris', country: 'FR' };
    const buyer = { company: 'Moteurs SA', tax_id: 'FR12345678901', shipping_address: address };
    await service.call('PATCH', `/v1/customers/${own.customerId}`, { body: buyer });
    const { id } = await succeeded(service, own);
    await service.call('PATCH', `/v1/customers/${own.customerId}`, { body: { company: null } });
    const { id: private_id } = await succeeded(service, own);
    await withInvoices(service, service.company, { business_rules: [] });
    await refund(service, id, 1000);
    await checkAllOpen(service);
    for (const [index, document] of (await documentsOf(id)).entries()) {
      const amount = index === 0 ? 4900 : 1000;
      const tax = { name: 'VAT', percentage: 0, gross_amount: amount, net_amount: amount, tax_amount: 0 };
      assert.deepEqual([document.amount, document.taxes, document.tax_note], [amount, [tax], text]);
      assertPrints(await printed(document.id), text, 'VAT 0%');
      assert.deepEqual(document.e_invoice_missing, []);
      const { xml } = await opened(document.id);
      assert.deepEqual(brokenRules(readXml(xml)), [], xml);
      assert.ok(xml.includes(`<ram:ExemptionReason>${text}`) && xml.includes('>VATEX-EU-AE<'), xml);
    }
    const [ofPerson] = await documentsOf(private_id);
    assert.deepEqual([ofPerson?.amount, ofPerson?.taxes, ofPerson?.tax_note], [4900, null, null]);
  });

  it('is refused with what the document lacks, and the PDF opens without it', async () => {
    await withInvoices(service, service.company, { tax_rates: [] });
    await changeProfile(contextOf(service), { tax_id: null });
    const { id } = await succeeded(service, shop);
    await withInvoices(service, service.company, { tax_rates: [germanRate] });
    const [invoice] = await documentsOf(id);
    assert.ok(invoice);
    const missing = ['the tax ID of your company (Branding)', 'a tax rate for each line (Settings → Invoices)'];
    assert.deepEqual(invoice.e_invoice_missing, missing);
    const refused = await service.call('GET', `/v1/invoices/${invoice.id}/xml`);
    assertRefused(refused, 422, 'invalid_state_transition');
    assert.ok(refused.body.error.message.includes(`It lacks: ${missing.join('; ')}.`), refused.text);
    assertPrints(await printed(invoice.id), invoice.number);
  });

  it('needs customers:read, and its link opens nothing else', async () => {
    const { id } = await succeeded(service, shop);
    const [invoice] = await documentsOf(id);
    const key = await service.createKey(service.company, { permissions: ['invoices:read'] });
    const path = `/v1/invoices/${invoice?.id}`;
    assertRefused(await service.call('GET', `${path}/xml`, { key }), 403, 'insufficient_permissions');
    assert.equal((await service.call('GET', path, { key })).body.e_invoice_missing, null);
    const pdf = new URL((await service.call('GET', `${path}/pdf`, { key })).body.url);
    const text = await (await fetch(service.baseUrl + pdf.pathname + pdf.search)).text();
    assert.ok(!text.includes('factur-x.xml'));
    const xml = new URL((await service.call('GET', `${path}/xml`)).body.url);
    const statusOf = async (at: string): Promise<number> => (await fetch(service.baseUrl + at)).status;
    assert.equal(await statusOf(xml.pathname + xml.search), 200);
    const asPdf = xml.pathname.replace('e-invoices', 'documents').replace('.xml', '.pdf');
    assert.equal(await statusOf(asPdf + xml.search), 400);
    assert.equal(await statusOf(xml.pathname + pdf.search), 400);
    assert.equal(await statusOf(xml.pathname.replace('.xml', '') + xml.search), 200);
  });
});

describe('GET /v1/invoices', () => {
  it('finds documents by number, order, customer, kind and time', async () => {
    const own = await openShop(service);
    const { id, order_number } = await succeeded(service, own);
    await refund(service, id);
    await checkAllOpen(service);
    const [invoice, note] = await documentsOf(id);
    const idsOf = async (query: string): Promise<string[]> => {
      const { body, text } = await service.call('GET', `/v1/invoices?${query}`);
      assert.ok(body.data, text);
      return body.data.map((one: Reply['body']) => one.id);
    };
    const both = [note?.id, invoice?.id];
    assert.deepEqual(await idsOf(`q=${invoice?.number.toLowerCase()}`), [invoice?.id]);
    assert.deepEqual(await idsOf(`q=${order_number.slice(0, 6)}`), both);
    assert.deepEqual(await idsOf(`customer_id=${own.customerId}`), both);
    assert.deepEqual(await idsOf(`customer_id=${own.customerId}&kind=credit_note`), [note?.id]);
    assert.deepEqual(await idsOf(`order_id=${id}&customer_id=${shop.customerId}`), []);
    assert.deepEqual(await idsOf('q=INV-1999-000001'), []);
    assert.deepEqual(await idsOf(`limit=1&starting_after=${note?.id}&customer_id=${own.customerId}`), [invoice?.id]);
    assert.deepEqual(await idsOf(`created_at[lt]=${note?.created_at}&customer_id=${own.customerId}`), [invoice?.id]);
  });

  it('shows the customer only with customers:read, also in the PDF', async () => {
    const { id } = await succeeded(service, shop);
    const [whole] = await documentsOf(id);
    assert.ok(whole);
    const key = await service.createKey(service.company, { permissions: ['invoices:read'] });
    const { body: part } = await service.call('GET', `/v1/invoices/${whole.id}`, { key });
    assert.deepEqual(part, { ...whole, buyer: null, e_invoice_missing: null });
    const email = whole.buyer.email;
    assertPrints(await printed(whole.id), email);
    assert.ok(!(await printed(whole.id, key)).includes(email));
    const without = await service.createKey(service.company, { permissions: ['orders:read', 'customers:read'] });
    assertRefused(await service.call('GET', '/v1/invoices', { key: without }), 403, 'insufficient_permissions');
  });

  it('opens a PDF with its own link only', async () => {
    const [one, other] = [await succeeded(service, shop), await succeeded(service, shop)];
    const urlOf = async ({ id }: Reply['body']): Promise<URL> => {
      const [invoice] = await documentsOf(id);
      return new URL((await service.call('GET', `/v1/invoices/${invoice?.id}/pdf`)).body.url);
    };
    const [link, foreign] = [await urlOf(one), await urlOf(other)];
    const statusOf = async (path: string): Promise<number> => (await fetch(service.baseUrl + path)).status;
    assert.equal(await statusOf(link.pathname + link.search), 200);
    assert.equal(await statusOf(foreign.pathname + link.search), 400);
    assert.equal(await statusOf(link.pathname.replace('documents', 'receipts') + link.search), 400);
  });
});

describe('the settings of invoices', () => {
  const path = '/dashboard/invoice_settings';
  let owner: Person;
  before(async () => {
    owner = await signUp(service);
  });

  it('cannot switch invoices on before the company has an address', async () => {
    const { body } = await owner.in('GET', path);
    assert.deepEqual([body.enabled, body.missing], [false, ['address.line1', 'address.city', 'address.country']]);
    const refused = await owner.in('PATCH', path, { enabled: true });
    assertRefused(refused, 400, 'validation_error');
    assert.equal(refused.body.error.field_errors[0].field, 'enabled');
    await owner.in('PATCH', '/dashboard/profile', { address: sellerAddress });
    const changed = await owner.in('PATCH', path, { enabled: true, legal_name: 'Ada’s Engines GmbH' });
    assert.partialDeepStrictEqual(changed.body, { enabled: true, legal_name: 'Ada’s Engines GmbH', missing: [] });
    const off = await owner.in('PATCH', path, { enabled: false, legal_name: null });
    assert.partialDeepStrictEqual(off.body, { enabled: false, legal_name: null, invoice_prefix: 'INV-' });
  });

  it('take no prefix that could make two series write the same number', async () => {
    for (const prefix of ['INV-1', '2026', 'inv-', 'INV 1-', 'A'.repeat(21), 'Ä-']) {
      const refused = await owner.in('PATCH', path, { invoice_prefix: prefix });
      assertRefused(refused, 400, 'validation_error');
      assert.equal(refused.body.error.field_errors[0].field, 'invoice_prefix');
    }
    for (const prefix of ['', 'R/', 'A2026-']) {
      const taken = await owner.in('PATCH', path, { invoice_prefix: prefix });
      assert.deepEqual([taken.status, taken.body.invoice_prefix], [200, prefix], taken.text);
    }
    assertRefused(await owner.in('PATCH', path, { padding: 0 }), 400, 'validation_error');
  });

  it('take no two rates that could both apply', async () => {
    const rate = { country: 'DE', name: 'VAT', percentage: 19, valid_from: '2026-01-01' };
    for (const [tax_rates, field] of [
      [[rate, { ...rate, valid_from: '2026-07-01' }], 'tax_rates[1].valid_from'],
      [
        [
          { ...rate, category: 'Tea' },
          { ...rate, category: 'tea', valid_from: '2027-01-01' },
        ],
        'tax_rates[1].valid_from',
      ],
      [[{ ...rate, valid_until: '2025-12-31' }], 'tax_rates[0].valid_until'],
      [[{ ...rate, percentage: 101 }], 'tax_rates[0].percentage'],
      [[{ ...rate, percentage: 19.001 }], 'tax_rates[0].percentage'],
      [[{ ...rate, country: 'Germany' }], 'tax_rates[0].country'],
    ] as const) {
      const refused = await owner.in('PATCH', path, { tax_rates });
      assertRefused(refused, 400, 'validation_error');
      assert.equal(refused.body.error.field_errors[0].field, field);
    }
    const ended = { ...rate, valid_until: '2026-06-30' };
    const taken = await owner.in('PATCH', path, { tax_rates: [{ ...rate, valid_from: '2026-07-01' }, ended] });
    assert.equal(taken.status, 200, taken.text);
    assert.deepEqual(taken.body.tax_rates[1], { ...ended, region: null, category: null });
  });

  it('take rules for business buyers abroad that name countries, a category and a text', async () => {
    const rule = { countries: ['FR'], category: 'reverse_charge', name: 'VAT', text: 'Reverse charge' };
    for (const [given, field] of [
      [{ ...rule, countries: [] }, 'business_rules[0].countries'],
      [{ ...rule, countries: ['France'] }, 'business_rules[0].countries[0]'],
      [{ ...rule, category: 'S' }, 'business_rules[0].category'],
      [{ ...rule, text: '' }, 'business_rules[0].text'],
    ] as const) {
      const refused = await owner.in('PATCH', path, { business_rules: [given] });
      assertRefused(refused, 400, 'validation_error');
      assert.equal(refused.body.error.field_errors[0].field, field);
    }
    const taken = await owner.in('PATCH', path, { business_rules: [rule] });
    assert.deepEqual([taken.status, taken.body.business_rules], [200, [rule]], taken.text);
  });

  it('are changed with company:write, and belong to one company', async () => {
    const viewer = await colleague(service, owner, 'Viewer');
    assertRefused(await viewer.in('PATCH', path, { padding: 4 }), 403, 'insufficient_permissions');
    await owner.in('PATCH', path, { padding: 4 });
    const live = await owner.in('GET', path, undefined, { company: companyOf(owner, 'live') });
    assert.equal(live.body.padding, 6);
  });
});
