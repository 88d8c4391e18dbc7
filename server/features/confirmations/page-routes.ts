import Type from 'typebox';
import { withLocale } from '../../http/locale.ts';
import { definePageRoute, type PageRoute } from '../../http/page-caller.ts';
import type { OfCompany } from '../../request-context.ts';
import { browserInput, returnInput, withPresence } from '../checkout-sessions/service.ts';
import {
  abandonPayment,
  type ConfirmationDependencies,
  confirmPayment,
  type PaymentToConfirm,
  resumePayment,
  showPayment,
} from './page.ts';

const declines = Type.Integer({ minimum: 0, maximum: 10_000, description: 'How often the page says it was declined.' });

const abandonInput = Type.Object({ declines }, { additionalProperties: false });

const confirmInput = Type.Object(
  {
    declines,
    browser: Type.Optional(browserInput),
  },
  { additionalProperties: false },
);

/** The requests of the page on which a customer confirms one payment with the bank. */
export function confirmationPageRoutes(
  dependenciesOf: OfCompany<ConfirmationDependencies>,
): PageRoute<PaymentToConfirm>[] {
  return [
    definePageRoute({
      method: 'GET',
      path: '/confirm/:token/payment',
      category: 'read',
      handle: ({ context, subject }) => showPayment(dependenciesOf(context), context, subject),
    }),
    definePageRoute({
      method: 'POST',
      path: '/confirm/:token/confirm',
      category: 'write',
      body: confirmInput,
      handle: ({ context, subject, body, address, token, addressLocale, browser }) => {
        const dependencies = dependenciesOf(context);
        const page = {
          baseUrl: dependencies.baseUrl,
          path: withLocale(`/confirm/${token}?returned=${body.declines}`, addressLocale),
        };
        const present = withPresence(context, browser, page, body.browser);
        return confirmPayment(dependencies, present, subject, body.declines, address);
      },
    }),
    definePageRoute({
      method: 'POST',
      path: '/confirm/:token/abandon',
      category: 'write',
      body: abandonInput,
      handle: ({ context, subject, body }) => abandonPayment(dependenciesOf(context), context, subject, body.declines),
    }),
    definePageRoute({
      method: 'POST',
      path: '/confirm/:token/resume',
      category: 'write',
      body: returnInput,
      handle: ({ context, subject, body }) => resumePayment(dependenciesOf(context), context, subject, body.returned),
    }),
  ];
}
