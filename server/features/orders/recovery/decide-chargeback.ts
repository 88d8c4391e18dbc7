import { ApiError, invalidField, notFound } from '../../../errors.ts';
import { minorUnits } from '../../../platform/currencies.ts';
import type { Queryable } from '../../../platform/database.ts';
import type { RequestContext } from '../../../request-context.ts';
import { findOrderIds } from '../search-queries.ts';
import type { Charging } from '../operations/charging.ts';
import {
  type ChargebackPlace,
  findChargeOfConnection,
  findOrderNumbers,
  findUnmatchedOne,
  findUnmatched,
  type ListedState,
  lockUnmatched,
  markDecided,
  type PossibleCharge,
  searchCharges,
  type UnmatchedRow,
} from './chargeback-queries.ts';
import { disputeOf, possibleCharges, readings } from './match-chargeback.ts';
import { recordDispute } from './notice-effects.ts';

/** A person decides which payment a chargeback is about. */

export interface NumberedCharge extends PossibleCharge {
  readonly order_number: string;
}

interface UnmatchedChargeback extends UnmatchedRow {
  readonly payments: readonly NumberedCharge[];
}

export interface UnmatchedChargebacks {
  /** The oldest that wait, or the last that were dismissed, each with the payments that fit. */
  list(context: RequestContext, state: ListedState, count: number): Promise<UnmatchedChargeback[]>;
  /** Payments of the connection of a chargeback, by an order number or an amount. */
  search(context: RequestContext, id: string, text: string): Promise<NumberedCharge[]>;
  /** Opens the dispute of the payment. */
  match(context: RequestContext, id: string, transactionId: string): Promise<void>;
  /** Records that it is about no payment that was made here. It can be matched later all the same. */
  dismiss(context: RequestContext, id: string): Promise<void>;
}

export function unmatchedChargebacks(charging: Charging): UnmatchedChargebacks {
  return {
    async list({ company, db: queryable }, state, count) {
      const rows = await findUnmatched(queryable, company.id, state, count);
      const found: UnmatchedChargeback[] = [];
      for (const row of rows) {
        const place = { companyId: company.id, connectionId: row.connection_id };
        const payments = await numbered(queryable, company.id, await paymentsFor(queryable, place, row));
        found.push({ ...row, payments });
      }
      return found;
    },
    async search({ company, db }, id, text) {
      const row = await findUnmatchedOne(db, company.id, id);
      if (!row) throw notFound('chargeback');
      const orderIds = await findOrderIds(db, company.id, text.trim());
      const amounts = amountsIn(text);
      const place = { companyId: company.id, connectionId: row.connection_id };
      return numbered(db, company.id, await searchCharges(db, place, { orderIds, amounts }));
    },
    async match(context, id, transactionId) {
      const { db, company } = context;
      const row = await undecided(context, id, ['open', 'dismissed']);
      const place = { companyId: company.id, connectionId: row.connection_id };
      const charge = await findChargeOfConnection(db, place, transactionId);
      if (!charge || (row.disputed_id !== null && row.disputed_id !== charge.id))
        throw invalidField('transaction_id', 'must be a successful payment at the processor of the chargeback');
      requireEnough(row, charge);
      const { processor_id, amount, reason, network_reason_code: networkReasonCode, happened_at: happenedAt } = row;
      const noticed = disputeOf({ id: processor_id, amount, reason, networkReasonCode }, charge);
      const applied = await recordDispute(charging, db, { ...place, happenedAt }, charge, noticed);
      if (!applied.isDone)
        throw new ApiError('invalid_state_transition', 'The payment is being voided. Try again soon.');
      await markDecided(db, company.id, id, transactionId, new Date(context.nowMs));
    },
    async dismiss(context, id) {
      await undecided(context, id, ['open']);
      await markDecided(context.db, context.company.id, id, null, new Date(context.nowMs));
    },
  };
}

/** Of a chargeback whose dispute was closed, only the payment of that dispute. */
async function paymentsFor(db: Queryable, place: ChargebackPlace, row: UnmatchedRow): Promise<PossibleCharge[]> {
  if (row.disputed_id !== null) {
    const charge = await findChargeOfConnection(db, place, row.disputed_id);
    return charge ? [charge] : [];
  }
  const payments = (await possibleCharges(db, place, row)) ?? [];
  return payments.filter(({ status }) => status !== 'in_progress');
}

/** An amount as people write it, for example `$1,250.00`. */
function amountsIn(text: string): number[] {
  const [, amount = ''] = /^[^\w\s]?\s?([\d,]{1,15}(?:\.\d{1,3})?)$/.exec(text.trim()) ?? [];
  return readings(amount.replaceAll(',', ''));
}

async function numbered(
  db: Queryable,
  companyId: string,
  charges: readonly PossibleCharge[],
): Promise<NumberedCharge[]> {
  const numbers = await findOrderNumbers(
    db,
    companyId,
    charges.map(({ order_id }) => order_id),
  );
  return charges.map((charge) => ({ ...charge, order_number: numbers.get(charge.order_id) ?? '' }));
}

async function undecided(
  { db, company }: RequestContext,
  id: string,
  states: readonly UnmatchedRow['state'][],
): Promise<UnmatchedRow> {
  const row = await lockUnmatched(db, company.id, id);
  if (!row) throw notFound('chargeback');
  if (!states.includes(row.state)) {
    throw new ApiError('invalid_state_transition', `This chargeback is ${row.state} already.`, { param: 'id' });
  }
  return row;
}

/** A chargeback takes back at most what was paid. */
function requireEnough({ amount }: UnmatchedRow, charge: PossibleCharge): void {
  const wanted = amount === null ? undefined : minorUnits(amount, charge.currency);
  if (wanted !== undefined && wanted > charge.amount) {
    throw invalidField('transaction_id', 'must be a payment of at least the amount of the chargeback');
  }
}
