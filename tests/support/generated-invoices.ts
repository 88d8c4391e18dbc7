import type { InvoiceContent, InvoiceRow } from '../../server/features/invoices/queries.ts';
import type { TaxRate } from '../../server/features/invoices/tax.ts';
import { countries } from '../../server/platform/countries.ts';
import { currencies } from '../../server/platform/currencies.ts';
import { hourMs, minuteMs } from '../../server/platform/durations.ts';
import { newId } from '../../server/platform/ids.ts';
import { type Random, seededRandom } from './seeded-random.ts';

/** Invoices and credit notes of every kind, as they are in the database. */

const names = [
  'Grace Hopper',
  'Łukasz <b>Żółć</b> & "Söhne"',
  '株式会社さくら',
  'محمد الفارسي',
  'Ana 🌸\u0001\uFFFE',
  "O'Neill",
];
const taxIds = [
  'DE123456789',
  'de 123.456.789',
  '12/345/67890',
  'CHE-123.456.789',
  'EL123456789',
  'XI123456789',
  '99-1234567',
];
const percentages = [19, 7, 0, 5.5, 20, 8.1, 25, 0.5, 2.25];
const zones = ['Europe/Berlin', 'America/Los_Angeles', 'Asia/Tokyo', 'UTC'];
const codes = [...currencies].filter(([, decimals]) => decimals <= 2).map(([code]) => code);
const places = [...countries];
const startMs = Date.UTC(2026, 0, 1);

const rules = (['reverse_charge', 'export', 'not_subject'] as const).map((category) => ({
  ...{ category, name: 'VAT', text: 'The buyer owes the tax & declares it.' },
}));

const rate = (country: string, percentage: number, category: string | null): TaxRate => ({
  country,
  region: null,
  category,
  name: 'VAT',
  percentage,
  valid_from: '2020-01-01',
  valid_until: null,
});

function priced(random: Random, isPlan: boolean): Pick<InvoiceContent, 'items' | 'subtotal' | 'plan'> {
  const items = Array.from({ length: random.between(isPlan ? 0 : 1, random.chance(0.1) ? 60 : 4) }, (_, index) => {
    const quantity = random.pick([1, 1, 2, 3, 7, 100]);
    const unit_price = isPlan ? null : random.pick([0, 1, 99, 1000, 4999, 123_456, 9_999_999]);
    const total = unit_price === null ? null : unit_price * quantity;
    return { product_id: `product-${index}`, name: random.pick(names), sku: `S${index}`, quantity, unit_price, total };
  });
  const sum = items.reduce((total, item) => total + (item.total ?? 0), 0);
  if (!isPlan) return { items, subtotal: sum, plan: null };
  const setup_fee = random.pick([0, 500]);
  return { items, subtotal: random.pick([0, 999, 4900]) + setup_fee, plan: { name: 'Tea of the month', setup_fee } };
}

function contentOf(random: Random, seller: string, country: string): InvoiceContent {
  const { items, subtotal, plan } = priced(random, random.chance(0.25));
  const discount_amount = random.chance(0.4) ? Math.floor(subtotal * random.pick([0.1, 0.25, 0.333, 1])) : 0;
  const total = subtotal - discount_amount;
  const credit_applied = random.chance(0.2) ? Math.floor(total / random.pick([1, 2])) : 0;
  const isSent = random.chance(0.5);
  const isBusinessAbroad = seller !== country && random.chance(0.3);
  const address = {
    line1: 'Hauptstraße 1',
    line2: random.pick([null, '2. OG']),
    city: 'Köln',
    state: null,
    postal_code: '50667',
    country,
  };
  return {
    mode: random.pick(['sandbox', 'live', 'rehearsal']),
    time_zone: random.pick(zones),
    order_number: 'K7Q2M5X9',
    description: null,
    items,
    plan,
    subtotal,
    discount_amount,
    total,
    credit_applied,
    coupon_code: discount_amount > 0 ? random.pick(['TEA', null]) : null,
    shipping: isSent ? { ...address, name: random.pick([...names, null]), phone: null } : null,
    card: total > credit_applied ? { brand: 'visa', last_four: '4242' } : null,
    seller: {
      name: random.pick(names),
      address: {
        line1: 'Via 1',
        line2: null,
        city: 'Roma',
        state: random.pick([null, 'RM']),
        postal_code: '00100',
        country: seller,
      },
      tax_id: random.pick(taxIds),
      email: random.pick([null, 'billing@example.com']),
      website: null,
      color: null,
    },
    tax: {
      country,
      region: null,
      rates: [rate(country, random.pick(percentages), null), rate(country, random.pick(percentages), 'Books')],
      categories: Object.fromEntries(
        items.filter(() => random.chance(0.3)).map(({ product_id }) => [product_id, 'books']),
      ),
      ...(isBusinessAbroad && { business_rules: [{ ...random.pick(rules), countries: [country] }] }),
    },
    buyer: {
      name: random.pick([...names, '']),
      company: isBusinessAbroad ? 'Hopper & Co <GmbH>' : random.pick([null, null, 'Hopper & Co <GmbH>']),
      ...(isBusinessAbroad && { tax_id: 'ATU12345678' }),
      email: 'grace@example.com',
      address: random.pick([null, address, { ...address, line1: null, city: null, postal_code: null }]),
    },
  };
}

const corrections = [
  'refund_settled',
  'refund_returned',
  'refunded_to_credit',
  'payment_voided',
  'invoice_canceled',
  'invoice_corrected',
] as const;
const ofWhole: readonly string[] = ['payment_voided', 'invoice_canceled', 'invoice_corrected'];
const asInvoice: readonly string[] = ['refund_returned', 'invoice_corrected'];

function documentsOf(random: Random, index: number): InvoiceRow[] {
  const content = contentOf(random, places[(index * 7) % places.length] ?? 'DE', places[index % places.length] ?? 'DE');
  const amount = random.chance(0.2) ? Math.floor(content.total / 2) : content.total;
  const id = newId(startMs + index * hourMs);
  const common = {
    order_id: id,
    customer_id: id,
    subject_id: id,
    currency: codes[index % codes.length] ?? 'eur',
    content,
    payment: { id, amount },
  };
  const invoice: InvoiceRow = {
    ...common,
    id,
    kind: 'invoice',
    cause: 'payment_recorded',
    amount,
    series: 'INV-2026-',
    full_number: `INV-2026-${String(index + 1).padStart(6, '0')}`,
    corrects: null,
    reason: null,
  };
  const cause = corrections[index % corrections.length] ?? 'refund_settled';
  const correction: InvoiceRow = {
    ...common,
    id: newId(startMs + index * hourMs + minuteMs),
    kind: asInvoice.includes(cause) ? 'invoice' : 'credit_note',
    cause,
    amount: ofWhole.includes(cause) ? amount : Math.ceil(amount / random.pick([1, 3])),
    series: 'CN/2026/',
    full_number: `CN/2026/${String(index + 1).padStart(6, '0')}`,
    corrects: { id, full_number: invoice.full_number },
    reason: cause.startsWith('invoice_') ? 'The company was missing' : null,
  };
  return amount > 0 ? [invoice, correction] : [invoice];
}

/** At least so many documents. The same seed makes the same, except for the random part of their ids. */
export function generatedInvoices(count: number, seed = 1): InvoiceRow[] {
  const random = seededRandom(seed);
  const rows: InvoiceRow[] = [];
  for (let index = 0; rows.length < count; index += 1) rows.push(...documentsOf(random, index));
  return rows;
}
