import { ApiError } from '../server/errors.ts';
import { pauseSubscription, resumeSubscription } from '../server/features/subscriptions/service.ts';
import { newRequestId } from '../server/platform/ids.ts';
import { chosenCompany } from './chosen-company.ts';
import { CommandError, failureOf, UsageError } from './command-error.ts';
import { withDatabase } from './connect.ts';
import { idArgument } from './id-argument.ts';
import type { Flags } from './options.ts';
import { auditOperator } from './audit.ts';

const actions = { pause: pauseSubscription, resume: resumeSubscription };

/** `subscriptions pause|resume ID`: not available in the API. */
export async function subscriptionsCommand([action, id]: readonly string[], flags: Flags): Promise<string> {
  const act = action === 'pause' || action === 'resume' ? actions[action] : undefined;
  if (!act) throw new UsageError('Use subscriptions pause ID or subscriptions resume ID.');
  const subscriptionId = idArgument(id, `subscriptions ${action} ID`);
  return withDatabase(async ({ shards, clock }) => {
    const company = await chosenCompany(shards, flags.company);
    const { db } = shards.of(company);
    const nowMs = clock.nowMs() + company.clockOffsetMs;
    try {
      const requestId = newRequestId();
      const subscription = await db.transaction(async (transaction) => {
        const changed = await act({ db: transaction, company, nowMs, requestId }, subscriptionId);
        await auditOperator(transaction, company, {
          action: `${action}Subscription`,
          objectId: changed.id,
          fields: [],
          requestId,
        });
        return changed;
      });
      if (flags.json) return `${JSON.stringify(subscription)}\n`;
      const next = subscription.next_billing_at ? `; its next charge is at ${subscription.next_billing_at}` : '';
      return `The subscription is ${subscription.status}${next}.\n`;
    } catch (error) {
      throw error instanceof ApiError ? new CommandError(error.message, failureOf(error.status)) : error;
    }
  });
}
