import { invalidField } from '../../errors.ts';
import type { RequestContext } from '../../request-context.ts';
import { resumeCard, saveCard } from '../card-setups/service.ts';
import { completeSetupSession as completed, forgetPaid, limitingDeclines } from '../checkout-sessions/service.ts';
import { attachCard, CardNotVerified, changeCard } from '../payment-methods/service.ts';
import { moveFailedTo, tryAnotherCard } from '../subscriptions/service.ts';
import { type AccountDependencies, ensureAllowed } from './page.ts';
import type { CardChoice } from './page-schemas.ts';
import type { CustomerSessionRow } from './queries.ts';

/** What customers do with their cards on the customer page. */

type Dependencies = Pick<AccountDependencies, 'cards' | 'references' | 'guard' | 'linkKey'>;

/**
 * Makes a card the default and moves the subscriptions to it. A payment that is due is then made with it. Of a card that was
 * typed the bank is asked first, where that is possible.
 */
export async function chooseCard(
  { cards, references, guard, linkKey }: Dependencies,
  context: RequestContext,
  { customer_id }: CustomerSessionRow,
  choice: CardChoice,
  address: string,
): Promise<void> {
  await ensureAllowed(context, 'allow_update_card');
  const { card_token } = choice;
  if ((card_token === undefined) === (choice.payment_method_id === undefined)) {
    throw invalidField('card_token', 'must be sent, or payment_method_id, but not both', 'required_field');
  }
  const use = { set_as_default: true, update_subscriptions: true };
  const attach = (): Promise<void> =>
    context.db.transaction(async (transaction) => {
      const inside = { ...context, db: transaction };
      const { id, card } =
        card_token !== undefined
          ? await attachCard(inside, cards, references, customer_id, { card_token, ...use })
          : await changeCard(inside, references, customer_id, choice.payment_method_id ?? '', use);
      await moveFailedTo(inside, transaction, customer_id, { id, brand: card.brand, last4: card.last4 });
    });
  const ask = async (): Promise<'not_asked' | 'saved' | 'at_bank'> =>
    card_token === undefined ? 'not_asked' : saveCard({ cards, linkKey, completed }, context, customer_id, card_token);
  await tryAnotherCard(context, customer_id, async (work, isCharged) => {
    if (!isCharged && card_token === undefined) return work(attach);
    await limitingDeclines(guard, context, address, async (tried) => {
      const move = async (): Promise<void> => {
        const saved = await ask();
        if (saved === 'not_asked') await attach();
        // A worker makes the charge after this request, and the bank may still refuse the card.
        tried.outcome = isCharged || saved === 'at_bank' ? 'unknown' : 'succeeded';
      };
      await work(move).catch((error: unknown) => {
        if (error instanceof CardNotVerified) tried.outcome = 'declined';
        throw error;
      });
    });
  });
}

/** The browser came back from the bank that was asked about a card. */
export async function resumeSavedCard(
  { cards, guard, linkKey }: Dependencies,
  context: RequestContext,
  { customer_id }: CustomerSessionRow,
  returned: Readonly<Record<string, string>>,
  address: string,
): Promise<void> {
  const saved = await resumeCard({ cards, linkKey, completed }, context, customer_id, returned);
  if (saved === 'saved') await forgetPaid(guard, context, address);
}
