import { defaultLocale } from '../../customer-texts/languages.ts';
import { wordsFor } from '../../customer-texts/words.ts';
import { notFound } from '../../errors.ts';
import { lackingOf } from '../../http/caller.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import { hourMs } from '../../platform/durations.ts';
import { createdAt, idTimeMs } from '../../platform/ids.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import { isValidLink, type LinkQuery, signLink } from '../../platform/signed-links.ts';
import type { RequestContext } from '../../request-context.ts';
import type { ReceiptDocument } from '../receipts/service.ts';
import type { PostalAddress } from '../profile/schemas.ts';
import { logoOfProfile } from '../profile/service.ts';
import { amountsOf, dayIn, invoiceDocument } from './document.ts';
import { findInvoice, type InvoiceFilters, type InvoiceRow, listInvoices } from './queries.ts';
import type { Invoice, InvoicePdf } from './schemas.ts';

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
  return toWire(row, showsBuyer(context));
}

export async function getInvoices(
  context: RequestContext,
  filters: InvoiceFilters,
  page: PageRequest,
): Promise<Page<Invoice>> {
  const found = await listInvoices(context.db, context.company.id, filters, page);
  const isBuyerShown = showsBuyer(context);
  return { ...found, items: found.items.map((row) => toWire(row, isBuyerShown)) };
}

function toWire(row: InvoiceRow, isBuyerShown: boolean): Invoice {
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
    customer_id: row.customer_id,
    currency: row.currency,
    ...amountsOf(row),
    seller: { name: seller.name, address: seller.address, tax_id: seller.tax_id },
    buyer: isBuyerShown ? { ...buyer, address: addressOf(buyer.address) } : null,
    issued_on: dayIn(idTimeMs(row.id), content.time_zone),
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

export async function getInvoicePdf(context: RequestContext, links: InvoiceLinks, id: string): Promise<InvoicePdf> {
  const row = await findInvoice(context.db, context.company.id, id);
  if (!row) throw notFound('invoice');
  const purpose = showsBuyer(context) ? 'invoice' : 'invoice-without-customer';
  const expiresAtMs = links.clock.nowMs() + limits.receiptLinkHours * hourMs;
  return {
    number: row.full_number,
    url: links.baseUrl + signLink(links.linkKey, purpose, pathOf(context.company.id, row.id), expiresAtMs),
    expires_at: new Date(Math.ceil(expiresAtMs / 1000) * 1000).toISOString(),
  };
}

const pathOf = (companyId: string, id: string): string => `/documents/${companyId}/${id}.pdf`;

/** What a valid link to a document shows. */
export interface DocumentLink {
  readonly isBuyerShown: boolean;
}

/** Returns what a link to a document shows, or undefined if it is not valid at this time. */
export function readDocumentLink(
  linkKey: ServiceKey,
  nowMs: number,
  companyId: string,
  id: string,
  query: LinkQuery,
): DocumentLink | undefined {
  const path = pathOf(companyId, id);
  if (isValidLink(linkKey, 'invoice', path, query, nowMs)) return { isBuyerShown: true };
  if (isValidLink(linkKey, 'invoice-without-customer', path, query, nowMs)) return { isBuyerShown: false };
  return undefined;
}

export interface ReadDocument {
  readonly document: ReceiptDocument;
  readonly fileName: string;
  /** Changes whenever the document would. */
  readonly version: string;
}

/** A document stays as it was made. Only the logo is the present one. */
export async function readDocument(
  { db, company }: Pick<RequestContext, 'db' | 'company'>,
  id: string,
  { isBuyerShown }: DocumentLink,
): Promise<ReadDocument | undefined> {
  const row = await findInvoice(db, company.id, id);
  if (!row) return undefined;
  const [logo, words] = await Promise.all([logoOfProfile(db, company.id), wordsFor(defaultLocale)]);
  return {
    document: invoiceDocument(row, { isBuyerShown, logo, words }),
    fileName: `${row.full_number.replaceAll('/', '-')}.pdf`,
    version: [row.id, isBuyerShown, logo?.length ?? 0].join(' '),
  };
}
