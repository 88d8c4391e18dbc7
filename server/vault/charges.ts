import type { Queryable } from '../platform/database.ts';
import { dayMs } from '../platform/durations.ts';
import { failpoint } from '../platform/failpoints.ts';
import { findHandle, keepHandle } from './connection-queries.ts';
import type { Connected } from './processors/connections.ts';
import {
  type ChargeRequest,
  type HeldCode,
  isOfCharge,
  type LookupOutcome,
  type LookupRequest,
  type Outcome,
  type Processor,
  type ResumeOutcome,
  type ResumeRequest,
} from './processors/processor.ts';

/** Sends a charge so that its outcome can be found even if the answer is lost, and finds it. */

/** Nothing was sent, because the vault did not answer. */
export interface NotAsked {
  readonly outcome: 'unavailable';
  readonly reason: string;
}

async function storedHandle(
  db: Queryable,
  { processor, connectionId }: Connected,
  { companyId, reference }: Pick<ChargeRequest, 'companyId' | 'reference'>,
): Promise<string | null | undefined> {
  if (!processor.prepare || connectionId === null) return undefined;
  return findHandle(db, { companyId, reference, connectionId });
}

const givenUp = { outcome: 'not_sent', reason: 'the charge was given up before it was sent', isFinal: true } as const;

/**
 * The handle is stored before the charge is sent: from then on a lost answer can be looked up. What was prepared is
 * completed; `stop` is the outcome of another charge that must not be sent.
 */
export async function chargeOnce(
  db: Queryable,
  connected: Connected,
  request: ChargeRequest,
  stop?: Extract<Outcome, { outcome: 'not_sent' }>,
): Promise<Outcome> {
  const { processor, connectionId } = connected;
  if (!processor.prepare || connectionId === null) return stop ?? (await processor.charge(request));
  const key = { companyId: request.companyId, reference: request.reference, connectionId };
  const stored = await findHandle(db, key);
  if (stored === null) return givenUp;
  if (stored !== undefined) return processor.charge({ ...request, handle: stored });
  if (stop) return stop;
  const prepared = await processor.prepare(request);
  if (prepared.outcome !== 'prepared') return prepared;
  failpoint('charge.after_prepare');
  const kept = await keepHandle(db, key, prepared.handle);
  if (kept === null) {
    await cancelPrepared(processor, request);
    return givenUp;
  }
  failpoint('charge.after_handle');
  return processor.charge({ ...request, handle: kept });
}

/** Sends a charge, with the security code of its card if it is still known. */
export async function chargeWithCode(
  db: Queryable,
  connected: Connected,
  request: ChargeRequest,
  cvc: HeldCode | undefined,
  stop?: Extract<Outcome, { outcome: 'not_sent' }>,
): Promise<Outcome> {
  const outcome = await chargeOnce(db, connected, { ...request, ...(cvc && { cvc }) }, stop);
  const isWithout = outcome.outcome === 'approved' && !cvc && request.credential?.initiator === 'customer';
  return isWithout ? { ...outcome, paidWithoutCode: true } : outcome;
}

/** No bank can have seen the charge, nor its security code. */
export function isUnseen(outcome: Outcome): boolean {
  if (outcome.outcome === 'not_sent' || outcome.outcome === 'expired') return true;
  if (outcome.outcome !== 'declined') return false;
  const isAccount = outcome.isProcessorFault === true && outcome.failureCode === 'invalid_merchant_configuration';
  return outcome.refusesCredentials === true || isAccount;
}

interface Lookup extends LookupRequest {
  readonly validUntilMs: number;
}

/** Returns the outcome of an operation. "Not found" counts only when the operation can no longer be executed. */
export async function lookUp(
  db: Queryable,
  connected: Connected,
  { validUntilMs, ...request }: Lookup,
): Promise<LookupOutcome> {
  const { processor, connectionId } = connected;
  const isPrepared = processor.prepare !== undefined && connectionId !== null && isOfCharge(request);
  const found = isPrepared ? await lookUpPrepared(db, connected, request) : await processor.lookup(request);
  if (found.outcome !== 'not_found' || found.isFinal === true) return found;
  // The processor's clock counts, because the processor rejects requests that arrive too late.
  const isLate = found.atMs !== undefined && found.atMs >= validUntilMs;
  if (!isLate) return { outcome: 'unknown', reason: 'the request may still arrive' };
  return (processor.onceBy ?? 'reference') === 'reference' ? { ...found, isSafeToRepeat: true } : found;
}

/** Continues a charge whose customer is at the bank. Only what is final ends it before its time. */
export async function resumeCharge(
  db: Queryable,
  connected: Connected,
  request: ResumeRequest,
): Promise<ResumeOutcome> {
  const { processor } = connected;
  if (!processor.resume) return { outcome: 'unknown', reason: 'this processor asks no customers' };
  const handle = await storedHandle(db, connected, request);
  if (handle === null) return ended;
  const resumed = await processor.resume({ ...request, ...(handle !== undefined && { handle }) });
  const found = resumed.outcome === 'prepared' ? await complete(db, connected, request, resumed.handle) : resumed;
  const isOpen = found.outcome === 'not_found' && found.isFinal !== true;
  return isOpen ? { outcome: 'unknown', reason: 'the processor does not know the charge' } : found;
}

const ended = { outcome: 'not_found', isFinal: true } as const;

/** The bank has confirmed. As in a charge, the handle is stored first: either this completes the charge, or its end came first. */
async function complete(
  db: Queryable,
  { processor, connectionId }: Connected,
  request: ResumeRequest,
  handle: string,
): Promise<ResumeOutcome> {
  const { companyId, reference } = request;
  failpoint('charge.after_prepare');
  const kept = connectionId === null ? null : await keepHandle(db, { companyId, reference, connectionId }, handle);
  if (kept === null) {
    await cancelPrepared(processor, request);
    return ended;
  }
  failpoint('charge.after_handle');
  return processor.lookup({ ...request, handle: kept });
}

async function lookUpPrepared(
  db: Queryable,
  connected: Connected,
  request: Omit<Lookup, 'validUntilMs'>,
): Promise<LookupOutcome> {
  const { processor } = connected;
  const handle = await storedHandle(db, connected, request);
  if (handle === null) return { outcome: 'not_found', isFinal: true };
  if (handle === undefined) return giveUp(db, connected, request);
  // Such a lookup repeats the capture, and would execute one that was refused or never sent.
  const isClosed = request.ageMs === undefined;
  if (isClosed && processor.findsBy === 'notice') return cannotAnswer;
  return processor.lookup({ ...request, handle });
}

const cannotAnswer = {
  outcome: 'unknown',
  reason: 'the processor does not say what it executed; a notice does',
  isUnanswerable: true,
} as const;

/**
 * No handle was stored, so nothing that moves money was sent. The mark makes sure that nothing will be: a process that
 * is about to send the charge finds it.
 */
async function giveUp(
  db: Queryable,
  { connectionId, processor }: Connected,
  request: LookupRequest,
): Promise<LookupOutcome> {
  const { companyId, reference } = request;
  const kept = await keepHandle(db, { companyId, reference, connectionId: connectionId ?? companyId }, null);
  if (kept !== null) return processor.lookup({ ...request, handle: kept });
  await cancelPrepared(processor, request);
  return { outcome: 'not_found', isFinal: true };
}

/**
 * What was prepared moves no money, but an authorization reduces the cardholder's limit until it is cancelled. A lookup
 * without a handle cancels it at a processor that only sends notices.
 */
async function cancelPrepared(
  processor: Processor,
  { companyId, reference }: Pick<LookupRequest, 'companyId' | 'reference'>,
): Promise<void> {
  if (processor.findsBy !== 'notice') return;
  // The charge is over, whether or not this works.
  await processor.lookup({ companyId, reference, kind: 'charge', ageMs: dayMs }).catch(() => undefined);
}
