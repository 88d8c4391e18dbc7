import { ApiError, type FieldError } from '../../errors.ts';
import { RefusedCard } from '../../http/refused-cards.ts';
import type { Queryable } from '../../platform/database.ts';
import type { CardVerification } from '../../vault/vault.ts';
import { type Company, connects } from '../../company.ts';
import { type CardRules, findCardRules } from './card-rule-queries.ts';

/** Which new cards a company refuses, by what the processor answered when they were verified. None, unless it says so. */

export const noCardRules: CardRules = { refuse_declined: false, refuse_wrong_cvc: false, refuse_wrong_address: false };

export const hasCardRules = (rules: CardRules): boolean => Object.values(rules).includes(true);

/** A sandbox verifies no cards. */
export async function cardRulesOf(db: Queryable, { id, mode }: Pick<Company, 'id' | 'mode'>): Promise<CardRules> {
  return connects(mode) ? { ...noCardRules, ...(await findCardRules(db, id)) } : noCardRules;
}

/** The letter of card networks for what does not match. A card that could not be checked is not refused. */
const noMatch = 'N';

function isRefusedBy(rules: CardRules, { outcome, avs_result, cvv_result }: CardVerification): boolean {
  return (
    (rules.refuse_declined && outcome === 'declined') ||
    (rules.refuse_wrong_cvc && cvv_result === noMatch) ||
    (rules.refuse_wrong_address && avs_result === noMatch)
  );
}

/** It does not say what was wrong: that would help to test stolen cards. */
const refusalText =
  'could not be verified. Check the number, the expiry date, the CVC and the address, or use another card';

/** For the call that sends the card. Many such cards make the caller wait. */
export function refuseCard(rules: CardRules, verification: CardVerification | null): void {
  if (verification === null || !isRefusedBy(rules, verification)) return;
  const problem: FieldError = { field: 'card', code: 'invalid_value', message: refusalText };
  throw new RefusedCard([problem]);
}

/** For the call that uses a card token. */
export class CardNotVerified extends ApiError {
  constructor() {
    super('invalid_request', `The card ${refusalText}.`, { param: 'card_token' });
  }
}

export async function refuseToken(
  db: Queryable,
  company: Pick<Company, 'id' | 'mode'>,
  verification: CardVerification | null,
): Promise<void> {
  if (verification === null) return;
  if (isRefusedBy(await cardRulesOf(db, company), verification)) throw new CardNotVerified();
}
