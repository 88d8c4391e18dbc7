import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { differences, openPicture, readPages, saved } from '../../../tests/support/pdf-pages.ts';
import { newId } from '../../platform/ids.ts';
import { Fonts } from '../../platform/typesetting/fonts.ts';
import { renderReceipt } from '../receipts/pdf.ts';
import { wordsOf } from './document.ts';
import { printableOf } from './printable.ts';
import type { InvoiceContent, InvoiceRow } from './queries.ts';

/**
 * The document of each ending in docs/invoices.md, in different languages and scripts, in A4 and Letter. Each is compared with a picture
 * that a person has looked at. After a change, `SVC_UPDATE_PICTURES=1 npm test server/features/invoices/pictures.test.ts` writes them again:
 * look at each of them before you commit it.
 */

const id = newId(Date.UTC(2026, 10, 19, 12));
const rate = { region: null, category: null, name: 'VAT', valid_from: '2020-01-01', valid_until: null };
const [berlin, athens] = [
  { line1: 'Hauptstraße 1', line2: null, city: 'Berlin', state: null, postal_code: '10115', country: 'DE' },
  { line1: 'Σταδίου 5', line2: null, city: 'Αθήνα', state: null, postal_code: '105 62', country: 'GR' },
];
const boston = { line1: '1 Beacon St', line2: null, city: 'Boston', state: 'MA', postal_code: '02108', country: 'US' };

const items = [
  { product_id: 'pot', name: 'Darjeeling First Flush 250 g', sku: 'tea', quantity: 2, unit_price: 2450, total: 4900 },
  { product_id: 'book', name: 'The Book of Tea', sku: 'book', quantity: 1, unit_price: 2140, total: 2140 },
];

const paid: InvoiceContent = {
  ...{ mode: 'live', time_zone: 'Europe/Berlin', order_number: 'K7Q2M5X9', description: null, items, plan: null },
  ...{ subtotal: 7040, discount_amount: 0, total: 7040, credit_applied: 0, coupon_code: null, shipping: null },
  card: { brand: 'visa', last_four: '4242' },
  seller: {
    name: 'Ada’s Engines GmbH',
    ...{ address: berlin, tax_id: 'DE123456789', email: 'billing@engines.example', website: null, color: '#0a7d5c' },
  },
  tax: {
    ...{ country: 'DE', region: null, categories: { book: 'Books' } },
    rates: [
      { ...rate, country: 'DE', percentage: 19 },
      { ...rate, country: 'DE', percentage: 7, category: 'Books' },
    ],
  },
  buyer: { name: 'Grace Hopper', company: null, tax_id: null, email: 'grace@example.com', address: berlin },
};

const buyer = (name: string, more: Partial<InvoiceContent['buyer']> = {}): Pick<InvoiceContent, 'buyer'> => ({
  buyer: { ...paid.buyer, name, ...more },
});
const american = { seller: { ...paid.seller, address: boston, tax_id: '04-1234567' }, tax: null };

const invoice = (content: Partial<InvoiceContent> = {}, more: Partial<InvoiceRow> = {}): InvoiceRow => {
  const whole = { ...paid, ...content };
  const amount = more.amount ?? whole.total;
  return {
    ...{ id, kind: 'invoice', cause: 'payment_recorded', order_id: id, customer_id: id, subject_id: id, amount },
    ...{ currency: 'eur', series: 'INV-2026-', full_number: 'INV-2026-000042', corrects: null, reason: null },
    ...{ content: whole, payment: { id, amount } },
    ...more,
  };
};

const correction = (cause: InvoiceRow['cause'], amount: number, content: Partial<InvoiceContent> = {}): InvoiceRow => {
  const kind = cause === 'refund_returned' || cause === 'invoice_corrected' ? 'invoice' : 'credit_note';
  return invoice(content, {
    ...{ cause, kind, amount, corrects: { id, full_number: 'INV-2026-000042' } },
    full_number: kind === 'invoice' ? 'INV-2026-000043' : 'CN-2026-000007',
    reason: cause.startsWith('invoice_') ? 'The company was missing' : null,
    payment: { id, amount: paid.total },
  });
};

const endings: Readonly<Record<string, InvoiceRow>> = {
  'paid-german': invoice({ locale: 'de', discount_amount: 704, total: 6336, coupon_code: 'TEE10' }),
  'paid-letter': invoice({ ...american, ...buyer('Дмитрий Щёголев', { address: boston }) }, { currency: 'usd' }),
  'plan-with-credit-french': invoice({
    ...{ locale: 'fr', items: [], plan: { name: 'Thé du mois', setup_fee: 500 }, subtotal: 2400, total: 2400 },
    credit_applied: 1000,
  }),
  'zero-total-polish': invoice({ locale: 'pl', discount_amount: 7040, total: 0, card: null, coupon_code: 'ŁÓDŹ' }),
  'part-captured-japanese': invoice(
    { locale: 'ja', ...buyer('田中 太郎', { company: '株式会社さくら' }), total: 7040 },
    { amount: 5000 },
  ),
  'reverse-charge-greek-buyer': invoice({
    ...buyer('Παπαδοπούλου Ἀθηνᾶ', { company: 'Τσάι ΑΕ', tax_id: 'EL123456789', address: athens }),
    tax: {
      ...{ country: 'GR', region: null, rates: null, categories: null },
      business_rules: [
        {
          countries: ['GR'],
          category: 'reverse_charge',
          name: 'VAT',
          text: 'Reverse charge: the customer owes the tax.',
        },
      ],
    },
  }),
  'refund-arabic': correction('refund_settled', 2000, { locale: 'ar', ...buyer('محمد الفارسي') }),
  'refund-returned': correction('refund_returned', 2000),
  'refund-to-credit-spanish': correction('refunded_to_credit', 1500, { locale: 'es' }),
  'voided-thai-buyer': correction('payment_voided', 7040, buyer('นายสมชาย ป้าน้ำ')),
  'canceled-by-correction': correction('invoice_canceled', 7040),
  'corrected-sandbox': correction('invoice_corrected', 7040, {
    mode: 'sandbox',
    ...buyer('Grace Hopper', { company: 'Hopper GmbH', tax_id: 'DE987654321' }),
  }),
};

const fonts = new Fonts(undefined);

describe('the document of an ending', () => {
  for (const [name, row] of Object.entries(endings)) {
    it(`looks as it did when a person looked at it: ${name}`, async () => {
      const document = printableOf(row, { isBuyerShown: true, logo: undefined, words: await wordsOf(row) });
      const pages = await readPages(await renderReceipt(document, fonts));
      assert.equal(pages.length, 1);
      const [page] = pages;
      assert.ok(page);
      const file = new URL(`pictures/${name}.png`, import.meta.url);
      if (process.env.SVC_UPDATE_PICTURES) await writeFile(file, await saved(page.picture));
      assert.deepEqual(differences(page.picture, await openPicture(await readFile(file))), [], file.pathname);
    });
  }
});
