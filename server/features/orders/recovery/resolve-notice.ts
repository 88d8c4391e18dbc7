import { isUuid } from '../../../platform/ids.ts';
import type { NoticedCharge, NoticeSubject } from '../../../vault/processors/notices.ts';
import { isAfterRestore } from '../../restores/service.ts';
import type { Charging } from '../operations/charging.ts';
import { findByReference, findCharge, hasOpenSale, type NoticedTransaction } from './notice-queries.ts';
import { findOpenByReference, type OpenTransaction } from '../operations/open-queries.ts';

/** Finds the operation that a notice of a processor is about. */

export interface NoticeToApply {
  readonly companyId: string;
  readonly connectionId: string;
  readonly about: NoticeSubject;
  /** By the processor's clock. */
  readonly happenedAt: Date;
}

export type Resolved =
  /** It is open at the connection that reports it, or at another one. */
  | { readonly is: 'open' | 'open_elsewhere'; readonly open: OpenTransaction }
  | { readonly is: 'closed' | 'closed_elsewhere'; readonly closed: NoticedTransaction }
  /** What it is about may be recorded later. */
  | { readonly is: 'not_yet'; readonly why: string; readonly isPatient?: boolean }
  /** It was not made here: other software can use the same account. */
  | { readonly is: 'foreign' };

/** Not every reference at a shared account is one that was derived here. */
export const referenceOf = (about: NoticeSubject): string | null => {
  const reference = 'reference' in about ? about.reference : chargeOf(about)?.reference;
  return reference && isUuid(reference) ? reference : null;
};

/** The charge that a notice names. */
function chargeOf(about: NoticeSubject): NoticedCharge | undefined {
  if (about.kind === 'dispute') return about.dispute.charge;
  return 'charge' in about ? about.charge : undefined;
}

export async function resolveNotice(charging: Charging, notice: NoticeToApply): Promise<Resolved> {
  const { companyId, connectionId, about } = notice;
  const { db } = charging;
  const reference = referenceOf(about);
  const open = reference ? await findOpenByReference(db, companyId, reference) : undefined;
  if (open) return { is: open.connection_id === connectionId ? 'open' : 'open_elsewhere', open };
  const transactionId = chargeOf(about)?.transactionId ?? null;
  const here =
    'reference' in about ? undefined : await findCharge(db, companyId, connectionId, { reference, transactionId });
  const closed = here ?? (reference ? await findByReference(db, companyId, reference) : undefined);
  if (closed) return { is: closed.connection_id === connectionId ? 'closed' : 'closed_elsewhere', closed };
  return unknown(charging, notice, reference);
}

/**
 * Every intent is recorded before it is sent, so what no intent or charge is known of was not made here. Only a restored
 * database may have forgotten it, and a charge without a reference may be one whose outcome is not known.
 */
async function unknown(
  { db }: Charging,
  { companyId, connectionId, about }: NoticeToApply,
  reference: string | null,
): Promise<Resolved> {
  if (await isAfterRestore(db, companyId)) {
    const why = 'no charge of this connection has this id, and the database was restored';
    return { is: 'not_yet', why, isPatient: true };
  }
  const voided = about.kind === 'operation' && about.charge;
  const closed = voided && (await findCharge(db, companyId, connectionId, voided));
  if (closed) return { is: 'closed', closed };
  const isOpen = await hasOpenSale(db, companyId, connectionId, reference);
  return isOpen ? { is: 'not_yet', why: 'the charge is not decided yet' } : { is: 'foreign' };
}
