import { withLocale } from '../../http/locale.ts';
import { definePageRoute, type PageRoute } from '../../http/page-caller.ts';
import type { OfCompany } from '../../request-context.ts';
import { returnInput, withPresence } from '../checkout-sessions/service.ts';
import { cardTokenCreate } from '../payment-methods/schemas.ts';
import { customerInvoiceUrl } from '../invoices/service.ts';
import { createCardToken, testedFingerprint, vaultCard } from '../payment-methods/service.ts';
import {
  abandonRenewal,
  type AccountDependencies,
  actAndShow,
  ensureAllowed,
  ensureOwn,
  payNow,
  receiptUrl,
  resumeRenewal,
  showAccount,
  showPayments,
  subscriptionActs,
} from './page.ts';
import { chooseCard, resumeSavedCard } from './card.ts';
import {
  cardChoice,
  chargeSeen,
  pauseChosen,
  paymentsAfter,
  planChoice,
  planChosen,
  renewalPayment,
} from './page-schemas.ts';
import { type ChosenOutcome, choosePlan, previewPlanChoice, undoPlanChoice } from './plan-changes.ts';
import { subscribeAgain } from './subscribe-again.ts';
import { continueNow, pauseUntil } from '../subscriptions/service.ts';
import type { CustomerSessionRow } from './queries.ts';

/** The requests of the customer page. */
export function customerPageRoutes(dependenciesOf: OfCompany<AccountDependencies>): PageRoute<CustomerSessionRow>[] {
  const actions = Object.entries(subscriptionActs).map(([name, act]) =>
    definePageRoute<CustomerSessionRow>({
      method: 'POST',
      path: `/customer/:token/subscriptions/:id/${name}`,
      category: 'write',
      handle: ({ context, subject, params }) => {
        const dependencies = dependenciesOf(context);
        return actAndShow(dependencies, context, subject, () =>
          act(dependencies, context, subject.customer_id, params.id ?? ''),
        );
      },
    }),
  );
  return [
    ...actions,
    definePageRoute({
      method: 'GET',
      path: '/customer/:token/account',
      category: 'read',
      handle: ({ context, subject }) => showAccount(dependenciesOf(context), context, subject),
    }),
    definePageRoute({
      method: 'POST',
      path: '/customer/:token/payments',
      category: 'read',
      body: paymentsAfter,
      handle: ({ context, subject, body }) =>
        showPayments(dependenciesOf(context), context, subject, body.starting_after),
    }),
    definePageRoute({
      method: 'GET',
      path: '/customer/:token/orders/:id/receipt',
      category: 'read',
      redirects: true,
      handle: ({ context, subject, params }) => receiptUrl(dependenciesOf(context), context, subject, params.id ?? ''),
    }),
    definePageRoute({
      method: 'GET',
      path: '/customer/:token/documents/:id',
      category: 'read',
      redirects: true,
      handle: ({ context, subject, params }) =>
        customerInvoiceUrl(context, dependenciesOf(context).invoiceLinks, subject.customer_id, params.id ?? ''),
    }),
    definePageRoute({
      method: 'POST',
      path: '/customer/:token/card_tokens',
      category: 'capture',
      status: 201,
      body: cardTokenCreate,
      testedCard: async ({ context, body }) => ({
        fingerprint: await testedFingerprint(context, dependenciesOf(context).cards, body.card),
      }),
      handle: async ({ context, body }) => {
        const { cards } = dependenciesOf(context);
        const input = { ...body, payment_follows: true };
        return createCardToken(context, cards, body, await vaultCard(context, cards, input));
      },
    }),
    definePageRoute({
      method: 'POST',
      path: '/customer/:token/card',
      category: 'write',
      body: cardChoice,
      handle: async ({
        context,
        subject,
        body: { browser: reported, ...choice },
        address,
        token,
        addressLocale,
        browser,
      }) => {
        const dependencies = dependenciesOf(context);
        const page = {
          baseUrl: dependencies.baseUrl,
          path: withLocale(`/customer/${token}?returned=card`, addressLocale),
        };
        const present = withPresence(context, browser, page, reported);
        await chooseCard(dependencies, present, subject, choice, address);
        return showAccount(dependencies, context, subject);
      },
    }),
    definePageRoute({
      method: 'POST',
      path: '/customer/:token/card/resume',
      category: 'write',
      body: returnInput,
      handle: async ({ context, subject, body, address }) => {
        const dependencies = dependenciesOf(context);
        await resumeSavedCard(dependencies, context, subject, body.returned, address);
        return showAccount(dependencies, context, subject);
      },
    }),
    definePageRoute({
      method: 'POST',
      path: '/customer/:token/subscriptions/:id/pay',
      category: 'write',
      body: renewalPayment,
      handle: ({ context, subject, params: { id = '' }, body, address, token, addressLocale, browser }) => {
        const dependencies = dependenciesOf(context);
        const page = {
          baseUrl: dependencies.baseUrl,
          path: withLocale(`/customer/${token}?returned=${id}`, addressLocale),
        };
        const present = withPresence(context, browser, page, body.browser);
        return actAndShow(dependencies, present, subject, () =>
          payNow(dependencies, present, subject, id, body.declines, address),
        );
      },
    }),
    ...planRoutes(dependenciesOf),
    ...pauseRoutes(dependenciesOf),
    againRoute(dependenciesOf),
    definePageRoute({
      method: 'POST',
      path: '/customer/:token/subscriptions/:id/abandon',
      category: 'write',
      handle: ({ context, subject, params }) =>
        actAndShow(dependenciesOf(context), context, subject, () =>
          abandonRenewal(dependenciesOf(context), context, subject, params.id ?? ''),
        ),
    }),
    definePageRoute({
      method: 'POST',
      path: '/customer/:token/subscriptions/:id/resume',
      category: 'write',
      body: returnInput,
      handle: ({ context, subject, params, body }) =>
        actAndShow(dependenciesOf(context), context, subject, () =>
          resumeRenewal(dependenciesOf(context), context, subject, params.id ?? '', body.returned),
        ),
    }),
  ];
}

function pauseRoutes(dependenciesOf: OfCompany<AccountDependencies>): PageRoute<CustomerSessionRow>[] {
  return [
    definePageRoute({
      method: 'POST',
      path: '/customer/:token/subscriptions/:id/pause',
      category: 'write',
      body: pauseChosen,
      handle: ({ context, subject, params: { id = '' }, body }) =>
        actAndShow(dependenciesOf(context), context, subject, async () => {
          await ensureAllowed(context, 'allow_pause');
          await ensureOwn(context, subject.customer_id, id);
          await pauseUntil(context, id, body.until);
        }),
    }),
    definePageRoute({
      method: 'POST',
      path: '/customer/:token/subscriptions/:id/continue',
      category: 'write',
      body: chargeSeen,
      handle: ({ context, subject, params: { id = '' }, body }) =>
        actAndShow(dependenciesOf(context), context, subject, async () => {
          await ensureAllowed(context, 'allow_pause');
          await ensureOwn(context, subject.customer_id, id);
          await continueNow(context, id, body.expected_amount);
        }),
    }),
  ];
}

function againRoute(dependenciesOf: OfCompany<AccountDependencies>): PageRoute<CustomerSessionRow> {
  return definePageRoute({
    method: 'POST',
    path: '/customer/:token/subscriptions/:id/again',
    category: 'write',
    body: chargeSeen,
    handle: async ({ context, subject, params: { id = '' }, body, address, token, browser }) => {
      const dependencies = dependenciesOf(context);
      const page = { baseUrl: dependencies.baseUrl, path: `/customer/${token}` };
      const present = withPresence(context, browser, page, body.browser);
      let change: ChosenOutcome | undefined;
      const account = await actAndShow(dependencies, present, subject, async () => {
        await ensureAllowed(context, 'allow_subscribe_again');
        change = await subscribeAgain(dependencies, present, subject.customer_id, id, body.expected_amount, address);
      });
      return { ...account, change };
    },
  });
}

function planRoutes(dependenciesOf: OfCompany<AccountDependencies>): PageRoute<CustomerSessionRow>[] {
  return [
    definePageRoute({
      method: 'POST',
      path: '/customer/:token/subscriptions/:id/preview_plan',
      category: 'read',
      body: planChoice,
      handle: ({ context, subject, params, body }) =>
        previewPlanChoice(context, subject.customer_id, params.id ?? '', body),
    }),
    definePageRoute({
      method: 'POST',
      path: '/customer/:token/subscriptions/:id/change_plan',
      category: 'write',
      body: planChosen,
      handle: async ({
        context,
        subject,
        params: { id = '' },
        body: { browser: report, ...body },
        address,
        token,
        browser,
      }) => {
        const dependencies = dependenciesOf(context);
        const page = { baseUrl: dependencies.baseUrl, path: `/customer/${token}` };
        const present = withPresence(context, browser, page, report);
        let change: ChosenOutcome | undefined;
        const account = await actAndShow(dependencies, present, subject, async () => {
          change = await choosePlan(dependencies, present, subject.customer_id, id, body, address);
        });
        return { ...account, change };
      },
    }),
    definePageRoute({
      method: 'POST',
      path: '/customer/:token/subscriptions/:id/undo_plan',
      category: 'write',
      handle: ({ context, subject, params }) =>
        actAndShow(dependenciesOf(context), context, subject, () =>
          undoPlanChoice(context, subject.customer_id, params.id ?? ''),
        ),
    }),
  ];
}
