import type { ReceiptDocument } from '../receipts/service.ts';
import { invoiceDocument, type Shown } from './document.ts';
import { xmlOfInvoice } from './e-invoice.ts';
import type { InvoiceRow } from './queries.ts';

/** What is printed. A PDF that shows the buyer carries the e-invoice. */
export const printableOf = (row: InvoiceRow, shown: Omit<Shown, 'eInvoice'>): ReceiptDocument =>
  invoiceDocument(row, { ...shown, eInvoice: shown.isBuyerShown ? xmlOfInvoice(row, shown.words) : undefined });
