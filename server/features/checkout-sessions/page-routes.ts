import { ApiError } from '../../errors.ts';
import { definePageRoute, type PageRoute } from '../../http/page-caller.ts';
import type { RequestContext } from '../../request-context.ts';
import { cardTokenCreate } from '../payment-methods/schemas.ts';
import { createCardToken, testedFingerprint, vaultCard } from '../payment-methods/service.ts';
import { type CheckoutPageDependencies, paySession, showSession, shownQuote, statusOf } from './page.ts';
import { choiceInput, paymentInput } from './page-schemas.ts';
import type { SessionRow } from './queries.ts';
import { quoteOf } from './quote.ts';

const closed = (): ApiError => new ApiError('invalid_request', 'This checkout is over. Ask the shop for a new link.');

/** The requests of the checkout page. */
export function checkoutPageRoutes(
  dependenciesOf: (context: RequestContext) => CheckoutPageDependencies,
): PageRoute<SessionRow>[] {
  return [
    definePageRoute({
      method: 'GET',
      path: '/checkout/:token/session',
      category: 'read',
      handle: ({ context, subject }) => showSession(dependenciesOf(context), context, subject),
    }),
    definePageRoute({
      method: 'POST',
      path: '/checkout/:token/quote',
      category: 'coupon_validation',
      body: choiceInput,
      handle: async ({ context, subject, body }) =>
        shownQuote(dependenciesOf(context), context, await quoteOf(context, subject, body)),
    }),
    definePageRoute({
      method: 'POST',
      path: '/checkout/:token/card_tokens',
      category: 'capture',
      status: 201,
      body: cardTokenCreate,
      testedCard: async ({ context, body }) => ({
        fingerprint: await testedFingerprint(context, dependenciesOf(context).cards, body.card),
      }),
      handle: async ({ context, subject, body }) => {
        if (statusOf(context, subject) !== 'open') throw closed();
        const { cards } = dependenciesOf(context);
        const input = { ...body, payment_follows: true };
        return createCardToken(context, cards, body, await vaultCard(context, cards, input));
      },
    }),
    definePageRoute({
      method: 'POST',
      path: '/checkout/:token/pay',
      category: 'write',
      body: paymentInput,
      handle: ({ context, subject, body, address, reserve }) =>
        paySession(dependenciesOf(context), context, subject, body, {
          address,
          reserveCode: () => reserve('coupon_validation'),
        }),
    }),
  ];
}
