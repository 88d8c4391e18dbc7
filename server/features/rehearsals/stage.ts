import { randomInt } from 'node:crypto';
import type { Company } from '../../company.ts';
import { ApiError } from '../../errors.ts';
import { keyForWork, type PhasedRequest, refusalOf } from '../../http/phases.ts';
import type { Answer } from '../../http/key-queries.ts';
import type { Clock } from '../../platform/clock.ts';
import type { DatabasePool } from '../../platform/database.ts';
import { newRequestId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import type { RequestContext } from '../../request-context.ts';
import type { ProcessorKind } from '../../vault/processors/kind.ts';
import { kindNamed } from '../../vault/processors/kinds.ts';
import { testBilling } from '../../vault/processors/story.ts';
import { type TestEnvironment, testEnvironmentOf, testExpiry, type Trial } from '../../vault/processors/test-cards.ts';
import type { Vault } from '../../vault/vault.ts';
import { companyById } from '../companies/service.ts';
import { createCustomer, findCustomerByEmail } from '../customers/service.ts';
import type { Order } from '../orders/schemas.ts';
import { openOrders, orderOfKey, type Orders } from '../orders/service.ts';
import { captureCard, vaultCard, type VaultedCard } from '../payment-methods/service.ts';
import { companyConnections, type ConnectionRow } from '../processors/service.ts';
import { activeBySku, createProduct } from '../products/service.ts';
import { openSubscriptions, subscriptionReferences, type Subscriptions } from '../subscriptions/service.ts';
import type { RehearsalRow } from './queries.ts';

/** What the steps of a rehearsal use: the services that customers use, with every payment at one connection. */

export interface RehearsalShard {
  readonly name: string;
  readonly db: DatabasePool;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly orders: Orders;
  readonly log: Logger;
}

export interface Stage {
  readonly row: RehearsalRow;
  readonly company: Company;
  readonly connection: ConnectionRow;
  readonly kind: ProcessorKind;
  readonly environment: TestEnvironment;
  readonly context: RequestContext;
  readonly vault: Vault;
  readonly orders: Orders;
  readonly subscriptions: Subscriptions;
  /** Kept for later steps, at the end of the step. */
  readonly made: Record<string, string>;
  readonly storeCard: Parameters<typeof vaultCard>[1];
}

/** Undefined if the company or the connection is gone. */
export async function openStage(shard: RehearsalShard, row: RehearsalRow): Promise<Stage | undefined> {
  const { db, clock, vault, orders: usual, log } = shard;
  const company = await companyById(shard, row.company_id);
  const connection = (await companyConnections(db, row.company_id)).find(({ id }) => id === row.connection_id);
  if (company?.mode !== 'rehearsal' || !connection) return undefined;
  const connections = {
    ...usual.charging.connections,
    candidates: async () => [connection.id],
    verifierOf: async () => connection.id,
  };
  const orders = openOrders({ ...usual.charging, connections });
  const { batchDb } = usual.charging;
  return {
    row,
    company,
    connection,
    kind: kindNamed(connection.kind),
    environment: testEnvironmentOf(connection.kind),
    context: { requestId: newRequestId(), company, nowMs: clock.nowMs(), db },
    vault,
    orders,
    subscriptions: openSubscriptions({ db, batchDb, orders, clock, log }),
    made: { ...row.made },
    storeCard: { vault, clock, verifierOf: connections.verifierOf, noteVerification: connections.noteVerification },
  };
}

/** The same at every attempt, so that a payment that was made before the process died is not made again. */
const keyOf = ({ row }: Stage, name: string): string => `rehearsal-${row.id}-${name}`;

const phased = (stage: Stage, name: string): PhasedRequest =>
  keyForWork(stage.context, keyOf(stage, name), '/v1/rehearsals');

/** No two customers have the same. */
const newPhone = (): string => `+1555${String(randomInt(phoneNumbers)).padStart(10, '0')}`;
const phoneNumbers = 10 ** 10;

/** The customer of this rehearsal. */
export async function customerOf(stage: Stage): Promise<string> {
  const { context, row } = stage;
  const email = `rehearsal-${row.id}@example.com`;
  const known = await findCustomerByEmail(context, email);
  const person = { email, first_name: 'Rehearsal', last_name: 'Customer', phone: newPhone(), tags: [] };
  return (known ?? (await createCustomer(context, person))).id;
}

/** Stores a card as a checkout does: with its security code for the first payment, or verified. */
export async function storeTrial(
  stage: Stage,
  trial: Trial,
  options: { readonly payment_follows: boolean },
): Promise<{ readonly id: string; readonly vaulted: VaultedCard }> {
  const { context, storeCard } = stage;
  const customerId = await customerOf(stage);
  const { line1, city, state, postalCode: postal_code, country } = testBilling;
  const input = {
    card: { number: trial.number, cvc: trial.cvc, ...testExpiry },
    billing_details: {
      name: trial.holderName ?? 'Rehearsal Customer',
      address: { line1, city, state, postal_code, country },
    },
    ...options,
  };
  const vaulted = await vaultCard(context, storeCard, input, customerId);
  const { id } = await captureCard(context, subscriptionReferences, { customer_id: customerId, ...input }, vaulted);
  return { id, vaulted };
}

async function productOf({ context, row }: Stage, amount: number): Promise<string> {
  const sku = `rehearsal-${row.currency}-${amount}`;
  const known = (await activeBySku(context, [sku])).get(sku);
  if (known !== undefined) return known;
  const pricing = { amount, currency: row.currency };
  const product = { name: 'Rehearsal', description: null, pricing, requires_shipping: false, sku };
  return (await createProduct(context, product)).id;
}

/** The order of an earlier attempt, or of an earlier step. */
export async function orderNamed(stage: Stage, name: string): Promise<Order | undefined> {
  const { context, company, orders } = stage;
  const id = await orderOfKey(context.db, company.id, keyOf(stage, name));
  return id === undefined ? undefined : orders.get(context, id, new Set());
}

/** Throws what the answer refuses. One whose outcome is unknown is read later. */
async function insisting(work: Promise<Answer>): Promise<void> {
  try {
    const refused = refusalOf(await work);
    if (refused) throw refused;
  } catch (error) {
    if (!(error instanceof ApiError) || !error.unfinished) throw error;
  }
}

/** Pays an order with a card, once. */
export async function pay(
  stage: Stage,
  name: string,
  { amount, cardId }: { readonly amount: number; readonly cardId: string },
): Promise<Order | undefined> {
  const known = await orderNamed(stage, name);
  if (known) return known;
  const items = [{ product_id: await productOf(stage, amount), quantity: 1 }];
  const input = { customer_id: await customerOf(stage), payment_method_id: cardId, items };
  await insisting(stage.orders.create(stage.context, input, phased(stage, name)));
  return orderNamed(stage, name);
}

/** Charges a declined order again, once. */
export async function payAgain(stage: Stage, name: string, order: Order): Promise<Order> {
  if (order.attempt_count < 2) await insisting(stage.orders.retry(stage.context, order.id, phased(stage, name)));
  return stage.orders.get(stage.context, order.id, new Set());
}

/** Refunds an order, once. */
export async function refund(stage: Stage, name: string, order: Order, amount: number | undefined): Promise<Order> {
  const { orders, context, company } = stage;
  if (!(await orders.keyedRefund(company.id, order.id, keyOf(stage, name)))) {
    await insisting(orders.refund(context, order.id, amount === undefined ? {} : { amount }, phased(stage, name)));
  }
  await orders.reconcile(company.id, order.id);
  return orders.get(context, order.id, new Set());
}

/** Subscribes to a plan, once, and returns the order of the first cycle. */
export async function subscribe(
  stage: Stage,
  name: string,
  input: { readonly plan_id: string; readonly payment_method_id: string },
): Promise<Order | undefined> {
  const known = await orderNamed(stage, name);
  if (known) return known;
  // It ends by itself, also if this rehearsal is never continued.
  const subscription = { ...input, customer_id: await customerOf(stage), billing_cycles: 2 };
  await insisting(stage.subscriptions.create(stage.context, subscription, phased(stage, name)));
  return orderNamed(stage, name);
}
