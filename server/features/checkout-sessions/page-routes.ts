import { ApiError } from '../../errors.ts';
import { withLocale } from '../../http/locale.ts';
import { definePageRoute, type PageRoute } from '../../http/page-caller.ts';
import type { RequestContext } from '../../request-context.ts';
import { cardTokenCreate } from '../payment-methods/schemas.ts';
import { createCardToken, testedFingerprint, vaultCard } from '../payment-methods/service.ts';
import { type CheckoutPageDependencies, paySession, showSession, shownQuote, statusOf } from './page.ts';
import { abandonPayment, resumeSession } from './at-bank.ts';
import { forgetPaid } from './card-testing.ts';
import { abandonInput, choiceInput, paymentInput, returnInput, setupInput } from './page-schemas.ts';
import { withPresence } from './presence.ts';
import { findSession, type SessionRow } from './queries.ts';
import { quoteOf } from './quote.ts';
import { resumeInSession, saveInSession, showSetup } from './setup.ts';

const closed = (): ApiError => new ApiError('invalid_request', 'This checkout is over. Ask the shop for a new link.');

/** The requests of the checkout page. */
export function checkoutPageRoutes(
  dependenciesOf: (context: RequestContext) => CheckoutPageDependencies,
): PageRoute<SessionRow>[] {
  const showAgain = async (context: RequestContext, session: SessionRow) =>
    showSession(
      dependenciesOf(context),
      context,
      (await findSession(context.db, context.company.id, session.id)) ?? session,
    );
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
      handle: ({ context, subject, body, address, token, addressLocale, browser, reserve }) => {
        const dependencies = dependenciesOf(context);
        const path = withLocale(`/checkout/${token}?returned=${subject.attempts}`, addressLocale);
        const page = { baseUrl: dependencies.baseUrl, path };
        return paySession(dependencies, withPresence(context, browser, page, body.browser), subject, body, {
          address,
          reserveCode: () => reserve('coupon_validation'),
        });
      },
    }),
    definePageRoute({
      method: 'POST',
      path: '/checkout/:token/resume',
      category: 'write',
      body: returnInput,
      handle: async ({ context, subject, body, address }) => {
        const dependencies = dependenciesOf(context);
        await resumeSession(dependencies, context, subject, body.returned);
        const shown = await showAgain(context, subject);
        if (subject.paying && shown.status === 'completed') await forgetPaid(dependencies.guard, context, address);
        return shown;
      },
    }),
    definePageRoute({
      method: 'GET',
      path: '/checkout/:token/setup',
      category: 'read',
      handle: ({ context, subject }) => showSetup(dependenciesOf(context), context, subject),
    }),
    definePageRoute({
      method: 'POST',
      path: '/checkout/:token/setup/save',
      category: 'write',
      body: setupInput,
      handle: async ({ context, subject, body, address, token, addressLocale, browser }) => {
        const dependencies = dependenciesOf(context);
        const page = {
          baseUrl: dependencies.baseUrl,
          path: withLocale(`/setup/${token}?returned=card`, addressLocale),
        };
        const present = withPresence(context, browser, page, body.browser);
        await saveInSession(dependencies, present, subject, body.card_token, address);
        return showSetup(dependencies, context, subject);
      },
    }),
    definePageRoute({
      method: 'POST',
      path: '/checkout/:token/setup/resume',
      category: 'write',
      body: returnInput,
      handle: async ({ context, subject, body, address }) => {
        const dependencies = dependenciesOf(context);
        await resumeInSession(dependencies, context, subject, body.returned, address);
        return showSetup(dependencies, context, subject);
      },
    }),
    definePageRoute({
      method: 'POST',
      path: '/checkout/:token/abandon',
      category: 'write',
      body: abandonInput,
      handle: async ({ context, subject, body }) => {
        await abandonPayment(dependenciesOf(context), context, subject, body.attempt);
        return showAgain(context, subject);
      },
    }),
  ];
}
