import { ApiError, invalidField, notFound } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { Database } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { previousOf } from '../events/service.ts';
import { noteOrdered, productToOrder } from '../products/service.ts';
import { changed, recordChanges } from './billing.ts';
import type { RenewalItemCreate } from './change-schemas.ts';
import { lockOne } from './change-subscription.ts';
import { amountsOf, forNextCycle, nextCharge } from './schedule.ts';
import type { Subscription } from './schemas.ts';
import { type RenewalItem, type SubscriptionRow, toWire } from './subscription.ts';
import { modifiable } from './transitions.ts';

/** Products on the order of the next cycle, at their price now. They can be removed until it is charged. */

export async function addRenewalItem(
  context: RequestContext,
  id: string,
  input: RenewalItemCreate,
): Promise<Subscription> {
  const { company, nowMs } = context;
  return changeItems(context, id, async (transaction, row, items) => {
    refuseWithoutRenewal(row);
    const product = await productToOrder(transaction, company.id, input.product_id.toLowerCase());
    if (product.currency !== row.currency) {
      throw invalidField('product_id', `must be a product in ${row.currency}, the currency of the subscription`);
    }
    if (items.length + row.items.length >= limits.orderItems) {
      throw invalidField('product_id', `cannot be added: an order has at most ${limits.orderItems} items`);
    }
    await noteOrdered(transaction, company.id, [product.id]);
    const { quantity = 1 } = input;
    const { amount: unit_price, name, sku } = product;
    const total = unit_price * quantity;
    return [...items, { id: newId(nowMs), product_id: product.id, quantity, name, sku, unit_price, total }];
  });
}

export async function removeRenewalItem(context: RequestContext, id: string, itemId: string): Promise<Subscription> {
  return changeItems(context, id, async (_transaction, _row, items) => {
    const left = items.filter((item) => item.id !== itemId.toLowerCase());
    if (left.length === items.length) throw notFound('renewal item', 'item_id');
    return left;
  });
}

function refuseWithoutRenewal(row: SubscriptionRow): void {
  if (!modifiable.includes(row.status)) {
    const message = `The status of the subscription is ${row.status}. Only an active or paused one can get items for its renewal.`;
    throw new ApiError('subscription_not_modifiable', message);
  }
  if (nextCharge(row)) return;
  throw new ApiError('subscription_not_modifiable', 'This subscription does not renew.');
}

async function changeItems(
  { db, company, nowMs, requestId }: RequestContext,
  id: string,
  change: (
    transaction: Database,
    row: SubscriptionRow,
    items: readonly RenewalItem[],
  ) => Promise<readonly RenewalItem[]>,
): Promise<Subscription> {
  const livemode = company.mode === 'live';
  return db.transaction(async (transaction) => {
    const row = await lockOne(transaction, company.id, id);
    const items = await change(transaction, row, row.renewal_items ?? []);
    const to = { ...row, renewal_items: items.length > 0 ? items : null, updated_at: new Date(nowMs) };
    const { subtotal } = amountsOf(forNextCycle(to), to.current_cycle + 1);
    if (subtotal > limits.orderTotalCentsMax) {
      throw invalidField('quantity', `must be lower: the total of the renewal is at most ${limits.orderTotalCentsMax}`);
    }
    const previous = previousOf(toWire(row, livemode), toWire(to, livemode));
    const recorded = changed(to, ['subscription.updated'], livemode, nowMs, requestId, previous);
    await recordChanges(transaction, [{ ...recorded, writesPlan: true }]);
    return toWire(recorded.row, livemode);
  });
}
