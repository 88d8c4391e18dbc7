import { ApiError, notFound } from '../../errors.ts';
import { unknownPage } from '../../http/page-caller.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import type { RequestContext } from '../../request-context.ts';
import { type CardTestingGuard, limitingDeclines, type Merchant, merchantOf } from '../checkout-sessions/service.ts';
import { type CardAtBank, cardAtBank } from '../card-setups/service.ts';
import { balancesOf } from '../credit/service.ts';
import { customersById } from '../customers/service.ts';
import { type InvoiceLinks, type InvoiceOfOrder, invoicesOfOrders } from '../invoices/service.ts';
import type { Order } from '../orders/schemas.ts';
import { type Orders, paidOf } from '../orders/service.ts';
import type { CustomerPageSettings } from '../profile/schemas.ts';
import { profileOf } from '../profile/service.ts';
import { type CardDependencies, type PaymentMethodReferences, paymentMethodsOf } from '../payment-methods/service.ts';
import {
  cancelSubscription,
  type CustomerSubscription,
  endRenewal,
  getSubscription,
  keepRenewal,
  overdueOrderOf,
  payFailedRenewal,
  shownToCustomer,
  type Subscriptions,
  subscriptionReferences,
} from '../subscriptions/service.ts';
import { type ChosenOutcome, planOffers, type PlanOffer } from './plan-changes.ts';
import { type AgainOffer, againOffers } from './subscribe-again.ts';
import type { CustomerSessionRow } from './queries.ts';

/** What the customer page shows and does. Everything is limited to the customer of the session. */

export interface AccountDependencies {
  readonly baseUrl: string;
  readonly orders: Orders;
  readonly subscriptions: Pick<Subscriptions, 'changePlan' | 'create'>;
  readonly cards: CardDependencies;
  readonly references: PaymentMethodReferences;
  readonly guard: CardTestingGuard;
  readonly linkKey: ServiceKey;
  readonly receiptUrlOf: (context: RequestContext, order: Order) => Promise<string | null>;
  readonly invoiceLinks: InvoiceLinks;
}

const paymentsPerPage = 10;
/** Orders that took money, so that there is a receipt for them. */
const withReceipt: readonly Order['status'][] = ['succeeded', 'partially_refunded', 'refunded', 'refund_failed'];

interface ShownPayment {
  readonly id: string;
  readonly order_number: string;
  readonly created_at: string;
  readonly description: string;
  readonly status: Order['status'];
  readonly total: number;
  readonly refunded_amount: number;
  readonly currency: string;
  readonly has_receipt: boolean;
  readonly documents: readonly InvoiceOfOrder[];
  /** The bank wants to confirm the payment: the page for that. */
  readonly confirm_url: string | null;
}

export interface ShownPayments {
  readonly items: readonly ShownPayment[];
  readonly next: string | null;
}

type ShownSubscription = Omit<CustomerSubscription, 'overdue'> & {
  /** What the customer can change it to. */
  readonly offer: PlanOffer | null;
  /** For one that has ended: a new one like it. */
  readonly again: AgainOffer | null;
  /** `bank_url`: the bank wants to confirm the payment in progress. */
  readonly overdue: (NonNullable<CustomerSubscription['overdue']> & { readonly bank_url: string | null }) | null;
};

interface Account {
  readonly livemode: boolean;
  /** With test accounts of processors. */
  readonly rehearsal: boolean;
  readonly merchant: Merchant;
  readonly headline: string | null;
  readonly return_url: string | null;
  readonly allow_update_card: boolean;
  readonly customer: { readonly email: string; readonly first_name: string; readonly last_name: string };
  readonly subscriptions: readonly ShownSubscription[];
  readonly cards: readonly object[];
  /** A card that the customer wants to save: the bank wants to confirm it. */
  readonly card_at_bank: CardAtBank | null;
  /** What the merchant owes the customer; none in most cases. */
  readonly credit: readonly { readonly currency: string; readonly amount: number }[];
  readonly payments: ShownPayments;
  /** The outcome of the change of plan, or of the new subscription, that was just requested. */
  readonly change?: ChosenOutcome;
}

export async function showAccount(
  dependencies: AccountDependencies,
  context: RequestContext,
  session: CustomerSessionRow,
): Promise<Account> {
  const { db, company } = context;
  const { customer_id } = session;
  const customer = (await customersById(context, [customer_id])).get(customer_id);
  if (!customer || customer.deleted) throw notFound('customer');
  const { customer_page: settings } = await profileOf(db, company);
  const subscriptions = await shownToCustomer(context, customer_id);
  const offers = await planOffers(context, subscriptions);
  const again = settings.allow_subscribe_again ? await againOffers(context, subscriptions) : undefined;
  const cards = (await paymentMethodsOf(db, company.id, [customer_id])).get(customer_id) ?? [];
  const credit = await balancesOf(db, company.id, customer_id);
  const { email, first_name, last_name } = customer;
  return {
    livemode: company.mode === 'live',
    rehearsal: company.mode === 'rehearsal',
    merchant: await merchantOf(context),
    headline: settings.headline,
    return_url: session.return_url ?? settings.return_url,
    allow_update_card: settings.allow_update_card,
    customer: { email, first_name, last_name },
    subscriptions: await Promise.all(
      subscriptions.map(async (subscription) => ({
        ...(await withBank(dependencies, context, allowed(subscription, settings))),
        offer: offers.get(subscription.id) ?? null,
        again: again?.get(subscription.id) ?? null,
      })),
    ),
    cards: cards.map(({ id, is_default, card: { brand, last4, exp_month, exp_year } }) => ({
      id,
      brand,
      last4,
      exp_month,
      exp_year,
      is_default,
    })),
    card_at_bank: await cardAtBank(dependencies, context, customer_id),
    credit: credit.filter(({ amount }) => amount > 0),
    payments: await showPayments(dependencies, context, session, null),
  };
}

/** What the merchant does not allow is not offered. Undoing an end stays possible. */
function allowed(
  subscription: CustomerSubscription,
  { allow_cancel, allow_end_renewal, allow_pause }: CustomerPageSettings,
): CustomerSubscription {
  return {
    ...subscription,
    can_cancel: subscription.can_cancel && allow_cancel,
    can_end_renewal: subscription.can_end_renewal && allow_end_renewal,
    pause_dates: allow_pause ? subscription.pause_dates : null,
    can_continue: subscription.can_continue && allow_pause,
  };
}

async function withBank(
  { orders }: Pick<AccountDependencies, 'orders'>,
  { company }: RequestContext,
  subscription: CustomerSubscription,
): Promise<Omit<ShownSubscription, 'offer' | 'again'>> {
  const { overdue } = subscription;
  const action = overdue?.in_progress ? await orders.nextAction(company.id, overdue.order_id) : undefined;
  return { ...subscription, overdue: overdue && { ...overdue, bank_url: action?.url ?? null } };
}

/** The browser came back from the bank. */
export async function resumeRenewal(
  { orders }: Pick<AccountDependencies, 'orders'>,
  context: RequestContext,
  { customer_id }: CustomerSessionRow,
  id: string,
  returned: Readonly<Record<string, string>>,
): Promise<void> {
  const orderId = await overdueOrderOf(context, customer_id, id);
  if (orderId !== undefined) await orders.resumeAtBank(context.company.id, orderId, returned);
}

/** The customer wants to pay otherwise. The payment that waits at the bank ends at the processor first. */
export async function abandonRenewal(
  { orders }: Pick<AccountDependencies, 'orders'>,
  context: RequestContext,
  { customer_id }: CustomerSessionRow,
  id: string,
): Promise<void> {
  const orderId = await overdueOrderOf(context, customer_id, id);
  if (orderId !== undefined) await orders.endAtBank(context.company.id, orderId);
}

export async function showPayments(
  { orders }: Pick<AccountDependencies, 'orders'>,
  context: RequestContext,
  { customer_id }: CustomerSessionRow,
  after: string | null,
): Promise<ShownPayments> {
  const page = await orders.list(
    context,
    { customer_id },
    {
      limit: paymentsPerPage,
      sort: { field: 'created_at', descending: true },
      cursor: after === null ? null : { id: after, parameter: 'starting_after' },
    },
    new Set(),
  );
  const subscriptions = (await subscriptionReferences.subscriptionsOf(context, [customer_id])).get(customer_id) ?? [];
  const documents = await invoicesOfOrders(
    context,
    page.items.map(({ id }) => id),
  );
  const names = new Map(subscriptions.map(({ id, plan }) => [id, plan.name]));
  const items = page.items.map((order) => ({
    id: order.id,
    order_number: order.order_number,
    created_at: order.created_at,
    description: names.get(order.subscription_id ?? '') ?? goodsOf(order),
    status: order.status,
    // Nothing may have been captured of what was held.
    total: paidOf(order) || order.total,
    refunded_amount: order.refunded_amount,
    currency: order.currency,
    has_receipt: withReceipt.includes(order.status),
    documents: documents.get(order.id) ?? [],
    confirm_url: order.authentication_url,
  }));
  return { items, next: page.hasMore ? (items.at(-1)?.id ?? null) : null };
}

const goodsOf = ({ items }: Order): string =>
  items.map(({ name, quantity }) => (quantity > 1 ? `${quantity} × ${name}` : name)).join(', ');

/** An order of another customer does not exist for this one, nor does the receipt of an order that took no money. */
export async function receiptUrl(
  { orders, receiptUrlOf }: Pick<AccountDependencies, 'orders' | 'receiptUrlOf'>,
  context: RequestContext,
  { customer_id }: CustomerSessionRow,
  orderId: string,
): Promise<string> {
  const order = await orders.get(context, orderId, new Set());
  if (order.customer_id !== customer_id) throw notFound('order');
  const url = withReceipt.includes(order.status) ? await receiptUrlOf(context, order) : null;
  if (url === null) throw unknownPage();
  return url;
}

export async function ensureAllowed({ db, company }: RequestContext, what: keyof CustomerPageSettings): Promise<void> {
  const { customer_page: settings } = await profileOf(db, company);
  if (settings[what]) return;
  throw new ApiError('invalid_request', 'This shop does not allow this here. Write to the shop instead.');
}

type Act = (
  dependencies: AccountDependencies,
  context: RequestContext,
  customerId: string,
  id: string,
) => Promise<unknown>;

/** A subscription of another customer does not exist for this one. */
export async function ensureOwn(context: RequestContext, customerId: string, id: string): Promise<void> {
  const { customer_id } = await getSubscription(context, id, new Set());
  if (customer_id !== customerId) throw notFound('subscription');
}

const cancel: Act = async (_dependencies, context, customerId, id) => {
  await ensureAllowed(context, 'allow_cancel');
  await ensureOwn(context, customerId, id);
  await cancelSubscription(context, id);
};

const endIt: Act = async (_dependencies, context, customerId, id) => {
  await ensureAllowed(context, 'allow_end_renewal');
  await endRenewal(context, id, customerId);
};

const keepIt: Act = async (_dependencies, context, customerId, id) => {
  await keepRenewal(context, id, customerId);
};

export const subscriptionActs = { cancel, end_renewal: endIt, keep_renewal: keepIt } as const;

/** It was done before, or its outcome is not known yet: the page shows the account as it is. */
const shownInstead = [
  'already_canceled',
  'request_in_progress',
  'invalid_state_transition',
  'resource_in_use',
  'gateway_error',
  'service_unavailable',
  'restore_in_progress',
];

/** Does it and shows the account. Repeating what was done already shows the account as well. */
export async function actAndShow(
  dependencies: AccountDependencies,
  context: RequestContext,
  session: CustomerSessionRow,
  act: () => Promise<unknown>,
): Promise<Account> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof ApiError) || !shownInstead.includes(error.code)) throw error;
  }
  return showAccount(dependencies, context, session);
}

export async function payNow(
  { orders, guard }: Pick<AccountDependencies, 'orders' | 'guard'>,
  context: RequestContext,
  { customer_id }: CustomerSessionRow,
  id: string,
  declines: number,
  address: string,
): Promise<void> {
  await limitingDeclines(guard, context, address, async (tried) => {
    try {
      const isDeclined = await payFailedRenewal(orders, context, customer_id, id, declines);
      tried.outcome = isDeclined ? 'declined' : 'succeeded';
    } catch (error) {
      tried.outcome = error instanceof ApiError && error.code !== 'gateway_error' ? 'not charged' : 'unknown';
      throw error;
    }
  });
}
