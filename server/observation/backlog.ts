import { authorizationStatistics, operationStatistics } from '../features/orders/service.ts';
import { refusedConnections } from '../features/processors/service.ts';
import { mailsDue } from '../features/mails/service.ts';
import { subscriptionsDue } from '../features/subscriptions/service.ts';
import { deliveriesDue } from '../features/webhooks/service.ts';
import type { Queryable } from '../platform/database.ts';

/** What waits to be done, for metrics and `svc status`. Every query reads the head of an index. */
export interface Backlog {
  readonly transactions: Awaited<ReturnType<typeof operationStatistics>>;
  readonly authorizations: Awaited<ReturnType<typeof authorizationStatistics>>;
  readonly renewals: Awaited<ReturnType<typeof subscriptionsDue>>;
  readonly webhooks: Awaited<ReturnType<typeof deliveriesDue>>;
  readonly mails: Awaited<ReturnType<typeof mailsDue>>;
  /** Connections whose credentials the processor refuses. */
  readonly connections: Awaited<ReturnType<typeof refusedConnections>>;
}

export async function readBacklog(db: Queryable): Promise<Backlog> {
  const [transactions, authorizations, renewals, webhooks, mails, connections] = await Promise.all([
    operationStatistics(db),
    authorizationStatistics(db),
    subscriptionsDue(db),
    deliveriesDue(db),
    mailsDue(db),
    refusedConnections(db),
  ]);
  return { transactions, authorizations, renewals, webhooks, mails, connections };
}

/** The backlog of several shards: counts add up, and the oldest is the oldest of all. */
export function sumOf(backlogs: readonly Backlog[]): Backlog {
  const sum = (value: (backlog: Backlog) => number): number => backlogs.reduce((total, one) => total + value(one), 0);
  const oldest = (value: (backlog: Backlog) => number): number => Math.max(...backlogs.map(value));
  return {
    transactions: {
      inDoubt: sum(({ transactions }) => transactions.inDoubt),
      oldestInDoubtSeconds: oldest(({ transactions }) => transactions.oldestInDoubtSeconds),
      waiting: sum(({ transactions }) => transactions.waiting),
    },
    authorizations: {
      standing: sum(({ authorizations }) => authorizations.standing),
      ending: sum(({ authorizations }) => authorizations.ending),
      ended: sum(({ authorizations }) => authorizations.ended),
    },
    renewals: {
      due: sum(({ renewals }) => renewals.due),
      overdue: sum(({ renewals }) => renewals.overdue),
      oldestSeconds: oldest(({ renewals }) => renewals.oldestSeconds),
    },
    webhooks: {
      due: sum(({ webhooks }) => webhooks.due),
      oldestSeconds: oldest(({ webhooks }) => webhooks.oldestSeconds),
    },
    mails: {
      due: sum(({ mails }) => mails.due),
      oldestSeconds: oldest(({ mails }) => mails.oldestSeconds),
    },
    connections: {
      refused: sum(({ connections }) => connections.refused),
      rejected: sum(({ connections }) => connections.rejected),
    },
  };
}
