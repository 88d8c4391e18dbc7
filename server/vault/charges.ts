import type { Queryable } from '../platform/database.ts';
import { dayMs, hourMs } from '../platform/durations.ts';
import { failpoint } from '../platform/failpoints.ts';
import { findHandle, keepHandle } from './connection-queries.ts';
import { findPaid } from './later-references.ts';
import type { Connected } from './processors/connections.ts';
import type { ChargeRequest, LookupOutcome, LookupRequest, Outcome, Processor } from './processors/processor.ts';

/** Sends a charge so that its outcome can be found even if the answer is lost, and finds it. */

/** Until then a search at the processor may not list an operation yet. */
const searchLagMs = 2 * hourMs;

interface Restored {
  /** The references that the charge would have next, if a part of the service stopped before it was sent. */
  readonly laterReferences?: readonly string[] | undefined;
  /** How long ago the restore was noticed. What the database has forgotten is older than that. */
  readonly restoredAgoMs?: number | undefined;
}

/**
 * A service that was restored from a backup may repeat an operation. If the processor would execute it again, or may
 * have forgotten its key, the operation is looked up first.
 */
export async function chargeOnce(
  db: Queryable,
  connected: Connected,
  request: ChargeRequest,
  lookFirst: boolean,
  { laterReferences = [], restoredAgoMs = 0 }: Restored = {},
): Promise<Outcome | NotAsked> {
  const { processor } = connected;
  if (!lookFirst) return await prepareAndCharge(db, connected, request);
  // A processor that only sends notices cannot be asked. Its key protects the charges of the last days.
  const isSilent = processor.findsBy === 'notice';
  const isProven = !isSilent && ((processor.findsBy ?? 'reference') === 'reference' || restoredAgoMs > searchLagMs);
  const { companyId, card, amount, currency } = request;
  const sent = { amount, currency, last4: card.number.last4 };
  const ask = (reference: string, prepared?: string) =>
    processor.lookup({ companyId, reference, card, sent, kind: 'charge', ...(prepared && { handle: prepared }) });
  const handle = await storedHandle(db, connected, request);
  // A stored handle leads to the same object, however often the charge is sent.
  if (typeof handle === 'string') return chargeHereOnly(db, connected, request);
  // It was given up here before it was sent. A renewal may then have been paid with a later reference.
  let isNew = handle === null && (isProven || laterReferences.length === 0);
  if (handle === undefined && (processor.onceBy ?? 'reference') !== 'reference') {
    const found = await ask(request.reference);
    if (found.outcome === 'unknown' && !isSilent) return notAskedAfter(found);
    if (found.outcome !== 'unknown' && found.outcome !== 'not_found') return found;
    isNew = found.outcome === 'not_found' && isProven;
  }
  // The vault may have the handle of a charge that the database has forgotten: it is found without delay.
  const later = await findPaid(laterReferences, async (reference) => {
    const prepared = await storedHandle(db, connected, { companyId, reference });
    const cannotBeAsked = prepared === null || (prepared === undefined && isSilent);
    return cannotBeAsked ? { outcome: 'not_found' } : ask(reference, prepared);
  });
  if (later?.found.outcome === 'unknown') return notAskedAfter(later.found);
  return later ? { ...later.found, reference: later.reference } : chargeHereOnly(db, connected, request, isNew);
}

/**
 * A call that was not received, or whose credentials were refused, executed nothing. A restored service may have sent the
 * charge before, so that it must not send it elsewhere, unless the processor has said that it does not know it. If
 * something is prepared, the outcome stays open: another charge with this reference, perhaps of another card, would
 * complete what is prepared.
 */
async function chargeHereOnly(
  db: Queryable,
  connected: Connected,
  request: ChargeRequest,
  isNew = false,
): Promise<Outcome | NotAsked> {
  const outcome = await prepareAndCharge(db, connected, request);
  const isRefused = outcome.outcome === 'declined' && outcome.refusesCredentials === true;
  const isUnreceived = !isNew && outcome.outcome === 'not_sent' && outcome.failureCode === undefined;
  if (!isRefused && !isUnreceived) return outcome;
  const isPrepared = (await storedHandle(db, connected, request)) !== undefined;
  const open = isRefused
    ? refused
    : { reason: 'the processor does not respond, and may have executed the charge before', awaitsProcessor: true };
  return { ...open, outcome: isPrepared ? 'unknown' : 'unavailable' };
}

const refused = {
  reason: 'the processor refuses the credentials, and may have executed the charge before',
  refusesCredentials: true,
} as const;

/** Nothing was sent, because the vault, or a processor that has to be asked first, did not answer. */
export interface NotAsked {
  readonly outcome: 'unavailable';
  readonly reason: string;
  /** The processor rejected the credentials, and could not say whether it executed the operation before. */
  readonly refusesCredentials?: boolean;
  /** After a restore, a processor has to say first whether it executed the operation before, and has not. */
  readonly awaitsProcessor?: boolean;
}

function notAskedAfter({ refusesCredentials }: Extract<LookupOutcome, { outcome: 'unknown' }>): NotAsked {
  if (refusesCredentials === true) return { ...refused, outcome: 'unavailable' };
  const reason = 'the processor could not be asked before it is sent a charge';
  return { outcome: 'unavailable', reason, awaitsProcessor: true };
}

async function storedHandle(
  db: Queryable,
  { processor, connectionId }: Connected,
  { companyId, reference }: Pick<ChargeRequest, 'companyId' | 'reference'>,
): Promise<string | null | undefined> {
  if (!processor.prepare || connectionId === null) return undefined;
  return findHandle(db, { companyId, reference, connectionId });
}

const givenUp = { outcome: 'not_sent', reason: 'the charge was given up before it was sent' } as const;

/** The handle is stored before the charge is sent: from then on a lost answer can be looked up. */
async function prepareAndCharge(db: Queryable, connected: Connected, request: ChargeRequest): Promise<Outcome> {
  const { processor, connectionId } = connected;
  if (!processor.prepare || connectionId === null) return await processor.charge(request);
  const key = { companyId: request.companyId, reference: request.reference, connectionId };
  const stored = await findHandle(db, key);
  if (stored === null) return givenUp;
  if (stored !== undefined) return processor.charge({ ...request, handle: stored });
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

interface Lookup extends LookupRequest {
  readonly validUntilMs: number;
  readonly isRestored?: boolean;
  readonly capturesNothing?: boolean;
  readonly restoredAgoMs?: number;
  readonly isCompared?: boolean;
}

/** Returns the outcome of an operation. "Not found" counts only when the operation can no longer be executed. */
export async function lookUp(
  db: Queryable,
  connected: Connected,
  {
    validUntilMs,
    isRestored = false,
    capturesNothing = false,
    restoredAgoMs = 0,
    isCompared = false,
    ...request
  }: Lookup,
): Promise<LookupOutcome> {
  const { processor, connectionId } = connected;
  const isPrepared = processor.prepare !== undefined && connectionId !== null && isCharge(request);
  const handle = isPrepared ? await storedHandle(db, connected, request) : undefined;
  if (isPrepared && handle === null) return { outcome: 'not_found', isFinal: true };
  const isKnown = !isRestored || (isCompared && processor.findsBy === 'notice');
  if (isPrepared && handle === undefined && isKnown) return giveUp(db, connected, request);
  // Such a lookup repeats the capture, and would execute one that was refused or never sent.
  const isClosed = request.ageMs === undefined && !isRestored;
  if (handle && processor.findsBy === 'notice') {
    if (capturesNothing) return { ...cannotAnswer, isPrepared: true };
    if (isClosed) return cannotAnswer;
  }
  const found = await processor.lookup({ ...request, ...(handle && { handle }) });
  // A restored database may have lost the handle, and only a search finds the charge, or a notice.
  const isLost = isPrepared && handle === undefined;
  if (isLost && found.outcome === 'unknown' && processor.findsBy === 'notice')
    return { ...found, isUnanswerable: true };
  if (found.outcome !== 'not_found' || found.isFinal === true) return found;
  if (isLost && restoredAgoMs > searchLagMs) return found;
  if (isLost && (request.ageMs ?? 0) > searchLagMs) return giveUp(db, connected, request);
  // The processor's clock counts, because the processor rejects requests that arrive too late.
  const isLate = found.atMs !== undefined && found.atMs >= validUntilMs;
  if (!isLate) return { outcome: 'unknown', reason: 'the request may still arrive' };
  return (processor.onceBy ?? 'reference') === 'reference' ? { ...found, isSafeToRepeat: true } : found;
}

const cannotAnswer = {
  outcome: 'unknown',
  reason: 'the processor does not say what it executed; a notice does',
  isUnanswerable: true,
} as const;

const isCharge = ({ kind, chargeReference }: LookupRequest): boolean =>
  kind === 'charge' || (kind === undefined && chargeReference === undefined);

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
