import { notFound } from '../../errors.ts';
import type { PhasedRequest } from '../../http/phases.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest, PhasedAnswer, RequestContext } from '../../http/route.ts';
import { createLane } from '../../platform/lane.ts';
import { customersById } from '../customers/service.ts';
import type { Company } from '../companies/service.ts';
import { findOpenOf, subjects } from '../transactions/service.ts';
import { raiseChargeback, raiseChargebacksOf, raiseDueChargebacks, resolveChargeback } from './chargebacks.ts';
import { planCharges, type PlannedCharge, readFacts, recordIntents, recordRedeemingIntents } from './charge-queries.ts';
import { createOrder } from './create-order.ts';
import { type Billing, type Charging, type Conclusion, lockMs, type MoneyDependencies } from './dependencies.ts';
import { type Generation, generationOf } from './generations.ts';
import { type OrderRow, type OrderState, toWire } from './order.ts';
import { type NewOrder, type PlacedOrder, placeOrder, shippingOf } from './place-order.ts';
import {
  findOrder,
  findOrders,
  forgetRetry,
  hasOrders,
  type ListedOrder,
  listOrders,
  type OrderFilters,
} from './queries.ts';
import { checkOpenTransactions, lookAt } from './recovery.ts';
import { refundOrder } from './refunds.ts';
import { nextAttempt, retryOrder } from './retry.ts';
import {
  charge,
  type Ending,
  endCharges,
  endPlainCharges,
  endsAlone,
  failureOf,
  type NewSale,
  type OpenedSale,
  resumeOrder,
  type Sale,
  saleOf,
} from './sales.ts';
import type { Order, OrderCreate, OrderRefund } from './schemas.ts';
import { voidOrder } from './voids.ts';
import { resend } from './waiting.ts';

export { hasOrders };

/** For what has orders charged cycle by cycle. */
export {
  type Billing,
  type Conclusion,
  type Ending,
  failureOf,
  findOrder,
  forgetRetry,
  lockMs,
  type NewOrder,
  type NewSale,
  nextAttempt,
  type OrderRow,
  type OrderState,
  type PlacedOrder,
  placeOrder,
  planCharges,
  type PlannedCharge,
  type Sale,
  saleOf,
  shippingOf,
};

/** One for each lane, which runs one batch at a time, and some for the subscriptions that fall due. */
export const laneConnections = 5 + 3;

/** Everything that can be done with orders. */
export interface Orders {
  create(context: RequestContext, input: OrderCreate, key: PhasedRequest): Promise<PhasedAnswer>;
  refund(context: RequestContext, id: string, input: OrderRefund, key: PhasedRequest): Promise<PhasedAnswer>;
  retry(context: RequestContext, id: string, key: PhasedRequest): Promise<PhasedAnswer>;
  void(context: RequestContext, id: string, key: PhasedRequest): Promise<PhasedAnswer>;
  raiseChargeback(context: RequestContext, id: string): Promise<Order>;
  resolveChargeback(context: RequestContext, id: string, outcome: 'accepted' | 'dismissed'): Promise<Order>;
  get(context: RequestContext, id: string, expand: ReadonlySet<string>): Promise<Order>;
  list(
    context: RequestContext,
    filters: OrderFilters,
    page: PageRequest,
    expand: ReadonlySet<string>,
  ): Promise<Page<Order>>;
  /** Asks about what is open, without waiting for its time. */
  look(companyId: string, id: string): Promise<void>;
  /** Has an order charged whose intent is recorded. */
  charge(state: OrderState, sale: OpenedSale, atMs?: number): Promise<Order>;
  /** Asks about the charge of an order, and fails as long as nothing is known about it. */
  decideSale(companyId: string, id: string): Promise<void>;
  /** Of a charge that its idempotency key names. */
  generationOf(company: Pick<Company, 'id' | 'mode'>, key: string): Promise<Generation>;
  /** Jobs: one batch, and how much it did. */
  checkOpenTransactions(batch: number): Promise<number>;
  raiseDueChargebacks(batch: number): Promise<number>;
  /** For whoever moves the clock of a company. */
  raiseChargebacksOf(companyId: string, fromMs: number, untilMs: number): Promise<number>;
}

export function openOrders(dependencies: MoneyDependencies): Orders {
  const { lanesDb } = dependencies;
  const endAlone = createLane((endings: readonly Ending[]) => endPlainCharges(lanesDb, endings));
  const endTogether = createLane((endings: readonly Ending[]) => endCharges(dependencies, endings));
  const charging: Charging = {
    ...dependencies,
    read: createLane((questions) => readFacts(lanesDb, questions)),
    intend: createLane((intents) => recordIntents(lanesDb, intents)),
    intendRedeeming: createLane((intents) => recordRedeemingIntents(lanesDb, intents)),
    lookAt: (open) => lookAt(charging, open),
    resend: (open) => resend(charging, open),
    end: (ending) => (endsAlone(ending) ? endAlone(ending) : endTogether(ending)),
  };
  return {
    create: (context, input, key) => createOrder(charging, context, input, key),
    refund: (context, id, input, key) => refundOrder(charging, context, id, input, key),
    retry: (context, id, key) => retryOrder(charging, context, id, key),
    void: (context, id, key) => voidOrder(charging, context, id, key),
    raiseChargeback: (context, id) => raiseChargeback(charging, context, id),
    resolveChargeback: (context, id, outcome) => resolveChargeback(charging, context, id, outcome),
    get: (context, id, expand) => getOrder(charging, context, id, expand),
    list: getOrders,
    look: (companyId, id) => lookAgain(charging, companyId, id),
    charge: (state, sale, atMs) => charge(charging, state, sale, 'renewal', atMs),
    decideSale: async (companyId, id) => {
      await resumeOrder(charging, companyId, id);
    },
    generationOf: (company, key) => generationOf(charging, company, subjects.key(key)),
    checkOpenTransactions: (batch) => checkOpenTransactions(charging, batch),
    raiseDueChargebacks: (batch) => raiseDueChargebacks(charging, batch),
    raiseChargebacksOf: (companyId, fromMs, untilMs) => raiseChargebacksOf(charging, companyId, fromMs, untilMs),
  };
}

async function getOrder(
  charging: Charging,
  context: RequestContext,
  id: string,
  expand: ReadonlySet<string>,
): Promise<Order> {
  const state = await findOrder(context.db, context.company.id, id);
  if (!state) throw notFound('order');
  const open = state.voiding || state.transactions.some(({ status }) => status === 'in_progress');
  if (open) void lookAgain(charging, context.company.id, id);
  const [order] = await expanded(context, [toWire(state)], expand);
  return order ?? toWire(state);
}

/** Somebody waits to know: what is open is asked about without waiting for its time. The next read shows the answer. */
async function lookAgain(charging: Charging, companyId: string, orderId: string): Promise<void> {
  try {
    const open = await findOpenOf(charging.db, companyId, orderId);
    const due = open.filter(({ in_doubt, locked, waiting }) => in_doubt || (!locked && !waiting));
    for (const operation of due) await lookAt(charging, operation);
  } catch (error) {
    charging.log.warn({ err: error, order_id: orderId }, 'an open transaction could not be asked about');
  }
}

function listedToWire({ company }: RequestContext, { transactions, ...order }: ListedOrder): Order {
  return toWire({ order, transactions: transactions ?? [], livemode: company.mode === 'live' });
}

async function getOrders(
  context: RequestContext,
  filters: OrderFilters,
  page: PageRequest,
  expand: ReadonlySet<string>,
): Promise<Page<Order>> {
  const found = await listOrders(context.db, context.company.id, filters, page);
  const orders = found.items.map((row) => listedToWire(context, row));
  return { ...found, items: await expanded(context, orders, expand) };
}

async function expanded(
  context: RequestContext,
  orders: readonly Order[],
  expand: ReadonlySet<string>,
): Promise<Order[]> {
  if (!expand.has('customer')) return [...orders];
  const customers = await customersById(
    context,
    orders.map(({ customer_id }) => customer_id),
  );
  return orders.map((order) => {
    const customer = customers.get(order.customer_id);
    return { ...order, ...(customer && { customer }) };
  });
}

export async function ordersById(context: RequestContext, ids: readonly string[]): Promise<Map<string, Order>> {
  const rows = await findOrders(context.db, context.company.id, [...new Set(ids)]);
  return new Map(rows.map((row) => [row.id, listedToWire(context, row)]));
}
