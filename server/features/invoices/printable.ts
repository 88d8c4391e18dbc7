import type { Company } from '../../company.ts';
import type { RequestContext } from '../../request-context.ts';
import type { ReceiptDocument } from '../receipts/service.ts';
import { logoOfProfile } from '../profile/service.ts';
import { fileNameOf, invoiceDocument, type Shown, wordsOf } from './document.ts';
import { xmlOfInvoice } from './e-invoice.ts';
import { findInvoice, type InvoiceRow } from './queries.ts';

/** What is printed. A PDF that shows the buyer carries the e-invoice. */
export const printableOf = (row: InvoiceRow, shown: Omit<Shown, 'eInvoice'>): ReceiptDocument =>
  invoiceDocument(row, { ...shown, eInvoice: shown.isBuyerShown ? xmlOfInvoice(row, shown.words) : undefined });

/** What a valid link to a document shows. */
export interface DocumentLink {
  readonly isBuyerShown: boolean;
}

export interface ReadDocument {
  readonly document: ReceiptDocument;
  readonly fileName: string;
  /** Changes whenever the document would. */
  readonly version: string;
}

/** A document stays as it was made. Only the logo is the present one. */
export async function readDocument(
  { db, company }: Pick<RequestContext, 'db'> & { readonly company: Pick<Company, 'id'> },
  id: string,
  { isBuyerShown }: DocumentLink,
): Promise<ReadDocument | undefined> {
  const row = await findInvoice(db, company.id, id);
  if (!row) return undefined;
  const [logo, words] = await Promise.all([logoOfProfile(db, company.id), wordsOf(row)]);
  return {
    document: printableOf(row, { isBuyerShown, logo, words }),
    fileName: `${fileNameOf(row)}.pdf`,
    version: [row.id, isBuyerShown, logo?.length ?? 0].join(' '),
  };
}
