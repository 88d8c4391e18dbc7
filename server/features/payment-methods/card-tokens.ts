import { connects } from '../../company.ts';
import { ApiError } from '../../errors.ts';
import { RefusedCard } from '../../http/refused-cards.ts';
import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database.ts';
import { newId, randomBase62 } from '../../platform/ids.ts';
import { Secret } from '../../platform/secret.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import { ensureActiveCustomer } from '../customers/service.ts';
import { type Card, type RawCard, readCard, readNumber } from '../../vault/read-card.ts';
import type { CardNumber } from '../../vault/card-number.ts';
import type { CardVerification, RejectedVerification, Vault } from '../../vault/vault.ts';
import type { CardRules } from './card-rule-queries.ts';
import { cardRulesOf, hasCardRules, refuseCard } from './card-rules.ts';
import {
  type CardFacts,
  findToken,
  insertToken,
  registerUnreferencedCard,
  type TokenRow,
  useToken,
} from './queries.ts';
import { type BillingDetails, type CardToken, type CardTokenCreate, toBilling } from './schemas.ts';
import type { RequestContext } from '../../request-context.ts';

export interface CardDependencies {
  readonly vault: Vault;
  /** Real time, by which unreferenced cards are removed from the vault. */
  readonly clock: Clock;
  readonly tokenHashKey: ServiceKey;
  /** The connection at which a card of a live company is verified; undefined if it is not. */
  readonly verifierOf: (companyId: string, publishable: boolean) => Promise<string | undefined>;
  /** What the verification of a card says about the connection. */
  readonly noteVerification: (
    at: { readonly companyId: string; readonly connectionId: string },
    found: CardVerification | RejectedVerification,
  ) => void;
}

/** What storing a card needs. */
export type CardStore = Omit<CardDependencies, 'tokenHashKey'>;

/** What the code of a card is used for, if it is. */
type UseOfCode = Pick<Parameters<Vault['store']>[0], 'verification' | 'securityCode'>;

export interface VaultedCard extends CardFacts {
  readonly requiresBilling: boolean;
}

function readOrRefuse(context: RequestContext, raw: RawCard): Card {
  const card = readCard(raw, context.company.mode, context.nowMs);
  if ('problems' in card) throw new RefusedCard(card.problems);
  return card;
}

/** Each card is fingerprinted once per request, however many callers need it. */
const fingerprints = new WeakMap<RawCard, Promise<string>>();

function fingerprintOf(
  { company }: RequestContext,
  { vault }: CardStore,
  raw: RawCard,
  number: CardNumber,
): Promise<string> {
  const known = fingerprints.get(raw) ?? vault.fingerprint(company.id, company.mode, number);
  fingerprints.set(raw, known);
  return known;
}

/**
 * Returns the fingerprint of the card in the request, valid or not; undefined if the input cannot be a card number.
 */
export async function testedFingerprint(
  context: RequestContext,
  dependencies: CardDependencies,
  raw: RawCard,
): Promise<string | undefined> {
  const number = readNumber(raw, context.company.mode);
  return number && fingerprintOf(context, dependencies, raw, number);
}

const verifyWithinMs = 60_000;

/**
 * A security code serves one message to the bank: the verification of the card, or its first charge if that was announced.
 * The result is never part of an answer: a page could use it to test stolen cards.
 */
async function useOfCode(
  { company, caller }: RequestContext,
  { verifierOf, clock }: CardStore,
  { card: raw, billing_details: billing, payment_follows = false }: CardTokenCreate,
  { cardId, card, rules }: { readonly cardId: string; readonly card: Card; readonly rules: CardRules },
): Promise<UseOfCode> {
  if (!connects(company.mode) || company.processor === null) return {};
  // A card that the company may refuse has to be verified before it is charged.
  const hasRules = hasCardRules(rules);
  if (payment_follows && !hasRules) return { securityCode: new Secret(raw.cvc) };
  const isFromPage = caller?.publishable ?? false;
  const connectionId = await verifierOf(company.id, isFromPage && !hasRules);
  if (connectionId === undefined) return {};
  const { expMonth, expYear } = card;
  const verification = {
    connectionId,
    reference: cardId,
    validUntilMs: clock.nowMs() + verifyWithinMs,
    cvc: new Secret(raw.cvc),
    expMonth,
    expYear,
    ...(billing && { billing: toBilling(billing) }),
  };
  return { verification };
}

/** Stores the card in the vault, and registers it for removal unless a row refers to it in time. */
export async function vaultCard(
  context: RequestContext,
  dependencies: CardStore,
  input: CardTokenCreate,
  customerId: string | null = null,
): Promise<VaultedCard> {
  const { company, nowMs, db } = context;
  const { vault, clock, noteVerification } = dependencies;
  const card = readOrRefuse(context, input.card);
  const cardId = newId(nowMs);
  const graceMs = (limits.cardTokenSeconds + limits.unreferencedCardSeconds) * 1000;
  const [fingerprint, registered] = await Promise.all([
    fingerprintOf(context, dependencies, input.card, card.number),
    registerUnreferencedCard(db, company.id, cardId, new Date(clock.nowMs() + graceMs), customerId),
  ]);
  if (!registered && customerId) {
    await ensureActiveCustomer(context, customerId, 'customer_id');
    throw new ApiError('service_unavailable', 'Another request is changing this customer. Retry shortly.');
  }
  const rules = await cardRulesOf(db, company);
  const stored = { companyId: company.id, cardId, mode: company.mode, number: card.number };
  const use = await useOfCode(context, dependencies, input, { cardId, card, rules });
  const found = await vault.store({ ...stored, ...use });
  if (found && use.verification) {
    noteVerification({ companyId: company.id, connectionId: use.verification.connectionId }, found);
  }
  const verification = found?.outcome === 'rejected' ? null : found;
  // A token is refused when it is used, so that a page does not learn what a stolen card is good for.
  if (customerId !== null) refuseCard(rules, verification);
  return {
    card_id: cardId,
    brand: card.brand,
    last4: card.last4,
    exp_month: card.expMonth,
    exp_year: card.expYear,
    fingerprint,
    verification,
    requiresBilling: card.requiresBilling,
  };
}

/**
 * Returns the part of a request with a card that an idempotency key compares: the vault's fingerprint instead of the
 * number, without the CVC.
 */
export async function hashableCard(
  context: RequestContext,
  dependencies: CardDependencies,
  raw: RawCard,
): Promise<Record<string, unknown>> {
  const { number, expMonth, expYear } = readOrRefuse(context, raw);
  return {
    fingerprint: await fingerprintOf(context, dependencies, raw, number),
    exp_month: expMonth,
    exp_year: expYear,
  };
}

export async function createCardToken(
  { db, company, nowMs }: RequestContext,
  { tokenHashKey }: CardDependencies,
  input: CardTokenCreate,
  { requiresBilling, ...card }: VaultedCard,
): Promise<CardToken> {
  const id = `cct_${randomBase62(32)}`;
  const expiresAt = new Date(nowMs + limits.cardTokenSeconds * 1000);
  await insertToken(db, tokenHashKey.hash(id), {
    ...card,
    company_id: company.id,
    requires_billing: requiresBilling,
    billing_details: input.billing_details ?? null,
    expires_at: expiresAt,
    used_at: null,
  });
  const { brand, last4, exp_month, exp_year } = card;
  return { id, card: { brand, last4, exp_month, exp_year }, expires_at: expiresAt.toISOString() };
}

const unusableToken = (why: string): ApiError =>
  new ApiError('invalid_request', `This card token ${why}. Capture the card again.`, { param: 'card_token' });

/** Uses up the token, in the transaction that uses its card. */
export async function redeemToken(
  db: Database,
  { company, nowMs }: RequestContext,
  { tokenHashKey }: CardDependencies,
  token: string,
): Promise<TokenRow> {
  const hashes = tokenHashKey.hashes(token);
  const row = await findToken(db, hashes);
  if (row && row.company_id !== company.id && row.account_id === company.accountId) {
    const message = 'The card token and the secret key must both be sandbox or both be live.';
    throw new ApiError('environment_mismatch', message, { param: 'card_token' });
  }
  if (row?.company_id !== company.id) throw unusableToken('does not exist');
  if (row.used_at) throw unusableToken('was already used');
  if (row.expires_at.getTime() <= nowMs) throw unusableToken('has expired');
  if (!(await useToken(db, hashes, new Date(nowMs)))) throw unusableToken('was already used');
  return row;
}

/** Whether this token was used for this card: the request came again, because its answer was lost. */
export async function wasUsedFor(
  { db, company }: Pick<RequestContext, 'db' | 'company'>,
  { tokenHashKey }: Pick<CardDependencies, 'tokenHashKey'>,
  token: string,
  cardId: string,
): Promise<boolean> {
  const row = await findToken(db, tokenHashKey.hashes(token));
  return row?.company_id === company.id && row.used_at !== null && row.card_id === cardId;
}

export function checkBilling(required: boolean, details: BillingDetails | null): void {
  if (!required || details?.address?.line1) return;
  throw new ApiError('invalid_request', 'The processor requires a billing address for this card.', {
    param: 'billing_details',
  });
}
