import { listSchema } from '../../http/lists.ts';
import { defineList, defineRoute, type Route } from '../../http/route.ts';
import { deletion } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { ensureActiveCustomer } from '../customers/service.ts';
import { type CardDependencies, createCardToken, hashableCard, testedFingerprint, vaultCard } from './card-tokens.ts';
import {
  cardCapture,
  cardToken,
  cardTokenCreate,
  paymentMethod,
  paymentMethodAttach,
  paymentMethodDelete,
  paymentMethodUpdate,
} from './schemas.ts';
import {
  attachCard,
  captureCard,
  detachCard,
  getPaymentMethod,
  getPaymentMethods,
  type PaymentMethodReferences,
  changeCard,
} from './service.ts';

const common = { tag: 'Payment methods', resource: 'payment method' } as const;
const writes = { permission: 'payment_methods:write', idempotency: 'optional' } as const;
const exampleCard = { number: '4242424242424242', exp_month: '12', exp_year: '2030', cvc: '999' };
const path = '/v1/customers/:id/payment_methods';

export function paymentMethodRoutes(dependencies: CardDependencies, references: PaymentMethodReferences): Route[] {
  return [
    defineRoute({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/card_tokens',
      operationId: 'createCardToken',
      summary: 'Create a card token',
      description:
        'For browsers, with a publishable key. Your server then attaches the token to a customer. A token works once ' +
        `and expires after ${limits.cardTokenSeconds / 60} minutes. The card fields of the browser SDK send this request for you.`,
      category: 'capture',
      publishable: true,
      bodyBytes: limits.publicBodyBytes,
      secretAnswer: true,
      body: cardTokenCreate,
      bodyExample: { card: exampleCard },
      success: { status: 201, schema: cardToken, shape: 'resource' },
      errors: [],
      testedCard: async ({ context, body }) => ({
        fingerprint: await testedFingerprint(context, dependencies, body.card),
      }),
      fieldsToHash: async ({ context, body }) => ({
        ...body,
        card: await hashableCard(context, dependencies, body.card),
      }),
      prepare: ({ context, body }) => vaultCard(context, dependencies, body),
      handle: ({ context, body, prepared }) => createCardToken(context, dependencies, body, prepared),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'POST',
      path: '/capture',
      operationId: 'captureCard',
      summary: 'Capture a card from your server',
      description: 'Captures the card and attaches it to the customer in one call.',
      category: 'capture',
      body: cardCapture,
      bodyExample: { customer_id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60', card: exampleCard, set_as_default: true },
      success: { status: 201, schema: paymentMethod, shape: 'resource' },
      errors: ['resource_not_found', 'invalid_request'],
      testedCard: async ({ context, body }) => ({
        customerId: body.customer_id.toLowerCase(),
        fingerprint: await testedFingerprint(context, dependencies, body.card),
      }),
      fieldsToHash: async ({ context, body }) => ({
        ...body,
        card: await hashableCard(context, dependencies, body.card),
      }),
      prepare: ({ context, body }) => vaultCard(context, dependencies, body, body.customer_id),
      handle: ({ context, body, prepared }) => captureCard(context, references, body, prepared),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'POST',
      path,
      operationId: 'attachPaymentMethod',
      summary: 'Attach a card to a customer',
      description: 'The first card of a customer always becomes the default, regardless of `set_as_default`.',
      category: 'write',
      body: paymentMethodAttach,
      bodyExample: { card_token: 'cct_8pQz1VbN4sKx7Rw2Ty5Ua9Lc3Md6He0J', set_as_default: true },
      success: { status: 201, schema: paymentMethod, shape: 'resource' },
      errors: ['invalid_request', 'environment_mismatch'],
      handle: ({ context, params, body }) => attachCard(context, dependencies, references, params.id ?? '', body),
    }),
    defineList({
      ...common,
      permission: 'payment_methods:read',
      path,
      operationId: 'listPaymentMethods',
      summary: 'List the cards of a customer',
      sorts: [],
      filters: {},
      success: { status: 200, schema: listSchema('PaymentMethodList', paymentMethod, path), shape: 'list' },
      errors: [],
      handle: async ({ context, params, page }) => {
        await ensureActiveCustomer(context, params.id ?? '', 'id', { deletedToo: true });
        return getPaymentMethods(context, params.id ?? '', page);
      },
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: `${path}/:pm_id`,
      operationId: 'getPaymentMethod',
      summary: 'Retrieve a card of a customer',
      permission: 'payment_methods:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: paymentMethod, shape: 'resource' },
      errors: [],
      handle: ({ context, params }) => getPaymentMethod(context, params.id ?? '', params.pm_id ?? ''),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'PATCH',
      path: `${path}/:pm_id`,
      operationId: 'updatePaymentMethod',
      summary: 'Update a card of a customer',
      description:
        'Makes the card the default or moves subscriptions to it. `update_subscriptions` works as it does when you attach a card: ' +
        'past-due subscriptions are charged immediately. A card that the customer entered on a checkout page without saving it is then ' +
        'saved: do this only if the customer has agreed.',
      category: 'write',
      body: paymentMethodUpdate,
      bodyExample: { set_as_default: true, update_subscriptions: true },
      success: { status: 200, schema: paymentMethod, shape: 'resource' },
      errors: ['invalid_request'],
      handle: ({ context, params, body }) => changeCard(context, references, params.id ?? '', params.pm_id ?? '', body),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'DELETE',
      path: `${path}/:pm_id`,
      operationId: 'deletePaymentMethod',
      summary: 'Delete a card of a customer',
      description:
        'To delete the default card or a card that subscriptions use, name a replacement. It becomes the default and takes ' +
        'over the subscriptions. You can delete the only card without a replacement if no subscription uses it.',
      category: 'write',
      body: paymentMethodDelete,
      bodyExample: {},
      success: { status: 200, schema: deletion('payment method'), shape: 'other' },
      errors: ['replacement_required', 'invalid_request'],
      handle: ({ context, params, body }) =>
        detachCard(
          context,
          references,
          params.id ?? '',
          params.pm_id ?? '',
          body.replacement_payment_method_id?.toLowerCase() ?? null,
        ),
    }),
  ];
}
