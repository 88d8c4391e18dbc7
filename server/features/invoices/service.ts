import { defaultLocale } from '../../customer-texts/languages.ts';
import { type Words, wordsFor } from '../../customer-texts/words.ts';
import { ApiError, invalidField, notFound } from '../../errors.ts';
import { lackingOf, requirePermissions } from '../../http/caller.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/database.ts';
import { hourMs } from '../../platform/durations.ts';
import { createdAt } from '../../platform/ids.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import { isValidLink, type LinkQuery, signLink } from '../../platform/signed-links.ts';
import type { ZipFile } from '../../platform/zip.ts';
import type { RequestContext } from '../../request-context.ts';
import { type EventRow, newEvent } from '../events/service.ts';
import type { ReceiptDocument } from '../receipts/service.ts';
import type { PostalAddress } from '../profile/schemas.ts';
import { amountsOf, fileNameOf, issuedOn, localeOf, taxNoteOf, wordsOf } from './document.ts';
import { missingIn, xmlOfInvoice } from './e-invoice.ts';
import { countAround, filesOfMonth } from './month.ts';
import type { DocumentLink } from './printable.ts';
import {
  findInvoice,
  findInvoices,
  findLatest,
  findMonth,
  findNumbered,
  type InvoiceFilters,
  type InvoiceRow,
  listInvoices,
} from './queries.ts';
import type { Invoice, InvoiceLink, InvoiceMonth } from './schemas.ts';

export { readDocument } from './printable.ts';
export { getInvoiceSettings } from './settings.ts';
export { attachedDocument, type DocumentOf, documentsOf } from './attachments.ts';

export interface InvoiceLinks {
  readonly baseUrl: string;
  readonly linkKey: ServiceKey;
  /** Links expire by real time, not by the company's sandbox clock. */
  readonly clock: Clock;
}

/** The data of the buyer is that of a customer. */
const showsBuyer = ({ caller }: Pick<RequestContext, 'caller'>): boolean =>
  lackingOf(caller, ['customers:read']).length === 0;

export async function getInvoice(context: RequestContext, id: string): Promise<Invoice> {
  const row = await findInvoice(context.db, context.company.id, id);
  if (!row) throw notFound('invoice');
  return toWire(row, showsBuyer(context), await englishWords());
}

export async function getInvoices(
  context: RequestContext,
  filters: InvoiceFilters,
  page: PageRequest,
): Promise<Page<Invoice>> {
  const found = await listInvoices(context.db, context.company.id, filters, page);
  const isBuyerShown = showsBuyer(context);
  const words = await englishWords();
  return { ...found, items: found.items.map((row) => toWire(row, isBuyerShown, words)) };
}

/** The latest document of an order, with or without its number. */
export const latestDocument = (
  { db, company }: RequestContext,
  orderId: string,
  kind: Invoice['kind'],
): Promise<string | undefined> => findLatest(db, company.id, orderId, kind);

/** The events about documents that got their numbers. They never show the buyer, because readers of events need no permission for customers. */
export async function eventsOfNumbered(
  db: Queryable,
  company: { readonly id: string; readonly nowMs: number },
  ids: readonly string[],
): Promise<EventRow[]> {
  const rows = await findInvoices(db, company.id, ids);
  const words = await englishWords();
  return rows.map((row) =>
    newEvent(company.id, company.nowMs, `${row.kind}.created`, toWire(row, false, words), 1, null),
  );
}

/** The API has English texts, in whichever language the document is. */
const englishWords = (): Promise<Words> => wordsFor(defaultLocale);

function toWire(row: InvoiceRow, isBuyerShown: boolean, words: Words): Invoice {
  const { content, cause, subject_id } = row;
  const { seller, buyer } = content;
  const isOfRefund = cause === 'refund_settled' || cause === 'refund_returned';
  return {
    id: row.id,
    number: row.full_number,
    series: row.series,
    kind: row.kind,
    cause,
    order_id: row.order_id,
    order_number: content.order_number,
    refund_id: isOfRefund ? subject_id : null,
    corrects_id: row.corrects?.id ?? null,
    reason: row.reason,
    customer_id: row.customer_id,
    currency: row.currency,
    ...amountsOf(row, words),
    tax_note: taxNoteOf(row),
    seller: { name: seller.name, address: seller.address, tax_id: seller.tax_id },
    buyer: isBuyerShown ? { ...buyer, tax_id: buyer.tax_id ?? null, address: addressOf(buyer.address) } : null,
    e_invoice_missing: isBuyerShown ? missingIn(row, words) : null,
    locale: localeOf(row),
    issued_on: issuedOn(row),
    livemode: content.mode === 'live',
    created_at: createdAt(row.id),
  };
}

/** Addresses of customers and cards have more and fewer parts. */
function addressOf(address: Partial<PostalAddress> | null): PostalAddress | null {
  if (!address) return null;
  const { line1 = null, line2 = null, city = null, state = null, postal_code = null, country = null } = address;
  return { line1, line2, city, state, postal_code, country };
}

export async function getInvoicePdf(context: RequestContext, links: InvoiceLinks, id: string): Promise<InvoiceLink> {
  const row = await findInvoice(context.db, context.company.id, id);
  if (!row) throw notFound('invoice');
  return linkTo(context, links, row, showsBuyer(context) ? 'invoice' : 'invoice-without-customer', 'pdf');
}

export interface InvoiceOfOrder {
  readonly id: string;
  readonly kind: Invoice['kind'];
  readonly number: string;
}

/** The documents of orders, oldest first, for the customer who paid them. */
export async function invoicesOfOrders(
  { db, company }: RequestContext,
  orderIds: readonly string[],
): Promise<Map<string, InvoiceOfOrder[]>> {
  if (orderIds.length === 0) return new Map();
  const rows = await findNumbered(db, company.id, orderIds);
  const groups = Map.groupBy(rows, ({ order_id }) => order_id);
  return new Map(
    [...groups].map(([orderId, found]) => [
      orderId,
      found.map(({ id, kind, full_number }) => ({ id, kind, number: full_number })),
    ]),
  );
}

/** The path of a link to the PDF as the customer sees it, for those who may read all emails. */
export function documentPath({ linkKey, clock }: Omit<InvoiceLinks, 'baseUrl'>, companyId: string, id: string): string {
  const expiresAtMs = clock.nowMs() + limits.receiptLinkHours * hourMs;
  return signLink(linkKey, 'invoice', pathOf(companyId, id, 'pdf'), expiresAtMs);
}

/** A document of another customer does not exist for this one. */
export async function customerInvoiceUrl(
  context: RequestContext,
  links: InvoiceLinks,
  customerId: string,
  id: string,
): Promise<string> {
  const row = await findInvoice(context.db, context.company.id, id);
  if (row?.customer_id !== customerId) throw notFound('invoice');
  return linkTo(context, links, row, 'invoice', 'pdf').url;
}

/** An e-invoice names the customer, so the caller must be able to read who that is. */
export async function getInvoiceXml(context: RequestContext, links: InvoiceLinks, id: string): Promise<InvoiceLink> {
  requirePermissions(context.caller, ['customers:read'], 'an e-invoice requires');
  const row = await findInvoice(context.db, context.company.id, id);
  if (!row) throw notFound('invoice');
  const missing = missingIn(row, await englishWords());
  if (missing.length > 0) {
    const message =
      `${row.full_number} cannot be an e-invoice. It lacks: ${missing.join('; ')}. ` +
      'It keeps what was true at the payment; what you add now counts for later payments.';
    throw new ApiError('invalid_state_transition', message, { param: 'id' });
  }
  return linkTo(context, links, row, 'invoice', 'xml');
}

function linkTo(
  { company }: RequestContext,
  { baseUrl, linkKey, clock }: InvoiceLinks,
  { id, full_number: number }: InvoiceRow,
  purpose: 'invoice' | 'invoice-without-customer',
  format: DocumentFormat,
): InvoiceLink {
  const expiresAtMs = clock.nowMs() + limits.receiptLinkHours * hourMs;
  return {
    number,
    url: baseUrl + signLink(linkKey, purpose, pathOf(company.id, id, format), expiresAtMs),
    expires_at: new Date(Math.ceil(expiresAtMs / 1000) * 1000).toISOString(),
  };
}

type DocumentFormat = 'pdf' | 'xml';

const folders = { pdf: 'documents', xml: 'e-invoices' } as const;

const pathOf = (companyId: string, id: string, format: DocumentFormat): string =>
  `/${folders[format]}/${companyId}/${id}.${format}`;

/** Returns what a link to a document shows, or undefined if it is not valid at this time. */
export function readDocumentLink(
  linkKey: ServiceKey,
  nowMs: number,
  companyId: string,
  id: string,
  query: LinkQuery,
): DocumentLink | undefined {
  const path = pathOf(companyId, id, 'pdf');
  if (isValidLink(linkKey, 'invoice', path, query, nowMs)) return { isBuyerShown: true };
  if (isValidLink(linkKey, 'invoice-without-customer', path, query, nowMs)) return { isBuyerShown: false };
  return undefined;
}

/** Returns whether a link to the XML of a document is valid at this time. */
export const readXmlLink = (
  linkKey: ServiceKey,
  nowMs: number,
  companyId: string,
  id: string,
  query: LinkQuery,
): true | undefined => isValidLink(linkKey, 'invoice', pathOf(companyId, id, 'xml'), query, nowMs) || undefined;

export async function readXml(
  { db, company }: Pick<RequestContext, 'db' | 'company'>,
  id: string,
): Promise<{ readonly xml: string; readonly fileName: string } | undefined> {
  const row = await findInvoice(db, company.id, id);
  if (!row) return undefined;
  const xml = xmlOfInvoice(row, await wordsOf(row));
  return xml === undefined ? undefined : { xml, fileName: `${fileNameOf(row)}.xml` };
}

/** A link to the documents of a month as one ZIP file. */
export async function getInvoiceMonth(
  context: RequestContext,
  { baseUrl, linkKey, clock }: InvoiceLinks,
  asked?: string,
): Promise<InvoiceMonth> {
  const month = asked ?? (await findMonth(context.db, context.company.id, context.nowMs));
  const max = limits.invoicesInArchive;
  if ((await countAround(context, month, max)) > max) {
    throw invalidField('month', `has more than ${max} documents. Use GET /v1/invoices and the PDF of each.`);
  }
  const { purpose } = monthPurposes[showsBuyer(context) ? 0 : 1];
  const expiresAtMs = clock.nowMs() + limits.receiptLinkHours * hourMs;
  return {
    month,
    url: baseUrl + signLink(linkKey, purpose, monthPath(context.company.id, month), expiresAtMs),
    expires_at: new Date(Math.ceil(expiresAtMs / 1000) * 1000).toISOString(),
  };
}

const monthPurposes = [
  { purpose: 'invoice-month', isBuyerShown: true },
  { purpose: 'invoice-month-without-customer', isBuyerShown: false },
] as const;

const monthPath = (companyId: string, month: string): string => `/invoice-months/${companyId}/${month}.zip`;

export const readMonthLink = (
  linkKey: ServiceKey,
  nowMs: number,
  companyId: string,
  month: string,
  query: LinkQuery,
): DocumentLink | undefined =>
  monthPurposes.find(({ purpose }) => isValidLink(linkKey, purpose, monthPath(companyId, month), query, nowMs));

interface ReadMonth {
  readonly fileName: string;
  readonly files: (print: (document: ReceiptDocument) => Promise<Buffer>) => AsyncIterable<ZipFile>;
}

export const readMonth = async (context: RequestContext, month: string, link: DocumentLink): Promise<ReadMonth> => ({
  fileName: `invoices-${month}.zip`,
  files: (print) => filesOfMonth(context, month, link, print),
});
