import { brandOf } from '../../../platform/card-brands.ts';
import { minorUnits } from '../../../platform/currencies.ts';
import type { Database, Queryable } from '../../../platform/database.ts';
import { dayMs } from '../../../platform/durations.ts';
import { newId } from '../../../platform/ids.ts';
import type { NoticedChargeback } from '../../../vault/processors/notices.ts';
import { isAfterRestore } from '../../restores/service.ts';
import type { Charging } from '../operations/charging.ts';
import { lockOrder } from '../queries.ts';
import {
  type ChargebackPlace,
  findDisputed,
  findPossibleCharges,
  hasDispute,
  isKnownChargeback,
  keepUnmatched,
  type PossibleCharge,
} from './chargeback-queries.ts';
import { type Applied, done, recordDispute } from './notice-effects.ts';
import type { NoticeToApply } from './resolve-notice.ts';

/**
 * Finds the payment of a chargeback that names none, by card, amount and date. A wrong payment would be worse than a question,
 * so exactly one must fit, and everything else waits for a person.
 */

/** No card network allows a chargeback later. */
const chargebackWithinMs = 540 * dayMs;
/** The end of the date, in any time zone of the processor. */
const dateEndMs = 2 * dayMs;

/** One currency for each number of decimals that processors use. */
const currenciesByDecimals = ['jpy', 'usd', 'kwd'] as const;

type Facts = Pick<NoticedChargeback, 'date' | 'last4' | 'amount'>;

/** What an amount in whole units is in the smallest units of each currency that it may be in. */
export function readings(amount: string): number[] {
  return [...new Set(currenciesByDecimals.flatMap((currency) => minorUnits(amount, currency) ?? []))];
}

/** The payments that a chargeback may be about, the latest first; undefined if it does not say enough to search. */
export async function possibleCharges(
  db: Queryable,
  place: ChargebackPlace,
  { date, last4, amount }: Facts,
): Promise<PossibleCharge[] | undefined> {
  if (date === null || last4 === null || amount === null) return undefined;
  const dateMs = Date.parse(date);
  const amounts = readings(amount);
  const period = { from: new Date(dateMs - chargebackWithinMs), until: new Date(dateMs + dateEndMs) };
  const found = await findPossibleCharges(db, place, { amounts, last4, ...period });
  return found.filter((one) => minorUnits(amount, one.currency) === one.amount);
}

/** The brands of older payments are by older tables, so a brand can rule a payment out, but never choose between two. */
function isOfBrand({ card_brand }: PossibleCharge, first6: string | null): boolean {
  const brand = first6 === null ? 'unknown' : brandOf(first6).name;
  return brand === 'unknown' || card_brand === 'unknown' || card_brand === brand;
}

/** The only payment that fits; otherwise why a person decides. */
async function onlyMatch(
  db: Database,
  place: ChargebackPlace,
  chargeback: NoticedChargeback,
): Promise<PossibleCharge | string> {
  // A restored database may have forgotten another payment that fits as well.
  if (await isAfterRestore(db, place.companyId)) return 'the database was restored';
  const possible = await possibleCharges(db, place, chargeback);
  if (!possible) return 'its card, amount or date is not readable';
  // NMI does not say what its ids of chargebacks are. All in its examples have the form of a transaction's.
  const named = possible.filter(({ transaction_id }) => transaction_id === chargeback.id);
  const [charge, ...more] = named.length > 0 ? named : possible;
  if (!charge) return 'no payment fits';
  if (more.length > 0) return `${possible.length} payments fit`;
  if (charge.status === 'in_progress') return 'the payment that fits is not decided yet';
  return isOfBrand(charge, chargeback.first6) ? charge : 'the payment that fits is of another card brand';
}

/** Opens the dispute of the chargeback if one payment fits, and keeps it for a person otherwise. */
export async function applyChargeback(
  charging: Charging,
  notice: NoticeToApply,
  chargeback: NoticedChargeback,
): Promise<Applied> {
  return charging.db.transaction(async (transaction) => {
    const isKnown = (): Promise<boolean> => isKnownChargeback(transaction, notice, chargeback.id, notice.happenedAt);
    if (await isKnown()) return done('the chargeback is known');
    const match = await lockedMatch(transaction, notice, chargeback);
    if (typeof match !== 'string') {
      return recordDispute(charging, transaction, notice, match, disputeOf(chargeback, match));
    }
    // The same notice may have been applied while this one waited for the order.
    if (await isKnown()) return done('the chargeback is known');
    const at = new Date(charging.clock.nowMs());
    await keepUnmatched(transaction, notice, newId(at.getTime()), chargeback, { happenedAt: notice.happenedAt, at });
    return done(`a person decides: ${match}`);
  });
}

/** Two chargebacks at once cannot both be about the only payment that fits. */
async function lockedMatch(
  transaction: Database,
  place: ChargebackPlace,
  chargeback: NoticedChargeback,
): Promise<PossibleCharge | string> {
  // The processor may have repeated it, or the bank may have decided once more.
  if (await findDisputed(transaction, place, chargeback.id))
    return 'its dispute was closed before it was reported again';
  const match = await onlyMatch(transaction, place, chargeback);
  if (typeof match === 'string') return match;
  await lockOrder(transaction, place.companyId, match.order_id);
  const isTaken = await hasDispute(transaction, place, match);
  return isTaken ? 'the payment that fits has another dispute' : match;
}

/** What the dispute about a payment is. A chargeback without a readable amount is about all of it. */
export function disputeOf(
  {
    id: disputeId,
    amount,
    reason,
    networkReasonCode,
  }: Pick<NoticedChargeback, 'id' | 'amount' | 'reason' | 'networkReasonCode'>,
  charge: Pick<PossibleCharge, 'amount' | 'currency' | 'transaction_id'>,
) {
  return {
    disputeId,
    charge: { reference: null, transactionId: charge.transaction_id },
    state: 'needs_response',
    reason,
    amount: (amount === null ? undefined : minorUnits(amount, charge.currency)) || charge.amount,
    currency: charge.currency,
    networkReasonCode,
    // The acquirer sets the deadline, and NMI does not report it.
    evidenceDueAtMs: null,
  } as const;
}
