import { ApiError } from '../../errors.ts';
import type { RequestContext } from '../../request-context.ts';
import { cardAtBank, resumeCard, saveCard } from '../card-setups/service.ts';
import { customersById } from '../customers/service.ts';
import { emitEvents, newEvent } from '../events/service.ts';
import { attachCard, CardNotVerified, getPaymentMethod } from '../payment-methods/service.ts';
import { profileOf } from '../profile/service.ts';
import { acceptedCards } from './accepted-cards.ts';
import { forgetPaid, limitingDeclines } from './card-testing.ts';
import { type CheckoutPageDependencies, statusOf, toMerchant } from './page.ts';
import type { Merchant } from './page-session.ts';
import { completeSetup, findSession, type SessionRow } from './queries.ts';
import { toWire } from './session.ts';

/** A session that saves a card of its customer, without a charge: what its page shows and does. */

type Dependencies = Pick<CheckoutPageDependencies, 'cards' | 'references' | 'guard' | 'linkKey'>;

interface ShownSetup {
  readonly status: 'open' | 'at_bank' | 'completed' | 'expired' | 'unavailable';
  readonly livemode: boolean;
  readonly rehearsal: boolean;
  readonly merchant: Merchant;
  readonly customer: { readonly email: string; readonly first_name: string; readonly last_name: string } | null;
  readonly card_brands: readonly string[];
  readonly bank_url: string | null;
  readonly card: { readonly brand: string; readonly last4: string } | null;
  readonly cancel_url: string | null;
  readonly success_url: string | null;
}

export async function showSetup(
  dependencies: Pick<Dependencies, 'linkKey'>,
  context: RequestContext,
  { id }: SessionRow,
): Promise<ShownSetup> {
  const { db, company } = context;
  const session = await findSession(db, company.id, id);
  if (session?.mode !== 'setup') throw closed();
  const customerId = session.customer_id ?? '';
  const customer = (await customersById(context, [customerId])).get(customerId);
  const common = {
    livemode: company.mode === 'live',
    rehearsal: company.mode === 'rehearsal',
    merchant: toMerchant(await profileOf(db, company), context.locale),
    ...{ customer: null, card_brands: [], bank_url: null, card: null, success_url: null },
    cancel_url: session.cancel_url,
  };
  const found = statusOf(context, session);
  if (found === 'completed') {
    const success_url = session.success_url?.replaceAll('{CHECKOUT_SESSION_ID}', session.id) ?? null;
    return { ...common, status: found, success_url, card: await savedCard(context, session) };
  }
  if (found === 'expired' || !customer || customer.deleted) return { ...common, status: 'expired' };
  if (!company.processor) return { ...common, status: 'unavailable' };
  const bank = await cardAtBank(dependencies, context, customerId, session.id);
  const { email, first_name, last_name } = customer;
  return {
    ...common,
    status: bank ? 'at_bank' : 'open',
    bank_url: bank?.bank_url ?? null,
    customer: { email, first_name, last_name },
    card_brands: await acceptedCards(context),
  };
}

const closed = (): ApiError => new ApiError('invalid_request', 'This page is over. Ask the shop for a new link.');

/** Null if the card was removed since. */
async function savedCard(context: RequestContext, session: SessionRow): Promise<ShownSetup['card']> {
  const { customer_id, payment_method_id } = session;
  const method = await getPaymentMethod(context, customer_id ?? '', payment_method_id ?? '').catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error;
  });
  return method ? { brand: method.card.brand, last4: method.card.last4 } : null;
}

/** The bank is asked about the card. Where no bank can be asked, the card is saved without a mandate. */
export async function saveInSession(
  { cards, references, guard, linkKey }: Dependencies,
  context: RequestContext,
  session: SessionRow,
  cardToken: string,
  address: string,
): Promise<void> {
  const { customer_id: customerId, id } = session;
  if (statusOf(context, session) !== 'open' || session.mode !== 'setup' || customerId === null) return;
  const attach = (): Promise<void> =>
    context.db.transaction(async (transaction) => {
      const inside = { ...context, db: transaction };
      const method = await attachCard(inside, cards, references, customerId, { card_token: cardToken });
      await completeSetupSession(inside, id, method.id);
    });
  await limitingDeclines(guard, context, address, async (tried) => {
    try {
      const dependencies = { cards, linkKey, completed: completeSetupSession };
      const saved = await saveCard(dependencies, context, customerId, cardToken, id);
      if (saved === 'not_asked') await attach();
      tried.outcome = saved === 'at_bank' ? 'unknown' : 'succeeded';
    } catch (error) {
      if (error instanceof CardNotVerified) tried.outcome = 'declined';
      throw error;
    }
  });
}

/** The browser came back from the bank. */
export async function resumeInSession(
  { cards, guard, linkKey }: Dependencies,
  context: RequestContext,
  { customer_id }: SessionRow,
  returned: Readonly<Record<string, string>>,
  address: string,
): Promise<void> {
  const dependencies = { cards, linkKey, completed: completeSetupSession };
  const saved = await resumeCard(dependencies, context, customer_id ?? '', returned);
  if (saved === 'saved') await forgetPaid(guard, context, address);
}

/** In the transaction that saves the card. A session that has expired meanwhile stays so. */
export async function completeSetupSession(
  { db, company, nowMs, requestId }: RequestContext,
  sessionId: string,
  paymentMethodId: string,
): Promise<void> {
  const completed = await completeSetup(db, company.id, sessionId, paymentMethodId, new Date(nowMs));
  if (!completed) return;
  const object = toWire(completed, company, null);
  await emitEvents(db, [newEvent(company.id, nowMs, 'checkout_session.completed', object, 1, requestId)]);
}
