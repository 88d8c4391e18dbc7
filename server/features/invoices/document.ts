import { defaultLocale } from '../../customer-texts/languages.ts';
import { type Words, wordsFor } from '../../customer-texts/words.ts';
import { idTimeMs } from '../../platform/ids.ts';
import { hasLink, readsLikeAddress } from '../../platform/web-addresses.ts';
import { defaultColor } from '../profile/service.ts';
import { discountText, paperOf, type ReceiptDocument } from '../receipts/service.ts';
import { businessRuleFor, type ExemptCategory } from './business-rules.ts';
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

/** Documents from before customers had a language are English. */
export const localeOf = ({ content }: Pick<InvoiceRow, 'content'>): string => content.locale ?? defaultLocale;

/** Those of the language that the customer had at the payment. */
export const wordsOf = (row: Pick<InvoiceRow, 'content'>): Promise<Words> => wordsFor(localeOf(row));

/** The invoice of a payment, or one that replaces it. All others have one line. */
export const hasOwnLines = ({ cause }: Pick<InvoiceRow, 'cause'>): boolean =>
  cause === 'payment_recorded' || cause === 'invoice_corrected';

type Amounts = Pick<
  Invoice,
  'lines' | 'subtotal' | 'discount_amount' | 'uncaptured_amount' | 'amount' | 'credit_applied' | 'taxes'
>;

export function amountsOf(row: InvoiceRow, words: Words): Amounts {
  return { ...untaxedOf(row, words), taxes: taxesIn(row, words) };
}

function untaxedOf(row: InvoiceRow, words: Words): Omit<Amounts, 'taxes'> {
  const { content, amount } = row;
  if (hasOwnLines(row)) {
    const { subtotal, discount_amount, total, credit_applied } = content;
    const lines = linesOf(content, words).map(({ description, quantity, unit_price, amount: ofLine }) => ({
      description,
      quantity,
      unit_price,
      amount: ofLine,
    }));
    return { lines, subtotal, discount_amount, uncaptured_amount: total - amount, amount, credit_applied };
  }
  const line = { description: correctionOf(row, words), quantity: null, unit_price: null, amount };
  return { lines: [line], subtotal: amount, discount_amount: 0, uncaptured_amount: 0, amount, credit_applied: 0 };
}

const correctionOf = ({ cause, corrects }: InvoiceRow, { fill, texts }: Words): string =>
  cause === 'payment_recorded' || cause === 'invoice_corrected'
    ? ''
    : fill(texts.invoices.corrections[cause], { number: corrects?.full_number ?? '' });

/** What the invoice says about the tax of a business buyer abroad. */
export const taxNoteOf = ({ content }: InvoiceRow): string | null => businessRuleFor(content)?.text ?? null;

/** Null if a line has no rate. A correction has the rates of its invoice, in proportion. */
function taxesIn(row: InvoiceRow, words: Words): Tax[] | null {
  const { amount } = row;
  const lines = taxedLinesOfPayment(row, words);
  if (lines === null) return null;
  const paid = taxesOf(lines.map((line) => ({ gross: line.paid, rate: line.rate })));
  if (hasOwnLines(row)) return paid;
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
  /** Why there is no tax, by the merchant's rule. */
  readonly exemption?: { readonly category: ExemptCategory; readonly text: string } | undefined;
}

/** Null if a line has no rate. A correction has one line for each rate. */
export function taxedLinesOf(row: InvoiceRow, words: Words): TaxedLine[] | null {
  if (hasOwnLines(row)) return taxedLinesOfPayment(row, words);
  const description = correctionOf(row, words);
  const taxes = taxesIn(row, words);
  const withAmount = taxes?.filter(({ gross_amount }) => gross_amount > 0) ?? [];
  return (
    taxes &&
    (withAmount.length > 0 ? withAmount : taxes).map(({ gross_amount: gross, ...rate }) => ({
      description,
      quantity: 1,
      gross,
      paid: gross,
      rate,
      exemption: businessRuleFor(row.content),
    }))
  );
}

/** The discount, and what was not captured, count for each line in proportion. */
function taxedLinesOfPayment({ content, payment }: InvoiceRow, words: Words): TaxedLine[] | null {
  const { tax, time_zone } = content;
  const rule = businessRuleFor(content);
  if (!tax || !(rule ?? tax.rates)) return null;
  const { rates, categories, ...place } = tax;
  const day = dayIn(idTimeMs(payment.id), time_zone);
  const lines = linesOf(content, words);
  const shares = shared(
    payment.amount,
    lines.map(({ amount }) => amount ?? 0),
  );
  const taxed = lines.flatMap(({ description, quantity, amount, product_id }, index): TaxedLine[] => {
    // What the price of a plan includes has the rate of the plan, the first line.
    const category = amount === null ? null : (categories?.[product_id ?? ''] ?? null);
    const rate = rule ? { name: rule.name, percentage: 0 } : rateFor(rates ?? [], place, category, day);
    const amounts = { quantity: quantity ?? 1, gross: amount ?? 0, paid: shares[index] ?? 0 };
    return rate ? [{ description, ...amounts, rate, exemption: rule }] : [];
  });
  return taxed.length === 0 || taxed.length < lines.length ? null : taxed;
}

type Line = Invoice['lines'][number] & { readonly product_id: string | null };

/** What was charged for. Items of a plan have no price of their own, so the plan is a line with the price. */
function linesOf({ items, plan, subtotal }: InvoiceContent, { texts }: Words): Line[] {
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
  const setupFee = plan.setup_fee > 0 ? priced(texts.receipts.setupFee, plan.setup_fee) : [];
  return [...priced(plan.name, subtotal - added - plan.setup_fee), ...setupFee, ...lines];
}

const present = (texts: readonly (string | null | undefined | false)[]): string[] =>
  texts.filter((text): text is string => typeof text === 'string' && text !== '');

export interface Shown {
  readonly isBuyerShown: boolean;
  readonly logo: Uint8Array | undefined;
  readonly words: Words;
  /** Undefined if the data is not complete. */
  readonly eInvoice: string | undefined;
}

export function invoiceDocument(row: InvoiceRow, { isBuyerShown, logo, words, eInvoice }: Shown): ReceiptDocument {
  const { content, currency, reason, full_number: number, corrects } = row;
  const { invoices: texts, receipts } = words.texts;
  const { seller, mode } = content;
  const title = texts.titles[row.kind];
  const contact = seller.email ?? seller.website;
  return {
    locale: words.locale,
    texts: receipts,
    title,
    mark: null,
    subject: `${title} ${number}`,
    paper: paperOf(seller, { currency }),
    color: seller.color ?? defaultColor,
    logo: logo ?? null,
    merchantName: seller.name,
    merchant: present([
      ...words.address(seller.address),
      seller.tax_id && words.fill(receipts.taxId, { id: seller.tax_id }),
      seller.email,
      seller.website,
    ]),
    customer: isBuyerShown ? buyerLines(words, content) : [],
    shipTo: isBuyerShown && hasOwnLines(row) ? shipToLines(words, content) : [],
    facts: [
      [texts.number, number],
      [receipts.date, words.day(idTimeMs(row.id), content.time_zone)],
      ...(corrects ? ([[texts.corrects, corrects.full_number]] as const) : []),
      [receipts.order, content.order_number],
    ],
    lines: amountsOf(row, words).lines.map(({ description, quantity, unit_price, amount }) => ({
      description,
      quantity: quantity === null ? '' : String(quantity),
      unitPrice: unit_price === null ? '' : words.amount(unit_price, currency),
      amount: amount === null ? '' : words.amount(amount, currency),
    })),
    sums: sumsOf(words, row),
    notes: present([
      reason !== null && words.fill(texts.reason, { reason }),
      taxNoteOf(row),
      paymentText(words, row),
      receipts.notes[mode],
      contact && words.fill(receipts.questions, { contact }),
    ]),
    createdAtMs: idTimeMs(row.id),
    ...(eInvoice !== undefined && { eInvoice }),
  };
}

/** A stranger may have typed these on a checkout page, so a name or company that is a link is left out. */
function buyerLines(words: Words, { buyer: { name, company, tax_id, email, address } }: InvoiceContent): string[] {
  const addressed = words.address(address).filter((line) => !hasLink(line));
  return present([
    company && !hasLink(company) && company,
    !readsLikeAddress(name) && name,
    ...addressed,
    tax_id && words.fill(words.texts.receipts.taxId, { id: tax_id }),
    email,
  ]);
}

function shipToLines(words: Words, { shipping }: InvoiceContent): string[] {
  const name = shipping?.name;
  return present([name && !readsLikeAddress(name) && name, ...words.address(shipping)]).filter(
    (line) => !hasLink(line),
  );
}

function sumsOf(words: Words, row: InvoiceRow): ReceiptDocument['sums'] {
  const { invoices: texts, receipts } = words.texts;
  const { subtotal, discount_amount, uncaptured_amount, amount, credit_applied, taxes } = amountsOf(row, words);
  const text = (value: number): string => words.amount(value, row.currency);
  return [
    ...(hasOwnLines(row) ? [{ label: receipts.subtotal, amount: text(subtotal) }] : []),
    ...(discount_amount > 0
      ? [{ label: discountText(words, row.content.coupon_code ?? undefined), amount: `−${text(discount_amount)}` }]
      : []),
    ...(uncaptured_amount > 0 ? [{ label: texts.uncaptured, amount: `−${text(uncaptured_amount)}` }] : []),
    { label: texts.totals[row.kind], amount: text(amount), isStrong: true },
    ...(credit_applied > 0
      ? [
          { label: receipts.creditApplied, amount: text(credit_applied) },
          { label: receipts.fromCard, amount: text(amount - credit_applied) },
        ]
      : []),
    ...(taxes ?? []).flatMap(({ name, percentage, net_amount, tax_amount }) => {
      const values = { name, percentage: words.percent(percentage) };
      return [
        { label: words.fill(texts.net, values), amount: text(net_amount) },
        { label: words.fill(texts.tax, values), amount: text(tax_amount) },
      ];
    }),
  ];
}

function paymentText(words: Words, { id, cause, payment, content }: InvoiceRow): string {
  const { card, credit_applied, time_zone } = content;
  const { invoices: texts, receipts } = words.texts;
  if (cause === 'refunded_to_credit') return texts.toCredit;
  if (cause === 'invoice_canceled') return texts.canceled;
  if (!card) return credit_applied > 0 ? receipts.paidWithCredit : receipts.free;
  const templates = {
    payment_recorded: receipts.paid,
    invoice_corrected: receipts.paid,
    refund_settled: receipts.refundedTo,
    payment_voided: texts.paymentVoided,
    refund_returned: texts.refundReturned,
  };
  // A corrected invoice is of a later day than its payment.
  const date = words.day(idTimeMs(cause === 'invoice_corrected' ? payment.id : id), time_zone);
  return words.fill(templates[cause], { card: words.card(card.brand, card.last_four), date });
}
