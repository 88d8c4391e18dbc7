import { authenticationOf, cardError, declineCodeOf, externalIn } from './bank.ts';
import type { Bank, Operate } from './bank-state.ts';
import { type Method, newId, type Setup, showMethod, showSetup, type ThreeDSecure } from './books.ts';
import { authenticated, challengeOf, endSetup } from './challenges.ts';
import { isCustomer } from './customers.ts';
import { metadataOf, missing, refusal } from './rules.ts';

/** The SetupIntents of the simulated Stripe, which check a card, and save it if they have a customer. */

/** The bank is asked, with the security code if Stripe still has it. */
export function checked({ books }: Bank, method: Method): Method {
  const { cvcResult, ...known } = method;
  return books.put('methods', { ...known, checks: { ...known.checks, cvc_check: cvcResult ?? null } });
}

/** What is known without asking the customer. A request can have Stripe ask each bank, and most recognize their customers. */
function authenticationIn(bank: Bank, form: URLSearchParams, isAsked: boolean): ThreeDSecure | undefined {
  const wanted = form.get('payment_method_options[card][request_three_d_secure]') ?? 'automatic';
  const isRecognized = isAsked ? bank.isFrictionless : wanted !== 'automatic';
  return externalIn(form) ?? (isRecognized ? authenticated('frictionless') : undefined);
}

export const createSetup: Operate = (bank, _id, form, fault) => {
  const { books, clock } = bank;
  const given = books.methods.get(form.get('payment_method') ?? '');
  if (!given) return missing('payment_method', form.get('payment_method') ?? '', 400);
  const customerId = form.get('customer');
  if (customerId !== null && !isCustomer(books, customerId)) return missing('customer', customerId, 400);
  const method = checked(bank, given);
  const declineCode = declineCodeOf(fault);
  const wrongCode = { ...method, checks: { ...method.checks, cvc_check: 'fail' } };
  const shown = declineCode === 'incorrect_cvc' ? books.put('methods', wrongCode) : method;
  const isAsked = fault === 'requires_action' || authenticationOf(bank, method, form) === 'wanted';
  const threeDSecure = authenticationIn(bank, form, isAsked);
  const setup: Setup = {
    id: newId('seti'),
    metadata: metadataOf(form),
    createdMs: clock.nowMs(),
    methodId: method.id,
    customerId,
    status: 'requires_action',
    error: null,
    ...(threeDSecure && { threeDSecure }),
  };
  if (declineCode) {
    const error = cardError(declineCode, { payment_method: showMethod(shown) });
    const failed = endSetup(bank, setup, { status: 'requires_payment_method', error });
    return { status: 402, body: { error: { ...error, setup_intent: showSetup(books, failed) } } };
  }
  if (!isAsked || threeDSecure) {
    return { status: 200, body: showSetup(books, endSetup(bank, setup, { status: 'succeeded' })) };
  }
  const waiting = books.put('setups', { ...setup, challenge: challengeOf(bank, setup, method, form) });
  return { status: 200, body: showSetup(books, waiting) };
};

export const cancelSetup: Operate = (bank, id) => {
  const setup = bank.books.setups.get(id);
  if (!setup) return missing('setup_intent', id);
  if (setup.status !== 'requires_action' && setup.status !== 'requires_payment_method') {
    return refusal(400, `This SetupIntent's status is ${setup.status}.`, {
      code: 'setup_intent_unexpected_state',
      setup_intent: showSetup(bank.books, setup),
    });
  }
  return { status: 200, body: showSetup(bank.books, endSetup(bank, setup, { status: 'canceled' })) };
};
