import { addressLines, amountText, cardText, dayText } from '../../customer-texts/formats.ts';
import { invoiceTexts } from '../../customer-texts/invoices.ts';
import type { Words } from '../../customer-texts/words.ts';
import { idTimeMs } from '../../platform/ids.ts';
import { hasLink, readsLikeAddress } from '../../platform/web-addresses.ts';
import { defaultColor } from '../profile/service.ts';
import { paperOf, type ReceiptDocument } from '../receipts/service.ts';
import type { InvoiceContent, InvoiceRow } from './queries.ts';
import type { Invoice } from './schemas.ts';
import { rateFor, shared, type Tax, type TaxRate, taxesOf, taxOf } from './tax.ts';

/** By time zone: to make one takes longer than all else that a list of invoices needs. */
const dayFormats = new Map<string, Intl.DateTimeFormat>();

/** As YYYY-MM-DD, in the time zone of the company. */
export function dayIn(atMs: number, timeZone: string): string {
  const format = dayFormats.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeZone });
  dayFormats.set(timeZone, format);
  return format.format(atMs);
}

export const issuedOn = ({ id, content }: InvoiceRow): string => dayIn(idTimeMs(id), content.time_zone);

/** Without an ending. */
export const fileNameOf = ({ full_number }: InvoiceRow): string => full_number.replaceAll('/', '-');

/** What a document says: the amounts that the API shows, and the texts of the PDF. */

type Amounts = Pick<
  Invoice,
  'lines' | 'subtotal' | 'discount_amount' | 'uncaptured_amount' | 'amount' | 'credit_applied' | 'taxes'
>;

export function amountsOf(row: InvoiceRow): Amounts {
  return { ...untaxedOf(row), taxes: taxesIn(row) };
}

function untaxedOf(row: InvoiceRow): Omit<Amounts, 'taxes'> {
  const { cause, content, amount } = row;
  if (cause === 'payment_recorded') {
    const { subtotal, discount_amount, total, credit_applied } = content;
    const lines = linesOf(content).map(({ description, quantity, unit_price, amount: ofLine }) => ({
      description,
      quantity,
      unit_price,
      amount: ofLine,
    }));
    return { lines, subtotal, discount_amount, uncaptured_amount: total - amount, amount, credit_applied };
  }
  const line = { description: correctionOf(row), quantity: null, unit_price: null, amount };
  return { lines: [line], subtotal: amount, discount_amount: 0, uncaptured_amount: 0, amount, credit_applied: 0 };
}

const correctionOf = ({ cause, corrects }: InvoiceRow): string =>
  cause === 'payment_recorded' ? '' : invoiceTexts.corrections[cause](corrects?.full_number ?? '');

/** Null if a line has no rate. A correction has the rates of its invoice, in proportion. */
function taxesIn(row: InvoiceRow): Tax[] | null {
  const { cause, amount } = row;
  const lines = taxedLinesOfPayment(row);
  if (lines === null) return null;
  const paid = taxesOf(lines.map((line) => ({ gross: line.paid, rate: line.rate })));
  if (cause === 'payment_recorded') return paid;
  const shares = shared(
    amount,
    paid.map(({ gross_amount }) => gross_amount),
  );
  return paid.map(({ name, percentage }, index) => taxOf({ name, percentage }, [shares[index] ?? 0]));
}

/** A line with its rate, in amounts that include the tax. */
export interface TaxedLine {
  readonly description: string;
  readonly quantity: number;
  /** Before the discount, and before a part was not captured. */
  readonly gross: number;
  readonly paid: number;
  readonly rate: Pick<TaxRate, 'name' | 'percentage'>;
}

/** Null if a line has no rate. A correction has one line for each rate. */
export function taxedLinesOf(row: InvoiceRow): TaxedLine[] | null {
  if (row.cause === 'payment_recorded') return taxedLinesOfPayment(row);
  const description = correctionOf(row);
  const taxes = taxesIn(row);
  const withAmount = taxes?.filter(({ gross_amount }) => gross_amount > 0) ?? [];
  return (
    taxes &&
    (withAmount.length > 0 ? withAmount : taxes).map(({ gross_amount: gross, ...rate }) => ({
      description,
      quantity: 1,
      gross,
      paid: gross,
      rate,
    }))
  );
}

/** The discount, and what was not captured, count for each line in proportion. */
function taxedLinesOfPayment({ content, payment }: InvoiceRow): TaxedLine[] | null {
  const { tax, time_zone } = content;
  if (!tax?.rates) return null;
  const { rates, categories, ...place } = tax;
  const day = dayIn(idTimeMs(payment.id), time_zone);
  const lines = linesOf(content);
  const shares = shared(
    payment.amount,
    lines.map(({ amount }) => amount ?? 0),
  );
  const taxed = lines.flatMap(({ description, quantity, amount, product_id }, index): TaxedLine[] => {
    // What the price of a plan includes has the rate of the plan, the first line.
    const category = amount === null ? null : (categories?.[product_id ?? ''] ?? null);
    const rate = rateFor(rates, place, category, day);
    return rate ? [{ description, quantity: quantity ?? 1, gross: amount ?? 0, paid: shares[index] ?? 0, rate }] : [];
  });
  return taxed.length === 0 || taxed.length < lines.length ? null : taxed;
}

type Line = Invoice['lines'][number] & { readonly product_id: string | null };

/** What was charged for. Items of a plan have no price of their own, so the plan is a line with the price. */
function linesOf({ items, plan, subtotal }: InvoiceContent): Line[] {
  const lines = items.map(({ product_id, name, quantity, unit_price, total }) => ({
    description: name,
    quantity,
    unit_price,
    amount: total,
    product_id,
  }));
  if (plan === null) return lines;
  const priced = (description: string, amount: number): Line[] => [
    { description, quantity: 1, unit_price: amount, amount, product_id: null },
  ];
  const added = items.reduce((sum, { total }) => sum + (total ?? 0), 0);
  const setupFee = plan.setup_fee > 0 ? priced(invoiceTexts.setupFee, plan.setup_fee) : [];
  return [...priced(plan.name, subtotal - added - plan.setup_fee), ...setupFee, ...lines];
}

const present = (texts: readonly (string | null | undefined | false)[]): string[] =>
  texts.filter((text): text is string => typeof text === 'string' && text !== '');

export interface Shown {
  readonly isBuyerShown: boolean;
  readonly logo: Uint8Array | undefined;
  /** English, as the texts of invoices are. */
  readonly words: Words;
  /** Undefined if the data is not complete. */
  readonly eInvoice: string | undefined;
}

export function invoiceDocument(row: InvoiceRow, { isBuyerShown, logo, words, eInvoice }: Shown): ReceiptDocument {
  const { content, currency, cause, full_number: number, corrects } = row;
  const { seller, mode } = content;
  const title = invoiceTexts.titles[row.kind];
  const contact = seller.email ?? seller.website;
  return {
    locale: words.locale,
    texts: words.texts.receipts,
    title,
    mark: null,
    subject: `${title} ${number}`,
    paper: paperOf(seller, { currency }),
    color: seller.color ?? defaultColor,
    logo: logo ?? null,
    merchantName: seller.name,
    merchant: present([
      ...addressLines(seller.address),
      seller.tax_id && invoiceTexts.taxId(seller.tax_id),
      seller.email,
      seller.website,
    ]),
    customer: isBuyerShown ? buyerLines(content) : [],
    shipTo: isBuyerShown && cause === 'payment_recorded' ? shipToLines(content) : [],
    facts: [
      [invoiceTexts.number, number],
      [invoiceTexts.date, dayText(idTimeMs(row.id), content.time_zone)],
      ...(corrects ? ([[invoiceTexts.corrects, corrects.full_number]] as const) : []),
      [invoiceTexts.order, content.order_number],
    ],
    lines: amountsOf(row).lines.map(({ description, quantity, unit_price, amount }) => ({
      description,
      quantity: quantity === null ? '' : String(quantity),
      unitPrice: unit_price === null ? '' : amountText(unit_price, currency),
      amount: amount === null ? '' : amountText(amount, currency),
    })),
    sums: sumsOf(words, row),
    notes: present([paymentText(words, row), invoiceTexts.notes[mode], contact && invoiceTexts.questions(contact)]),
    createdAtMs: idTimeMs(row.id),
    ...(eInvoice !== undefined && { eInvoice }),
  };
}

/** A stranger may have typed these on a checkout page, so a name or company that is a link is left out. */
function buyerLines({ buyer: { name, company, tax_id, email, address } }: InvoiceContent): string[] {
  const addressed = addressLines(address).filter((line) => !hasLink(line));
  return present([
    company && !hasLink(company) && company,
    !readsLikeAddress(name) && name,
    ...addressed,
    tax_id && invoiceTexts.taxId(tax_id),
    email,
  ]);
}

function shipToLines({ shipping }: InvoiceContent): string[] {
  const name = shipping?.name;
  return present([name && !readsLikeAddress(name) && name, ...addressLines(shipping)]).filter((line) => !hasLink(line));
}

function sumsOf({ texts: { receipts } }: Words, row: InvoiceRow): ReceiptDocument['sums'] {
  const { subtotal, discount_amount, uncaptured_amount, amount, credit_applied, taxes } = amountsOf(row);
  const text = (value: number): string => amountText(value, row.currency);
  return [
    ...(row.cause === 'payment_recorded' ? [{ label: invoiceTexts.subtotal, amount: text(subtotal) }] : []),
    ...(discount_amount > 0
      ? [{ label: invoiceTexts.discount(row.content.coupon_code), amount: `−${text(discount_amount)}` }]
      : []),
    ...(uncaptured_amount > 0 ? [{ label: invoiceTexts.uncaptured, amount: `−${text(uncaptured_amount)}` }] : []),
    { label: invoiceTexts.totals[row.kind], amount: text(amount), isStrong: true },
    ...(credit_applied > 0
      ? [
          { label: receipts.creditApplied, amount: text(credit_applied) },
          { label: receipts.fromCard, amount: text(amount - credit_applied) },
        ]
      : []),
    ...(taxes ?? []).flatMap(({ name, percentage, net_amount, tax_amount }) => [
      { label: invoiceTexts.net(name, percentage), amount: text(net_amount) },
      { label: invoiceTexts.tax(name, percentage), amount: text(tax_amount) },
    ]),
  ];
}

function paymentText(
  { texts }: Words,
  { id, cause, content: { card, credit_applied, time_zone } }: InvoiceRow,
): string {
  if (cause === 'refunded_to_credit') return invoiceTexts.toCredit;
  if (!card) return credit_applied > 0 ? texts.receipts.paidWithCredit : invoiceTexts.free;
  return invoiceTexts.payments[cause](cardText(card.brand, card.last_four), dayText(idTimeMs(id), time_zone));
}
