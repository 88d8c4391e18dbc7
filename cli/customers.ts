import { ApiError } from '../server/errors.ts';
import { endCustomerSessions } from '../server/features/customer-sessions/service.ts';
import { newRequestId } from '../server/platform/ids.ts';
import { auditOperator } from './audit.ts';
import { chosenCompany } from './chosen-company.ts';
import { CommandError, failureOf } from './command-error.ts';
import { withDatabase } from './connect.ts';
import { idArgument } from './id-argument.ts';
import type { Flags } from './options.ts';

/** `customers end-links ID`. */
export async function endLinksCommand([, id]: readonly string[], flags: Flags): Promise<string> {
  const customerId = idArgument(id, 'customers end-links ID');
  return withDatabase(async ({ shards, clock }) => {
    const company = await chosenCompany(shards, flags.company);
    const nowMs = clock.nowMs() + company.clockOffsetMs;
    const requestId = newRequestId();
    try {
      const ended = await shards.of(company).db.transaction(async (transaction) => {
        const result = await endCustomerSessions({ db: transaction, company, nowMs, requestId }, customerId);
        const entry = { action: 'deleteCustomerSessions', objectId: customerId, fields: [], requestId };
        await auditOperator(transaction, company, entry);
        return result;
      });
      if (flags.json) return `${JSON.stringify(ended)}\n`;
      return `Links to the page of this customer that have ended: ${ended.deleted_count}.\n`;
    } catch (error) {
      throw error instanceof ApiError ? new CommandError(error.message, failureOf(error.status)) : error;
    }
  });
}
