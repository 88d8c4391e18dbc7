import { isUuid } from '../../../platform/ids.ts';
import type { NoticedCharge, NoticeSubject } from '../../../vault/processors/notices.ts';
import type { LookupOutcome } from '../../../vault/processors/processor.ts';
import { applyAnswer } from './apply-answer.ts';
import type { Charging } from '../operations/charging.ts';
import { checkReferenceNow, claimStopped } from './due-queries.ts';
import {
  type Applied,
  applyDispute,
  done,
  failRefund,
  later,
  release,
  voidNotCaptured,
  voidReleased,
} from './notice-effects.ts';
import { applyChargeback } from './match-chargeback.ts';
import { resumeAfterNotice } from './at-bank.ts';
import { markBatchSettled, markSettled, type NoticedTransaction, pollSoon } from './notice-queries.ts';
import { claimWaiting, type OpenTransaction } from '../operations/open-queries.ts';
import { findOrder } from '../queries.ts';
import { recordElsewhere } from './reconcile.ts';
import { type NoticeToApply, referenceOf, type Resolved, resolveNotice } from './resolve-notice.ts';
import { isOpenSale } from '../operations/sales.ts';
import { lockMs } from '../operations/timing.ts';
import { transactionChanges } from '../transitions.ts';

/**
 * Applies what a processor reports later: finds out once which operation it is about, and acts by a table. The same notice
 * may be applied any number of times, and in any order.
 */

export type { Applied } from './notice-effects.ts';
export type { NoticeToApply } from './resolve-notice.ts';

/** About something else than one operation that the notice names. */
type OtherKind = 'other' | 'card_set_up' | 'changed' | 'settled_batch' | 'failed_batch' | 'chargeback';
type Kind = Exclude<NoticeSubject['kind'], OtherKind>;

/** What a notice means, by what is known of its operation. */
interface Meaning<About> {
  readonly open: (charging: Charging, notice: NoticeToApply, about: About, open: OpenTransaction) => Promise<Applied>;
  readonly openElsewhere: Meaning<About>['open'];
  readonly closed: (
    charging: Charging,
    notice: NoticeToApply,
    about: About,
    closed: NoticedTransaction,
  ) => Promise<Applied>;
  readonly closedElsewhere: Meaning<About>['closed'];
}

type Meanings = { readonly [Name in Kind]: Meaning<Extract<NoticeSubject, { kind: Name }>> };

const notDecided = async (): Promise<Applied> => later('the charge is not decided yet');
/** If its customer is at the bank, the processor is asked at once. */
const completed: Meaning<Extract<NoticeSubject, { kind: 'authorized' }>>['open'] = async (
  charging,
  _notice,
  { handle },
  open,
) => {
  if (open.state === 'with_customer') await resumeAfterNotice(charging, open, handle);
  return notDecided();
};
const ofAnother = async (): Promise<Applied> => done('the operation is of another connection');
const notMadeHere = async (): Promise<Applied> => foreign;

const foreign: Applied = { isDone: false, isForeign: true, result: 'no charge of this connection has this id' };

const meanings: Meanings = {
  operation: {
    open: (charging, _notice, { found }, open) => applyOutcome(charging, open, found),
    openElsewhere: (charging, { connectionId }, { found }, open) => applyElsewhere(charging, connectionId, open, found),
    closed: (charging, notice, { found }, closed) => applyToClosed(charging, notice, closed, found),
    closedElsewhere: ofAnother,
  },
  settled: {
    open: notDecided,
    openElsewhere: notMadeHere,
    async closed({ db }, { companyId, happenedAt }, _about, { id }) {
      await markSettled(db, companyId, id, happenedAt);
      return done('the charge is settled');
    },
    closedElsewhere: notMadeHere,
  },
  authorized: {
    open: completed,
    openElsewhere: notDecided,
    async closed(charging, notice, { charge }, { status }) {
      const isUnpaid = status === 'failed' || status === transactionChanges.voided.to;
      return isUnpaid ? releaseUnpaid(charging, notice, charge) : done('the charge is paid');
    },
    closedElsewhere: (charging, notice, { charge }) => releaseUnpaid(charging, notice, charge),
  },
  released: {
    open: notDecided,
    openElsewhere: notMadeHere,
    closed: voidReleased,
    closedElsewhere: notMadeHere,
  },
  capture_refused: {
    open: (charging, _notice, { found }, open) => applyOutcome(charging, open, found),
    openElsewhere: ofAnother,
    closed: async (charging, notice, { charge }, closed) =>
      closed.status === 'failed'
        ? done('the outcome was known')
        : thenRelease(charging, notice, charge, await voidNotCaptured(charging, notice, closed)),
    closedElsewhere: ofAnother,
  },
  not_captured: {
    // A charge in doubt that was not captured did not happen.
    open: async (charging, notice, { charge }, open) =>
      thenRelease(charging, notice, charge, await applyOutcome(charging, open, neverExecuted)),
    openElsewhere: async (charging, notice, { charge }) => thenRelease(charging, notice, charge, await ofAnother()),
    closed: async (charging, notice, { charge }, closed) =>
      thenRelease(charging, notice, charge, await voidNotCaptured(charging, notice, closed)),
    closedElsewhere: notMadeHere,
  },
  dispute: {
    open: notDecided,
    openElsewhere: notMadeHere,
    closed: (charging, notice, { dispute }, closed) => applyDispute(charging, notice, closed, dispute),
    closedElsewhere: notMadeHere,
  },
};

const neverExecuted = { outcome: 'not_found', isFinal: true } as const;

const releaseUnpaid = (charging: Charging, notice: NoticeToApply, charge: NoticedCharge): Promise<Applied> =>
  release(charging, notice, charge, 'the charge is not paid');

const thenRelease = async (
  charging: Charging,
  notice: NoticeToApply,
  charge: NoticedCharge,
  applied: Applied,
): Promise<Applied> => (applied.isDone ? release(charging, notice, charge, applied.result) : applied);

export async function applyNotice(charging: Charging, notice: NoticeToApply): Promise<Applied> {
  const { about } = notice;
  if (about.kind in others) {
    const applyTo = others[about.kind as keyof Others] as (...given: readonly unknown[]) => Promise<Applied>;
    return applyTo(charging, notice, about);
  }
  const problem = whyIgnored(about);
  if (problem) return done(problem);
  const resolved = await resolveNotice(charging, notice);
  if (resolved.is === 'foreign') return foreign;
  if (resolved.is === 'not_yet') return { ...later(resolved.why), ...(resolved.isPatient && { isPatient: true }) };
  return apply(charging, notice, about as AboutOperation, resolved);
}

type Others = {
  readonly [Name in Exclude<OtherKind, 'other' | 'card_set_up'>]: (
    charging: Charging,
    notice: NoticeToApply,
    about: Extract<NoticeSubject, { kind: Name }>,
  ) => Promise<Applied>;
};

/** What notices mean that do not say the outcome of one operation. */
const others: Others = {
  chargeback: (charging, notice, { chargeback }) => applyChargeback(charging, notice, chargeback),
  async changed({ db }, { companyId, connectionId }, { reference }) {
    const isOpen = isUuid(reference) && (await checkReferenceNow(db, companyId, connectionId, reference));
    return done(isOpen ? 'the processor is asked about it' : 'the outcome was known');
  },
  async settled_batch({ db }, { companyId, connectionId, happenedAt }, { transactionIds }) {
    const count = await markBatchSettled(db, companyId, connectionId, transactionIds, happenedAt);
    return done(`${count} of ${transactionIds.length} transactions are charges that were made here`);
  },
  async failed_batch({ db, log }, { companyId, connectionId }) {
    log.warn({ company_id: companyId, connection_id: connectionId }, 'a batch of a processor failed to settle');
    await pollSoon(db, companyId, connectionId);
    return done('the processor is asked which charges failed');
  },
};

/** Why a notice has no effect, regardless of its subject; undefined if it has one. */
function whyIgnored(about: NoticeSubject): string | undefined {
  if (!(about.kind in meanings)) return 'this type has no effect';
  if (about.kind === 'operation' && about.found.outcome === 'unknown') return 'it says nothing certain';
  const needsReference = about.kind === 'operation' || about.kind === 'authorized' || about.kind === 'capture_refused';
  return needsReference && referenceOf(about) === null ? 'this is no reference of this service' : undefined;
}

type AboutOperation = Extract<NoticeSubject, { kind: Kind }>;

function apply(
  charging: Charging,
  notice: NoticeToApply,
  about: AboutOperation,
  resolved: Exclude<Resolved, { is: 'foreign' | 'not_yet' }>,
): Promise<Applied> {
  const meaning = meanings[about.kind] as unknown as Meaning<AboutOperation>;
  if ('open' in resolved) {
    const act = resolved.is === 'open' ? meaning.open : meaning.openElsewhere;
    return act(charging, notice, about, resolved.open);
  }
  const act = resolved.is === 'closed' ? meaning.closed : meaning.closedElsewhere;
  return act(charging, notice, about, resolved.closed);
}

async function applyOutcome(charging: Charging, open: OpenTransaction, found: LookupOutcome): Promise<Applied> {
  if (isBeingSent(open) || open.state === 'waiting') return later('the operation is being sent');
  const state = await findOrder(charging.db, open.company_id, open.order_id);
  if (!state) return later('the order is not recorded yet');
  if (found.outcome === 'not_found' && open.held) return later('the records are being compared after a restore');
  const claimed = open.state === 'sending' ? await claimStopped(charging.db, open) : open;
  if (!claimed) return later('the operation is being sent');
  await applyAnswer(charging, state, { open: claimed, found, isNotice: true });
  return done(`the operation is ${found.outcome}`);
}

/** The process that sends it is about to record the answer. */
const isBeingSent = (open: OpenTransaction): boolean => open.locked && open.state === 'sending';

/** A restored database may have forgotten that this connection executed the charge, and have recorded another one. */
async function applyElsewhere(
  charging: Charging,
  connectionId: string,
  open: OpenTransaction,
  found: LookupOutcome,
): Promise<Applied> {
  if (!open.held || !isOpenSale(open) || found.outcome !== 'approved') return ofAnother();
  const state = await findOrder(charging.db, open.company_id, open.order_id);
  if (!state) return later('the order is not recorded yet');
  if (isBeingSent(open)) return later('the operation is being sent');
  const claimed = open.state === 'waiting' ? await claimWaiting(charging.db, open, lockMs[state.mode], true) : {};
  if (!claimed) return later('the operation is being sent');
  await recordElsewhere(charging, state, { ...open, ...claimed }, { connectionId, found });
  return done('this connection executed it');
}

async function applyToClosed(
  charging: Charging,
  notice: NoticeToApply,
  closed: NoticedTransaction,
  found: LookupOutcome,
): Promise<Applied> {
  const { companyId } = notice;
  // The processor, or a person there, has released what it holds, or it has ended.
  const isReleased = closed.type === 'auth' && closed.status === 'succeeded' && found.outcome === 'not_found';
  if (isReleased) return voidReleased(charging, notice, found, closed);
  const isReturned = closed.type === 'refund' && closed.status === 'succeeded' && found.outcome === 'declined';
  if (!isReturned) return done('the outcome was known');
  await failRefund(charging, companyId, closed, { code: found.failureCode, reason: found.failureReason });
  return done('the refund failed after it had settled');
}
