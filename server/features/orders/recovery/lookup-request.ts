import type { ChargedCard, VaultLookup } from '../../../vault/vault.ts';
import { connectionOf, credentialOf } from '../operations/connection.ts';
import type { OpenTransaction } from '../operations/open-queries.ts';
import { isOpenSale, kindOf } from '../operations/sales.ts';
import type { OrderState } from '../order.ts';

/** What a processor is asked about an open operation. */
export function lookupOf(state: OrderState, open: OpenTransaction): VaultLookup {
  const { card, mode } = state;
  return {
    companyId: open.company_id,
    mode,
    reference: open.reference,
    validUntilMs: open.valid_until_ms,
    kind: kindOf(open),
    ageMs: open.age_ms,
    ...connectionOf(open),
    ...(open.type !== 'void' && { sent: contentOf(open) }),
    ...(isOpenSale(open) && card && { card: cardOf(card), credential: credentialOf(open.cause, state) }),
  };
}

const cardOf = ({ cardId, expMonth, expYear }: ChargedCard): ChargedCard => ({ cardId, expMonth, expYear });

function contentOf(open: OpenTransaction): NonNullable<VaultLookup['sent']> {
  const { amount, currency, card_last4 } = open;
  return { amount, currency, last4: isOpenSale(open) ? card_last4 : null };
}
