import type { Database } from '../../platform/database.ts';
import type { MailAttachment } from '../../platform/mail/mailer.ts';
import type { RequestContext } from '../../request-context.ts';
import type { ReceiptDocument } from '../receipts/service.ts';
import { readDocument } from './printable.ts';
import { findAttached } from './queries.ts';

/** The document that the email about a payment or a refund is to carry. It may not have its number yet. */
export async function attachedDocument(
  { db, company }: Pick<RequestContext, 'db' | 'company'>,
  orderId: string,
  refundId: string | null,
): Promise<string | null> {
  return findAttached(db, company.id, orderId, refundId);
}

/** Makes the file of the invoice or credit note that an email carries. Undefined if it has no number yet. */
export type DocumentOf = (companyId: string, invoiceId: string) => Promise<MailAttachment | undefined>;

/** As the customer sees it: with the buyer, and with the e-invoice inside. */
export const documentsOf =
  (db: Database, render: (document: ReceiptDocument, companyId: string) => Promise<Buffer>): DocumentOf =>
  async (companyId, id) => {
    const found = await readDocument({ db, company: { id: companyId } }, id, { isBuyerShown: true });
    if (!found) return undefined;
    const { fileName, document } = found;
    return { fileName, type: 'application/pdf', content: await render(document, companyId) };
  };
