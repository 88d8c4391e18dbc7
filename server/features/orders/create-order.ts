import { randomBytes } from 'node:crypto';
import { ApiError, invalidField, notFound } from '../../errors.ts';
import { type KeyedRequest, keyExpiry, type PhasedRequest, runPhased } from '../../http/idempotency.ts';
import type { PhasedAnswer, RequestContext } from '../../http/route.ts';
import { violatedConstraint } from '../../platform/database.ts';
import { failpoint } from '../../platform/failpoints.ts';
import { newId } from '../../platform/ids.ts';
import { ensureActiveCustomer } from '../customers/service.ts';
import { newEvent } from '../events/service.ts';
import { markOrdered } from '../products/service.ts';
import { type Charging, lockMs } from './dependencies.ts';
import { type OrderRow, type OrderState, toWire } from './order.ts';
import { mergeItems, priceItems } from './pricing.ts';
import { type Claim, type Facts, type Intent, recordIntents } from './charge-queries.ts';
import { findAnswer } from './queries.ts';
import { charge, resumeOrder, type Sale } from './sales.ts';
import type { Order, OrderCreate, Shipping, ShippingInput } from './schemas.ts';

/** Creating an order is the charge: read, record the intent, have the card charged, write down what came of it. */
export async function createOrder(
  charging: Charging,
  context: RequestContext,
  input: OrderCreate,
  phased: PhasedRequest,
): Promise<PhasedAnswer> {
  const { key } = phased;
  if (!key) throw new Error('an order needs an idempotency key');
  const { company, db } = context;
  let facts: Facts | undefined;
  return runPhased(db, phased, {
    keepAnswer: false,
    find: async () => {
      facts = await charging.read({
        company_id: company.id,
        key: key.key,
        now: new Date(key.nowMs).toISOString(),
        customer_id: input.customer_id,
        payment_method_id: input.payment_method_id ?? null,
        product_ids: mergeItems(input.items).map(({ productId }) => productId),
      });
      const operationId = facts.answered ? facts.key?.operation_id : undefined;
      return { row: facts.key, result: operationId && (await findAnswer(db, company.id, operationId)) };
    },
    begin: async () => facts && begin(charging, context, input, key, facts),
    resume: (orderId) => resumeOrder(charging, company.id, orderId),
  });
}

async function begin(
  charging: Charging,
  context: RequestContext,
  input: OrderCreate,
  key: KeyedRequest,
  facts: Facts,
): Promise<Order | undefined> {
  const { state, sale, intent, newlyOrdered } = await draft(context, input, key, facts);
  failpoint('charge.before_intent');
  const recorded = await record(charging, intent, newlyOrdered);
  if (!recorded) return undefined;
  if (!sale) return toWire(state);
  return charge(charging, state, sale, 'charge');
}

/** False sends the request back to look again: the key, the customer, the card or a product is not what it was. */
async function record(charging: Charging, intent: Intent, newlyOrdered: readonly string[]): Promise<boolean> {
  try {
    if (newlyOrdered.length === 0) return await charging.intend(intent);
    return await charging.db.transaction(async (transaction) => {
      const marked = await markOrdered(transaction, intent.order.company_id, newlyOrdered);
      if (marked < newlyOrdered.length) return false;
      return (await recordIntents(transaction, [intent]))[0] ?? false;
    });
  } catch (error) {
    if (violatedConstraint(error)?.startsWith('orders_')) return false;
    throw error;
  }
}

interface Draft {
  readonly state: OrderState;
  readonly sale: Sale | undefined;
  readonly intent: Intent;
  readonly newlyOrdered: readonly string[];
}

async function draft(context: RequestContext, input: OrderCreate, key: KeyedRequest, facts: Facts): Promise<Draft> {
  const { company, nowMs, requestId } = context;
  if (!company.processor) {
    throw new ApiError('merchant_not_configured', 'This company has no payment processor yet. Connect one first.');
  }
  if (!facts.customer || facts.customer.deleted) await ensureActiveCustomer(context, input.customer_id, 'customer_id');
  const card = chosenCard(input, facts);
  const { items, currency, subtotal } = priceItems(input, facts.products);
  if (input.coupon_code) throw invalidField('coupon_code', 'no such coupon code (code_not_found)');

  const free = subtotal === 0;
  const order: OrderRow = {
    company_id: company.id,
    id: newId(nowMs),
    order_number: newOrderNumber(),
    customer_id: input.customer_id.toLowerCase(),
    payment_method_id: card.id,
    card_brand: card.brand,
    card_last4: card.last4,
    status: free ? 'succeeded' : 'pending',
    items,
    currency,
    subtotal,
    discount_amount: 0,
    total: subtotal,
    refunded_amount: 0,
    coupon: null,
    description: input.description ?? null,
    shipping: input.shipping ? shippingOf(input.shipping) : null,
    metadata: input.metadata ?? {},
    subscription_id: null,
    subscription_cycle: null,
    attempt_count: 0,
    next_retry_at: null,
    failure_code: null,
    failure_reason: null,
    request_id: requestId,
    sale_id: null,
    sequence: 1,
    updated_at: new Date(nowMs),
  };
  const livemode = company.mode === 'live';
  const common = { livemode, clockOffsetMs: company.clockOffsetMs, card, customerDeleted: false };
  const newlyOrdered = facts.products.filter(({ ordered }) => !ordered).map(({ id }) => id);
  const claim = claimOf(key);
  if (free) {
    // Nothing to charge: it is over before it began, in one transaction.
    const done: OrderState = { ...common, order: { ...order, sequence: 2 }, transactions: [] };
    const placed = toWire({ ...done, order: { ...order, status: 'pending' } });
    const created = newEvent(company.id, nowMs, 'order.created', placed, 1, requestId);
    const succeeded = newEvent(company.id, nowMs, 'order.succeeded', toWire(done), 2, requestId);
    const events = [created, succeeded];
    const intent = { order: done.order, claim, sale: undefined, answerEventId: succeeded.id, events };
    return { state: done, sale: undefined, intent, newlyOrdered };
  }
  const sale = { id: newId(nowMs), amount: order.total, request_id: requestId };
  const transactions = [
    {
      id: sale.id,
      amount: sale.amount,
      type: 'sale',
      status: 'in_progress',
      currency,
      processor_transaction_id: null,
      failure_code: null,
      failure_reason: null,
    },
  ] as const;
  const state: OrderState = { ...common, order, transactions };
  const events = [newEvent(company.id, nowMs, 'order.created', toWire(state), 1, requestId)];
  const intent: Intent = {
    order,
    claim,
    sale: { id: sale.id, lockMs: lockMs[company.mode] },
    answerEventId: undefined,
    events,
  };
  return { state, sale, intent, newlyOrdered };
}

function chosenCard(input: OrderCreate, facts: Facts): NonNullable<Facts['card']> {
  if (facts.card) return facts.card;
  if (input.payment_method_id) throw notFound('payment method', 'payment_method_id');
  throw new ApiError('customer_not_configured', 'The customer has no card on file. Attach one first.', {
    param: 'customer_id',
  });
}

function claimOf(key: KeyedRequest): Claim {
  return {
    key: key.key,
    method: key.method,
    path: key.path,
    field_hashes: key.fieldHashes,
    api_version: key.apiVersion,
    expires_at: keyExpiry(key).toISOString(),
  };
}

export function shippingOf(input: ShippingInput): Shipping {
  const { name, line1, line2, city, state, postal_code, country, phone } = input;
  return {
    name: name ?? null,
    line1: line1 ?? null,
    line2: line2 ?? null,
    city: city ?? null,
    state: state ?? null,
    postal_code: postal_code ?? null,
    country: country ?? null,
    phone: phone ?? null,
  };
}

/** 31 characters that are not taken for one another, read aloud or in bad print. */
const orderNumberLetters = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789';

function newOrderNumber(): string {
  let text = '';
  while (text.length < 8) {
    // 248 is the largest multiple of 31 in a byte; taking more would favour the first letters.
    for (const byte of randomBytes(12)) if (byte < 248 && text.length < 8) text += orderNumberLetters[byte % 31];
  }
  return text;
}
