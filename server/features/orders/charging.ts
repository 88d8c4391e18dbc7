import type { Clock } from '../../platform/clock.ts';
import type { Database, DatabasePool } from '../../platform/database.ts';
import type { Logger } from '../../platform/log.ts';
import type { Vault } from '../../vault/vault.ts';
import type { RestoreWatch } from '../restores/service.ts';
import type { Facts, FactsRequest } from './facts-queries.ts';
import type { Intent } from './intent-queries.ts';
import type { Opened, OpenTransaction } from './open-queries.ts';
import type { OrderRow } from './order.ts';
import type { ChargeOutcome } from './record-outcomes.ts';
import type { Order } from './schemas.ts';

/** What the money path works with. */

export interface MoneyDependencies {
  readonly db: DatabasePool;
  /** The same database for the statements of the batchers, opened with `byKeySettings`. */
  readonly batchDb: DatabasePool;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Logger;
  readonly billing: Billing;
  /** A processor refused a request as expired that was sent at once. */
  readonly onExpired?: () => void;
  readonly restores?: Pick<RestoreWatch, 'recorded' | 'earlierResult' | 'looksFirst'>;
}

/** Subscriptions, whose orders are charged cycle by cycle. */
export interface Billing {
  /** Locks the subscriptions of these orders, and computes what each outcome changes. Runs in the transaction that records the outcomes. */
  applyOutcomes(transaction: Database, outcomes: readonly ChargeOutcome[]): Promise<BillingEffect>;
  /** Throws when the subscription of the order has ended. */
  checkRetry(transaction: Database, order: OrderRow, nowMs: number): Promise<void>;
}

export interface BillingEffect {
  /** What each outcome changes on its order, beside what it changes on any order. */
  readonly orders: readonly Pick<OrderRow, 'subscription_cycle' | 'next_retry_at'>[];
  /** Records the subscriptions whose outcome took effect. */
  record(tookEffect: readonly boolean[]): Promise<void>;
}

/** The statements of a charge, shared by all requests that arrive together. */
interface ChargeBatchers {
  readonly readFacts: (request: FactsRequest) => Promise<Facts>;
  /** Undefined where the intent was not recorded. */
  readonly recordIntent: (intent: Intent) => Promise<Opened | undefined>;
  readonly recordRedeemingIntent: (intent: Intent) => Promise<Opened | undefined>;
  /** The order as the outcome leaves it; undefined where the order has changed meanwhile. */
  readonly recordOutcome: (outcome: ChargeOutcome) => Promise<Order | undefined>;
}

export interface Charging extends MoneyDependencies, ChargeBatchers {
  /** Reconciliation, which itself needs all of this. */
  readonly reconcile: (open: OpenTransaction) => Promise<void>;
  /** Sends a sale that waits for the vault. */
  readonly resend: (open: OpenTransaction) => Promise<void>;
}
