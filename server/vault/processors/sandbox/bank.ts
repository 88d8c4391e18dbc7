import type { Database } from '../../../platform/database.ts';
import { randomBase62 } from '../../../platform/ids.ts';
import { CardNumber } from '../../card-number.ts';
import type { CustomerAction } from '../authentication.ts';
import type { SetUpOutcome, SetUpRequest } from '../setup.ts';
import type {
  AuthenticationResult,
  ChargeRequest,
  FailureCode,
  LookupOutcome,
  LookupRequest,
  Outcome,
  Presence,
  ResumeOutcome,
} from '../processor.ts';
import { approved, declined, fromRecord } from './answers.ts';
import {
  type Challenge,
  type ChallengeKind,
  endChallenge,
  findChallenge,
  openChallenge,
  wasAuthenticated,
} from './challenge-queries.ts';
import { recordOperation } from './queries.ts';

/**
 * The bank of the sandbox, which authenticates the customer of some cards. Until the company has switched that on, these are
 * cards like others.
 */

/** A card whose bank cannot ask has no challenge. */
type Asks = ChallengeKind | 'unavailable';

/** Of the token in the address of a page of the bank; the address of the company comes first. */
export const bankTokenLength = 22;

export async function chargeAtBank(db: Database, request: ChargeRequest, asks: Asks): Promise<Outcome> {
  const { companyId, reference, authenticates, presence } = request;
  const known = await findChallenge(db, companyId, reference);
  if (known) return answerTo(reference, known, presence);
  if (!authenticates || (await hasMandate(db, request))) return record(db, request, null);
  if (asks === 'unavailable') {
    const outcome = await record(db, request, 'issuer_unavailable');
    return { ...outcome, authentication: result('unavailable', null) };
  }
  // The customer is not there to be asked.
  if (!presence) return record(db, request, 'transaction_not_allowed');
  const { amount, currency } = request;
  return answerTo(reference, await newChallenge(db, request, asks, { amount, currency }), presence);
}

async function newChallenge(
  db: Database,
  { companyId, reference, card }: Pick<ChargeRequest, 'companyId' | 'reference' | 'card'>,
  behaviour: ChallengeKind,
  money: { readonly amount: number; readonly currency: string },
): Promise<Challenge> {
  const challenge = await openChallenge(db, {
    ...money,
    companyId,
    reference,
    token: randomBase62(bankTokenLength),
    cardId: card.cardId,
    behaviour,
    last4: CardNumber.open(card.number).slice(-4),
  });
  if (!challenge) throw new Error('the bank of the sandbox has lost a challenge');
  return challenge;
}

/** Nothing is charged. */
const noMoney = { amount: 0, currency: 'usd' } as const;

/** The customer saves the card. */
export async function saveAtBank(db: Database, request: SetUpRequest, asks: Asks): Promise<SetUpOutcome> {
  const { companyId, reference, presence } = request;
  if (asks === 'unavailable') {
    return { ...declined(reference, 'issuer_unavailable'), authentication: result('unavailable', null) };
  }
  const challenge = (await findChallenge(db, companyId, reference)) ?? (await newChallenge(db, request, asks, noMoney));
  const outcome = savedAs(reference, challenge);
  return outcome.outcome === 'needs_customer' ? { ...outcome, action: actionFor(challenge, presence) } : outcome;
}

export async function savedAtBank(
  db: Database,
  { companyId, reference }: Pick<SetUpRequest, 'companyId' | 'reference'>,
): Promise<SetUpOutcome> {
  const challenge = await findChallenge(db, companyId, reference);
  return challenge ? savedAs(reference, challenge) : { outcome: 'ended' };
}

function savedAs(reference: string, challenge: Challenge): SetUpOutcome {
  const found = decided(reference, challenge);
  if (!found) return { outcome: 'needs_customer', handle: challenge.token };
  if (found.outcome === 'not_found') return { outcome: 'ended' };
  if (found.outcome === 'declined') return found;
  if (found.outcome !== 'approved') return { outcome: 'unknown', reason: 'the bank of the sandbox was not clear' };
  const { authentication } = found;
  const checks = { networkTransactionId: null, avsResult: null, cvvResult: null };
  return { outcome: 'set_up', ...checks, ...(authentication && { authentication }) };
}

/** A charge without the customer is allowed after one that the customer confirmed with this card. */
const hasMandate = async (db: Database, { companyId, card, credential }: ChargeRequest): Promise<boolean> =>
  credential?.initiator === 'merchant' && (await wasAuthenticated(db, companyId, card.cardId));

async function record(
  db: Database,
  { companyId, reference, card: { cardId } }: ChargeRequest,
  failureCode: FailureCode | null,
): Promise<ReturnType<typeof fromRecord>> {
  const operation = { companyId, reference, kind: 'charge', behaviour: 'bank', cardId, chargeReference: null } as const;
  return fromRecord(reference, await recordOperation(db, operation, () => failureCode));
}

const result = (status: AuthenticationResult['status'], flow: AuthenticationResult['flow']): AuthenticationResult => ({
  flow,
  status,
  liabilityShifted: status === 'authenticated',
  version: '2.2.0',
  eci: status === 'authenticated' ? '05' : '07',
});

const notConfirmed = 'The customer did not confirm the payment with the bank.';

/** Undefined while the bank has not decided, or the sandbox does not know it. */
function decided(reference: string, { state, known, behaviour }: Challenge): LookupOutcome | undefined {
  const flow = behaviour === 'frictionless' ? 'frictionless' : 'challenge';
  if (state === 'ended') return { outcome: 'not_found', isFinal: true };
  if (state === 'open' || !known) return undefined;
  if (state === 'passed') return { ...approved(reference), authentication: result('authenticated', flow) };
  return {
    ...declined(reference, 'transaction_not_allowed'),
    failureReason: notConfirmed,
    authentication: result('failed', flow),
  };
}

function actionFor({ token }: Challenge, presence: Presence | undefined): CustomerAction {
  const { sandboxBankUrl = '', returnUrl = '' } = presence ?? {};
  return { kind: 'redirect', url: `${sandboxBankUrl}${token}?return=${encodeURIComponent(returnUrl)}` };
}

/** The address has the way back, so that no page of the shop is stored here. */
function answerTo(reference: string, challenge: Challenge, presence: Presence | undefined): Outcome {
  const outcome = decided(reference, challenge);
  if (!outcome) {
    return { outcome: 'needs_customer', action: actionFor(challenge, presence) };
  }
  if (outcome.outcome === 'not_found') {
    return { outcome: 'not_sent', reason: 'the time of the customer at the bank was over', isFinal: true };
  }
  return outcome;
}

export async function resumeAtBank(
  db: Database,
  { companyId, reference }: Pick<LookupRequest, 'companyId' | 'reference'>,
): Promise<ResumeOutcome> {
  const challenge = await findChallenge(db, companyId, reference);
  if (!challenge) return { outcome: 'unknown', reason: 'the bank of the sandbox was not asked' };
  return decided(reference, challenge) ?? { outcome: 'needs_customer' };
}

/** Ends what waits for the customer. Undefined if the bank was not asked. */
export async function endAtBank(
  db: Database,
  { companyId, reference }: Pick<LookupRequest, 'companyId' | 'reference'>,
): Promise<LookupOutcome | undefined> {
  if (!(await findChallenge(db, companyId, reference))) return undefined;
  await endChallenge(db, companyId, reference);
  const challenge = await findChallenge(db, companyId, reference);
  // What the bank has decided counts, also if the sandbox would not know it yet.
  return challenge && decided(reference, { ...challenge, known: true });
}
