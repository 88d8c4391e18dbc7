import { ApiError } from '../server/errors.ts';
import type { Order } from '../server/features/orders/schemas.ts';
import { openConnections } from '../server/features/processors/connections.ts';
import { openPayments } from '../server/payments.ts';
import { withoutKey } from '../server/http/phases.ts';
import type { Queryable } from '../server/platform/database.ts';
import { isUuid, newRequestId } from '../server/platform/ids.ts';
import { createLog } from '../server/platform/log.ts';
import { chosenCompany } from './chosen-company.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './connect.ts';
import { withVault } from './open-vault.ts';
import type { Flags } from './options.ts';
import { auditOperator } from './audit.ts';

/** `orders void ID`: voids a charge that has not settled. */
export async function ordersCommand([action, id]: readonly string[], flags: Flags): Promise<string> {
  if (action !== 'void' || !id || !isUuid(id)) throw new CommandError('Use orders void ID.');
  return withDatabase(async (connected) => {
    const { db, clock } = connected;
    const company = await chosenCompany(db, flags.company);
    const log = createLog('warn', process.stderr);
    const nowMs = clock.nowMs() + company.clockOffsetMs;
    return withVault(connected, async (vault) => {
      const { orders } = openPayments({ db, batchDb: db, vault, clock, log, connections: openConnections(db) });
      try {
        const requestId = newRequestId();
        const entry = { action: 'voidOrder', objectId: id.toLowerCase(), fields: [], requestId };
        const auditFirst = (inner: Queryable): Promise<void> => auditOperator(inner, company, entry);
        const context = { db, company, nowMs, requestId, auditFirst };
        const { body } = await orders.void(context, id.toLowerCase(), withoutKey);
        const order = JSON.parse(body) as Order;
        return flags.json ? `${JSON.stringify(order)}\n` : `Order ${order.order_number} was voided.\n`;
      } catch (error) {
        throw error instanceof ApiError ? new CommandError(error.message) : error;
      }
    });
  });
}
