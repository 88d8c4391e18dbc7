import type { Words } from '../../customer-texts/words.ts';
import { decimalsOf, decimalText } from '../../platform/currencies.ts';
import { idTimeMs } from '../../platform/ids.ts';
import { vatIdOf } from '../../platform/tax-ids.ts';
import { type Element, xmlOf, xmlText } from '../../platform/xml.ts';
import type { PostalAddress } from '../profile/schemas.ts';
import { discountText } from '../receipts/service.ts';
import { exemptCategories } from './business-rules.ts';
import { dayIn, hasOwnLines, type TaxedLine, taxedLinesOf } from './document.ts';
import type { InvoiceRow } from './queries.ts';
import { netOf } from './tax.ts';

/** A document as an e-invoice: EN 16931 in the syntax CII of UN/CEFACT, as Factur-X and ZUGFeRD have it. */

interface NetLine {
  readonly name: string;
  readonly quantity: number;
  readonly percentage: number;
  readonly exemption: TaxedLine['exemption'];
  /** Before the discount. */
  readonly price: number;
  readonly net: number;
  readonly tax: number;
}

interface Rate {
  readonly percentage: number;
  readonly exemption: TaxedLine['exemption'];
  readonly net: number;
  readonly tax: number;
}

/** What an e-invoice must have, and a document need not. */
interface Complete {
  readonly lines: readonly NetLine[];
  readonly rates: readonly Rate[];
  readonly sellerTaxId: string;
  readonly sellerAddress: Place;
  readonly buyerName: string;
  readonly buyerAddress: Place;
}

interface Place extends Partial<PostalAddress> {
  readonly country: string;
}

type Addressed = Partial<PostalAddress> | null;

const placeOf = (...addresses: readonly Addressed[]): Place | undefined => {
  const found = addresses.find((address) => address?.country);
  return found?.country ? { ...found, country: found.country } : undefined;
};

function netLine({ description, quantity, gross, paid, rate: { percentage }, exemption }: TaxedLine): NetLine {
  const net = netOf(paid, percentage);
  return { name: description, quantity, percentage, exemption, price: netOf(gross, percentage), net, tax: paid - net };
}

function ratesOf(lines: readonly NetLine[]): Rate[] {
  const groups = Map.groupBy(lines, ({ percentage }) => percentage);
  return [...groups].map(([percentage, ofRate]) => ({
    percentage,
    // A rule is for all lines.
    exemption: ofRate[0]?.exemption,
    net: ofRate.reduce((sum, { net }) => sum + net, 0),
    tax: ofRate.reduce((sum, { tax }) => sum + tax, 0),
  }));
}

/** The tax of a rate is the sum of what was rounded line by line. EN 16931 takes up to one unit more or less than that of the sum. */
function isNear({ percentage, net, tax }: Rate, currency: string): boolean {
  const unit = 10 ** decimalsOf(currency);
  if (percentage < 0.5) return tax * 2 < unit;
  return Math.abs(tax - (net * percentage) / 100) < 0.99 * unit;
}

const mostDecimals = 2;

function contentOf(row: InvoiceRow, words: Words): Partial<Complete> {
  const { seller, buyer, shipping, tax } = row.content;
  const lines = taxedLinesOf(row, words)?.map(netLine);
  const sellerTaxId = xmlText(seller.tax_id ?? '');
  const buyerName = [buyer.company, buyer.name, buyer.email].map((name) => xmlText(name ?? '')).find(Boolean);
  const sellerAddress = placeOf(seller.address);
  // A customer who gave no address is where the tax says.
  const buyerAddress = placeOf(buyer.address, shipping, tax ? { country: tax.country } : null);
  return {
    ...(lines && { lines, rates: ratesOf(lines) }),
    ...(sellerTaxId !== '' && { sellerTaxId }),
    ...(sellerAddress && { sellerAddress }),
    ...(buyerName !== undefined && { buyerName }),
    ...(buyerAddress && { buyerAddress }),
  };
}

/** What keeps a document from being an e-invoice, as parts of a sentence: "It lacks …". */
export const missingIn = (row: InvoiceRow, words: Words): string[] => missingFor(row, contentOf(row, words));

function missingFor({ currency, content }: InvoiceRow, given: Partial<Complete>): string[] {
  const exempt = given.rates?.[0]?.exemption?.category;
  const needs: readonly (readonly [has: boolean, missing: string])[] = [
    [given.sellerTaxId !== undefined, 'the tax ID of your company (Branding)'],
    [given.sellerAddress !== undefined, 'the country of your company (Branding)'],
    [given.buyerName !== undefined, 'the name of the customer'],
    [given.lines !== undefined && given.buyerAddress !== undefined, 'a tax rate for each line (Settings → Invoices)'],
    [
      exempt !== 'reverse_charge' || vatIdOf(xmlText(content.buyer.tax_id ?? '')) !== undefined,
      'the VAT identification number of the customer, for example DE123456789',
    ],
    [
      exempt !== 'export' || given.sellerTaxId === undefined || vatIdOf(given.sellerTaxId) !== undefined,
      'the VAT identification number of your company (Branding)',
    ],
    [decimalsOf(currency) <= mostDecimals, `a currency with at most two decimals, unlike ${currency.toUpperCase()}`],
    [
      (given.rates ?? []).every((rate) => isNear(rate, currency)),
      'tax that is near enough to its rate in whole amounts',
    ],
  ];
  return needs.flatMap(([has, missing]) => (has ? [] : [missing]));
}

/** Undefined if something is missing. */
export function xmlOfInvoice(row: InvoiceRow, words: Words): string | undefined {
  const given = contentOf(row, words);
  if (missingFor(row, given).length > 0) return undefined;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${xmlOf(documentOf(row, given as Complete, words))}\n`;
}

const guideline = 'urn:cen.eu:en16931:2017';
const namespaces = {
  'xmlns:rsm': 'urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100',
  'xmlns:ram': 'urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100',
  'xmlns:udt': 'urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100',
};

/** Codes of the lists that EN 16931 names. */
const codes = {
  kinds: { invoice: '380', credit_note: '381' },
  card: '48',
  discount: '95',
  one: 'C62',
  email: 'EM',
  day: '102',
  vatId: 'VA',
  taxNumber: 'FC',
} as const;

/** An element, or undefined if it would be empty. */
const text = (
  name: string,
  content: string | null | undefined,
  attributes?: Readonly<Record<string, string>>,
): Element | undefined => {
  const shown = xmlText(content ?? '');
  return shown === '' ? undefined : [name, shown, attributes];
};

function group(name: string, ...parts: readonly (Element | undefined)[]): Element | undefined {
  const present = parts.filter((part) => part !== undefined);
  return present.length > 0 ? [name, present] : undefined;
}

const documentOf = (row: InvoiceRow, complete: Complete, words: Words): Element => [
  'rsm:CrossIndustryInvoice',
  [
    group(
      'rsm:ExchangedDocumentContext',
      group('ram:GuidelineSpecifiedDocumentContextParameter', text('ram:ID', guideline)),
    ),
    group(
      'rsm:ExchangedDocument',
      text('ram:ID', row.full_number),
      text('ram:TypeCode', codes.kinds[row.kind]),
      group('ram:IssueDateTime', text('udt:DateTimeString', dayOf(row), { format: codes.day })),
      group('ram:IncludedNote', text('ram:Content', words.texts.receipts.notes[row.content.mode])),
    ),
    group(
      'rsm:SupplyChainTradeTransaction',
      ...complete.lines.map((line, index) => lineOf(row, line, index + 1, words)),
      agreementOf(row, complete),
      ['ram:ApplicableHeaderTradeDelivery', [shipToOf(row)]],
      paymentAndSumsOf(row, complete),
    ),
  ],
  namespaces,
];

const dayOf = ({ id, content }: InvoiceRow): string => dayIn(idTimeMs(id), content.time_zone).replaceAll('-', '');

function categoryOf({ percentage, exemption }: Pick<Rate, 'percentage' | 'exemption'>): string {
  if (exemption) return exemptCategories[exemption.category];
  return percentage === 0 ? 'Z' : 'S';
}

/** Sales that are not subject to the tax have no rate, also not 0%, and name no one's number for it. */
const isOutside = (exemption: Rate['exemption']): boolean => exemption?.category === 'not_subject';

const rateText = ({ percentage, exemption }: Pick<Rate, 'percentage' | 'exemption'>): string | undefined =>
  isOutside(exemption) ? undefined : String(percentage);

/** An e-invoice has prices without tax, so the price of one is exact and need not be whole cents. */
function priceOf({ price, quantity }: NetLine, currency: string): string {
  const more = 8;
  const scaled = BigInt(price) * 10n ** BigInt(more);
  const exact = (scaled + BigInt(quantity) / 2n) / BigInt(quantity);
  const decimals = decimalsOf(currency) + more;
  const digits = String(exact).padStart(decimals + 1, '0');
  const after = digits.slice(-decimals).replace(/0+$/, '').padEnd(mostDecimals, '0');
  return `${digits.slice(0, -decimals)}.${after}`;
}

function lineOf(row: InvoiceRow, line: NetLine, number: number, words: Words): Element | undefined {
  const { currency, content, payment } = row;
  const off = line.price - line.net;
  const hasDiscount = content.discount_amount > 0;
  const reasons = [
    ...(hasDiscount ? [discountText(words, content.coupon_code ?? undefined)] : []),
    ...(payment.amount < content.total ? [words.texts.invoices.uncaptured] : []),
  ];
  return group(
    'ram:IncludedSupplyChainTradeLineItem',
    group('ram:AssociatedDocumentLineDocument', text('ram:LineID', String(number))),
    group('ram:SpecifiedTradeProduct', text('ram:Name', line.name)),
    group(
      'ram:SpecifiedLineTradeAgreement',
      group('ram:NetPriceProductTradePrice', text('ram:ChargeAmount', priceOf(line, currency))),
    ),
    group('ram:SpecifiedLineTradeDelivery', text('ram:BilledQuantity', String(line.quantity), { unitCode: codes.one })),
    group(
      'ram:SpecifiedLineTradeSettlement',
      group(
        'ram:ApplicableTradeTax',
        text('ram:TypeCode', 'VAT'),
        text('ram:CategoryCode', categoryOf(line)),
        text('ram:RateApplicablePercent', rateText(line)),
      ),
      off === 0
        ? undefined
        : group(
            'ram:SpecifiedTradeAllowanceCharge',
            group('ram:ChargeIndicator', text('udt:Indicator', 'false')),
            text('ram:ActualAmount', decimalText(off, currency)),
            text('ram:ReasonCode', hasDiscount ? codes.discount : undefined),
            text('ram:Reason', reasons.join(', ')),
          ),
      group(
        'ram:SpecifiedTradeSettlementLineMonetarySummation',
        text('ram:LineTotalAmount', decimalText(line.net, currency)),
      ),
    ),
  );
}

const addressOf = (address: Addressed): Element | undefined =>
  group(
    'ram:PostalTradeAddress',
    text('ram:PostcodeCode', address?.postal_code),
    text('ram:LineOne', address?.line1),
    text('ram:LineTwo', address?.line2),
    text('ram:CityName', address?.city),
    text('ram:CountryID', address?.country),
    text('ram:CountrySubDivisionName', address?.state),
  );

const emailOf = (email: string | null): Element | undefined =>
  group('ram:URIUniversalCommunication', text('ram:URIID', email, { schemeID: codes.email }));

function agreementOf({ content }: InvoiceRow, complete: Complete): Element | undefined {
  const { seller, buyer, order_number } = content;
  const { sellerTaxId, sellerAddress, buyerName, buyerAddress } = complete;
  const isInside = !isOutside(complete.rates[0]?.exemption);
  const vatId = isInside ? vatIdOf(sellerTaxId) : undefined;
  const buyerVatId = isInside ? vatIdOf(xmlText(buyer.tax_id ?? '')) : undefined;
  const contact =
    buyer.company === null ? undefined : group('ram:DefinedTradeContact', text('ram:PersonName', buyer.name));
  return group(
    'ram:ApplicableHeaderTradeAgreement',
    group(
      'ram:SellerTradeParty',
      // One identifier of the seller must be there.
      vatId === undefined ? text('ram:ID', sellerTaxId) : undefined,
      text('ram:Name', seller.name),
      addressOf(sellerAddress),
      emailOf(seller.email),
      group(
        'ram:SpecifiedTaxRegistration',
        text('ram:ID', vatId ?? sellerTaxId, { schemeID: vatId === undefined ? codes.taxNumber : codes.vatId }),
      ),
    ),
    group(
      'ram:BuyerTradeParty',
      text('ram:Name', buyerName),
      contact,
      addressOf(buyerAddress),
      emailOf(buyer.email),
      buyerVatId === undefined
        ? undefined
        : group('ram:SpecifiedTaxRegistration', text('ram:ID', buyerVatId, { schemeID: codes.vatId })),
    ),
    group('ram:SellerOrderReferencedDocument', text('ram:IssuerAssignedID', order_number)),
  );
}

function shipToOf(row: InvoiceRow): Element | undefined {
  const { shipping } = row.content;
  const place = hasOwnLines(row) ? placeOf(shipping) : undefined;
  return place && group('ram:ShipToTradeParty', text('ram:Name', shipping?.name), addressOf(place));
}

function paymentAndSumsOf({ currency, content, cause, corrects, amount }: InvoiceRow, { lines, rates }: Complete) {
  const value = (of: number): string => decimalText(of, currency);
  const code = currency.toUpperCase();
  const net = lines.reduce((sum, line) => sum + line.net, 0);
  const card = cause === 'refunded_to_credit' ? null : content.card;
  return group(
    'ram:ApplicableHeaderTradeSettlement',
    text('ram:InvoiceCurrencyCode', code),
    card
      ? group(
          'ram:SpecifiedTradeSettlementPaymentMeans',
          text('ram:TypeCode', codes.card),
          group('ram:ApplicableTradeSettlementFinancialCard', text('ram:ID', card.last_four)),
        )
      : undefined,
    ...rates.map((rate) =>
      group(
        'ram:ApplicableTradeTax',
        text('ram:CalculatedAmount', value(rate.tax)),
        text('ram:TypeCode', 'VAT'),
        text('ram:ExemptionReason', rate.exemption?.text),
        text('ram:BasisAmount', value(rate.net)),
        text('ram:CategoryCode', categoryOf(rate)),
        text('ram:ExemptionReasonCode', rate.exemption && `VATEX-EU-${categoryOf(rate)}`),
        text('ram:RateApplicablePercent', rateText(rate)),
      ),
    ),
    group(
      'ram:SpecifiedTradeSettlementHeaderMonetarySummation',
      text('ram:LineTotalAmount', value(net)),
      text('ram:TaxBasisTotalAmount', value(net)),
      text('ram:TaxTotalAmount', value(amount - net), { currencyID: code }),
      text('ram:GrandTotalAmount', value(amount)),
      // It was paid, or returned, when the document was written.
      text('ram:TotalPrepaidAmount', value(amount)),
      text('ram:DuePayableAmount', value(0)),
    ),
    corrects ? group('ram:InvoiceReferencedDocument', text('ram:IssuerAssignedID', corrects.full_number)) : undefined,
  );
}
