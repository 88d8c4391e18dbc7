import { type Mode, requireProcessor } from '../../company.ts';
import { ApiError, invalidField, notFound } from '../../errors.ts';
import { type KeyedRequest, claimOf, sentKeyOf } from '../../http/key-queries.ts';
import { type PhasedRequest, runPhased } from '../../http/phases.ts';
import type { PhasedAnswer } from '../../http/route.ts';
import { type Database, isUnavailable, violatedConstraint } from '../../platform/database.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { newId } from '../../platform/ids.ts';
import { insist } from '../../platform/insist.ts';
import { isoTime } from '../../platform/iso-time.ts';
import {
  codeKeyOf,
  couponFor,
  type CouponUse,
  redemptionOf,
  RedemptionsReserved,
  waitingForReservations,
} from '../coupons/service.ts';
import { CreditSpent, recordUse } from '../credit/service.ts';
import { ensureActiveCustomer } from '../customers/service.ts';
import { noteOrdered } from '../products/service.ts';
import { checkGate } from '../restores/service.ts';
import { generationOf } from './operations/generations.ts';
import { creditForOrder } from './credit.ts';
import { type OrderRow, toWire } from './order.ts';
import { checkShownTotal, type NewOrder, placeOrder, type PlacedOrder, shippingOf } from './place-order.ts';
import { mergeItems, type Priced, priceItems } from './pricing.ts';
import type { Order, OrderCreate } from './schemas.ts';
import { charge } from './operations/charge.ts';
import type { Charging } from './operations/charging.ts';
import type { ExternalAuthentication } from '../../vault/processors/authentication.ts';
import { noteOffSession } from './mandate-queries.ts';
import type { Facts } from './facts-queries.ts';
import {
  closed,
  type Intent,
  type Recorded,
  recordIntents,
  recordRedeemingIntents,
} from './operations/intent-queries.ts';
import { findOpenOf, type Opened } from './operations/open-queries.ts';
import { deriveReference, type Numbered, subjects } from './operations/reference.ts';
import { refuseUnsaved } from './saved-cards.ts';
import { resumeOrder } from './recovery/resume.ts';
import { decidedWhen } from './operations/sales.ts';
import { findFirstAnswer } from './operations/first-answer.ts';
import { lockMs } from './operations/timing.ts';
import type { RequestContext } from '../../request-context.ts';

/** An order whose total the customer has seen: it is refused if the catalog has changed the total since. */
export type ShownOrder = OrderCreate & { readonly shownTotal?: number };

/** Creates an order and charges it: reads the facts, records the intent, sends the charge, records the outcome. */
export async function createOrder(
  charging: Charging,
  context: RequestContext,
  input: ShownOrder,
  phased: PhasedRequest,
): Promise<PhasedAnswer> {
  const { key } = phased;
  if (!key) throw new Error('an order needs an idempotency key');
  const { company, db } = context;
  const firstUse: Numbered = { subject: subjects.key(sentKeyOf(key)), number: 0 };
  const reference = deriveReference(company.id, firstUse);
  const read = (): Promise<Facts> =>
    charging.readFacts({
      company_id: company.id,
      key: key.key,
      reference,
      now: isoTime(key.nowMs),
      customer_id: input.customer_id,
      payment_method_id: input.payment_method_id ?? null,
      product_ids: mergeItems(input.items).map(({ productId }) => productId),
      coupon_code: input.coupon_code ? codeKeyOf(input.coupon_code) : null,
    });
  const place = async (facts: Facts): Promise<unknown> => {
    if (!facts.referenceUsed) return await begin(charging, context, input, key, facts, firstUse);
    const generation = await generationOf(charging, company, firstUse.subject);
    if (generation.kind === 'in_use') return resumeOrder(charging, company.id, generation.operation.order_id);
    return begin(charging, context, input, key, facts, generation.numbered);
  };
  /**
   * Reads the facts again after waiting for a coupon. Returns undefined if another request has claimed the key
   * meanwhile.
   */
  const placeLater = async (): Promise<unknown> => {
    const facts = await read();
    return facts.key === undefined ? place(facts) : undefined;
  };
  return await runPhased<Facts>(db, phased, {
    keepAnswer: false,
    find: async () => {
      const facts = await read();
      const operationId = facts.answered ? facts.key?.operation_id : undefined;
      const result = operationId && (await findFirstAnswer(db, company.id, operationId));
      return { row: facts.key, result, facts };
    },
    begin: (facts) =>
      waitingForReservations(charging.clock, (isFirst) => (facts && isFirst ? place(facts) : placeLater())),
    resume: (orderId) => resumeOrder(charging, company.id, orderId),
  });
}

async function begin(
  charging: Charging,
  context: RequestContext,
  input: ShownOrder,
  key: KeyedRequest,
  facts: Facts,
  numbered: Numbered,
): Promise<Order | undefined> {
  const { state, sale, intent, newlyOrdered } = await draft(context, input, key, facts, numbered);
  failpoint('charge.before_intent');
  const opened = await record(charging, intent, newlyOrdered);
  if (!opened && intent.redemption) throw new RedemptionsReserved();
  if (!opened) return undefined;
  if (!sale) return toWire(state);
  return await charge(charging, state, { ...sale, ...opened });
}

/**
 * Returns undefined if the key, the customer, its credit, the card or a product has changed since it was read; the caller
 * then reads again.
 */
async function record(
  charging: Charging,
  intent: Intent,
  newlyOrdered: readonly string[],
): Promise<Opened | undefined> {
  const { company_id } = intent.order;
  const unlessClosed = async (recorded: Recorded): Promise<Opened | undefined> => {
    if (recorded !== closed) return recorded;
    await checkGate(charging.db, company_id);
    return undefined;
  };
  try {
    const isPlain = intent.redemption === undefined;
    const { off_session, credit_applied } = intent.order;
    if (newlyOrdered.length === 0 && !off_session && !credit_applied)
      return await unlessClosed(
        await (isPlain ? charging.recordIntent(intent) : charging.recordRedeemingIntent(intent)),
      );
    return await charging.db.transaction(async (transaction) => {
      const marked = newlyOrdered.length > 0 ? await noteOrdered(transaction, company_id, newlyOrdered) : 0;
      if (marked < newlyOrdered.length) return undefined;
      const [recorded] = await (isPlain ? recordIntents : recordRedeemingIntents)(transaction, [intent]);
      if (recorded && recorded !== closed) await noteIntent(transaction, intent.order);
      return unlessClosed(recorded);
    });
  } catch (error) {
    if (error instanceof CreditSpent) return undefined;
    const violated = violatedConstraint(error) ?? '';
    // The coupon was far from its limit when it was read, but the limit may have been lowered since.
    if (violated.startsWith('orders_') || violated === 'coupons_used_at_most_max') return undefined;
    const recorded = isUnavailable(error) ? await findRecorded(charging, intent) : undefined;
    if (!recorded) throw error;
    return recorded;
  }
}

/** What few orders have, in the commit that records the intent. */
async function noteIntent(transaction: Database, order: OrderRow): Promise<void> {
  if (order.off_session) await noteOffSession(transaction, order.company_id, order.id);
  if (!order.credit_applied) return;
  await recordUse(transaction, order, { id: newId(order.updated_at.getTime()), amount: order.credit_applied });
}

/** The answer of the database is lost, so what it recorded is read. Undefined if it is not there, at least not yet. */
async function findRecorded({ db }: Charging, { order, sale }: Intent): Promise<Opened | undefined> {
  const open = await insist(() => findOpenOf(db, order.company_id, order.id));
  const recorded = open.find(({ id, state }) => id === sale?.id && state === 'sending');
  return recorded && { ...recorded, validUntilMs: recorded.valid_until_ms };
}

interface Draft extends PlacedOrder {
  readonly intent: Intent;
  readonly newlyOrdered: readonly string[];
}

async function draft(
  context: RequestContext,
  input: ShownOrder,
  key: KeyedRequest,
  facts: Facts,
  numbered: Numbered,
): Promise<Draft> {
  const { company, nowMs, customerIp, presence } = context;
  requireProcessor(company);
  if (!facts.customer || facts.customer.deleted) await ensureActiveCustomer(context, input.customer_id, 'customer_id');
  const card = chosenCard(input, facts);
  if (input.shownTotal === undefined) refuseUnsaved(card.isListed);
  const priced = priceItems(input, facts.products);
  const use = input.coupon_code ? couponFor(facts.coupon, { nowMs, ...cartOf(priced) }) : undefined;
  const { mode, clockOffsetMs, authenticates } = company;
  const type = input.capture === 'manual' ? 'auth' : 'sale';
  refuseWithoutMandate(input, card);
  const charged = {
    ...{ mode, clockOffsetMs, authenticates, card, customerIp, presence, authentication: externalOf(input) },
    ...({ type, cause: 'order', numbered } as const),
  };
  const discounted = { ...orderOf(context, input, card), ...priced, ...discountOf(use) };
  const credit = await creditOf(context, input, discounted, numbered);
  const placed = placeOrder({ ...discounted, ...credit }, charged, nowMs);
  checkShownTotal(input.shownTotal, placed.state.order.total);
  const newlyOrdered = facts.products.filter(({ ordered }) => !ordered).map(({ id }) => id);
  return { ...placed, intent: intentOf(placed, mode, key, use), newlyOrdered };
}

/** What the order takes from the request, besides its items and their prices. */
function orderOf(
  { company, requestId }: RequestContext,
  input: ShownOrder,
  card: NonNullable<Facts['card']>,
): Omit<NewOrder, keyof Priced | 'discount_amount' | 'coupon'> {
  return {
    company_id: company.id,
    customer_id: input.customer_id.toLowerCase(),
    payment_method_id: card.id,
    card_brand: card.brand,
    card_last4: card.last4,
    description: input.description ?? null,
    shipping: input.shipping ? shippingOf(input.shipping) : null,
    metadata: input.metadata ?? {},
    subscription_id: null,
    subscription_cycle: null,
    request_id: requestId,
    ...(input.off_session && { off_session: true }),
  };
}

/** What credit pays, if it may. */
async function creditOf(
  { db }: RequestContext,
  { use_credit, capture }: ShownOrder,
  order: Pick<NewOrder, 'company_id' | 'customer_id' | 'currency' | 'subtotal' | 'discount_amount'>,
  numbered: Numbered,
): Promise<Pick<NewOrder, 'credit_applied'>> {
  if (!use_credit) return {};
  if (capture === 'manual') throw invalidField('use_credit', 'must be omitted with capture manual');
  const credit_applied = await creditForOrder(db, order, order.subtotal - order.discount_amount, numbered);
  return credit_applied > 0 ? { credit_applied } : {};
}

function refuseWithoutMandate({ off_session, authentication }: OrderCreate, card: NonNullable<Facts['card']>): void {
  if (!off_session) return;
  if (authentication) throw invalidField('authentication', 'must be omitted if off_session is true');
  if (card.isMandated) return;
  throw invalidField(
    'off_session',
    'needs a card with a mandate: let the customer confirm the card or a payment with the bank first',
  );
}

function externalOf({ authentication }: OrderCreate): ExternalAuthentication | undefined {
  if (!authentication) return undefined;
  const { cavv, eci, directory_server_id, version } = authentication;
  return { cavv, eci, directoryServerId: directory_server_id.toLowerCase(), version };
}

function cartOf({ items, currency }: Priced) {
  const lines = items.map(({ product_id, total }) => ({ productId: product_id, total: total ?? 0 }));
  return { currency, goods: { kind: 'cart', lines } as const };
}

const discountOf = (use: CouponUse | undefined): Pick<NewOrder, 'discount_amount' | 'coupon'> => ({
  discount_amount: use?.discount ?? 0,
  coupon: use?.snapshot ?? null,
});

function intentOf({ state, sale, events }: PlacedOrder, mode: Mode, key: KeyedRequest, use?: CouponUse): Intent {
  const { order } = state;
  const claim = claimOf(key);
  const redemption = use && redemptionOf(use, order.id, order.customer_id, sale ? decidedWhen(sale) : 'now');
  if (!sale) return { order, claim, sale, answerEventId: events.at(-1)?.id, events, redemption };
  const { id, type, reference, numbered } = sale;
  const opened = { id, type, reference, number: numbered.number, lockMs: lockMs[mode] };
  return { order, claim, sale: opened, answerEventId: undefined, events, redemption };
}

function chosenCard(input: OrderCreate, facts: Facts): NonNullable<Facts['card']> {
  if (facts.card) return facts.card;
  if (input.payment_method_id) throw notFound('payment method', 'payment_method_id');
  throw new ApiError('customer_not_configured', 'The customer has no card on file. Attach one first.', {
    param: 'customer_id',
  });
}
