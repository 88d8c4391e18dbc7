import { type Books, type Customer, type Intent, type Method, newId, showMethod } from './books.ts';
import type { Operate, Reply } from './bank-state.ts';
import { metadataOf, missing, refusal } from './rules.ts';

/** The customers of the simulated Stripe, and which payment methods can be used again. */

export const isCustomer = ({ customers }: Books, id: string): boolean => customers.get(id)?.isDeleted === false;

export const showCustomer = ({ id, metadata, createdMs }: Customer): object => ({
  id,
  object: 'customer',
  created: Math.floor(createdMs / 1_000),
  metadata,
});

export const createCustomer: Operate = ({ books, clock }, _id, form) => {
  const customer = { id: newId('cus'), metadata: metadataOf(form), createdMs: clock.nowMs(), isDeleted: false };
  return { status: 200, body: showCustomer(books.put('customers', customer)) };
};

export const updateCustomer: Operate = ({ books }, id, form) => {
  const customer = books.customers.get(id);
  if (!customer || customer.isDeleted) return missing('customer', id);
  const changed = { ...customer, metadata: { ...customer.metadata, ...metadataOf(form) } };
  return { status: 200, body: showCustomer(books.put('customers', changed)) };
};

/** Its payment methods are detached, and can never be used again. */
export const deleteCustomer: Operate = ({ books }, id) => {
  const customer = books.customers.get(id);
  if (!customer || customer.isDeleted) return missing('customer', id);
  books.put('customers', { ...customer, metadata: {}, isDeleted: true });
  for (const method of methodsOf(books, id)) books.put('methods', { ...method, customerId: null, isSetUp: false });
  return { status: 200, body: { id, object: 'customer', deleted: true } };
};

export const methodsOf = ({ methods }: Books, customerId: string): Method[] =>
  [...methods.values()].filter((method) => method.customerId === customerId);

const isUsed = ({ charges }: Books, { id }: Method): boolean =>
  [...charges.values()].some(({ methodId }) => methodId === id);

const usedBefore = refusal(
  400,
  'The provided PaymentMethod was previously used with a PaymentIntent without Customer attachment, or was detached ' +
    'from a Customer. It may not be used again.',
);

/** Stripe asks the bank whether the card exists; the bank is not asked to authenticate the customer. */
export const attachMethod: Operate = ({ books }, id, form) => {
  const method = books.methods.get(id);
  const customerId = form.get('customer') ?? '';
  if (!method) return missing('payment_method', id);
  if (!isCustomer(books, customerId)) return missing('customer', customerId, 400);
  if (method.customerId)
    return refusal(400, 'The payment method you provided has already been attached to a customer.');
  if (isUsed(books, method)) return usedBefore;
  return { status: 200, body: showMethod(books.put('methods', { ...method, customerId })) };
};

const usage = 'payment_method_options[card][stored_credential_usage]';
const setUpUsage = 'payment_method_options[card][setup_credential_usage]';
const isOffSession = (form: URLSearchParams): boolean => (form.get('off_session') ?? 'false') !== 'false';

/** Why Stripe refuses a payment method for an intent, before it asks the bank. */
export function refusedUse(books: Books, intent: Intent, method: Method, form: URLSearchParams): Reply | undefined {
  const setsUp = form.has('setup_future_usage');
  if (setsUp && isOffSession(form)) {
    return refusal(400, 'You cannot confirm with `off_session` when `setup_future_usage` is also set.');
  }
  if (form.has(usage) && (setsUp || !isOffSession(form))) {
    return refusal(400, 'You can only pass `stored_credential_usage` for off session payments.', { param: usage });
  }
  if (form.has(setUpUsage) && !setsUp) {
    return refusal(400, 'You can only pass `setup_credential_usage` with `setup_future_usage`.', { param: setUpUsage });
  }
  if (intent.customerId && !isCustomer(books, intent.customerId)) return missing('customer', intent.customerId, 400);
  if (method.customerId && method.customerId !== intent.customerId) {
    return refusal(
      400,
      'The payment method belongs to a Customer. Please supply that Customer with the PaymentIntent.',
    );
  }
  return !method.customerId && isUsed(books, method) ? usedBefore : undefined;
}

/** Without the customer, a bank accepts a card that was saved; of others it wants the customer to confirm the payment. */
export const needsSetUp = (wantsSetUp: boolean, method: Method): boolean =>
  wantsSetUp ? method.isSetUp !== true : !method.customerId;
