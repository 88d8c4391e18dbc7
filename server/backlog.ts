import { operationStatistics } from './features/orders/service.ts';
import { mailsDue } from './features/mails/service.ts';
import { subscriptionsDue } from './features/subscriptions/service.ts';
import { deliveriesDue } from './features/webhooks/service.ts';
import type { Queryable } from './platform/database.ts';

/** What waits to be done, for metrics and `svc status`. Every query reads the head of an index. */
export interface Backlog {
  readonly transactions: Awaited<ReturnType<typeof operationStatistics>>;
  readonly renewals: Awaited<ReturnType<typeof subscriptionsDue>>;
  readonly webhooks: Awaited<ReturnType<typeof deliveriesDue>>;
  readonly mails: Awaited<ReturnType<typeof mailsDue>>;
}

export async function readBacklog(db: Queryable): Promise<Backlog> {
  const [transactions, renewals, webhooks, mails] = await Promise.all([
    operationStatistics(db),
    subscriptionsDue(db),
    deliveriesDue(db),
    mailsDue(db),
  ]);
  return { transactions, renewals, webhooks, mails };
}
