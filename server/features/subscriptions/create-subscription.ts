import { requireProcessor } from '../../company.ts';
import { ApiError, invalidField, notFound } from '../../errors.ts';
import { claimKey, sentKeyOf } from '../../http/key-queries.ts';
import { type PhasedRequest, runPhased } from '../../http/phases.ts';
import type { PhasedAnswer } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database, DatabasePool } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import {
  admitRedemptions,
  couponFor,
  type CouponUse,
  findCouponFacts,
  reserveRedemptions,
  redemptionOf,
  RedemptionsReserved,
  waitingForReservations,
} from '../coupons/service.ts';
import { type ActiveCustomer, lockActiveCustomer } from '../customers/service.ts';
import { emitEvents } from '../events/service.ts';
import {
  checkShownTotal,
  lockMs,
  type Orders,
  type Numbered,
  type Opened,
  type PlacedOrder,
  planScheduledCharges,
  refuseUnsaved,
  shippingOf,
} from '../orders/service.ts';
import type { Shipping, ShippingInput } from '../orders/schemas.ts';
import { type PlanToSubscribe, planToSubscribe } from '../plans/service.ts';
import { afterCharge, freeOfCharge } from './after-charge.ts';
import { changed } from './billing.ts';
import { type BillingCycle, monthsLater } from './calendar.ts';
import { type CardOfCustomer, findCard, findMadeBy, insertSubscription } from './queries.ts';
import { orderFor, plannedSale } from './renewal-order.ts';
import { withNextDue } from './schedule.ts';
import type { Cadence, Subscription, SubscriptionCreate } from './schemas.ts';
import { type SubscriptionRow, toWire } from './subscription.ts';
import { termsOfPlan } from './terms.ts';
import type { RequestContext } from '../../request-context.ts';

export interface SubscriptionDependencies {
  readonly db: DatabasePool;
  readonly orders: Orders;
  readonly clock: Clock;
}

interface Begun {
  readonly row: SubscriptionRow;
  /** The charge to be made at once. */
  readonly charge: PlacedOrder | undefined;
  readonly opened?: Opened | undefined;
}

/** A subscription whose first charge the customer has seen. */
export type ShownSubscription = SubscriptionCreate & { readonly shownTotal?: number };

/** Creates a subscription and charges its first cycle, or schedules the charge for its start date. */
export async function createSubscription(
  { db, orders, clock }: SubscriptionDependencies,
  context: RequestContext,
  input: ShownSubscription,
  phased: PhasedRequest,
): Promise<PhasedAnswer> {
  const { company } = context;
  const shown = async (operationId: string): Promise<Subscription | undefined> => {
    const row = await findMadeBy(db, company.id, operationId);
    return row && toWire(row, company.mode === 'live');
  };
  return runPhased(context.db, phased, {
    keepAnswer: true,
    begin: async () => {
      const generation = phased.key && (await orders.generationOf(company, sentKeyOf(phased.key)));
      if (generation?.kind === 'in_use') {
        await orders.reconcileSale(company.id, generation.operation.order_id);
        return shown(generation.operation.order_id);
      }
      const begun = await waitingForReservations(clock, () =>
        db.transaction((transaction) =>
          begin(transaction, context, input, phased, generation && { numbered: generation.numbered }),
        ),
      );
      if (!begun) return undefined;
      const { row, charge, opened } = begun;
      if (charge?.sale && opened) await orders.charge(charge.state, { ...charge.sale, ...opened });
      return shown(row.id);
    },
    resume: async (operationId) => {
      await orders.reconcileSale(company.id, operationId);
      return shown(operationId);
    },
  });
}

/** The card of a checkout page is for what the page sells. */
const refuseForApi = ({ shownTotal }: ShownSubscription, { listed }: CardOfCustomer): void =>
  refuseUnsaved(listed || shownTotal !== undefined);

/** Returns undefined if another request has claimed the key. */
async function begin(
  transaction: Database,
  context: RequestContext,
  input: ShownSubscription,
  { key }: PhasedRequest,
  generation: { readonly numbered: Numbered } | undefined,
): Promise<Begun | undefined> {
  const { company, nowMs, requestId, customerIp, presence } = context;
  requireProcessor(company);
  const customer = await lockActiveCustomer(transaction, company.id, input.customer_id.toLowerCase(), 'customer_id');
  const plan = await planToSubscribe(transaction, company.id, input.plan_id.toLowerCase());
  const card = await cardFor(transaction, company.id, customer.id, input.payment_method_id ?? null);
  refuseForApi(input, card);
  const use = await couponForPlan(transaction, context, input, customer.id, plan);
  const row = { ...newSubscription(context, input, customer, plan, card), coupon: use?.snapshot ?? null };
  const startsLater = row.start_at.getTime() > nowMs;
  const surroundings = { company, card, nowMs, requestId, customerIp, presence, ...generation };
  const charge = startsLater ? undefined : orderFor(row, null, surroundings);
  const { total = 0, id: orderId = row.id } = charge?.state.order ?? {};
  checkShownTotal(input.shownTotal, total);
  if (!(await claimKey(transaction, key, orderId))) return undefined;
  if (use) await redeem(transaction, use, row, charge);
  return charge ? insertCharged(transaction, context, row, charge) : insertLater(transaction, context, row);
}

async function insertCharged(
  transaction: Database,
  context: RequestContext,
  row: SubscriptionRow,
  charge: PlacedOrder,
): Promise<Begun> {
  const pending: SubscriptionRow = { ...row, status: 'pending', latest_order_id: charge.state.order.id };
  const planned = plannedSale(charge, lockMs[context.company.mode]);
  if (!charge.sale) return insertFree(transaction, context, pending, charge, planned);
  await insertSubscription(transaction, pending);
  const opened = await planScheduledCharges(transaction, [planned]);
  return { row: pending, charge, opened: opened.get(charge.sale.id) };
}

async function redeem(
  transaction: Database,
  use: CouponUse,
  { id, customer_id }: SubscriptionRow,
  charge: PlacedOrder | undefined,
): Promise<void> {
  const decided = !charge ? 'later' : charge.sale ? 'soon' : 'now';
  const redemption = redemptionOf(use, id, customer_id, decided);
  const [refused] = await admitRedemptions(transaction, [redemption]);
  // The coupon was used up since it was read, so the caller reads it again.
  if (refused) throw new RedemptionsReserved();
  await reserveRedemptions(transaction, [redemption]);
}

/** Its first cycle begins later. */
async function insertLater(transaction: Database, context: RequestContext, row: SubscriptionRow): Promise<Begun> {
  const { company, nowMs, requestId } = context;
  const due = withNextDue(row);
  const { row: made, events } = changed(due, ['subscription.created'], company.mode === 'live', nowMs, requestId);
  await insertSubscription(transaction, made);
  await emitEvents(transaction, events);
  return { row: made, charge: undefined };
}

/** The total is zero, so the first cycle is paid when it begins. */
async function insertFree(
  transaction: Database,
  { company, nowMs, requestId }: RequestContext,
  pending: SubscriptionRow,
  charge: PlacedOrder,
  planned: ReturnType<typeof plannedSale>,
): Promise<Begun> {
  const policy = { days: [], afterwards: 'failed' } as const;
  const paid = afterCharge(pending, freeOfCharge(pending, null, nowMs), policy);
  const { row: made, events } = changed(paid.row, paid.events, company.mode === 'live', nowMs, requestId);
  await insertSubscription(transaction, made);
  await planScheduledCharges(transaction, [planned]);
  await emitEvents(transaction, events);
  return { row: made, charge };
}

async function couponForPlan(
  transaction: Database,
  { company, nowMs }: RequestContext,
  { coupon_code: code, quantity = 1 }: ShownSubscription,
  customerId: string,
  { id: planId, amount: unit, one_time_amount, currency }: PlanToSubscribe,
): Promise<CouponUse | undefined> {
  if (!code) return undefined;
  const facts = await findCouponFacts(transaction, company.id, code, customerId);
  const amount = unit * quantity + one_time_amount;
  return couponFor(facts, { nowMs, currency, goods: { kind: 'plan', planId, amount } });
}

export async function cardFor(
  db: Database,
  companyId: string,
  customerId: string,
  paymentMethodId: string | null,
): Promise<CardOfCustomer> {
  const card = await findCard(db, companyId, customerId, paymentMethodId?.toLowerCase() ?? null);
  if (card) return card;
  if (paymentMethodId) throw notFound('payment method', 'payment_method_id');
  throw new ApiError('customer_not_configured', 'The customer has no card on file. Attach one first.', {
    param: 'customer_id',
  });
}

/** Merges a cadence into a base that supplies its missing fields. */
export function mergeCadence(
  base: BillingCycle,
  input: Cadence,
  fallbackAnchor: BillingCycle['anchor_day'],
): BillingCycle {
  const interval = input.interval ?? base.interval;
  // A change from days to months without a count must not turn fourteen days into fourteen months.
  const interval_count = input.interval_count ?? (interval === base.interval ? base.interval_count : 1);
  const most = interval === 'month' ? limits.intervalMonthsMax : limits.intervalDaysMax;
  if (interval_count > most) throw invalidField('billing_cycle.interval_count', `must be at most ${most} ${interval}s`);
  return { interval, interval_count, anchor_day: input.anchor_day ?? fallbackAnchor };
}

/** Returns the address given by id or in full; the full address takes precedence. */
export function shippingFor(
  customer: ActiveCustomer,
  input: { shipping?: ShippingInput | null; shipping_address_id?: string | null },
): { shipping: Shipping | null; shipping_address_id: string | null } | undefined {
  if (input.shipping === undefined && input.shipping_address_id === undefined) return undefined;
  const id = input.shipping_address_id?.toLowerCase() ?? null;
  const address = customer.shippingAddress;
  if (id && address?.id !== id) throw notFound('shipping address', 'shipping_address_id');
  const named = id && address ? shippingOf(address) : null;
  return { shipping: input.shipping ? shippingOf(input.shipping) : named, shipping_address_id: id };
}

const midnight = (date: string): number => Date.parse(`${date}T00:00:00.000Z`);

function startOf(input: SubscriptionCreate, nowMs: number): number {
  if (!input.start_date) return nowMs;
  const startMs = midnight(input.start_date);
  const todayMs = midnight(new Date(nowMs).toISOString().slice(0, 10));
  if (startMs < todayMs) throw invalidField('start_date', 'must be today or later');
  if (startMs > monthsLater(todayMs, 12 * limits.startDateYears)) {
    throw invalidField('start_date', `must be at most ${limits.startDateYears} years ahead`);
  }
  return startMs === todayMs ? nowMs : startMs;
}

function priceOf(
  plan: PlanToSubscribe,
  seats: number,
): Pick<SubscriptionRow, 'amount' | 'one_time_amount' | 'items' | 'quantity'> {
  const { amount, one_time_amount, items, quantity } = termsOfPlan(plan, seats, { cycle: null, keeps_coupon: true });
  return { amount, one_time_amount, items, quantity };
}

function newSubscription(
  { company, nowMs }: RequestContext,
  input: SubscriptionCreate,
  customer: ActiveCustomer,
  plan: PlanToSubscribe,
  card: CardOfCustomer,
): SubscriptionRow {
  const startMs = startOf(input, nowMs);
  if (input.end_date && midnight(input.end_date) <= startMs) {
    throw invalidField('end_date', 'must be after the start date');
  }
  const cycle = input.billing_cycle
    ? mergeCadence(plan.billing_cycle, input.billing_cycle, 'signup_date')
    : plan.billing_cycle;
  const start = new Date(startMs);
  return {
    company_id: company.id,
    id: newId(nowMs),
    customer_id: customer.id,
    plan_id: plan.id,
    payment_method_id: card.id,
    card_brand: card.brand,
    card_last4: card.last4,
    status: 'active',
    plan_name: plan.name,
    ...priceOf(plan, input.quantity ?? 1),
    currency: plan.currency,
    change_count: 0,
    scheduled_change: null,
    pending_change: null,
    period_payment: null,
    renewal_items: null,
    restarted_at: null,
    interval: cycle.interval,
    interval_count: cycle.interval_count,
    anchor_day: cycle.anchor_day === 'signup_date' ? null : cycle.anchor_day,
    billing_cycles: input.billing_cycles ?? plan.billing_cycles,
    end_date: input.end_date ?? null,
    coupon: null,
    description: input.description ?? null,
    ...(shippingFor(customer, input) ?? { shipping: null, shipping_address_id: null }),
    metadata: input.metadata ?? {},
    start_at: start,
    base_at: start,
    next_number: 0,
    current_cycle: 0,
    completed_cycles: 0,
    current_period_start: null,
    current_period_end: null,
    due_at: null,
    first_declined_at: null,
    next_retry_at: null,
    attempt_count: 0,
    last_failure_message: null,
    renewal_ended_at: null,
    earlier_end_date: null,
    latest_order_id: null,
    resume_at: null,
    canceled_at: null,
    completed_at: null,
    sequence: 0,
    updated_at: new Date(nowMs),
  };
}
