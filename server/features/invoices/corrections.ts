import { isDeepStrictEqual } from 'node:util';
import { ApiError, invalidField, notFound } from '../../errors.ts';
import { newId } from '../../platform/ids.ts';
import { taxIdOf } from '../../platform/tax-ids.ts';
import type { RequestContext } from '../../request-context.ts';
import type { PostalAddress } from '../profile/schemas.ts';
import { insertCorrection, lockStanding } from './correction-queries.ts';
import { hasOwnLines } from './document.ts';
import { findInvoice, type InvoiceContent } from './queries.ts';
import type { InvoiceCorrection, InvoiceCorrectionCreate } from './schemas.ts';

type Buyer = InvoiceContent['buyer'];

/**
 * Corrects the buyer of an invoice: a credit note takes it off as a whole, and a new invoice has the same lines, amounts and payment.
 * No money moves, and no total changes.
 */
export async function correctInvoice(
  { db, company, nowMs }: RequestContext,
  id: string,
  { reason: given, ...change }: InvoiceCorrectionCreate,
): Promise<InvoiceCorrection> {
  const reason = given.trim();
  if (reason === '') throw invalidField('reason', 'must not be empty, for example "Company added"');
  return db.transaction(async (transaction) => {
    const row = await findInvoice(transaction, company.id, id);
    if (!row) throw notFound('invoice');
    const refuse = (message: string): ApiError => new ApiError('invalid_request', message, { param: 'id' });
    const standing = await lockStanding(transaction, company.id, row.order_id);
    if (!standing) throw notFound('invoice');
    const present = standing.full_number ?? `the invoice ${standing.id}`;
    if (!hasOwnLines(row)) throw refuse(`${row.full_number} is itself a correction. Correct ${present} instead.`);
    if (standing.id !== row.id) {
      throw refuse(`${row.full_number} was corrected before. Correct ${present} instead.`);
    }
    if (standing.credited_by !== null) {
      const message = `${row.full_number} has the credit note ${standing.credited_by}. Only an invoice without refunds can be corrected.`;
      throw refuse(message);
    }
    const buyer = correctedBuyer(row.content.buyer, change);
    if (isDeepStrictEqual(buyer, row.content.buyer)) {
      throw refuse(`${row.full_number} already has this buyer. Send a name, company, address or tax_id that differs.`);
    }
    const [creditNoteId = '', invoiceId = ''] = [newId(nowMs), newId(nowMs)].toSorted();
    const content = { ...row.content, buyer };
    await insertCorrection(transaction, company.id, row.id, { creditNoteId, invoiceId, content, reason });
    const { amount, currency } = row;
    return { credit_note_id: creditNoteId, invoice_id: invoiceId, corrects_id: row.id, amount, currency, reason };
  });
}

/** What is left out stays. */
function correctedBuyer(
  buyer: Buyer,
  { name, company, tax_id, address }: Omit<InvoiceCorrectionCreate, 'reason'>,
): Buyer {
  return {
    ...buyer,
    ...(name !== undefined && { name }),
    ...(company !== undefined && { company }),
    ...(tax_id !== undefined && { tax_id: tax_id && taxIdOf(tax_id) }),
    ...(address !== undefined && { address: address && wholeAddress(address) }),
  };
}

function wholeAddress(address: Partial<PostalAddress>): PostalAddress {
  const { line1 = null, line2 = null, city = null, state = null, postal_code = null, country = null } = address;
  return { line1, line2, city, state, postal_code, country };
}
