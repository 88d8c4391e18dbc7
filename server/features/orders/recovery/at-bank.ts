import { ApiError } from '../../../errors.ts';
import { inProgress } from '../../../http/idempotency.ts';
import { failpoint } from '../../../platform/failpoints.ts';
import type { VaultResume } from '../../../vault/vault.ts';
import type { Charging } from '../operations/charging.ts';
import {
  claimCustomersDue,
  claimWithCustomer,
  findCustomersUntil,
  findWithCustomer,
  giveUpCustomer,
  leaveWithCustomer,
  type WithCustomer,
} from '../operations/customer-queries.ts';
import { openStep } from '../operations/customer-step.ts';
import type { OpenTransaction } from '../operations/open-queries.ts';
import { isOpenSale } from '../operations/sales.ts';
import type { OrderState } from '../order.ts';
import { findOrder } from '../queries.ts';
import { applyAnswer } from './apply-answer.ts';
import { lookupOf } from './lookup-request.ts';
import { noteCall } from '../operations/sending.ts';

/**
 * Charges whose customer was led to the bank. While the customer has time, the processor is only asked: when the browser came
 * back, and now and then. When the time is over, or another payment is begun instead, the charge ends at the processor
 * first, and then here.
 */

/** Where the customer is to be led; undefined if the order waits for no customer. */
export interface NextAction {
  readonly url: string;
  /** By the clock of the company. */
  readonly expiresAt: Date;
}

export async function nextActionOf(
  charging: Charging,
  companyId: string,
  orderId: string,
): Promise<NextAction | undefined> {
  const open = await findWithCustomer(charging.db, companyId, orderId);
  if (!open) return undefined;
  return { url: openStep(charging, open).action.url, expiresAt: open.customer_until };
}

/** What the browser brought is only a hint: the processor is asked. Nothing happens if another process asks it now. */
export async function resumeOrderAtBank(
  charging: Charging,
  companyId: string,
  orderId: string,
  returned: Readonly<Record<string, string>>,
): Promise<void> {
  const open = await findWithCustomer(charging.db, companyId, orderId);
  const claimed = open && (await claimWithCustomer(charging.db, open));
  if (claimed) await ask(charging, claimed, { returned });
}

/** The processor reports that it holds funds for the charge: the bank has confirmed, and the customer may not have come back. */
export async function resumeAfterNotice(
  charging: Charging,
  open: OpenTransaction,
  handle: string | undefined,
): Promise<void> {
  const claimed = await claimWithCustomer(charging.db, open);
  if (claimed) await ask(charging, claimed, handle === undefined ? {} : { noticedHandle: handle });
}

/** Job: one batch. Returns how many were asked about. */
export async function askAboutCustomers(charging: Charging, batch: number): Promise<number> {
  const due = await claimCustomersDue(charging.db, batch);
  await Promise.all(
    due.map(async (open) => {
      try {
        await ask(charging, open);
      } catch (error) {
        const { company_id, order_id, id } = open;
        const level = error instanceof ApiError ? 'warn' : 'error';
        charging.log[level]({ err: error, company_id, order_id, transaction_id: id }, 'a bank was not asked');
      }
    }),
  );
  return due.length;
}

async function ask(
  charging: Charging,
  open: WithCustomer,
  hint: Pick<VaultResume, 'returned' | 'noticedHandle'> = {},
): Promise<void> {
  const state = await findOrder(charging.db, open.company_id, open.order_id);
  if (!state || !isOpenSale(open)) return;
  if (await isUnwanted(charging, state, open)) return end(charging, open);
  const { handle } = openStep(charging, open);
  failpoint('bank.before_resume');
  const found = await charging.vault.resume({
    ...lookupOf(state, open),
    ...(handle !== undefined && { customerHandle: handle }),
    ...hint,
  });
  noteCall(charging, open, open.cause, { ...found, isLookup: true });
  failpoint('bank.after_resume');
  await applyAnswer(charging, state, { open, found, isReturned: hint.returned !== undefined });
  failpoint('bank.after_record');
}

/**
 * Whether the order is not owed any more: its subscription was canceled meanwhile. What the processor has by now stands, as
 * for any charge in flight.
 */
async function isUnwanted(charging: Charging, { order, clockOffsetMs }: OrderState, { cause }: WithCustomer) {
  if (order.subscription_id === null || cause === 'first_charge') return false;
  const nowMs = charging.clock.nowMs() + clockOffsetMs;
  return (await charging.billing.whyUnwanted(charging.db, order, nowMs)) !== undefined;
}

async function end(charging: Charging, open: WithCustomer): Promise<void> {
  await leaveWithCustomer(charging.db, open, false);
  await endOne(charging, open);
}

/**
 * Ends the charge at the processor, and then here, so that another payment can be begun. Throws if a process asks the processor
 * now. While the processor does not say that it has ended, the charge stays in doubt.
 */
export async function endOrderAtBank(charging: Charging, companyId: string, orderId: string): Promise<void> {
  const open = await findWithCustomer(charging.db, companyId, orderId);
  if (!open) return;
  const ended = await giveUpCustomer(charging.db, open);
  if (!ended) throw inProgress();
  failpoint('bank.before_end');
  await charging.reconcile(ended);
}

/** Those of a company whose clock is being advanced. */
export async function endAtBankOf(charging: Charging, companyId: string, untilMs: number): Promise<number> {
  for (let count = 0; ; ) {
    const open = await findCustomersUntil(charging.db, companyId, new Date(untilMs));
    const ended = await Promise.all(open.map((one) => endOne(charging, one)));
    count += ended.filter(Boolean).length;
    // One that is being asked about is ended by the worker.
    if (!ended.some(Boolean)) return count;
  }
}

async function endOne(charging: Charging, open: OpenTransaction): Promise<boolean> {
  const ended = await giveUpCustomer(charging.db, open);
  if (ended) await charging.reconcile(ended);
  return ended !== undefined;
}
