import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Static, TSchema } from 'typebox';
import { ApiError, invalidField, notFound } from '../../errors.ts';
import { lackingOf, requirePermissions, requireStepUp } from '../../http/caller.ts';
import { type PhasedRequest, withoutKey } from '../../http/phases.ts';
import { validator } from '../../http/validate.ts';
import { limits } from '../../limits.ts';
import { latestVersion } from '../../http/versions/versions.ts';
import { dayMs } from '../../platform/durations.ts';
import { randomBase62 } from '../../platform/ids.ts';
import { checkoutSessionCreate } from '../checkout-sessions/schemas.ts';
import {
  type CheckoutPageDependencies,
  createSession,
  expireNow,
  type LinkDependencies,
  paySessionById,
} from '../checkout-sessions/service.ts';
import { customerCreate, customerUpdate } from '../customers/schemas.ts';
import { changeCustomer, createCustomer, type CustomerReferences, deleteCustomer } from '../customers/service.ts';
import type { Event } from '../events/schemas.ts';
import { type EventType, getEvents } from '../events/service.ts';
import { type Order, orderCreate } from '../orders/schemas.ts';
import type { Orders } from '../orders/service.ts';
import {
  captureCard,
  type CardDependencies,
  createCardToken,
  detachCard,
  type PaymentMethodReferences,
  vaultCard,
} from '../payment-methods/service.ts';
import { changePlan, createPlan } from '../plans/service.ts';
import { changeProduct, createProduct } from '../products/service.ts';
import { type Subscription, subscriptionCreate } from '../subscriptions/schemas.ts';
import {
  backdateSubscription,
  cancelSubscription,
  changeSubscription,
  pauseSubscription,
  resumeSubscription,
  type Subscriptions,
} from '../subscriptions/service.ts';
import { documented, isOfDocument } from './trigger-documents.ts';
import { permissionsToTrigger } from './trigger-permissions.ts';
import { changeSeats } from './trigger-seats.ts';
import { teamMemberCreate } from '../team/schemas.ts';
import { getRoles, inviteTeamMember, type TeamDependencies } from '../team/service.ts';
import { createEndpoint, disableEndpoint, removeEndpoint, type WebhookDependencies } from '../webhooks/service.ts';
import type { OfCompany, RequestContext } from '../../request-context.ts';

/** Brings a real object into the state that emits an event, so that a receiver gets a real event. */

export interface TriggerDependencies {
  readonly checkout: OfCompany<CheckoutPageDependencies>;
  readonly pageLinks: LinkDependencies;
  readonly orders: OfCompany<Orders>;
  readonly subscriptions: OfCompany<Subscriptions>;
  readonly team: TeamDependencies;
  readonly cards: CardDependencies;
  readonly references: CustomerReferences & PaymentMethodReferences;
  readonly webhooks: WebhookDependencies;
}

type Overrides = Readonly<Record<string, unknown>>;
/** Returns the id of the object that the event describes. */
type Recipe = (context: RequestContext, dependencies: TriggerDependencies, overrides: Overrides) => Promise<string>;

const cardsFor = {
  approved: '4242424242424242',
  declined: '4000000000000002',
  refundRejected: '4000009999005126',
  approvedOnce: '4000009999000341',
};

function checked<Schema extends TSchema>(schema: Schema, value: object): Static<Schema> {
  return validator(schema)(value);
}

// Enough numbers that two triggers rarely use the same one.
const phoneNumbers = 10 ** 10;

const newPhone = (): string => `+1555${String(randomInt(phoneNumbers)).padStart(10, '0')}`;
const laterYear = ({ nowMs }: RequestContext): number => new Date(nowMs).getUTCFullYear() + 3;

async function newCustomer(context: RequestContext, overrides: Overrides): Promise<string> {
  const unique = randomBase62(12);
  const person = {
    email: `trigger-${unique}@example.com`,
    first_name: 'Sam',
    last_name: 'Sandbox',
    phone: newPhone(),
  };
  return (await createCustomer(context, checked(customerCreate, { ...person, ...overrides }))).id;
}

async function newCard(
  context: RequestContext,
  { cards, references }: TriggerDependencies,
  customerId: string,
  number: string,
  options: { readonly update_subscriptions?: boolean } = {},
): Promise<string> {
  const card = { number, exp_month: 12, exp_year: laterYear(context), cvc: '999' };
  const vaulted = await vaultCard(context, cards, { card }, customerId);
  return (await captureCard(context, references, { customer_id: customerId, card, ...options }, vaulted)).id;
}

const price = 4900;

const newProduct = (context: RequestContext): Promise<{ readonly id: string }> =>
  createProduct(context, {
    name: 'Triggered product',
    description: null,
    pricing: { amount: price, currency: 'usd' },
    requires_shipping: false,
    sku: `triggered-${randomBase62(12).toLowerCase()}`,
  });

async function newSession(
  context: RequestContext,
  { pageLinks }: TriggerDependencies,
  overrides: Overrides,
): Promise<{ readonly id: string; readonly productId: string }> {
  const { id: productId } = await newProduct(context);
  const items = [{ product_id: productId, quantity: 1 }];
  const input = checked(checkoutSessionCreate, { mode: 'payment', items, ...overrides });
  return { id: (await createSession(context, pageLinks, input)).id, productId };
}

/** Pays a new session as its page does. */
async function payNewSession(
  context: RequestContext,
  { checkout, cards }: TriggerDependencies,
  sessionId: string,
): Promise<void> {
  const card = { number: cardsFor.approved, exp_month: 12, exp_year: laterYear(context), cvc: '999' };
  const token = await createCardToken(context, cards, { card }, await vaultCard(context, cards, { card }));
  const email = `trigger-${randomBase62(12)}@example.com`;
  const customer = { email, first_name: 'Sam', last_name: 'Sandbox', phone: newPhone() };
  await paySessionById(checkout(context), context, sessionId, { card_token: token.id, save_card: true, customer });
}

async function newOrder(
  context: RequestContext,
  dependencies: TriggerDependencies,
  overrides: Overrides,
  number: string,
): Promise<Order> {
  const customerId = await newCustomer(context, {});
  await newCard(context, dependencies, customerId, number);
  const product = await newProduct(context);
  const items = [{ product_id: product.id, quantity: 1 }];
  const body = checked(orderCreate, { customer_id: customerId, items, ...overrides });
  const { company, requestId, nowMs } = context;
  const request: PhasedRequest = {
    ...withoutKey,
    key: {
      companyId: company.id,
      key: `trigger_${requestId}`,
      method: 'POST',
      path: '/v1/sandbox/events/trigger',
      fieldHashes: {},
      requestId,
      apiVersion: latestVersion,
      versionNamed: false,
      nowMs,
    },
  };
  const { body: text } = await dependencies.orders(context).create(context, body, request);
  await changeProduct(context, product.id, { active: false });
  return JSON.parse(text) as Order;
}

const ordered =
  (
    number: string,
    then?: (context: RequestContext, orders: Orders, id: string) => Promise<unknown>,
    fixed: Overrides = {},
  ): Recipe =>
  async (context, dependencies, overrides) => {
    const { id } = await newOrder(context, dependencies, { ...overrides, ...fixed }, number);
    await then?.(context, dependencies.orders(context), id);
    return id;
  };

const refunded =
  (amount: number | undefined) =>
  async (context: RequestContext, orders: Orders, id: string): Promise<void> => {
    await orders.refund(context, id, amount === undefined ? {} : { amount }, withoutKey);
    await orders.reconcile(context.company.id, id);
  };

const resolved =
  (outcome: 'accepted' | 'dismissed') =>
  async (context: RequestContext, orders: Orders, id: string): Promise<void> => {
    await orders.raiseChargeback(context, id);
    await orders.resolveChargeback(context, id, outcome);
  };

/** Longer than the dunning schedule of any company. */
const longMs = 2 * limits.dunningDaysMax * dayMs;

async function newSubscription(
  context: RequestContext,
  dependencies: TriggerDependencies,
  overrides: Overrides,
  number: string,
): Promise<Subscription> {
  const customerId = await newCustomer(context, {});
  await newCard(context, dependencies, customerId, number);
  const plan = await createPlan(context, {
    name: 'Triggered plan',
    plan_code: `triggered-${randomBase62(12).toLowerCase()}`,
    amount: 1900,
    currency: 'usd',
    billing_cycle: { interval: 'day', interval_count: 1, anchor_day: 'signup_date' },
  });
  const body = checked(subscriptionCreate, { customer_id: customerId, plan_id: plan.id, ...overrides });
  const { body: text } = await dependencies.subscriptions(context).create(context, body, withoutKey);
  await changePlan(context, plan.id, { active: false });
  return JSON.parse(text) as Subscription;
}

interface Subscribed {
  readonly subscription: Subscription;
  /** Advances the time for this subscription only, and runs what is due. */
  readonly wait: (ms: number) => Promise<void>;
}

const subscribed =
  (
    number: string,
    then?: (context: RequestContext, dependencies: TriggerDependencies, subscribed: Subscribed) => Promise<unknown>,
    fixed: Overrides = {},
  ): Recipe =>
  async (context, dependencies, overrides) => {
    const subscription = await newSubscription(context, dependencies, { ...overrides, ...fixed }, number);
    const { id } = subscription;
    const wait = async (ms: number): Promise<void> => {
      await backdateSubscription(context, id, ms);
      const nowMs = context.nowMs + dayMs / 100;
      await dependencies.subscriptions(context).billDueOf(context.company.id, context.nowMs, nowMs, 100);
    };
    await then?.(context, dependencies, { subscription, wait });
    return id;
  };

const recipes: Partial<Record<EventType, Recipe>> = {
  'customer.created': (context, _, overrides) => newCustomer(context, overrides),
  'customer.updated': async (context, _, overrides) => {
    const id = await newCustomer(context, {});
    const change = Object.keys(overrides).length > 0 ? overrides : { metadata: { triggered: true } };
    await changeCustomer(context, id, checked(customerUpdate, change));
    return id;
  },
  'customer.deleted': async (context, { references }, overrides) => {
    const id = await newCustomer(context, overrides);
    await deleteCustomer(context, id, references);
    return id;
  },
  'payment_method.attached': async (context, dependencies) =>
    newCard(context, dependencies, await newCustomer(context, {}), cardsFor.approved),
  'payment_method.detached': async (context, dependencies) => {
    const customerId = await newCustomer(context, {});
    const id = await newCard(context, dependencies, customerId, cardsFor.approved);
    await detachCard(context, dependencies.references, customerId, id, null);
    return id;
  },
  'order.created': ordered(cardsFor.approved),
  'order.authorized': ordered(cardsFor.approved, undefined, { capture: 'manual' }),
  'order.succeeded': ordered(cardsFor.approved),
  'order.failed': ordered(cardsFor.declined),
  'order.refunded': ordered(cardsFor.approved, refunded(undefined)),
  'order.partially_refunded': ordered(cardsFor.approved, refunded(100)),
  'order.refund_failed': ordered(cardsFor.refundRejected, refunded(undefined)),
  'order.voided': ordered(cardsFor.approved, (context, orders, id) => orders.void(context, id, withoutKey)),
  'order.chargeback': ordered(cardsFor.approved, (context, orders, id) => orders.raiseChargeback(context, id)),
  'order.chargeback_accepted': ordered(cardsFor.approved, resolved('accepted')),
  'order.chargeback_dismissed': ordered(cardsFor.approved, resolved('dismissed')),
  'subscription.created': subscribed(cardsFor.approved),
  'subscription.charged': subscribed(cardsFor.approved, (_, __, { wait }) => wait(dayMs)),
  'subscription.updated': subscribed(cardsFor.approved, (context, _, { subscription }) =>
    changeSubscription(context, subscription.id, { metadata: { triggered: true } }),
  ),
  'subscription.billing.updated': subscribed(cardsFor.approved, (context, _, { subscription }) =>
    changeSubscription(context, subscription.id, { billing_cycle: { interval: 'month', interval_count: 1 } }),
  ),
  'subscription.plan_changed': subscribed(cardsFor.approved, changeSeats('now')),
  'subscription.change_scheduled': subscribed(cardsFor.approved, changeSeats('renewal')),
  'subscription.past_due': subscribed(cardsFor.approvedOnce, (_, __, { wait }) => wait(dayMs)),
  'subscription.recovered': subscribed(cardsFor.approvedOnce, async (context, dependencies, { subscription, wait }) => {
    await wait(dayMs);
    const options = { update_subscriptions: true };
    await newCard(context, dependencies, subscription.customer_id, cardsFor.approved, options);
    await wait(0);
  }),
  'subscription.failed': subscribed(cardsFor.approvedOnce, async (_, __, { wait }) => {
    await wait(dayMs);
    await wait(longMs);
  }),
  'subscription.completed': subscribed(cardsFor.approved, (_, __, { wait }) => wait(dayMs), { billing_cycles: 1 }),
  'subscription.paused': subscribed(cardsFor.approved, (context, _, { subscription }) =>
    pauseSubscription(context, subscription.id),
  ),
  'subscription.resumed': subscribed(cardsFor.approved, async (context, _, { subscription }) => {
    await pauseSubscription(context, subscription.id);
    await resumeSubscription(context, subscription.id);
  }),
  'subscription.canceled': subscribed(cardsFor.approved, (context, _, { subscription }) =>
    cancelSubscription(context, subscription.id),
  ),
  'invoice.created': documented('invoice', ordered(cardsFor.approved)),
  'credit_note.created': documented('credit_note', ordered(cardsFor.approved, refunded(undefined))),
  'checkout_session.completed': async (context, dependencies, overrides) => {
    const { id, productId } = await newSession(context, dependencies, overrides);
    await payNewSession(context, dependencies, id);
    await changeProduct(context, productId, { active: false });
    return id;
  },
  'checkout_session.expired': async (context, dependencies, overrides) => {
    const { id, productId } = await newSession(context, dependencies, overrides);
    await expireNow(context, id);
    await changeProduct(context, productId, { active: false });
    return id;
  },
  'team_member.invited': async (context, { team }, overrides) => {
    const roles = (await getRoles(context, new Set(['permissions']))).data;
    const role = roles.find(({ permissions = [] }) => lackingOf(context.caller, permissions).length === 0) ?? roles[0];
    const unique = randomBase62(12).toLowerCase();
    const person = {
      first_name: 'Sam',
      last_name: 'Sandbox',
      email: `trigger-${unique}@example.com`,
      phone_number: '+15555550100',
      role_id: role?.id,
    };
    return (await inviteTeamMember(context, team, checked(teamMemberCreate, { ...person, ...overrides }))).id;
  },
  'webhook_endpoint.disabled': async (context, { webhooks }) => {
    const url = 'https://receiver.invalid/';
    const input = { url, enabled_events: ['webhook_endpoint.disabled'] };
    const { id } = await createEndpoint(context, webhooks, input, { url });
    await disableEndpoint({ db: context.db, clock: webhooks.clock }, context.company.id, id, 'failing');
    await removeEndpoint(context, id);
    return id;
  },
};

const pollMs = 20;
/** Documents get their numbers some seconds after the payment. */
const pollsMax = (type: EventType): number => (isOfDocument(type) ? 500 : 100);

export const triggerable = Object.keys(recipes) as EventType[];

export async function triggerEvent(
  context: RequestContext,
  dependencies: TriggerDependencies,
  type: EventType,
  overrides: Overrides,
): Promise<Event> {
  if (context.company.mode !== 'sandbox') {
    throw new ApiError('insufficient_permissions', 'This call requires a sandbox key.');
  }
  const recipe = recipes[type];
  if (!recipe) throw invalidField('type', 'cannot be triggered');
  const { caller } = context;
  requirePermissions(caller, permissionsToTrigger(type), `triggering ${type} requires`);
  // The same requirement as for an invitation.
  if (type === 'team_member.invited') requireStepUp(caller, dependencies.webhooks.clock.nowMs());
  const objectId = await recipe(context, dependencies, overrides);
  const page = { limit: 1, sort: { field: 'created_at', descending: true }, cursor: null };
  for (let look = 1; look <= pollsMax(type); look += 1) {
    const [event] = (await getEvents(context, { type: [type], object_id: objectId }, page)).items;
    if (event) return event;
    // A worker may have claimed the due work and be processing it.
    await sleep(pollMs);
  }
  throw notFound('event');
}
