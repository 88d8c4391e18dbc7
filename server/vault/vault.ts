import type { Mode } from '../company.ts';
import { limits } from '../limits.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import type { DatabasePool } from '../platform/database.ts';
import { type Access, type OpenedCard, openAccess } from './access.ts';
import { CardNumber } from './card-number.ts';
import { type KeyStore, keyModeOf } from './key-store.ts';
import type { DeclineLimits } from './decline-limits.ts';
import { fingerprint, seal } from './keys.ts';
import { chargeWithCode, isUnseen, type NotAsked } from './charges.ts';
import { attemptOf, continueCharge, lookUpOperation } from './continued.ts';
import { keepListed } from './connection-queries.ts';
import { cardSetUps, type SetUpVault } from './card-setups.ts';
import { connectionCalls } from './connection-calls.ts';
import type { DisputeVault } from './dispute-calls.ts';
import type { NewConnection } from './processors/connections.ts';
import type { NoticeDelivery, Polled, PollRequest, Reception } from './processors/notices.ts';
import { isPublished } from './processors/test-cards.ts';
import { SecurityCode } from './security-codes.ts';
import type { AccountRefusal } from './processors/account-refusal.ts';
import type { ExternalAuthentication } from './processors/authentication.ts';
import type {
  Billing,
  ConnectionTest,
  ChargeRequest,
  CredentialUse,
  LookupOutcome,
  ListRequest,
  Listing,
  Money,
  OperationKind,
  Outcome,
  Presence,
  ReleaseRequest,
  ResumeOutcome,
  ResumeRequest,
  CardAtProcessor,
} from './processors/processor.ts';
import { bankTokenLength } from './processors/sandbox/bank.ts';
import {
  answerChallenge,
  type BankAnswer,
  type BankPage,
  findChallengeOf,
} from './processors/sandbox/challenge-queries.ts';
import { deleteCards, findVerification, insertCard, keepNetworkTransactionId } from './queries.ts';
import { firstToKeep, type KnownIds, knownIds, useOf } from './first-charges.ts';
import type { SavedCardKey } from './saved-card-queries.ts';
import { removeSavedCards, savedAt, savedCard } from './saved-cards.ts';
import { verifyCard } from './verify-card.ts';
import type { Secret } from '../platform/secret.ts';

/** The operations that the vault offers to the rest of the service. None of them returns a card number. */
export interface Vault extends DisputeVault, SetUpVault {
  /** Returns what the processor answered if the card was to be verified; null without an answer. */
  store(card: StoredCard): Promise<CardVerification | RejectedVerification | null>;
  /** The same card of the same company has the same fingerprint. */
  fingerprint(companyId: string, mode: Mode, number: CardNumber): Promise<string>;
  /** Returns the cards that a processor has saved and not removed yet. Their removal has to be repeated. */
  remove(cards: readonly CardReference[]): Promise<readonly CardReference[]>;
  /** Decrypts the card and charges it. Never throws: a failure is an outcome. */
  charge(charge: VaultCharge): Promise<VaultOutcome>;
  /** The same, but only holds the funds until they are captured or released. */
  authorize(charge: VaultCharge): Promise<VaultOutcome>;
  /** Takes the held funds of an authorization. The rest is released. */
  capture(capture: VaultCapture): Promise<VaultOutcome>;
  refund(refund: VaultRefund): Promise<VaultOutcome>;
  void(request: VaultVoid): Promise<VaultOutcome>;
  /** Returns the outcome of an operation. "Not found" counts only when the operation can no longer arrive. */
  lookup(request: VaultLookup): Promise<LookupOutcome>;
  /** Continues a charge whose customer was led to the bank, without ending it. */
  resume(request: VaultResume): Promise<ResumeOutcome>;
  /** The page of the bank of the sandbox, and what the customer does there. Undefined if there is no such page. */
  sandboxBank(request: SandboxBankRequest): Promise<BankPage | undefined>;
  /** Lists the operations of a connection in a period; undefined if the processor has no list. */
  operations(request: ListRequest & AtConnection): Promise<Listing | undefined>;
  /** Stores the credentials of a connection, which are never returned. Returns the field that is wrong, if one is. */
  connect(connection: NewConnection): Promise<FieldProblem | undefined>;
  /** Removes the credentials of a connection. */
  forget(connection: ConnectionKey): Promise<void>;
  /** Makes a harmless call: with the stored credentials, or with those of a connection that is not stored yet. */
  test(connection: ConnectionKey | NewConnection): Promise<ConnectionTest | FieldProblem>;
  /** Checks and reads what a processor sent to the notice URL of a connection. */
  receive(delivery: ConnectionKey & Omit<NoticeDelivery, 'nowMs'>): Promise<Reception>;
  /** Asks a processor for notices; undefined if it cannot be asked. */
  poll(request: ConnectionKey & PollRequest): Promise<Polled | undefined>;
  /** Releases the funds of a charge that will not be captured. Returns false if it has to be repeated. */
  release(request: ConnectionKey & ReleaseRequest): Promise<boolean>;
  /** What the processor answered when the card was verified; null if it was not. */
  verification(card: CardReference): Promise<CardVerification | null>;
  health(): Promise<VaultHealth>;
  /** The vault's clock; undefined if the vault is unreachable. */
  nowMs(): Promise<number | undefined>;
  close?(): Promise<void>;
}

export interface VaultHealth {
  /** Why the vault cannot be used, in words; undefined if it can. */
  readonly problem: string | undefined;
  /** Why a processor cannot be used; undefined if every processor answered lately. */
  readonly processorProblem: string | undefined;
}

/**
 * A failure of the vault itself is not an outcome of the processor: nothing was sent, and the same operation can be
 * sent later.
 */
export type VaultOutcome = Outcome | NotAsked;

export interface CardReference {
  readonly companyId: string;
  readonly cardId: string;
}

export interface StoredCard extends CardReference {
  readonly mode: Mode;
  readonly number: CardNumber;
  /** Verifies the card at a connection. The CVC is used for this and never stored. */
  readonly verification?: StoredVerification;
  /** Kept in memory for the first charge of the card. A code serves one of both: a card that is verified has none left. */
  readonly securityCode?: Secret<string>;
}

export interface StoredVerification {
  readonly connectionId: string;
  readonly reference: string;
  readonly validUntilMs: number;
  readonly cvc: Secret<string>;
  readonly expMonth: number;
  readonly expYear: number;
  readonly billing?: Billing;
}

export interface CardVerification {
  readonly outcome: 'verified' | 'declined';
  readonly avs_result: string | null;
  readonly cvv_result: string | null;
}

/** The processor refused the account or its key, and has not seen the card. It is not kept with the card. */
export interface RejectedVerification extends AccountRefusal {
  readonly outcome: 'rejected';
}

export interface ConnectionKey {
  readonly companyId: string;
  readonly connectionId: string;
}

/** Without a connection: the one of version 0.1.0, or the sandbox. */
interface AtConnection {
  readonly connectionId?: string;
}

/** A field of a configuration is wrong. */
export interface FieldProblem {
  readonly outcome: 'invalid';
  readonly field: string;
  readonly problem: string;
}

export interface VaultOperation extends AtConnection {
  readonly companyId: string;
  readonly mode: Mode;
  /** Our reference. It is stored before the call, together with the time until which the processor may execute it. */
  readonly reference: string;
  readonly validUntilMs: number;
}

export interface ChargedCard {
  readonly cardId: string;
  readonly expMonth: number;
  readonly expYear: number;
}

export interface VaultCharge extends VaultOperation, Money {
  readonly card: ChargedCard;
  /** In the sandbox: the time by the company's clock. */
  readonly companyTimeMs?: number;
  readonly credential?: Omit<CredentialUse, 'networkTransactionId'>;
  /** The customer agreed to keep the card, so that a processor can save it. */
  readonly keepsCard?: boolean;
  readonly billing?: Billing;
  readonly shipping?: Omit<Billing, 'email'>;
  readonly customerIp?: string;
  readonly presence?: Presence;
  readonly authenticates?: boolean;
  /** The merchant has authenticated the customer itself. */
  readonly authentication?: ExternalAuthentication;
}

interface OfCharge {
  readonly chargeReference: string;
  readonly chargeTransactionId?: string;
}

interface VaultRefund extends VaultOperation, Money, OfCharge {}

interface VaultCapture extends VaultOperation, Money, OfCharge {}

interface VaultVoid extends VaultOperation, OfCharge {
  /** The charge is an authorization that was not captured. */
  readonly ofAuthorization?: boolean;
  readonly charged?: Money;
}

export interface VaultLookup extends VaultOperation, Partial<OfCharge> {
  readonly sent?: Money & { readonly last4: string | null };
  readonly card?: ChargedCard;
  readonly kind?: OperationKind;
  readonly ofAuthorization?: boolean;
  readonly ageMs?: number;
  /** Of a charge. */
  readonly credential?: VaultCharge['credential'];
}

export interface VaultResume
  extends VaultLookup,
    Pick<ResumeRequest, 'customerHandle' | 'returned' | 'noticedHandle'> {}

interface SandboxBankRequest {
  readonly companyId: string;
  readonly token: string;
  readonly answer?: BankAnswer;
}

const unavailable = (reason: string): VaultOutcome => ({ outcome: 'unavailable', reason });
const unknown = (reason: string): { outcome: 'unknown'; reason: string } => ({ outcome: 'unknown', reason });

/** If its database takes longer to answer, the vault is not ready. */
const readyMs = 1_000;

/** The vault in this process, with its own database role. */
export function localVault(
  db: DatabasePool,
  keys: KeyStore,
  clock: Clock = systemClock,
  extraOrigins: readonly string[] = [],
  declineLimits: DeclineLimits = limits.declines,
): Vault {
  const access = openAccess(db, keys, clock, { extraOrigins, declineLimits });
  const { processors, health, at, counter, codes } = access;
  return {
    async store({ companyId, cardId, mode, number, verification, securityCode }) {
      if (mode === 'rehearsal' && !isPublished(CardNumber.open(number)))
        throw new Error('a rehearsal takes no real card');
      const keyMode = keyModeOf(mode);
      const ring = await keys.ring(keyMode);
      const sealed = seal(ring, companyId, cardId, CardNumber.open(number));
      const named = keyMode === 'live' ? fingerprint(ring, companyId, CardNumber.open(number)) : null;
      const declines = await insertCard(db, companyId, cardId, keyMode, sealed, named);
      if (verification) return verifyCard(db, access, { companyId, cardId, mode, number, declines }, verification);
      if (securityCode) codes.keep({ companyId, cardId }, new SecurityCode(securityCode.reveal()));
      return null;
    },
    async fingerprint(companyId, mode, number) {
      return fingerprint(await keys.ring(keyModeOf(mode)), companyId, CardNumber.open(number));
    },
    async remove(cards) {
      for (const card of cards) codes.erase(card);
      await deleteCards(
        db,
        cards.map((card) => card.companyId),
        cards.map((card) => card.cardId),
      );
      return removeSavedCards(db, keys, processors, cards);
    },
    verification: ({ companyId, cardId }) =>
      findVerification(db, companyId, cardId) as Promise<CardVerification | null>,
    charge: (request) => chargeCard(db, access, request, (key) => savedCard(db, keys, key, clock.nowMs())),
    authorize: (request) =>
      chargeCard(db, access, { ...request, authorizesOnly: true }, (key) => savedCard(db, keys, key, clock.nowMs())),
    capture: (request) =>
      at(request, async ({ processor }) => (await processor.capture?.(request)) ?? noAuthorizations),
    async operations({ connectionId, ...request }) {
      const connected = await processors(request.companyId, 'live', connectionId);
      if (!connected) throw new Error('no processor is connected');
      const listing = await connected.processor.list?.(request);
      if (listing && connected.processor.findsBy === 'handle' && connectionId !== undefined) {
        await keepListed(db, request.companyId, connectionId, listing.operations);
      }
      return listing;
    },
    ...connectionCalls({ db, keys, processors, clock, extraOrigins, counter }),
    ...cardSetUps(db, access, (key) => savedCard(db, keys, key, clock.nowMs())),
    nowMs: async () => clock.nowMs(),
    async health() {
      const problem = await db.ping(readyMs).then(
        () => undefined,
        () => 'the vault cannot use its database',
      );
      return { problem, processorProblem: health.problem() };
    },
    close: async () => codes.eraseAll(),
    refund: (request) => at(request, ({ processor }) => processor.refund(request)),
    void: (request) => at(request, ({ processor }) => processor.void(request)),
    async sandboxBank({ companyId, token: whole, answer }) {
      const token = whole.slice(-bankTokenLength);
      if (answer) await answerChallenge(db, companyId, token, answer);
      return findChallengeOf(db, companyId, token);
    },
    resume: (request) => continueCharge(db, access, request),
    lookup: (request) => lookUpOperation(db, access, request),
  };
}

const noAuthorizations: VaultOutcome = {
  outcome: 'not_sent',
  reason: 'the processor has no authorizations that are captured later',
  failureCode: 'invalid_merchant_configuration',
};

async function chargeCard(
  db: DatabasePool,
  { openCard, at, counter, codes }: Access,
  { keepsCard, ...request }: VaultCharge & Pick<ChargeRequest, 'authorizesOnly'>,
  findSavedCard: (key: SavedCardKey) => Promise<CardAtProcessor>,
): Promise<VaultOutcome> {
  let card: OpenedCard | undefined;
  try {
    card = await openCard(request, request.card);
  } catch {
    return unavailable('the card could not be decrypted');
  }
  if (!card) {
    return { outcome: 'not_sent', reason: 'the vault no longer has the card', failureCode: 'invalid_account' };
  }
  const { networkTransactionIds, cvvResult, declines: _, ...opened } = card;
  const { credential, ...charge } = request;
  const counted = { ...request, card, attempt: attemptOf(charge, credential) };
  let usedAt: string | null = null;
  let known: KnownIds = {};
  const answer = await at(request, async (connected) => {
    if (request.authorizesOnly && !connected.processor.capture) return noAuthorizations;
    usedAt = connected.connectionId;
    const saved = await savedAt(connected, keepsCard, { ...request, ...request.card }, findSavedCard);
    known = knownIds(connected, networkTransactionIds);
    const use = credential && useOf(credential, known);
    const sent = { ...charge, card: opened, ...(use && { credential: use }), ...(saved && { savedCard: saved }) };
    const key = { companyId: request.companyId, cardId: opened.cardId };
    const stop = counter.stop({ ...counted, connectionId: usedAt });
    return codes.use(key, (cvc) => chargeWithCode(db, connected, sent, cvc, stop), isUnseen);
  });
  // No one can be led to the bank, so a lookup ends it.
  const isAbsent = answer.outcome === 'needs_customer' && !request.presence;
  const outcome = isAbsent ? unknown('the bank wants to ask the customer, who is not present') : answer;
  await counter.note({ ...counted, connectionId: usedAt }, outcome);
  if (outcome.outcome !== 'approved') return outcome;
  const first = firstToKeep(known, outcome);
  if (first && usedAt !== null) {
    // Without it, the next charge is sent as a first one: no reason to fail this one.
    await keepNetworkTransactionId(db, request.companyId, card.cardId, usedAt, first, known.isOfNetwork === true).catch(
      () => undefined,
    );
  }
  const { response } = outcome;
  // A charge has no CVC, so the processor checks none and says so.
  const isUnchecked = response.cvv_result === null || response.cvv_result === notProcessed;
  return isUnchecked && cvvResult !== null ? { ...outcome, response: { ...response, cvv_result: cvvResult } } : outcome;
}

/** The letter of card networks for a CVC that was not checked. */
const notProcessed = 'P';
