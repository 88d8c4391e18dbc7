import type { Company } from '../server/company.ts';
import { ApiError } from '../server/errors.ts';
import { raiseChargeback, resolveChargeback } from '../server/features/orders/chargebacks.ts';
import type { Order } from '../server/features/orders/schemas.ts';
import { openConnections } from '../server/features/processors/connections.ts';
import { baseUrlOf } from '../server/config.ts';
import { confirmationUrl } from '../server/features/confirmations/token.ts';
import { openPayments } from '../server/payments.ts';
import { withoutKey } from '../server/http/phases.ts';
import type { Orders } from '../server/features/orders/service.ts';
import type { DatabasePool, Queryable } from '../server/platform/database.ts';
import { newRequestId } from '../server/platform/ids.ts';
import { createLog } from '../server/platform/log.ts';
import { chosenCompany } from './chosen-company.ts';
import { CommandError, failureOf, UsageError } from './command-error.ts';
import { type Connected, withDatabase } from './connect.ts';
import { idArgument } from './id-argument.ts';
import { withVault } from './open-vault.ts';
import type { Flags } from './options.ts';
import { auditOperator } from './audit.ts';

interface Chosen {
  readonly connected: Connected;
  readonly company: Company;
  readonly orderId: string;
  readonly requestId: string;
  readonly nowMs: number;
}

/** The orders of the company, with the vault. */
function withOrders<Result>(
  connected: Connected,
  company: Company,
  work: (orders: Orders, db: DatabasePool) => Promise<Result>,
): Promise<Result> {
  const { shards, clock, keys, config } = connected;
  const { db } = shards.of(company);
  const ofConfirmations = confirmationUrl(keys['page-links'], baseUrlOf(config, config.PORT));
  const log = createLog('warn', process.stderr);
  return withVault(connected, async (vault) => {
    const connections = openConnections(async () => db);
    const parts = { db, batchDb: db, vault, clock, log, connections, confirmationUrl: ofConfirmations };
    return work(openPayments(parts).orders, db);
  });
}

/** `orders capture ID`: captures the payment of an order whose funds are held. */
export async function captureCommand(words: readonly string[], flags: Flags): Promise<string> {
  const { amount } = flags;
  if (amount !== undefined && !/^[1-9]\d{0,12}$/.test(amount)) {
    throw new UsageError('--amount must be a whole number, in the smallest unit of the currency.');
  }
  return changeOrder('orders capture ID', words, flags, ({ connected, company, orderId, requestId, nowMs }) =>
    withOrders(connected, company, async (orders, db) => {
      const fields = amount === undefined ? [] : ['amount'];
      await auditOperator(db, company, { action: 'captureOrder', objectId: orderId, fields, requestId });
      const input = amount === undefined ? {} : { amount: Number(amount) };
      const { body } = await orders.capture({ db, company, nowMs, requestId }, orderId, input, withoutKey);
      const order = JSON.parse(body) as Order;
      return [
        order,
        `The status of order ${order.order_number} is ${order.status}: ${order.captured_amount} captured.`,
      ];
    }),
  );
}

/** `orders void ID`: voids a charge that has not settled, or releases held funds. */
export const voidCommand = (words: readonly string[], flags: Flags): Promise<string> =>
  changeOrder('orders void ID', words, flags, ({ connected, company, orderId, requestId, nowMs }) =>
    withOrders(connected, company, async (orders, db) => {
      const entry = { action: 'voidOrder', objectId: orderId, fields: [], requestId };
      const auditFirst = (inner: Queryable): Promise<void> => auditOperator(inner, company, entry);
      const { body } = await orders.void({ db, company, nowMs, requestId, auditFirst }, orderId, withoutKey);
      const order = JSON.parse(body) as Order;
      return [order, `Order ${order.order_number} was voided.`];
    }),
  );

/** `orders chargeback ID`: records what a processor that sends no notices says about a dispute. */
export async function chargebackCommand(words: readonly string[], flags: Flags): Promise<string> {
  const { outcome = 'raised' } = flags;
  if (outcome !== 'raised' && outcome !== 'accepted' && outcome !== 'dismissed') {
    throw new UsageError('--outcome must be raised, accepted or dismissed.');
  }
  return changeOrder(
    'orders chargeback ID',
    words,
    flags,
    async ({ connected, company, orderId, requestId, nowMs }) => {
      const { shards, clock } = connected;
      const order = await shards.of(company).db.transaction(async (transaction) => {
        const context = { db: transaction, company, nowMs, requestId };
        const isRaised = outcome === 'raised';
        const changed = isRaised
          ? await raiseChargeback({ clock }, context, orderId)
          : await resolveChargeback({ clock }, context, orderId, outcome);
        const action = isRaised ? 'raiseChargeback' : 'resolveChargeback';
        const fields = isRaised ? [] : ['outcome'];
        await auditOperator(transaction, company, { action, objectId: orderId, fields, requestId });
        return changed;
      });
      return [order, `The status of order ${order.order_number} is ${order.status}.`];
    },
  );
}

async function changeOrder(
  usage: string,
  [, id]: readonly string[],
  flags: Flags,
  change: (chosen: Chosen) => Promise<readonly [order: Order, message: string]>,
): Promise<string> {
  const orderId = idArgument(id, usage);
  return withDatabase(async (connected) => {
    const company = await chosenCompany(connected.shards, flags.company);
    const nowMs = connected.clock.nowMs() + company.clockOffsetMs;
    const chosen = { connected, company, orderId, requestId: newRequestId(), nowMs };
    try {
      const [order, message] = await change(chosen);
      return `${flags.json ? JSON.stringify(order) : message}\n`;
    } catch (error) {
      throw error instanceof ApiError ? new CommandError(error.message, failureOf(error.status)) : error;
    }
  });
}
