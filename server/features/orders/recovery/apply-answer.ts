import { connects } from '../../../company.ts';
import type { LookupOutcome, ResumeOutcome } from '../../../vault/processors/processor.ts';
import { charge } from '../operations/charge.ts';
import type { Charging } from '../operations/charging.ts';
import { checkWithin } from './due-queries.ts';
import { contradicts, heardFromLookup } from '../operations/heard.ts';
import { discardRetry, waitToBeSent } from './interrupted.ts';
import { leaveWithCustomer } from '../operations/customer-queries.ts';
import {
  type CustomerAnswer,
  type LookupAnswer,
  nextStep,
  type Situation,
  type Step,
} from '../operations/next-step.ts';
import { discardOpen, type OpenTransaction, startSending } from '../operations/open-queries.ts';
import type { OrderState } from '../order.ts';
import { numberedOf, referenced } from '../operations/reference.ts';
import { firstUnused } from '../operations/reference-queries.ts';
import { recordCapture } from '../captures.ts';
import { recordRefundOutcome, recordRefundSettlement } from '../refunds.ts';
import { isOpenSale, notConfirmedReason } from '../operations/sales.ts';
import { noteEarlier } from '../operations/sending.ts';
import { correctedDelayMs, lockMs } from '../operations/timing.ts';
import { recordVoid } from '../voids.ts';

/** Does what follows from an answer about an open operation: of a lookup, or of a notice. */

type Known = Exclude<LookupOutcome, { outcome: 'unknown' }>;

interface Answer {
  readonly open: OpenTransaction;
  readonly found: ResumeOutcome;
  /** The browser of the customer came back. */
  readonly isReturned?: boolean;
  /** A notice may report a charge that the processor had, and that could still be executed: it is not sent again. */
  readonly isNotice?: boolean;
}

/** Returns false if the answer decides nothing. */
export async function applyAnswer(charging: Charging, state: OrderState, answer: Answer): Promise<boolean> {
  const { open, found, isNotice, isReturned } = answer;
  const { company_id, order_id, id } = open;
  if (contradicts(found, open)) {
    const operation = { company_id, order_id, transaction_id: id };
    charging.log.error(operation, 'the processor executed a different operation than we sent');
    return true;
  }
  if (found.outcome === 'conflict' && connects(state.mode)) await noteEarlier(charging, open, found, open.age_ms);
  const heard = heardFromLookup(found, open);
  const step = stepFor(open, isNotice && isMissing(heard) ? 'not_found' : heard);
  if (step === 'wait_for_customer') await leaveWithCustomer(charging.db, open, isReturned === true);
  if (found.outcome === 'needs_customer' || heard === 'needs_customer') return true;
  return (await followers[step]?.(charging, state, open, found, heard)) ?? true;
}

const isMissing = (heard: CustomerAnswer): boolean => heard === 'not_executed' || heard === 'never_executed';

function stepFor({ state, cause, held }: OpenTransaction, heard: CustomerAnswer): Step {
  return nextStep({ state, cause, heard, next: 'none', gate: held ? 'closed' : 'open' } as Situation);
}

type Follower = (
  charging: Charging,
  state: OrderState,
  open: OpenTransaction,
  found: LookupOutcome,
  heard: LookupAnswer,
) => Promise<boolean | void>;

/** What each step does; the others need nothing. */
const followers: Partial<Record<Step, Follower>> = {
  async wait_for_lookup(charging, _state, open, found) {
    // The merchant may replace the credentials at any time.
    if (found.outcome === 'unknown' && found.refusesCredentials) await checkWithin(charging.db, open, correctedDelayMs);
    return found.outcome !== 'unknown';
  },
  record: (charging, state, open, found) => recordFound(charging, state, open, found as Known),
  record_as_other: (charging, state, open) => recordSale(charging, state, open, notFound, true),
  async discard(charging, state, open, _found, heard) {
    if (open.type === 'void') await recordVoid(charging, open, notFound);
    else if (isOpenSale(open)) await discardRetry(charging, state, open, heard);
    else await discardOpen(charging.db, open);
  },
  wait_for_service: (charging, state, open, _found, heard) => waitToBeSent(charging, state, open, heard),
  wait_for_request: (charging, state, open, _found, heard) => waitToBeSent(charging, state, open, heard),
  send_as_next: sendAsNext,
};

const notFound = { outcome: 'not_found' } as const;

async function recordFound(charging: Charging, state: OrderState, open: OpenTransaction, found: Known): Promise<void> {
  if (isOpenSale(open)) return recordSale(charging, state, open, found, false);
  if (found.outcome === 'conflict') throw new Error('a conflict is not an outcome');
  if (open.type === 'void') return recordVoid(charging, open, found);
  if (open.cause === 'capture') return void (await recordCapture(charging, open, found));
  if (open.state === 'accepted') return recordRefundSettlement(charging, open, found);
  await recordRefundOutcome(charging, open, found);
  // A notice that a refund has settled is the only one, and may arrive before the refund is recorded as accepted.
  if (found.outcome === 'approved') await recordRefundSettlement(charging, open, found);
}

async function recordSale(
  charging: Charging,
  state: OrderState,
  open: OpenTransaction,
  found: Known,
  disowned: boolean,
): Promise<void> {
  if (!isOpenSale(open)) throw new Error('this is not a charge');
  const nowMs = charging.clock.nowMs() + state.clockOffsetMs;
  const outcome = open.asked && found.outcome === 'not_found' ? notConfirmed : found;
  await charging.recordOutcome({ state, sale: open, disowned, nowMs, outcome });
}

/** The customer did not come back from the bank, or chose another way to pay. */
const notConfirmed = {
  outcome: 'not_sent',
  reason: 'the time of the customer at the bank is over',
  failureCode: 'transaction_not_allowed',
  failureReason: notConfirmedReason,
} as const;

/** The processor has another operation under the reference, so the sale continues with the next number. */
async function sendAsNext(charging: Charging, state: OrderState, open: OpenTransaction): Promise<void> {
  const attempt = numberedOf(open);
  if (!attempt || !isOpenSale(open)) throw new Error('this operation has no next number');
  const numbered = await firstUnused(charging.db, open.company_id, attempt.subject, attempt.number + 1);
  const as = referenced(open.company_id, numbered);
  const opened = await startSending(charging.db, open, { as, isResolved: true }, lockMs[state.mode]);
  if (opened) await charge(charging, state, { ...open, ...opened, ...as, numbered });
}
